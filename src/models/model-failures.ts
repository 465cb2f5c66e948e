import type { Operation } from '../tools/define-operation.js';
import type { Model, ModelOperation } from './model.js';

/** Matches names such as `Errors`, `FailedEntries`, `UnprocessedItems` and `InvalidParameters`. */
const namesFailures = /error|fail|unprocessed|unsuccess|^invalid/i;
const namesErrorOfEntry = /^error(?:code)?$/i;

/** Finds the failed entries in the answer to a change that may be done in part. */
export function failuresOf(
  { shape }: Model,
  { output }: ModelOperation,
): Pick<Operation, 'failures' | 'failureField'> | undefined {
  const collections = output.members.flatMap(({ name, target }) => {
    const value = shape(target);
    if (value.kind === 'list') return [{ name, isList: true, entry: shape(value.member.target) }];
    return value.kind === 'map' ? [{ name, isList: false, entry: shape(value.value.target) }] : [];
  });
  // Other maps, such as a map of messages, are not counted.
  const named = collections.find(
    ({ name, isList, entry }) => namesFailures.test(name) && (isList || ['list', 'structure'].includes(entry.kind)),
  );
  if (named !== undefined) return { failures: named.name };
  for (const { name, isList, entry } of collections) {
    const field =
      isList && entry.kind === 'structure'
        ? entry.members.find((each) => namesErrorOfEntry.test(each.name))
        : undefined;
    if (field !== undefined) return { failures: name, failureField: field.name };
  }
  return undefined;
}

import type { Operation } from '../tools/define-operation.js';
import type { ModelOperation } from './model.js';

/** Matches names such as `Errors`, `FailedEntries`, `UnprocessedItems` and `InvalidParameters`. */
const namesFailures = /error|fail|unprocessed|unsuccess|^invalid/i;

export function failuresOf({ output }: ModelOperation): Pick<Operation, 'failures' | 'failureField'> | undefined {
  const collections = output.members.flatMap(({ name, shape }) =>
    shape.kind === 'list' || shape.kind === 'map'
      ? [{ name, isList: shape.kind === 'list', entry: shape.element.shape }]
      : [],
  );
  // Other maps, such as a map of messages, are not counted.
  const named = collections.find(
    ({ name, isList, entry }) => namesFailures.test(name) && (isList || ['list', 'structure'].includes(entry.kind)),
  );
  if (named !== undefined) return { failures: named.name };
  const [ofEntries] = collections.flatMap(({ name, isList, entry }) => {
    const members = isList && entry.kind === 'structure' ? entry.members : [];
    const field = members.find((each) => /^error(?:code)?$/i.test(each.name));
    return field === undefined ? [] : [{ failures: name, failureField: field.name }];
  });
  return ofEntries;
}

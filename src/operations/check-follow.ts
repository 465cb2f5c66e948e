import { type Follow, type Operation, readOfFollow } from '../tools/define-operation.js';
import { stepsOf } from '../util/objects.js';
import { unknownName } from './unknown-name.js';

/**
 * Returns the problems of `follow`: a read that is not among all operations, and names of arguments that the read or the change does not
 * have. Without this check, a misspelled name would show only after the change.
 */
export function followProblems(change: Operation, follow: Follow, all: readonly Operation[]): string[] {
  const reads = all.filter(({ effect }) => effect === 'read');
  const read = readOfFollow(change, follow, reads);
  if (read === undefined) {
    const names = reads.flatMap(({ name, api }) => [name, api]);
    return [`follow.read: ${unknownName(follow.read, 'a read', names)}`];
  }
  return Object.entries(follow.arguments).flatMap(([argumentPath, sourcePath]) => {
    const [readArgument] = stepsOf(argumentPath);
    // `sourcePath` is `input.clusterId` or `answer.id`, for example. Fields of an answer are not checked, because an answer may have any fields.
    const [start, changeArgument] = stepsOf(sourcePath);
    return [
      ...problemIfUnknown(readArgument, read),
      ...(start === 'input' ? problemIfUnknown(changeArgument, change) : []),
    ];
  });
}

function problemIfUnknown(argument: string | number | undefined, { name, input }: Operation): string[] {
  const known = Object.keys(input().shape);
  const given = String(argument);
  if (known.includes(given)) return [];
  return [`follow.arguments: ${unknownName(given, `an argument of ${name}`, known)}`];
}

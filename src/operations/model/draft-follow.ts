import * as z from 'zod';
import type { Follow } from '../../tools/define-operation.js';
import { nameInWords } from '../../util/field-names.js';
import { hasTrait, type Member, type Model, type ModelOperation } from './model.js';

/** The trait of a read that describes how to wait until a change is finished. */
export const waitersTrait = 'smithy.waiters#waitable';

/** The form of the trait. A trait of another form counts as empty and is no error, because only drafts use waiters. */
const waiters = z
  .record(
    z.string(),
    z.object({ acceptors: z.array(z.object({ state: z.string(), matcher: z.record(z.string(), z.unknown()) })) }),
  )
  .catch({});
/** A matcher that expects a text in the answer. Others count entries or wait for an error, which does not prove that the change is done. */
const textMatcher = z.object({
  path: z.string().regex(/^\w+(?:\[\]|\.\w+)*$/),
  expected: z.string(),
  comparator: z.enum(['stringEquals', 'allStringEquals', 'anyStringEquals']),
});

interface Candidate {
  readonly follow: Follow;
  /** Words of the waiter's name in lower case: `table`, `exists`. */
  readonly words: readonly string[];
}

/** Verbs of changes that end with a usable resource. Only these have a follow-up read, because waiters wait for a usable resource. */
const readyAfter =
  /^(?:create|restore|copy|clone|launch|register|update|modify|start|restart|reboot|resume|resize|upgrade)$/;

/**
 * Finds the read that shows the progress of a change, and the field that tells that the change is finished, among the waiters of the
 * model. The waiter must be named like the changed resource, and the change must have the arguments that the read requires.
 * @param chosen names of the operations in the draft. Their waiters are preferred
 */
export function followFromWaiters(model: Model, change: ModelOperation, chosen: readonly string[]): Follow | undefined {
  const [verb = '', ...resource] = wordsOf(change.name);
  if (!readyAfter.test(verb)) return undefined;

  const candidates = model.names
    .flatMap((name) => candidatesOf(model.operation(name), change))
    .filter(({ words }) => isAbout(words, verb, resource));
  const preferred = candidates.find(({ follow }) => chosen.includes(follow.read));
  return (preferred ?? candidates[0])?.follow;
}

/** Returns the words of a name in lower case, without a version such as `V2` at the end. */
const wordsOf = (name: string): readonly string[] => nameInWords(name.replace(/V\d+$/, '')).toLowerCase().split(/\W+/);

/**
 * True if a waiter is about the resource of a change: `DBInstanceAvailable` for `RestoreDBInstanceFromS3`, but not for
 * `CreateDBInstanceRole`, which changes another resource.
 * The names are given in words: a waiter's name is a resource and a state, and a change's name is a verb and a resource.
 */
function isAbout(waiterName: readonly string[], verb: string, resource: readonly string[]): boolean {
  const state = waiterName.at(-1);
  const waiterResource = waiterName.slice(0, -1);
  const isSameResource = waiterResource.every((word, index) => word === resource[index]);
  if (waiterResource.length === 0 || !isSameResource) return false;

  const [nextWord, ...otherWords] = resource.slice(waiterResource.length);
  // `FunctionUpdated` is about `UpdateFunction` and about updates of a part, such as `UpdateFunctionCode`.
  if (state === 'updated') return verb === 'update' && otherWords.length === 0;
  return nextWord === undefined || /^(?:from|to|in|with|by)$/.test(nextWord);
}

/** Returns the waiters of a read that wait for a text in its answer, if the change has the arguments that the read requires. */
function candidatesOf(read: ModelOperation, change: ModelOperation): readonly Candidate[] {
  const readArguments = argumentsFrom(change, read);
  if (readArguments === undefined) return [];
  return Object.entries(waiters.parse(read.traits[waitersTrait])).flatMap(([name, { acceptors }]) =>
    acceptors.flatMap(({ state, matcher }) => {
      const { data } = textMatcher.safeParse(matcher.output);
      // Other states tell that the change has failed, or goes on.
      if (state !== 'success' || data === undefined) return [];
      const done = { [data.path]: data.expected };
      return [{ follow: { read: read.name, arguments: readArguments, done }, words: wordsOf(name) }];
    }),
  );
}

/** Returns the arguments of the read that the change requires too. Undefined if there are none, or if the read requires others. */
function argumentsFrom(change: ModelOperation, read: ModelOperation): Follow['arguments'] | undefined {
  const isRequired = ({ traits }: Member) => hasTrait(traits, 'smithy.api#required');
  const requiredByChange = new Set(change.input.members.filter(isRequired).map(({ name }) => name));
  const shared = read.input.members.filter(({ name }) => requiredByChange.has(name));
  const lacksRequired = read.input.members.some((member) => isRequired(member) && !shared.includes(member));
  if (shared.length === 0 || lacksRequired) return undefined;
  return Object.fromEntries(shared.map(({ name }) => [name, `input.${name}`]));
}

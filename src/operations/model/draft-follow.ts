import * as z from 'zod';
import type { Follow } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { hasTrait, type Model, type ModelOperation } from './model.js';

/** The trait of a read that shows when a change is finished. */
export const waitersTrait = 'smithy.waiters#waitable';

/** Waiters in another form are ignored, because only drafts use them. */
const waiters = z
  .record(
    z.string(),
    z.object({ acceptors: z.array(z.object({ state: z.string(), matcher: z.record(z.string(), z.unknown()) })) }),
  )
  .catch({});
/** A matcher that expects a text at a path of the answer. Others count entries, or look for errors such as "not found", which proves nothing. */
const textMatcher = z.object({
  path: z.string().regex(/^\w+(?:\[\]|\.\w+)*$/),
  expected: z.string(),
  comparator: z.enum(['stringEquals', 'allStringEquals', 'anyStringEquals']),
});

interface Candidate {
  readonly follow: Follow;
  /** Words of the waiter's name, in lower case: `table`, `exists`. */
  readonly words: readonly string[];
}

/** Verbs of changes after which the thing is ready for use, which is the state that waiters wait for. */
const readyAfter =
  /^(?:create|restore|copy|clone|launch|register|update|modify|start|restart|reboot|resume|resize|upgrade)$/;

/**
 * Returns the read that shows the progress of a change, and the field that tells its end, from the waiters of the model. The waiter is
 * named like the thing that changes, and the change has the arguments that the read needs.
 * @param chosen names of operations whose waiters are preferred
 */
export function followFromWaiters(model: Model, change: ModelOperation, chosen: readonly string[]): Follow | undefined {
  const [verb = '', ...thing] = wordsOf(change.name);
  if (!readyAfter.test(verb)) return undefined;
  const candidates = model.names
    .flatMap((name) => candidatesOf(model.operation(name), change))
    .filter(({ words }) => isAbout(words, verb, thing));
  const preferred = candidates.find(({ follow }) => chosen.includes(follow.read));
  return (preferred ?? candidates[0])?.follow;
}

/** Words of a name in lower case, without a version at the end. */
const wordsOf = (name: string): readonly string[] => nameInWords(name.replace(/V\d+$/, '')).toLowerCase().split(/\W+/);

/**
 * True if a waiter is about the thing of a change: `DBInstanceAvailable` for `RestoreDBInstanceFromS3`, but not for `CreateDBInstanceRole`,
 * which changes another thing. `FunctionUpdated` is about updates of any part of a function.
 */
function isAbout(waiter: readonly string[], verb: string, thing: readonly string[]): boolean {
  const state = waiter.at(-1);
  const waitsFor = waiter.slice(0, -1);
  if (waitsFor.length === 0 || waitsFor.some((word, index) => word !== thing[index])) return false;
  const [next, ...others] = thing.slice(waitsFor.length);
  if (state === 'updated') return verb === 'update' && others.length === 0;
  return next === undefined || /^(?:from|to|in|with|by)$/.test(next);
}

/** The waiters of a read that wait for a text in its answer. */
function candidatesOf(read: ModelOperation, change: ModelOperation): readonly Candidate[] {
  const readArguments = argumentsFrom(change, read);
  if (readArguments === undefined) return [];
  return Object.entries(waiters.parse(read.traits[waitersTrait])).flatMap(([name, { acceptors }]) =>
    acceptors.flatMap(({ state, matcher }) => {
      const { data } = textMatcher.safeParse(matcher.output);
      if (state !== 'success' || data === undefined) return [];
      const done = { [data.path]: data.expected };
      return [{ follow: { read: read.name, arguments: readArguments, done }, words: wordsOf(name) }];
    }),
  );
}

/** The arguments of a read that a change requires too. Undefined if there are none, or if the read needs others. */
function argumentsFrom({ input }: ModelOperation, read: ModelOperation): Follow['arguments'] | undefined {
  const isRequired = ({ traits }: ModelOperation['input']['members'][number]) =>
    hasTrait(traits, 'smithy.api#required');
  const required = new Set(input.members.filter(isRequired).map(({ name }) => name));
  const shared = read.input.members.filter(({ name }) => required.has(name));
  const lacksRequired = read.input.members.some((member) => isRequired(member) && !shared.includes(member));
  if (shared.length === 0 || lacksRequired) return undefined;
  return Object.fromEntries(shared.map(({ name }) => [name, `input.${name}`]));
}

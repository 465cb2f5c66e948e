import * as z from 'zod';
import type { Effect } from '../../tools/define-operation.js';
import { hasTrait, type Model, type ModelOperation, readTrait } from './model.js';

const waitable = 'smithy.waiters#waitable';
const waiters = z.record(
  z.string(),
  z.object({
    acceptors: z.array(
      z.object({
        state: z.string(),
        matcher: z.looseObject({
          output: z.object({ path: z.string(), expected: z.string(), comparator: z.string() }).optional(),
        }),
      }),
    ),
  }),
);

/** The read that shows the progress of a change. */
export interface DraftFollow {
  readonly read: string;
  /** Arguments of the read, each with the path of its value. */
  readonly arguments: Readonly<Record<string, string>>;
  /** Paths in the read's answer with the values that end the waiting. */
  readonly done: Readonly<Record<string, string>>;
}

/**
 * Finds the read that shows the progress of a change, by the waiters of the model: `GetFunction` for `CreateFunction`. A deletion has
 * none, because its waiters end with an error.
 */
export function followOf(model: Model, operation: ModelOperation, effect: Effect | undefined): DraftFollow | undefined {
  if (effect === 'read' || effect === 'delete') return undefined;
  const noun = nounOf(operation.name);
  const read = model.names.find((name) => {
    const isSameNoun = [noun, `${noun}s`].includes(nounOf(name));
    return isSameNoun && /^(?:Get|Describe|Head)/.test(name) && hasTrait(model.operation(name).traits, waitable);
  });
  if (read === undefined) return undefined;
  const done = doneValues(model.operation(read), effect === 'alter');
  if (done === undefined) return undefined;
  const given = new Set(operation.input.members.map(({ name }) => name));
  const shared = model.operation(read).input.members.filter(({ name }) => given.has(name));
  return {
    read,
    arguments: Object.fromEntries(shared.map(({ argumentName }) => [argumentName, `input.${argumentName}`])),
    done,
  };
}

/** `CreateFunction` → `Function` */
const nounOf = (name: string): string => name.replace(/^[A-Z][a-z]+/, '');

/** The values of the first waiter that ends with a value in the answer. After an update, waiters for updates come first. */
function doneValues(read: ModelOperation, isUpdate: boolean): Readonly<Record<string, string>> | undefined {
  const all = Object.entries(readTrait(read.traits, waitable, waiters, read.id) ?? {});
  const sorted = [...all].sort(
    ([a], [b]) => Number(/Update/.test(a) !== isUpdate) - Number(/Update/.test(b) !== isUpdate),
  );
  for (const [, { acceptors }] of sorted) {
    const output = acceptors.find(({ state, matcher }) => state === 'success' && matcher.output !== undefined)?.matcher
      .output;
    if (output !== undefined && plainPath.test(output.path) && /^(?:all)?stringEquals$/i.test(output.comparator))
      return { [output.path.replaceAll('[]', '[0]')]: output.expected };
  }
  return undefined;
}

const plainPath = /^\w+(?:\[\])?(?:\.\w+(?:\[\])?)*$/;

import * as z from 'zod';
import { quote, quoteName } from '../util/quote.js';

/** What is written down before a mutation is sent. It holds no secret. Times are ISO 8601, UTC. */
export const intentSchema = z.object({
  id: z.string(),
  time: z.string(),
  tool: z.string(),
  /** What would happen, in a sentence. */
  what: z.string(),
  /** Method and URL. */
  target: z.string(),
  account: z.string(),
  /** Name and version of the client, as it says. */
  client: z.string(),
  /** Who called, where callers are told apart. */
  caller: z.string().optional(),
  consent: z.enum(['asked', 'planId', 'option', 'off']),
  /** Same for the same mutation: see `digestOf`. */
  digest: z.string(),
  /** Of the plan or question that was agreed to. */
  nonce: z.string().optional(),
  process: z.object({ pid: z.int(), host: z.string() }),
});
export type Intent = z.infer<typeof intentSchema>;

/** What came of the intent with the same id. */
export const endingSchema = z.object({
  id: z.string(),
  time: z.string(),
  outcome: z.enum(['accepted', 'rejected', 'unknown', 'not sent']),
  status: z.int().optional(),
  code: z.string().optional(),
  requestIds: z.record(z.string(), z.string()).optional(),
});
export type Ending = z.infer<typeof endingSchema>;

export type Entry = { readonly intent: Intent } | { readonly ending: Ending };

/** An intent with what came of it, if anything did yet. */
export type Mutation = Intent & { readonly ending?: Ending | undefined };

/** What came of writing an intent down. Only `begun` may be sent. */
export type Begun =
  | { readonly kind: 'begun' }
  | { readonly kind: 'repeats'; readonly earlier: Mutation }
  | { readonly kind: 'used' }
  | { readonly kind: 'unwritable'; readonly reason: string };

/** Where mutations are written down. Several processes may share one. */
export interface Journal {
  /**
   * Writes an intent, durably. If an earlier intent stands in its way, the new one is ended as `not sent`. Of intents that
   * stand in each other's way, the one that was written first may go ahead.
   */
  begin(intent: Intent, options: { readonly allowRepeat: boolean }): Promise<Begun>;
  /** @throws if it cannot be written */
  end(ending: Ending): Promise<void>;
  /** What is kept, oldest first. What ended before a time (milliseconds) may be left out, and so may more than thousands. */
  read(since?: number): Promise<readonly Mutation[]>;
  /** Lets go of connections, if it has any. */
  close(): Promise<void>;
}

/** For this long a mutation that was accepted, or whose outcome is not known, is not sent again unasked. */
export const repeatWindowMs = 10 * 60 * 1000;

/** Longer than any call takes. */
export const abandonedMs = 2 * 60 * 60 * 1000;

/**
 * Puts entries together, in the order in which the intents were written. An id that is there twice counts at its last place,
 * so that of two processes that write while the file is put aside both may stop, but never both go. The last ending counts.
 */
export function mutationsOf(entries: readonly Entry[]): Mutation[] {
  const mutations = new Map<string, Mutation>();
  for (const entry of entries) {
    if ('intent' in entry) {
      const { ending } = mutations.get(entry.intent.id) ?? {};
      mutations.delete(entry.intent.id);
      mutations.set(entry.intent.id, { ...entry.intent, ending });
    } else {
      const { id } = entry.ending;
      const mutation = mutations.get(id);
      if (mutation !== undefined) mutations.set(id, { ...mutation, ending: entry.ending });
    }
  }
  return [...mutations.values()];
}

/** The last of some mutations that is the same, and that was or may be carried out, not long ago. */
export const findDuplicate = (mutations: readonly Mutation[], digest: string, now: number): Mutation | undefined =>
  mutations.findLast(({ digest: other, time, ending }) => {
    if (other !== digest) return false;
    if (ending === undefined) return Date.parse(time) >= now - abandonedMs;
    return ['accepted', 'unknown'].includes(ending.outcome) && Date.parse(ending.time) >= now - repeatWindowMs;
  });

/**
 * What stands in the way of an intent among all that were written before it.
 * @throws if the intent itself is not there: then what is before it is not known
 */
export function findConflict(mutations: readonly Mutation[], intent: Intent, allowRepeat: boolean): Begun {
  const own = mutations.findIndex(({ id }) => id === intent.id);
  if (own < 0) throw new Error('the intent is not in the journal');
  const earlier = mutations.slice(0, own).filter(({ ending }) => ending?.outcome !== 'not sent');
  if (intent.nonce !== undefined && earlier.some(({ nonce }) => nonce === intent.nonce)) return { kind: 'used' };
  const same = findDuplicate(earlier, intent.digest, Date.parse(intent.time));
  return same === undefined || allowRepeat ? { kind: 'begun' } : { kind: 'repeats', earlier: same };
}

/** Intents without an outcome whose process is gone. Should one be judged wrongly, its own later ending is what counts. */
export const interrupted = (mutations: readonly Mutation[], isGone: (mutation: Mutation) => boolean): Mutation[] =>
  mutations.filter((mutation) => mutation.ending === undefined && isGone(mutation));

/** One line for people: when, what came of it, and what it was. */
export function describe({ time, tool, what, target, consent, client, caller, ending }: Mutation): string {
  const outcome = ending === undefined ? 'no outcome yet' : ending.outcome;
  const code = ending?.code === undefined ? '' : ` (${quoteName(ending.code)})`;
  const by = caller === undefined ? '' : `  caller: ${quote(caller, 100)}`;
  return `${time}  ${outcome}${code}  ${tool}: ${what}  ${target}  consent: ${consent}  client: ${quote(client, 100)}${by}`;
}

export const nothingYet = 'No change has been asked for.';

/** How many entries the resource gives. */
const resourceEntries = 50;

/** The last entries for agents and people, as Markdown. */
export async function journalText(journal: Journal): Promise<string> {
  const mutations = (await journal.read()).slice(-resourceEntries);
  return `# Journal\n\n${mutations.map((mutation) => `- ${describe(mutation)}`).join('\n') || nothingYet}\n`;
}

import { Refusal } from '../answers/refusal.js';
import type { Intent } from '../journal/entry.js';
import type { Journal } from '../journal/journal.js';
import { createPersistence } from '../journal/persistence.js';
import { type Log, reasonOf } from '../util/log.js';
import { tokenLifetimeMs } from './tokens.js';

/** The refusals of people. One that cannot be written into the journal counts in this process until it is. */
export interface Refusals {
  /**
   * Records that a change was refused, which spends its nonce. `spent` means that it was decided before, `unwritten` that the journal
   * does not have it yet.
   */
  decline(intent: Intent): Promise<'declined' | 'spent' | 'unwritten'>;
  /** True if the journal does not know yet that the consent with a nonce was refused. */
  isSpent(nonce: string): boolean;
  /** The reason why this caller's user may not be asked, if there is one. */
  againstAsking(entry: Pick<Intent, 'caller'>): Promise<Refusal | undefined>;
  /** The reason why a planId may not carry out a change, if there is one. */
  againstPlanId(entry: Pick<Intent, 'caller' | 'digest'>): Promise<Refusal | undefined>;
  /** Writes once more what is unwritten. */
  close(): Promise<void>;
}

/** After so many refusals within the time that a question holds, nobody is asked again. */
const mostRefusals = 3;

/** With more unwritten refusals than this, every consent counts as refused. */
const mostUnwritten = 1000;

/** @param newId makes a new id for each attempt: an earlier one may have been written without our knowing */
export function createRefusals(
  journal: Pick<Journal, 'decline' | 'listDeclined'>,
  now: () => Date,
  newId: () => string,
  log: Log,
): Refusals {
  const persistence = createPersistence();
  const unwritten = new Map<string, Intent>();

  /** Digests of the changes that a caller's user refused while a question asked then would still hold. */
  const refusedBy = async (caller: string | undefined): Promise<readonly string[]> => {
    const since = now().getTime() - tokenLifetimeMs;
    const here = [...unwritten.values()].filter((one) => one.caller === caller && Date.parse(one.time) >= since);
    return [...(await journal.listDeclined(since, caller)), ...here.map(({ digest }) => digest)];
  };
  const against = (caller: string | undefined, reason: (refused: readonly string[]) => Refusal | undefined) =>
    refusedBy(caller).then(
      (refused) => (refused.length >= mostRefusals ? new Refusal('TooManyRefusals', []) : reason(refused)),
      () => new Refusal('JournalUnavailable', ['the refusals in it cannot be counted']),
    );

  return {
    async decline(intent) {
      const key = intent.nonce ?? intent.id;
      if (unwritten.has(key)) return 'spent';
      unwritten.set(key, intent);
      try {
        const isFirst = await journal.decline(intent);
        unwritten.delete(key);
        return isFirst ? 'declined' : 'spent';
      } catch (error) {
        log('error', 'journal', { tool: intent.tool, id: intent.id, error: reasonOf(error) });
        const written = () => unwritten.delete(key);
        const again = async () => void (await journal.decline({ ...intent, id: newId() }));
        persistence.write(again).then(written, () => undefined);
        return 'unwritten';
      }
    },
    isSpent: (nonce) => unwritten.has(nonce) || unwritten.size >= mostUnwritten,
    againstAsking: ({ caller }) => against(caller, () => undefined),
    againstPlanId: ({ caller, digest }) =>
      against(caller, (refused) =>
        refused.includes(digest)
          ? new Refusal('Declined', ['the user declined this change less than ten minutes ago'])
          : undefined,
      ),
    close: persistence.close,
  };
}

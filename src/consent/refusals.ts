import type { Intent } from '../journal/entry.js';
import type { Journal } from '../journal/journal.js';
import { createPersistence } from '../journal/retry-writes.js';
import { type Log, reasonOf } from '../util/log.js';
import { say } from '../util/safe-text.js';
import { Refusal } from './refusal.js';
import { tokenLifetimeMs } from './tokens.js';

/** The refusals of people. One that cannot be written into the journal counts in this process until it is. */
export interface Refusals {
  /**
   * Records that a change was refused, which spends its nonce. `spent` means that it was decided before, `unwritten` that the journal
   * does not have it yet. A question that was only closed is one of those that end the questions, but does not bind: `isDismissed`.
   */
  decline(intent: Intent, isDismissed?: boolean): Promise<'declined' | 'spent' | 'unwritten'>;
  /** True if the journal does not know yet that the consent with a nonce was refused. */
  isSpent(nonce: string): boolean;
  /** The reason why this caller's user may not be asked, if there is one. */
  againstAsking(entry: Asked): Promise<Refusal | undefined>;
  /** The reason why a planId may not carry out a change, if there is one. */
  againstPlanId(entry: Asked & Pick<Intent, 'digest'>): Promise<Refusal | undefined>;
  /** Writes once more what is unwritten. */
  close(): Promise<void>;
}

/** Whose refusals are counted together: those of a caller and, where callers are not told apart, of a client. */
type Asked = Pick<Intent, 'caller' | 'client'>;

/** After so many refusals within the time that a question holds, nobody is asked again. */
const mostRefusals = 3;

/** With more unwritten refusals than this, every consent counts as refused. */
const mostUnwritten = 1000;

/** Of those that were only closed, no more are remembered. */
const mostDismissed = 1000;

/** @param newId makes a new id for each attempt: an earlier one may have been written without our knowing */
export function createRefusals(
  journal: Pick<Journal, 'decline' | 'listDeclined'>,
  now: () => Date,
  newId: () => string,
  log: Log,
): Refusals {
  const persistence = createPersistence();
  const unwritten = new Map<string, Intent>();

  /** Questions that were only closed, oldest first. Other processes do not know that, and take each for a refusal. */
  let dismissed: readonly Intent[] = [];

  const since = () => now().getTime() - tokenLifetimeMs;
  /** Digests of the changes that a caller's user refused while a question asked then would still hold. */
  const refusedBy = async ({ caller }: Asked, client?: string): Promise<readonly string[]> => {
    const start = since();
    const isTheirs = (one: Intent) =>
      one.caller === caller && (caller !== undefined || client === undefined || one.client === client);
    const here = [...unwritten.values()].filter((one) => isTheirs(one) && Date.parse(one.time) >= start);
    return [...(await journal.listDeclined(start, caller, client)), ...here.map(({ digest }) => digest)];
  };
  const isBinding = (refused: readonly string[], { caller, digest }: Pick<Intent, 'caller' | 'digest'>) => {
    const start = since();
    const closed = dismissed.filter(
      (one) => one.caller === caller && one.digest === digest && Date.parse(one.time) >= start,
    );
    return refused.filter((one) => one === digest).length > closed.length;
  };
  /** Refusals of all clients bind; those that end the questions are counted for each. */
  const against = async (entry: Asked, reason: (refused: readonly string[]) => Refusal | undefined) => {
    try {
      const counted = await refusedBy(entry, entry.client);
      return counted.length >= mostRefusals ? new Refusal('TooManyRefusals', []) : reason(await refusedBy(entry));
    } catch {
      return new Refusal('JournalUnavailable', [say`the refusals in it cannot be counted`]);
    }
  };

  return {
    async decline(intent, isDismissed = false) {
      const key = intent.nonce ?? intent.id;
      if (unwritten.has(key)) return 'spent';
      if (isDismissed) dismissed = [...dismissed, intent].slice(-mostDismissed);
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
    againstAsking: (entry) => against(entry, () => undefined),
    againstPlanId: (entry) =>
      against(entry, (refused) =>
        isBinding(refused, entry)
          ? new Refusal('Declined', [say`the user declined this change less than ten minutes ago`])
          : undefined,
      ),
    close: persistence.close,
  };
}

import { type Intent, withoutRefusal } from '../journal/entry.js';
import type { Journal } from '../journal/journal.js';
import { createPersistence } from '../journal/retry-writes.js';
import { type Log, reasonOf } from '../util/log.js';
import { say } from '../util/safe-text.js';
import { Refusal } from './refusal.js';
import { tokenLifetimeMs } from './tokens.js';

/** People's refusals. A refusal that is not in the journal yet counts in this process until it is. */
export interface Refusals {
  /**
   * Records a refusal and spends the nonce. Resolves with `spent` if the nonce was used before, and with `unwritten` if the journal does
   * not have the refusal yet.
   * The answer of a program, whose consent is `program`, is recorded as well, but does not count as a person's refusal.
   * @param isDismissed set if the question was only closed. It counts towards `mostRefusals`, but does not bind the change
   */
  decline(intent: Intent, isDismissed?: boolean): Promise<'declined' | 'spent' | 'unwritten'>;
  /** True if a program has answered a question in place of this client's user. Its user is not asked by a question again. */
  isAnsweredByProgram(entry: Asked): boolean;
  /** True if the nonce was refused and the journal does not have that yet. */
  isSpent(nonce: string): boolean;
  /** Returns the reason for not asking this caller's user. */
  againstAsking(entry: Asked): Promise<Refusal | undefined>;
  /** Returns the reason for not carrying out a change by planId. */
  againstPlanId(entry: Asked & Pick<Intent, 'digest'>): Promise<Refusal | undefined>;
  /** Makes a last attempt to write the unwritten refusals. */
  close(): Promise<void>;
}

/** Refusals are counted per caller or, if callers are not authenticated, per client. */
type Asked = Pick<Intent, 'caller' | 'client'>;

/** After this number of refusals within the lifetime of a question, no more questions are asked. */
const mostRefusals = 3;

/** From this number of unwritten refusals on, every consent counts as refused. */
const mostUnwritten = 1000;

/** Maximum number of dismissed questions, and of clients that answer by themselves, that are remembered. */
const mostRemembered = 1000;

/** @param newId makes an id for each attempt, because an earlier attempt may have been written without an acknowledgement */
export function createRefusals(
  journal: Pick<Journal, 'decline' | 'listDeclined'>,
  now: () => Date,
  newId: () => string,
  log: Log,
): Refusals {
  const persistence = createPersistence();
  const unwritten = new Map<string, Intent>();

  /** Questions that were only closed, oldest first. Other processes count them as refusals. */
  let dismissed: readonly Intent[] = [];

  /** Clients that answer by themselves, by their caller. Not by session, because from 2026-07-28 on there is none. */
  let answering: readonly string[] = [];
  const clientKey = ({ caller, client }: Asked) => JSON.stringify([caller, client]);

  /** Refusals and questions before this time do not count (milliseconds). */
  const since = () => now().getTime() - tokenLifetimeMs;
  /** Digests of the changes that a caller's user refused within the lifetime of a question. */
  const refusedBy = async ({ caller }: Asked, client?: string): Promise<readonly string[]> => {
    const start = since();
    const isOfCaller = (refusal: Intent) =>
      refusal.caller === caller &&
      (caller !== undefined || client === undefined || refusal.client === client) &&
      !withoutRefusal.includes(refusal.consent);
    const inMemory = [...unwritten.values()].filter(
      (refusal) => isOfCaller(refusal) && Date.parse(refusal.time) >= start,
    );
    return [...(await journal.listDeclined(start, caller, client)), ...inMemory.map(({ digest }) => digest)];
  };
  /** True if the change was refused more often than its question was only closed. `refused` has the digests of `refusedBy`. */
  const isBinding = (refused: readonly string[], { caller, digest }: Pick<Intent, 'caller' | 'digest'>) => {
    const start = since();
    const closed = dismissed.filter(
      (question) => question.caller === caller && question.digest === digest && Date.parse(question.time) >= start,
    );
    return refused.filter((other) => other === digest).length > closed.length;
  };
  /** Refusals through any client bind a change. Refusals that end the questions are counted per client. */
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
      if (isDismissed) dismissed = [...dismissed, intent].slice(-mostRemembered);
      if (intent.consent === 'program') answering = [...answering, clientKey(intent)].slice(-mostRemembered);
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
    isAnsweredByProgram: (entry) => answering.includes(clientKey(entry)),
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

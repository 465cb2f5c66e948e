import { type Intent, notRefusedByPerson } from '../journal/entry.js';
import type { Journal } from '../journal/journal.js';
import { createPersistence } from '../journal/retry-writes.js';
import { type Log, reasonOf } from '../util/log.js';
import { say } from '../util/safe-text.js';
import type { FoundPlan, Plans } from './plans.js';
import { Refusal } from '../calls/refusal.js';
import { tokenLifetimeMs } from './tokens.js';

/** Records the changes that people declined. The journal keeps them. While it cannot be written, this process remembers them. */
export interface Refusals {
  /**
   * Records a declined change, and spends its nonce so that no consent with this nonce counts later. Resolves with `spent` if the nonce was
   * used before, and with `unwritten` if the journal does not have the change yet.
   * The answer of a program (`consent` is `program`) is recorded too, but does not count as a person's no.
   * @param isDismissed set if the person only closed the question. This counts towards `mostDeclined`, but a planId of the change stays valid
   */
  decline(intent: Intent, isDismissed?: boolean): Promise<'declined' | 'spent' | 'unwritten'>;
  /** True if a program has answered a question in place of this client's user. Such a client gets no more questions. */
  isAnsweredByProgram(callerAndClient: CallerAndClient): boolean;
  /** True if a change was declined with this nonce, and the journal may not have it yet. */
  isSpent(nonce: string): boolean;
  /** Returns the error if the user must not be asked now, because the user declined too many changes through this client. */
  againstAsking(callerAndClient: CallerAndClient): Promise<Refusal | undefined>;
  /** Returns the error if a planId must not carry out a change now: as in `againstAsking`, or if the user declined this change in any client. */
  againstPlanId(change: CallerAndClient & Pick<Intent, 'digest'>): Promise<Refusal | undefined>;
  /** Makes a last attempt to write the unwritten changes. */
  close(): Promise<void>;
}

/** If callers are not authenticated, `caller` is undefined, and the name that a client gives itself tells clients apart. */
type CallerAndClient = Pick<Intent, 'caller' | 'client'>;

/** After this number of declined or dismissed changes in `tokenLifetimeMs`, no more questions are asked. */
const mostDeclined = 3;

/** When this number of declined changes is unwritten, every consent is refused, because this process should not have to remember more. */
const mostUnwritten = 1000;

/** Maximum number of remembered dismissed questions, and of remembered clients that answer by themselves. */
const mostRemembered = 1000;

/**
 * Creates `Refusals` on a journal, and on the stored plans, because the journal may lack a decision on a plan. A person refuses a change by
 * declining it, or by dismissing (only closing) the question about it. The journal records both as declined. The class `Refusal` is the error
 * of a call that is not carried out.
 */
export function createRefusals(
  journal: Pick<Journal, 'decline' | 'listDeclined'>,
  plans: Pick<Plans, 'list'>,
  now: () => Date,
  newId: () => string,
  log: Log,
): Refusals {
  const persistence = createPersistence();
  /** Declined changes that the journal does not have yet, by nonce, or by ID without a nonce. */
  const unwritten = new Map<string, Intent>();
  /**
   * The changes whose questions were dismissed, oldest first. The journal calls them declined, so `againstPlanId` subtracts their number from the
   * number that `refusedDigests` counts. A change that `refusedDigests` does not count must not be here, because it would hide that a person
   * declined the same change another time.
   */
  let dismissed: readonly Intent[] = [];
  /** Keys, by `clientKey`, of the clients in which a program has answered in place of the user. */
  let answeringClients: readonly string[] = [];

  /** The time before which declined changes do not count any more (milliseconds since 1970). */
  const countsSince = () => now().getTime() - tokenLifetimeMs;

  /**
   * Digests of the changes that a caller's user declined or dismissed recently, through `client` or, without it, through any client. The digest
   * of a change that was refused twice is there twice. Undefined if the journal cannot be read.
   */
  const refusedDigests = async (
    caller: string | undefined,
    client?: string,
  ): Promise<readonly string[] | undefined> => {
    const since = countsSince();
    // Memory is read before the journal. A change that is written in between then counts twice, which is safe, and is never missed.
    const inMemory = [...unwritten.values()].filter(
      (intent) => Date.parse(intent.time) >= since && isDeclinedBy(intent, caller, client),
    );
    try {
      const inJournal = await journal.listDeclined(since, caller, client);
      return [...inJournal, ...inMemory.map(({ digest }) => digest)];
    } catch (error) {
      log('error', 'journal', { error: reasonOf(error) });
      return undefined;
    }
  };

  const againstAsking: Refusals['againstAsking'] = async ({ caller, client }) => {
    const digests = await refusedDigests(caller, client);
    // If the journal cannot be read, nobody is asked, because the user may have declined too often.
    if (digests === undefined) return unreadable();
    return digests.length >= mostDeclined ? new Refusal('TooManyRefusals') : undefined;
  };

  /** See `Refusals`. A dismissed question about this change is no reason, but counts among the declined changes. */
  const againstPlanId: Refusals['againstPlanId'] = async (change) => {
    const refusal = await againstAsking(change);
    if (refusal !== undefined) return refusal;

    // `dismissed` is counted before the digests. A question that is dismissed in between counts as declined, which is safe. In the other order,
    // its change would be subtracted although it was not counted.
    const since = countsSince();
    const timesDismissed = dismissed.filter(
      ({ caller, digest, time }) => caller === change.caller && digest === change.digest && Date.parse(time) >= since,
    ).length;
    // Without a client, because the user may have declined this change in another client.
    const digests = await refusedDigests(change.caller);
    if (digests === undefined) return unreadable();
    const timesDeclinedOrDismissed = digests.filter((digest) => digest === change.digest).length;
    if (timesDeclinedOrDismissed > timesDismissed) return declinedRecently();

    // A claim stores the decision before the journal gets it. If the server is killed in between, only the plan has the decision.
    try {
      const plansOfCaller = await plans.list({ caller: change.caller });
      return plansOfCaller.some((plan) => isStoredRefusal(plan, change, since)) ? declinedRecently() : undefined;
    } catch (error) {
      log('error', 'journal', { error: reasonOf(error) });
      return unreadable();
    }
  };

  /** True if a person declined this change of this caller on a stored plan since a time (milliseconds). */
  const isStoredRefusal = (
    { nonce, decision, requestKey, caller }: FoundPlan,
    change: CallerAndClient & Pick<Intent, 'digest'>,
    since: number,
  ): boolean => {
    if (decision?.kind !== 'declined' || decision.at < since) return false;
    if (requestKey !== change.digest || caller !== change.caller) return false;
    return !dismissed.some((other) => other.nonce === nonce);
  };

  /** Repeats a failed write in the background until it succeeds. */
  const retryLater = async (key: string, intent: Intent): Promise<void> => {
    try {
      await persistence.write(async () => {
        // The failed write may have succeeded after all, and spent the nonce. Then the retry ends as `not sent`, and its result `false` is ignored.
        // The retry needs an ID of its own, because with the same ID, PostgreSQL would replace the `declined` of the first write by `not sent`.
        await journal.decline({ ...intent, id: newId() });
      });
      unwritten.delete(key);
    } catch {
      // The process ends, or no retry can help. The change stays in `unwritten`.
    }
  };

  /**
   * Records a declined change. The change counts in this process at once, and in other processes as soon as the journal has it.
   * @param isDismissed true if the person only closed the question, without an answer
   * @returns `declined`; `spent` if an earlier decision has the same nonce, written or not; or `unwritten` if the change is not written yet
   */
  const decline: Refusals['decline'] = async (intent, isDismissed = false) => {
    const key = intent.nonce ?? intent.id;
    // An earlier decline has spent this nonce, although the journal does not have it yet. The key of an intent without a nonce is its ID, which is
    // new, so such an intent is never `spent`.
    if (unwritten.has(key)) return 'spent';

    // A program has answered in place of the user, so its client gets no more questions.
    if (intent.consent === 'program')
      answeringClients = [...answeringClients, clientKey(intent)].slice(-mostRemembered);

    // `refusedDigests` does not count a change that no person refused, so it must not be in `dismissed`. No `await` may come between adding to
    // `dismissed` and to `unwritten`, because a concurrent `againstPlanId` would find the change in only one of them.
    const countsAsDismissed = isDismissed && !notRefusedByPerson.includes(intent.consent);
    if (countsAsDismissed) dismissed = [...dismissed, intent].slice(-mostRemembered);
    unwritten.set(key, intent);

    try {
      const isFirstUse = await journal.decline(intent);
      unwritten.delete(key);
      if (isFirstUse) return 'declined';
      // The journal does not count a change whose nonce was used before, so it must not be in `dismissed` either.
      dismissed = dismissed.filter((other) => other !== intent);
      return 'spent';
    } catch (error) {
      log('error', 'journal', { tool: intent.tool, id: intent.id, error: reasonOf(error) });
      void retryLater(key, intent);
      return 'unwritten';
    }
  };

  return {
    decline,
    isAnsweredByProgram: (callerAndClient) => answeringClients.includes(clientKey(callerAndClient)),
    // When `mostUnwritten` changes are unwritten, every nonce counts as spent, so that every consent is refused.
    isSpent: (nonce) => unwritten.has(nonce) || unwritten.size >= mostUnwritten,
    againstAsking,
    againstPlanId,
    close: persistence.close,
  };
}

const clientKey = ({ caller, client }: CallerAndClient) => JSON.stringify([caller, client]);

const declinedRecently = () => new Refusal('Declined', [say`the user declined this change less than ten minutes ago`]);

const unreadable = () => new Refusal('JournalUnavailable', [say`the refusals in it cannot be counted`]);

/** True if a person declined this change of `caller`. Callers without a name are told apart by `client`, if that is set. */
function isDeclinedBy(declined: Intent, caller: string | undefined, client: string | undefined): boolean {
  if (declined.caller !== caller || notRefusedByPerson.includes(declined.consent)) return false;
  return caller !== undefined || client === undefined || declined.client === client;
}

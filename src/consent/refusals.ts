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
  /** Returns the reason for not asking this caller's user. Counts refusals per client. */
  againstAsking(entry: Asked): Promise<Refusal | undefined>;
  /** Returns the reason for not carrying out a change by planId. A refusal through any client counts, except if it only closed the question. */
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
  /** Refusals that the journal does not have yet, by nonce. */
  const unwritten = new Map<string, Intent>();
  /** Questions that were only closed, oldest first. Other processes count them as refusals. */
  let dismissed: readonly Intent[] = [];
  /** Clients that answer by themselves, by their caller. Not by session, because from 2026-07-28 on there is none. */
  let answeringClients: readonly string[] = [];

  /** Refusals and questions before this time do not count (milliseconds). */
  const countsSince = () => now().getTime() - tokenLifetimeMs;
  /** Digests of the changes that a caller's user refused recently, through one client or, without `client`, through any. */
  const refusedDigests = async ({ caller }: Asked, client?: string): Promise<readonly string[]> => {
    const since = countsSince();
    const inMemory = [...unwritten.values()].filter(
      (refusal) => Date.parse(refusal.time) >= since && isRefusalOf(refusal, caller, client),
    );
    const inJournal = await journal.listDeclined(since, caller, client);
    return [...inJournal, ...inMemory.map(({ digest }) => digest)];
  };
  const againstAsking: Refusals['againstAsking'] = async (entry) => {
    const refused = await refusedDigests(entry, entry.client).catch(() => undefined);
    if (refused === undefined) return uncountable();
    return refused.length >= mostRefusals ? new Refusal('TooManyRefusals', []) : undefined;
  };
  const againstPlanId: Refusals['againstPlanId'] = async (entry) => {
    const refusal = await againstAsking(entry);
    if (refusal !== undefined) return refusal;
    const refused = await refusedDigests(entry).catch(() => undefined);
    if (refused === undefined) return uncountable();
    const isSameChange = ({ caller, digest }: Intent) => caller === entry.caller && digest === entry.digest;
    const since = countsSince();
    const closed = dismissed.filter((question) => isSameChange(question) && Date.parse(question.time) >= since);
    const refusals = refused.filter((digest) => digest === entry.digest);
    if (refusals.length <= closed.length) return undefined;
    return new Refusal('Declined', [say`the user declined this change less than ten minutes ago`]);
  };
  const decline: Refusals['decline'] = async (intent, isDismissed = false) => {
    const key = intent.nonce ?? intent.id;
    if (unwritten.has(key)) return 'spent';
    if (isDismissed) dismissed = [...dismissed, intent].slice(-mostRemembered);
    if (intent.consent === 'program')
      answeringClients = [...answeringClients, clientKey(intent)].slice(-mostRemembered);
    unwritten.set(key, intent);
    try {
      const isFirst = await journal.decline(intent);
      unwritten.delete(key);
      return isFirst ? 'declined' : 'spent';
    } catch (error) {
      log('error', 'journal', { tool: intent.tool, id: intent.id, error: reasonOf(error) });
      const attempt = async () => void (await journal.decline({ ...intent, id: newId() }));
      persistence.write(attempt).then(
        () => unwritten.delete(key),
        () => undefined,
      );
      return 'unwritten';
    }
  };
  return {
    decline,
    isAnsweredByProgram: (entry) => answeringClients.includes(clientKey(entry)),
    isSpent: (nonce) => unwritten.has(nonce) || unwritten.size >= mostUnwritten,
    againstAsking,
    againstPlanId,
    close: persistence.close,
  };
}

const clientKey = ({ caller, client }: Asked) => JSON.stringify([caller, client]);

const uncountable = () => new Refusal('JournalUnavailable', [say`the refusals in it cannot be counted`]);

/** True if a person refused the change of a caller or, if callers are not authenticated, of a client. */
function isRefusalOf(refusal: Intent, caller: string | undefined, client: string | undefined): boolean {
  if (refusal.caller !== caller || withoutRefusal.includes(refusal.consent)) return false;
  return caller !== undefined || client === undefined || refusal.client === client;
}

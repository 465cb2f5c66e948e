import { type Intent, withoutRefusal } from '../journal/entry.js';
import type { Journal } from '../journal/journal.js';
import { createPersistence } from '../journal/retry-writes.js';
import { type Log, reasonOf } from '../util/log.js';
import { say } from '../util/safe-text.js';
import { Refusal } from './refusal.js';
import { tokenLifetimeMs } from './tokens.js';

/** People's refusals of changes, which the journal keeps. If the journal cannot be written, this process remembers them until it can. */
export interface Refusals {
  /**
   * Records a refusal, and spends its nonce so that no consent with this nonce counts later. Resolves with `spent` if the nonce was used
   * before, and with `unwritten` if the journal does not have the refusal yet.
   * An answer that a program gave (`consent` is `program`) is recorded as well, but does not count as a person's refusal.
   * @param isDismissed set if the person only closed the question. This counts towards `mostRefusals`, but a planId of the change stays valid
   */
  decline(intent: Intent, isDismissed?: boolean): Promise<'declined' | 'spent' | 'unwritten'>;
  /** True if a program has answered a question in place of this client's user. Such a client gets no more questions. */
  isAnsweredByProgram(entry: CallerAndClient): boolean;
  /** True if the nonce was refused, and the journal cannot know this yet. */
  isSpent(nonce: string): boolean;
  /** Returns the refusal if the user must not be asked now, because of too many refusals through this client. */
  againstAsking(entry: CallerAndClient): Promise<Refusal | undefined>;
  /** Returns the refusal if a planId must not carry out a change now, because the user refused the change through any client. */
  againstPlanId(entry: CallerAndClient & Pick<Intent, 'digest'>): Promise<Refusal | undefined>;
  /** Makes a last attempt to write the unwritten refusals. */
  close(): Promise<void>;
}

/** If callers are not authenticated, `caller` is undefined, and the client's own name tells clients apart. */
type CallerAndClient = Pick<Intent, 'caller' | 'client'>;

/** After this number of refusals in `tokenLifetimeMs`, no more questions are asked. */
const mostRefusals = 3;

/** When this number of refusals is unwritten, every consent is refused, because this process should not have to remember more. */
const mostUnwritten = 1000;

/** Maximum number of remembered dismissed questions, and of remembered clients that answer by themselves. */
const mostRemembered = 1000;

/** @param newId makes another ID for each retry, because the journal may have written an earlier attempt without confirming it */
export function createRefusals(
  journal: Pick<Journal, 'decline' | 'listDeclined'>,
  now: () => Date,
  newId: () => string,
  log: Log,
): Refusals {
  const persistence = createPersistence();
  /** Refusals that the journal does not have yet, by nonce, or by ID without a nonce. */
  const unwritten = new Map<string, Intent>();
  /** Questions that were only closed, oldest first. The journal has them as refusals, so only this process knows the difference. */
  let dismissed: readonly Intent[] = [];
  /** Keys of clients that answer by themselves: see `clientKey`. Protocols from 2026-07-28 on have no sessions that could be the key. */
  let answeringClients: readonly string[] = [];

  /** The time before which refusals do not count any more (milliseconds since 1970). */
  const countsSince = () => now().getTime() - tokenLifetimeMs;

  /** Digests of the changes that a caller's user refused recently, through `client` or, if it is undefined, through any client. */
  const refusedDigests = async ({ caller }: CallerAndClient, client?: string): Promise<readonly string[]> => {
    const since = countsSince();
    const inMemory = [...unwritten.values()].filter(
      (refusal) => Date.parse(refusal.time) >= since && isRefusalOf(refusal, caller, client),
    );
    const inJournal = await journal.listDeclined(since, caller, client);
    return [...inJournal, ...inMemory.map(({ digest }) => digest)];
  };

  const againstAsking: Refusals['againstAsking'] = async (entry) => {
    const refused = await refusedDigests(entry, entry.client).catch(() => undefined);
    // The journal cannot be read, so there may be too many refusals.
    if (refused === undefined) return uncountable();
    return refused.length >= mostRefusals ? new Refusal('TooManyRefusals', []) : undefined;
  };
  const againstPlanId: Refusals['againstPlanId'] = async (entry) => {
    const refusal = await againstAsking(entry);
    if (refusal !== undefined) return refusal;
    const refused = await refusedDigests(entry).catch(() => undefined);
    if (refused === undefined) return uncountable();

    // `refused` has dismissed questions too. The change was really refused if it is there more often than it was dismissed.
    const refusedCount = refused.filter((digest) => digest === entry.digest).length;
    const since = countsSince();
    const isSameChange = ({ caller, digest }: Intent) => caller === entry.caller && digest === entry.digest;
    const dismissals = dismissed.filter((question) => isSameChange(question) && Date.parse(question.time) >= since);
    if (refusedCount <= dismissals.length) return undefined;
    return new Refusal('Declined', [say`the user declined this change less than ten minutes ago`]);
  };

  /** Records a refusal. It counts in this process at once, and in other processes as soon as the journal has it. */
  const decline: Refusals['decline'] = async (intent, isDismissed = false) => {
    const key = intent.nonce ?? intent.id;
    if (unwritten.has(key)) return 'spent';
    if (isDismissed) dismissed = [...dismissed, intent].slice(-mostRemembered);
    // A program has answered in place of the user.
    if (intent.consent === 'program')
      answeringClients = [...answeringClients, clientKey(intent)].slice(-mostRemembered);

    unwritten.set(key, intent);
    try {
      const isFirstUse = await journal.decline(intent);
      unwritten.delete(key);
      return isFirstUse ? 'declined' : 'spent';
    } catch (error) {
      log('error', 'journal', { tool: intent.tool, id: intent.id, error: reasonOf(error) });
      // Retries in the background. If it gives up at the end of the process, the refusal stays unwritten.
      persistence
        .write(async () => void (await journal.decline({ ...intent, id: newId() })))
        .then(
          () => unwritten.delete(key),
          () => undefined,
        );
      return 'unwritten';
    }
  };

  return {
    decline,
    isAnsweredByProgram: (entry) => answeringClients.includes(clientKey(entry)),
    // When too many refusals are unwritten, every nonce counts as refused.
    isSpent: (nonce) => unwritten.has(nonce) || unwritten.size >= mostUnwritten,
    againstAsking,
    againstPlanId,
    close: persistence.close,
  };
}

const clientKey = ({ caller, client }: CallerAndClient) => JSON.stringify([caller, client]);

const uncountable = () => new Refusal('JournalUnavailable', [say`the refusals in it cannot be counted`]);

/** True for a person's refusal of a change of `caller`. Callers without a name are told apart by `client`, if that is set. */
function isRefusalOf(refusal: Intent, caller: string | undefined, client: string | undefined): boolean {
  if (refusal.caller !== caller || withoutRefusal.includes(refusal.consent)) return false;
  return caller !== undefined || client === undefined || refusal.client === client;
}

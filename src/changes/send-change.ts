import type { EndedOutcome, Failure } from '../calls/outcome.js';
import { Refusal, refusalFailure } from '../calls/refusal.js';
import { duplicateWindowMs } from '../journal/conflict.js';
import type { Ending, Intent } from '../journal/entry.js';
import type { BeginResult } from '../journal/journal.js';
import { type FinalReply, NotSent, type SignedClient } from '../transport/signed-client.js';
import { digestOf } from '../util/digest.js';
import type { Log } from '../util/log.js';
import { defined, type SafeText, say, words } from '../util/safe-text.js';
import { budgetSpent } from '../calls/check-budget.js';
import { type ChangeResult, endingOf, outcomeOf, readResult, withNotes } from './conclude-change.js';
import type { CallContext, CallDependencies } from '../calls/context.js';
import { keysRefusal, wireRequest } from '../calls/endpoint.js';
import { type FailedCall, faultFacts, mistakeRefusal, serverFault } from '../calls/failure.js';
import { stepIfUnknown } from './follow-change.js';
import { visibleCaller } from '../calls/policy.js';
import { earlierOf, repeated } from './repeat.js';
import { clientOptions } from '../calls/resolve-call.js';
import type { ApprovedChange, ResolvedChange } from '../calls/stages.js';

/**
 * Sends a change that has consent. A process that shuts down waits for it.
 * @throws Refusal before the first byte is sent, and never after it
 */
export async function sendChange(
  approved: ApprovedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const { call, draft } = approved;
  const { inFlight, openClient, pendingNotes } = dependencies;
  const outcome = await inFlight.track(context.signal, async (signal) => {
    using client = openClient(call.endpoint, clientOptions(call, context, signal));
    return await sendWithJournal(approved, client, context, dependencies);
  });
  return withNotes(outcome, await pendingNotes(draft.caller).catch(() => []));
}

/**
 * Sends a change. The journal gets its intent before the first byte is sent, and its ending (the result) before the caller gets the outcome.
 * If the ending cannot be written, or not in time, the outcome says so in a note.
 */
async function sendWithJournal(
  approved: ApprovedChange,
  client: SignedClient,
  { principal, onIntent }: CallContext,
  { journal, log, now }: CallDependencies,
): Promise<EndedOutcome> {
  const { call, draft, repeats, decision, decidedAt } = approved;
  const intent: Intent = { ...draft, time: now().toISOString(), ...decision };
  // The journal refuses to repeat any earlier change except the change that `repeats` names.
  const begun = await journal.begin(intent, { allowRepeat: repeats, budget: call.budget.limit });
  if (begun.kind === 'unwritable') log('error', 'journal', { tool: intent.tool, id: intent.id, error: begun.reason });
  if (begun.kind !== 'begun') throw beginRefusal(begun, call, visibleCaller(principal));
  onIntent?.(intent);

  const time = now();
  const sentAt = time.toISOString();
  const sentCall = { ...call, ifUnknown: stepIfUnknown(call, sentAt) };
  // Nothing is sent if the decision is older than `duplicateWindowMs`, for example after this process was suspended. Somebody may have sent the same
  // change meanwhile, and `begin` no longer finds it. `time` is taken after `begin`, because the process may be suspended there too. The intent then
  // ends as `not sent`.
  const isTooLate = time.getTime() - decidedAt.getTime() > duplicateWindowMs;
  const { result, keyId } = isTooLate ? tooLate(call) : await sendAndRead(sentCall, intent, client, log);

  const ending = { id: intent.id, time: now().toISOString(), key: keyId, ...endingOf(result) };
  const notes = await writeEnding(ending, intent, { journal, log });
  return withNotes(outcomeOf(result, approved, sentAt, log), notes);
}

/** A result with the ID of the access key that signed the request, if it was signed. */
interface SendingResult {
  readonly result: ChangeResult;
  readonly keyId?: string;
}

/** The result of a change whose consent is older than `duplicateWindowMs`. */
function tooLate({ operation }: ResolvedChange): SendingResult {
  const problem = say`the consent was given more than ten minutes ago, and the same change may have been sent since`;
  const refusal = new Refusal('TicketExpired', [problem]);
  return { result: { kind: 'failed', failure: refusalFailure(operation.name, refusal, { isChange: true }) } };
}

/** Sends the request and reads the reply. Never rejects. */
async function sendAndRead(
  call: ResolvedChange & FailedCall,
  intent: Intent,
  client: SignedClient,
  log: Log,
): Promise<SendingResult> {
  let reply: FinalReply;
  try {
    reply = await client.send(await requestToSend(call, intent));
  } catch (error) {
    log('error', 'unexpected', faultFacts(call.operation, error));
    return { result: { kind: 'failed', failure: sendingFault(call, error) } };
  }
  return { result: await readResult(call, reply, log), keyId: reply.keyId };
}

/**
 * Returns the request, with an idempotency token if the operation takes such a token. The token differs for each consent. So it is not a part
 * of `request`, by whose digest the journal recognises a repetition.
 * @throws NotSent
 */
async function requestToSend({ operation, input, endpoint, request }: ResolvedChange, intent: Intent) {
  if (operation.takesToken !== true) return request;
  const firstPage = undefined;
  try {
    return wireRequest(operation, await operation.request(input, firstPage, tokenOf(intent)), endpoint);
  } catch (cause) {
    throw new NotSent('the request could not be made', { cause });
  }
}

/** Makes a UUID that is the same for each attempt with the same consent (version 8 of RFC 9562, with the bits of a digest). */
function tokenOf({ nonce, id }: Pick<Intent, 'nonce' | 'id'>): string {
  const digits = digestOf(['idempotency token', nonce ?? id]);
  const version = `8${digits.slice(13, 16)}`;
  const variant = `8${digits.slice(17, 20)}`;
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${version}-${variant}-${digits.slice(20, 32)}`;
}

/**
 * The refusal of a change that the journal did not let begin.
 * @param hindrance the journal's reason
 * @param viewer the caller, who learns the facts of its own changes; undefined if it may know the changes of all callers
 */
function beginRefusal(
  hindrance: Exclude<BeginResult, { kind: 'begun' }>,
  call: ResolvedChange,
  viewer: string | undefined,
): Refusal {
  switch (hindrance.kind) {
    case 'unwritable':
      return new Refusal('JournalUnavailable', [say`${defined(hindrance.reason)}`]);
    case 'consentUsed':
      return new Refusal('AlreadyDecided');
    case 'budgetSpent':
      return budgetSpent(hindrance.budget, hindrance.nextAt);
    case 'duplicate':
      return repeated(earlierOf(hindrance.earlier, viewer), call);
  }
}

/** The failure of a change because of an unexpected error while it was sent. After `NotSent`, the change was certainly not made. */
function sendingFault(call: FailedCall, error: unknown): Failure {
  if (!(error instanceof NotSent)) return serverFault(call, error);
  const refusal = keysRefusal(error) ?? mistakeRefusal(error);
  return refusalFailure(call.operation.name, refusal, { isChange: true });
}

/** The longest time that the answer to a call waits until the ending is in the journal (milliseconds). Writing continues after that. */
const endingMs = 10_000;

/** Writes the ending of a change. Returns one note if that failed or takes longer than `endingMs`, and no note otherwise. */
async function writeEnding(
  ending: Ending,
  { tool, id }: Intent,
  { journal, log }: Pick<CallDependencies, 'journal' | 'log'>,
): Promise<readonly SafeText[]> {
  const { outcome } = ending;
  const notes = journal.end(ending).then(
    (): SafeText[] => [],
    (error: unknown) => {
      log('error', 'journal', { tool, id, outcome, error: error instanceof Error ? error.message : 'unknown' });
      return [words('The outcome could not be written into the journal, which will call it unknown.')];
    },
  );

  const lateNote = words('The outcome is not in the journal yet. It is written as soon as that is possible.');
  let timer: NodeJS.Timeout | undefined;
  const notesIfLate = new Promise<SafeText[]>((resolve) => {
    timer = setTimeout(resolve, endingMs, [lateNote]);
  });
  return Promise.race([notes, notesIfLate]).finally(() => clearTimeout(timer));
}

import type { EndedOutcome, Failure } from '../consent/outcome.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import type { Ending, Intent } from '../journal/entry.js';
import type { BeginResult } from '../journal/journal.js';
import { type Next, next } from '../tools/next.js';
import { place } from '../tools/schema/zones.js';
import { type Attempt, type FinalReply, NotSent, type SignedClient } from '../transport/signed-client.js';
import { defined, own, type SafeText, say, words } from '../util/safe-text.js';
import { acceptedSuccess } from './accepted-change.js';
import { budgetSpent } from './check-budget.js';
import type { CallDependencies } from './context.js';
import { keysRefusal } from './endpoint.js';
import { type FailedCall, serverFault, unreadableAnswer } from './failure.js';
import { type Answer, readAnswer } from './read-reply.js';
import { earlierOf, repeated } from './repeat.js';
import { type ApprovedChange, intentOf } from './stages.js';

/** The result of sending a change. */
type SendResult =
  | { readonly kind: 'failed'; readonly failure: Failure }
  | {
      readonly kind: 'accepted';
      readonly answer: Exclude<Answer, { kind: 'failed' }>;
      readonly attempts: readonly Attempt[];
    };

/**
 * Sends a change that has consent. Its intent is on disk before the first byte, and its ending before the answer is put into words.
 * @param viewer the caller whose earlier changes may be named; undefined if all may be
 * @throws Refusal before the first byte, and nothing after it
 */
export async function sendChange(
  approved: ApprovedChange,
  client: SignedClient,
  viewer: string | undefined,
  { journal, log, now }: CallDependencies,
): Promise<EndedOutcome> {
  const { call, draft, repeats, consent } = approved;
  const intent = intentOf(draft, consent, now());
  const begun = await journal.begin(intent, { allowRepeat: repeats, budget: call.budget.limit });
  if (begun.kind !== 'begun') throw beginRefusal(begun, approved, viewer);

  const sentAt = now().toISOString();
  const failedCall = { ...call, ifUnknown: adviceIfUnknown(approved, sentAt) };
  let key: string | undefined;
  const result = await client.send(call.request).then(
    (reply) => {
      key = reply.keyId;
      return readResult(failedCall, call.input, reply, call.endpoint.origin);
    },
    (error: unknown) => {
      log('error', 'unexpected', { tool: intent.tool, error: error instanceof Error ? error.name : 'not an error' });
      return { kind: 'failed', failure: sendingFault(failedCall, error) } as const;
    },
  );
  const ending = { id: intent.id, time: now().toISOString(), key, ...endingOf(result) };
  const notes = await writeEnding(ending, intent, { journal, log });
  return withNotes(outcomeOf(result, approved, sentAt, log), notes);
}

function beginRefusal(
  begun: Exclude<BeginResult, { kind: 'begun' }>,
  { call, consent, verificationHint }: ApprovedChange,
  viewer: string | undefined,
): Refusal {
  switch (begun.kind) {
    case 'unwritable':
      return new Refusal('JournalUnavailable', [say`${defined(begun.reason)}`]);
    case 'consentUsed':
      return consent.how === 'clicked'
        ? new Refusal('AlreadyDecided', [])
        : new Refusal('PlanRefused', [say`this consent was used before`]);
    case 'budgetSpent':
      return budgetSpent(begun.budget, begun);
    case 'duplicate':
      return repeated(earlierOf(begun.earlier, viewer), call.operation.effect, verificationHint);
  }
}

/** The failure of a change because of a fault of this server while it was sent. */
function sendingFault(call: FailedCall, error: unknown): Failure {
  if (!(error instanceof NotSent)) return serverFault(call);
  return refusalFailure(call.operation.name, keysRefusal(error) ?? new Refusal('InternalError', []), true);
}

function readResult(
  call: FailedCall,
  input: ApprovedChange['call']['input'],
  reply: FinalReply,
  origin: string,
): SendResult {
  const answer = readSafely(call, input, reply, origin);
  if (answer.kind === 'failed') return answer;
  const { attempts } = reply;
  const { status, requestIds } = answer;
  // A page in place of an answer comes from a proxy or the like, and the API may not have got the request.
  if (answer.kind === 'unread' && answer.isForeign)
    return { kind: 'failed', failure: unreadableAnswer(call, answer.problem, { status, requestIds, attempts }) };
  return { kind: 'accepted', answer, attempts };
}

/** Reads the answer to a change. A fault in the operation's code does not hide that the change was accepted. */
function readSafely(
  call: FailedCall,
  input: ApprovedChange['call']['input'],
  reply: FinalReply,
  origin: string,
): Answer {
  try {
    return readAnswer(call, input, reply, origin);
  } catch {
    const accepted = reply.kind === 'answered' && reply.response.status >= 200 && reply.response.status < 300;
    if (!accepted) return { kind: 'failed', failure: serverFault(call) };
    const { status } = reply.response;
    return { kind: 'unread', status, requestIds: {}, problem: words('this server made a mistake'), isForeign: false };
  }
}

function endingOf(result: SendResult): Omit<Ending, 'id' | 'time'> {
  if (result.kind === 'accepted') {
    const { status, requestIds } = result.answer;
    return { outcome: 'accepted', status, requestIds: { ...requestIds } };
  }
  const { mayHaveHappened, status, code: ownCode, serviceSays, requestIds } = result.failure;
  const code = serviceSays?.code ?? ownCode;
  const outcome = mayHaveHappened === true ? 'unknown' : status === undefined ? 'not sent' : 'rejected';
  return { outcome, status, code, requestIds: { ...requestIds } };
}

/** An answer waits at most this long for its ending in the journal (milliseconds). Writing continues after that. */
const endingMs = 10_000;

/** Writes the ending of a change. Returns a note if that failed or takes too long. */
async function writeEnding(
  ending: Ending,
  { tool, id }: Intent,
  { journal, log }: Pick<CallDependencies, 'journal' | 'log'>,
): Promise<readonly SafeText[]> {
  const written = journal.end(ending).then(
    (): SafeText[] => [],
    (error: unknown) => {
      log('error', 'journal', { tool, id, error: error instanceof Error ? error.message : 'unknown' });
      return [words('The outcome could not be written into the journal, which will call it unknown.')];
    },
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SafeText[]>((resolve) => {
    timer = setTimeout(resolve, endingMs, [
      words('The outcome is not in the journal yet. It is written as soon as that is possible.'),
    ]);
  });
  return Promise.race([written, late]).finally(() => clearTimeout(timer));
}

/** The result in words. */
function outcomeOf(
  result: SendResult,
  approved: ApprovedChange,
  sentAt: string,
  log: CallDependencies['log'],
): EndedOutcome {
  if (result.kind === 'failed') return result;
  const { answer, attempts } = result;
  const { operation, change } = approved.call;
  if (answer.kind === 'read' && answer.missingFields.length > 0)
    log('debug', 'answer', { tool: operation.name, lacks: answer.missingFields });
  return {
    kind: 'succeeded',
    success: acceptedSuccess({ ...approved, sentAt, answer, attempts }),
    view: { kind: 'ended', continues: change.continues },
  };
}

/** The advice for an unknown outcome. */
function adviceIfUnknown({ call, verificationHint }: ApprovedChange, sentAt: string): Next {
  const sent = say`It was sent at ${own(sentAt)} to region ${place(call.endpoint.region)}.`;
  if (call.operation.repeatable === true)
    return next(
      'agent',
      'call',
      say`${sent} Sending it again does no harm: call again with the same arguments, without planId. The aim is ${verificationHint}.`,
    );
  return next(
    'user',
    'check',
    say`Do not repeat it. ${sent} Wait ten minutes, then have the user look in the console for ${verificationHint}. Only if it is not there and they still want it, call again with the same arguments, without planId, and with allowRepeat: true.`,
  );
}

/** Adds notes about other changes to an outcome. */
export function withNotes(outcome: EndedOutcome, more: readonly SafeText[]): EndedOutcome {
  if (more.length === 0) return outcome;
  const { notes = [] } = outcome.kind === 'failed' ? outcome.failure : outcome.success;
  const all = { notes: [...notes, ...more] };
  return outcome.kind === 'failed'
    ? { ...outcome, failure: { ...outcome.failure, ...all } }
    : { ...outcome, success: { ...outcome.success, ...all } };
}

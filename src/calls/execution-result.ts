import type { EndedOutcome, Failure } from '../consent/outcome.js';
import type { Consent, PendingChange } from '../consent/pending.js';
import type { PlannedCall } from '../consent/plan.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import type { Ending } from '../journal/entry.js';
import { type Next, next } from '../tools/next.js';
import { place } from '../tools/schema/zones.js';
import { type Attempt, type FinalReply, NotSent } from '../transport/signed-client.js';
import type { Log } from '../util/log.js';
import { own, type Shown, said, say, words } from '../util/safe-text.js';
import { acceptedSuccess } from './accepted-change.js';
import { keysRefusal } from './endpoint.js';
import { type FailedCall, serverFault, unreadableAnswer } from './failure.js';
import { type Answer, readAnswer } from './read-reply.js';

/** A change that waits for consent or has it, and what to look for if its outcome is not known. */
export interface ApprovedChange extends PendingChange {
  readonly verificationHint: Shown;
}

/** The end of a change that was sent, or was about to be. */
export type ExecutionResult =
  | { readonly kind: 'failed'; readonly failure: Failure }
  | {
      readonly kind: 'accepted';
      readonly answer: Exclude<Answer, { kind: 'failed' }>;
      readonly attempts: readonly Attempt[];
    };

/** A fault of this server while it sent a change. */
export function broken({ operation, accountName }: PlannedCall, error: unknown, ifUnknown: Next): ExecutionResult {
  const failure =
    error instanceof NotSent
      ? refusalFailure(operation.name, keysRefusal(error) ?? new Refusal('InternalError', []), true)
      : serverFault({ operation, accountName, ifUnknown });
  return { kind: 'failed', failure };
}

export function conclude(call: PlannedCall, reply: FinalReply, ifUnknown: Next): ExecutionResult {
  const { operation, input, endpoint, accountName } = call;
  const failedCall = { operation, accountName, ifUnknown };
  const answer = readSafely(failedCall, input, reply, endpoint.origin);
  if (answer.kind === 'failed') return answer;
  const { attempts } = reply;
  const { status, requestIds } = answer;
  // A page in place of an answer comes from something in between: nobody knows whether the API got the request.
  if (answer.kind === 'unread' && answer.isForeign)
    return { kind: 'failed', failure: unreadableAnswer(failedCall, answer.problem, { status, requestIds, attempts }) };
  return { kind: 'accepted', answer, attempts };
}

function readSafely(call: FailedCall, input: PlannedCall['input'], reply: FinalReply, origin: string): Answer {
  try {
    return readAnswer(call, input, reply, origin);
  } catch {
    const accepted = reply.kind === 'answered' && reply.response.status >= 200 && reply.response.status < 300;
    if (!accepted) return { kind: 'failed', failure: serverFault(call) };
    const { status } = reply.response;
    return { kind: 'unread', status, requestIds: {}, problem: words('this server made a mistake'), isForeign: false };
  }
}

/** The conclusion for the journal. */
export function journalEnding(conclusion: ExecutionResult): Omit<Ending, 'id' | 'time'> {
  if (conclusion.kind === 'accepted') {
    const { status, requestIds } = conclusion.answer;
    return { outcome: 'accepted', status, requestIds: { ...requestIds } };
  }
  const { mayHaveHappened, status, code: known, serviceSays, requestIds } = conclusion.failure;
  const code = serviceSays?.code ?? known;
  const outcome = mayHaveHappened === true ? 'unknown' : status === undefined ? 'not sent' : 'rejected';
  return { outcome, status, code, requestIds: { ...requestIds } };
}

/** The conclusion for the caller. */
export function outcomeOf(
  conclusion: ExecutionResult,
  { call, verificationHint, plan, repeats }: ApprovedChange,
  { how }: Consent,
  sentAt: string,
  log: Log,
): EndedOutcome {
  if (conclusion.kind === 'failed') return conclusion;
  const { answer, attempts } = conclusion;
  const { operation, change } = call;
  if (answer.kind === 'read' && answer.missingFields.length > 0)
    log('debug', 'answer', { tool: operation.name, lacks: answer.missingFields });
  // A change that may be repeated without being asked for is the same one, not a second.
  const isRepeat = typeof repeats === 'string' && repeats !== '';
  return {
    kind: 'succeeded',
    success: acceptedSuccess({ call, verificationHint, plan, answer, attempts, consent: how, sentAt, isRepeat }),
    view: { kind: 'ended', continues: change.continues },
  };
}

/** The way out when nobody knows whether a change happened. */
export function adviceIfUnknown(
  { operation, endpoint: { region } }: PlannedCall,
  verificationHint: Shown,
  sentAt: string,
): Next {
  const sent = said(say`It was sent at ${own(sentAt)} to region ${place(region)}.`);
  if (operation.repeatable === true)
    return next(
      'agent',
      'call',
      say`${sent} Sending it again does no harm: call again with the same arguments, without planId. The aim is ${said(verificationHint)}.`,
    );
  return next(
    'user',
    'check',
    say`Do not repeat it. ${sent} Wait ten minutes, then have the user look in the console for ${said(verificationHint)}. Only if it is not there and they still want it, call again with the same arguments, without planId, and with allowRepeat: true.`,
  );
}

/** An answer waits so long for its outcome to be in the journal. Writing continues after that. */
const outcomeMs = 10_000;
export const notYetWritten = [
  words('The outcome is not in the journal yet. It is written as soon as that is possible.'),
];

export async function withinSeconds<Value>(value: Promise<Value>, otherwise: Value): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Value>((resolve) => {
    timer = setTimeout(resolve, outcomeMs, otherwise);
  });
  return Promise.race([value, late]).finally(() => clearTimeout(timer));
}

/** Adds what has to be said about other changes. */
export function withNotes(outcome: EndedOutcome, more: readonly Shown[]): EndedOutcome {
  if (more.length === 0) return outcome;
  const { notes = [] } = outcome.kind === 'failed' ? outcome.failure : outcome.success;
  const all = { notes: [...notes, ...more] };
  return outcome.kind === 'failed'
    ? { ...outcome, failure: { ...outcome.failure, ...all } }
    : { ...outcome, success: { ...outcome.success, ...all } };
}

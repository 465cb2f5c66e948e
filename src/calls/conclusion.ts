import { type Answer, readAnswer } from '../answers/answer.js';
import { type FailedCall, type Failure, serverFault, unreadableAnswer } from '../answers/failure.js';
import type { EndedOutcome } from '../answers/outcome.js';
import type { PlannedCall } from '../answers/plan.js';
import { presentable } from '../answers/record.js';
import { Refusal, refusalFailure } from '../answers/refusal.js';
import { consentWays, type Success } from '../answers/success.js';
import type { Consent, PendingChange } from '../consent/pending.js';
import type { Ending } from '../journal/entry.js';
import { type Attempt, type FinalReply, NotSent } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import { keysRefusal } from './endpoint.js';

/** The end of a change that was sent, or was about to be. */
export type Conclusion =
  | { readonly kind: 'failed'; readonly failure: Failure }
  | {
      readonly kind: 'accepted';
      readonly answer: Exclude<Answer, { kind: 'failed' }>;
      readonly attempts: readonly Attempt[];
    };

/** A fault of this server while it sent a change. */
export function broken({ operation }: PlannedCall, error: unknown, ifUnknown: string): Conclusion {
  const failure =
    error instanceof NotSent
      ? refusalFailure(operation.name, keysRefusal(error) ?? new Refusal('InternalError', []), true)
      : serverFault({ operation, ifUnknown });
  return { kind: 'failed', failure };
}

export function conclude(call: PlannedCall, reply: FinalReply, ifUnknown: string): Conclusion {
  const { operation, input, endpoint } = call;
  const failedCall = { operation, ifUnknown };
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
    return { kind: 'unread', status, requestIds: {}, problem: 'this server made a mistake', isForeign: false };
  }
}

/** The conclusion for the journal. */
export function endingOf(conclusion: Conclusion): Omit<Ending, 'id' | 'time'> {
  if (conclusion.kind === 'accepted') {
    const { status, requestIds } = conclusion.answer;
    return { outcome: 'accepted', status, requestIds: { ...requestIds } };
  }
  const { mayHaveHappened, status, code, requestIds } = conclusion.failure;
  const outcome = mayHaveHappened === true ? 'unknown' : status === undefined ? 'not sent' : 'rejected';
  return { outcome, status, code, requestIds: { ...requestIds } };
}

const tellUser = 'Tell the user the outcome and the request IDs.';
const inConsole = 'Its progress shows only in the console: do not call again to check.';

/** The conclusion for the caller. An accepted change stays accepted, even if nothing else of its answer can be read. */
export function outcomeOf(
  conclusion: Conclusion,
  pending: PendingChange,
  consent: Consent,
  sentAt: string,
): EndedOutcome {
  if (conclusion.kind === 'failed') return conclusion;
  const { answer, attempts } = conclusion;
  const { operation, change, input } = pending.call;
  const { continues } = change;
  const view = { kind: 'ended', continues } as const;
  const common = {
    outcome: 'accepted',
    consent: consentWays[consent.how],
    sentAt,
    next: sentences(tellUser, continues && inConsole).join(' '),
    requestIds: answer.requestIds,
    ...(attempts.length > 1 && { attempts }),
  } as const;
  const unread = (problem: string): Success => ({
    ...common,
    summary: `The cloud accepted this (HTTP status ${answer.status}): ${pending.plan.summary}`,
    warnings: [`The answer cannot be read, because ${problem}.`],
  });
  if (answer.kind === 'unread') return { kind: 'succeeded', success: unread(answer.problem), view };
  try {
    const hadPlan = consent.how === 'planId' || consent.how === 'clicked';
    const { summary, ...told } = described(answer, pending, hadPlan);
    const own = operation.next?.(answer.record, input);
    const next = own === undefined ? common.next : `${tellUser} ${own}`;
    // Some hosts hand on the beginning of the structure: the summary comes first.
    return { kind: 'succeeded', success: { summary, ...common, next, ...told }, view };
  } catch {
    return { kind: 'succeeded', success: unread('this server made a mistake'), view };
  }
}

/** The record of an accepted change, in words and whole. Warnings that came with the plan are not repeated. */
function described(
  { record, warnings }: Extract<Answer, { kind: 'read' }>,
  { call: { operation, change, input, endpoint }, plan }: PendingChange,
  hadPlan: boolean,
): Pick<Success, 'summary' | 'warnings' | 'answer'> {
  const contradictions = change.contradictions?.(record, input, endpoint.region) ?? [];
  const contradiction =
    contradictions.length > 0 && `The answer contradicts the request: ${contradictions.join('; ')}.`;
  const shown = presentable(record);
  return {
    summary: sentences(contradiction, operation.summarize(record, input)).join(' '),
    warnings: [...(hadPlan ? [] : plan.warnings), ...warnings, ...shown.warnings],
    ...(operation.answer !== 'none' && { answer: shown.record }),
  };
}

/** The way out when nobody knows whether a change happened. */
export function adviceIfUnknown(
  { operation, endpoint: { region } }: PlannedCall,
  lookFor: string,
  sentAt: string,
): string {
  const sent = `It was sent at ${sentAt} to region ${region}.`;
  if (operation.repeatable === true)
    return `${sent} Sending it again does no harm: call again with the same arguments, without planId. The aim is ${lookFor}.`;
  return (
    `Do not repeat it. ${sent} Wait ten minutes, then have the user look in the console for ${lookFor}. ` +
    'If it is not there and they still want it, call again with the same arguments, without planId, and with allowRepeat: true.'
  );
}

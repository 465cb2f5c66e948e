import { type Answer, readAnswer } from '../answers/answer.js';
import { type FailedCall, type Failure, serverFault, unreadableAnswer } from '../answers/failure.js';
import { canBeShown, idempotencyKey, makePlan, type PlannedCall } from '../answers/plan.js';
import { presentable } from '../answers/record.js';
import { Refusal } from '../answers/refusal.js';
import { consentWays, type Success } from '../answers/success.js';
import { type Consent, intentOf, obtainConsent } from '../consent/obtain.js';
import type { Ending, Mutation } from '../journal/entry.js';
import { describe, isOfAnother } from '../journal/journal.js';
import type { FinalReply, SignedClient } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import type { CallContext, CallDependencies, CallOutcome, EndedOutcome, PendingChange, Steering } from './context.js';
import { visibleCaller } from './policy.js';

/** Carries out an operation that is not a read: plan, consent, journal, send, journal, answer. */
export async function change(
  call: PlannedCall,
  steering: Steering,
  openClient: (signal: AbortSignal) => Promise<SignedClient>,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const { journal, inFlight, takeReports } = dependencies;
  const caller = context.principal?.name;
  const viewer = visibleCaller(context.principal);
  const key = idempotencyKey(call);
  const duplicate = await journal.findDuplicate(key).catch(() => undefined);
  if (duplicate !== undefined && !steering.allowRepeat && !steering.planOnly) throw repeated(duplicate, call, viewer);

  const made = makePlan(call);
  const repeats = duplicate !== undefined && `The same call was sent before: ${describe(duplicate, viewer)}.`;
  const plan = { ...made, warnings: sentences(repeats, ...made.warnings) };
  if (dependencies.confirm !== 'off' && !canBeShown(plan)) throw new Refusal('TooLargeToShow', []);
  const pending = { call, plan, steering, key, context, dependencies };
  const consent = await obtainConsent(pending);
  if (consent.kind !== 'given') return consent;

  const outcome = await inFlight.track(context.signal, async (signal) => {
    using client = await openClient(signal);
    return await carryOut(pending, consent, client);
  });
  return withNotes(outcome, await takeReports(caller).catch(() => []));
}

/** A change that has consent: its intent is on disk before it is sent, and its outcome before anything is made of the answer. */
async function carryOut(pending: PendingChange, consent: Consent, client: SignedClient): Promise<EndedOutcome> {
  const { call, steering, context, dependencies } = pending;
  const { journal, log, now } = dependencies;
  const intent = intentOf(pending, consent);
  const begun = await journal.begin(intent, { allowRepeat: steering.allowRepeat });
  if (begun.kind === 'unwritable') throw new Refusal('JournalUnavailable', [begun.reason]);
  if (begun.kind === 'consentUsed')
    throw consent.how === 'clicked'
      ? new Refusal('AlreadyDecided', [])
      : new Refusal('PlanRefused', ['this consent was used before']);
  if (begun.kind === 'duplicate') throw repeated(begun.earlier, call, visibleCaller(context.principal));

  const sentAt = now().toISOString();
  const reply = await client.send(call.request).catch((error: unknown) => {
    log('error', 'unexpected', { tool: intent.tool, error: error instanceof Error ? error.name : 'not an error' });
    return undefined;
  });
  const { ending, tell } = conclude(pending, consent, reply, sentAt);
  const unwritten = (error: unknown) => {
    const { tool, id } = intent;
    log('error', 'journal', { tool, id, error: error instanceof Error ? error.message : 'unknown' });
    return ['The outcome could not be written into the journal, which will call it unknown.'];
  };
  const written = journal
    .end({ id: intent.id, time: now().toISOString(), ...ending })
    .then((): string[] => [], unwritten);
  return withNotes(tell(), await withinSeconds(written, notYetWritten));
}

/** An answer waits so long for its outcome to be in the journal. Writing continues after that. */
const outcomeMs = 10_000;
const notYetWritten = ['The outcome is not in the journal yet. It is written as soon as that is possible.'];

async function withinSeconds<Value>(value: Promise<Value>, otherwise: Value): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Value>((resolve) => {
    timer = setTimeout(resolve, outcomeMs, otherwise);
  });
  return Promise.race([value, late]).finally(() => clearTimeout(timer));
}

interface Conclusion {
  readonly ending: Omit<Ending, 'id' | 'time'>;
  readonly tell: () => EndedOutcome;
}

/** What came of a change, for the journal at once and for the caller afterwards. */
function conclude(
  { call, plan }: PendingChange,
  consent: Consent,
  reply: FinalReply | undefined,
  sentAt: string,
): Conclusion {
  const { operation, input, endpoint } = call;
  const failedCall = { operation, ifUnknown: ifUnknown(call, sentAt) };
  if (reply === undefined) return concludeFailure(serverFault(failedCall));
  const answer = readSafely(failedCall, call, reply);
  if (answer.kind === 'failed') return concludeFailure(answer.failure);
  const { status, requestIds } = answer;
  // A page in place of an answer comes from something in between: nobody knows whether the API got the request.
  if (answer.kind === 'unread' && answer.isForeign)
    return concludeFailure(
      unreadableAnswer(failedCall, answer.problem, { status, requestIds, attempts: reply.attempts }),
    );
  const common = {
    outcome: 'accepted',
    consent: consentWays[consent.how],
    sentAt,
    next: 'Tell the user the outcome and the request IDs. Its progress shows only in the console: do not call again to check.',
    requestIds,
    ...(reply.attempts.length > 1 && { attempts: reply.attempts }),
  } as const;
  // It stays accepted, even if nothing else of its answer can be read.
  const unread = (problem: string): EndedOutcome => ({
    kind: 'succeeded',
    success: {
      ...common,
      summary: `The cloud accepted this (HTTP status ${status}): ${plan.summary}`,
      warnings: [`The answer cannot be read, because ${problem}.`],
    },
  });
  const tell = (): EndedOutcome => {
    if (answer.kind === 'unread') return unread(answer.problem);
    // Whatever fails while the answer is put into words, the change was accepted.
    try {
      const { record, warnings } = answer;
      const contradictions = call.change.contradictions?.(record, input, endpoint.region) ?? [];
      const contradiction =
        contradictions.length > 0 && `The answer contradicts the request: ${contradictions.join('; ')}.`;
      const shown = presentable(record);
      const hadPlan = consent.how === 'planId' || consent.how === 'clicked';
      const success: Success = {
        summary: sentences(contradiction, operation.summarize(record, input)).join(' '),
        ...common,
        warnings: [...(hadPlan ? [] : plan.warnings), ...warnings, ...shown.warnings],
        answer: shown.record,
      };
      return { kind: 'succeeded', success };
    } catch {
      return unread('this server made a mistake');
    }
  };
  return { ending: { outcome: 'accepted', status, requestIds: { ...requestIds } }, tell };
}

function readSafely(failedCall: FailedCall, { input, endpoint }: PlannedCall, reply: FinalReply): Answer {
  try {
    return readAnswer(failedCall, input, reply, endpoint.origin);
  } catch {
    const accepted = reply.kind === 'answered' && reply.response.status >= 200 && reply.response.status < 300;
    if (!accepted) return { kind: 'failed', failure: serverFault(failedCall) };
    const { status } = reply.response;
    return { kind: 'unread', status, requestIds: {}, problem: 'this server made a mistake', isForeign: false };
  }
}

function concludeFailure(failure: Failure): Conclusion {
  const { mayHaveHappened, status, code, requestIds } = failure;
  const outcome = mayHaveHappened === true ? 'unknown' : status === undefined ? 'not sent' : 'rejected';
  return {
    ending: { outcome, status, code, requestIds: { ...requestIds } },
    tell: () => ({ kind: 'failed', failure }),
  };
}

/** The refusal of a call that was sent before. What to do depends on what came of it, but says nothing of another caller's. */
function repeated(earlier: Mutation, { change, input, endpoint: { region } }: PlannedCall, viewer: string | undefined) {
  const outcome = isOfAnother(earlier, viewer) ? 'unknown' : (earlier.ending?.outcome ?? 'open');
  const known: Readonly<Record<string, string>> = {
    accepted:
      'The earlier call was accepted: tell the user. Only if they want it a second time, call again with allowRepeat: true.',
    open: 'The earlier call has not ended: wait for its answer before you do anything else.',
  };
  const next =
    known[outcome] ??
    `The earlier call may have happened. Wait ten minutes, then have the user look in the console for ${change.lookFor(input, region)}. ` +
      'Only if it is not there and they still want it, call again with allowRepeat: true.';
  return new Refusal('Repeated', [describe(earlier, viewer)], { next });
}

/** What to do when nobody knows whether a change happened. */
const ifUnknown = ({ change: { lookFor }, input, endpoint: { region } }: PlannedCall, sentAt: string): string =>
  `Do not repeat it. It was sent at ${sentAt} to region ${region}. Wait ten minutes, then have the user look in the console for ` +
  `${lookFor(input, region)}. If it is not there and they still want it, call again with the same arguments, without planId, and with allowRepeat: true.`;

/** Adds what has to be said about other changes. */
function withNotes(outcome: EndedOutcome, more: readonly string[]): EndedOutcome {
  if (more.length === 0) return outcome;
  const { notes = [] } = outcome.kind === 'failed' ? outcome.failure : outcome.success;
  const all = { notes: [...notes, ...more] };
  return outcome.kind === 'failed'
    ? { ...outcome, failure: { ...outcome.failure, ...all } }
    : { ...outcome, success: { ...outcome.success, ...all } };
}

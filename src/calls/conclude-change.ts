import { type ConsentWay, consentWays, type EndedOutcome, type Failure, type Success } from '../consent/outcome.js';
import type { Ending } from '../journal/entry.js';
import { callAgain, forAgent, type Next, next, theyWant } from '../tools/next.js';
import { place } from '../tools/schema/zones.js';
import type { Attempt, FinalReply } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import type { Log } from '../util/log.js';
import { forReader, join, type SafeText, say, time, words } from '../util/safe-text.js';
import { serverFault, unreadableAnswer } from './failure.js';
import { missingWarning, truncateRecord } from './read-record.js';
import { type Answer, type AnsweredCall, readAnswer } from './read-reply.js';
import type { ApprovedChange } from './stages.js';

/** The result of a change that was sent, or was about to be sent. */
type ChangeResult =
  | { readonly kind: 'failed'; readonly failure: Failure }
  | {
      readonly kind: 'accepted';
      readonly answer: Exclude<Answer, { kind: 'failed' }>;
      readonly attempts: readonly Attempt[];
    };

/** Reads the reply to a change. */
export async function readResult(call: AnsweredCall, reply: FinalReply): Promise<ChangeResult> {
  const answer = await readSafely(call, reply);
  if (answer.kind === 'failed') return answer;
  const { attempts } = reply;
  const { status, requestIds } = answer;
  // A page in place of an answer comes from a proxy or the like, and the API may not have got the request.
  if (answer.kind === 'unread' && answer.isForeign)
    return { kind: 'failed', failure: unreadableAnswer(call, answer.problem, { status, requestIds, attempts }) };
  return { kind: 'accepted', answer, attempts };
}

/** Reads the answer to a change. A fault in the operation's code does not hide that the change was accepted. */
async function readSafely(call: AnsweredCall, reply: FinalReply): Promise<Answer> {
  try {
    return await readAnswer(call, reply);
  } catch {
    const accepted = reply.kind === 'answered' && reply.response.status >= 200 && reply.response.status < 300;
    if (!accepted) return { kind: 'failed', failure: serverFault(call) };
    const { status } = reply.response;
    return { kind: 'unread', status, requestIds: {}, problem: words('this server made a mistake'), isForeign: false };
  }
}

/** The result for the journal. */
export function endingOf(result: ChangeResult): Omit<Ending, 'id' | 'time'> {
  if (result.kind === 'accepted') {
    const { status, requestIds } = result.answer;
    return { outcome: 'accepted', status, requestIds: { ...requestIds } };
  }
  const { mayHaveHappened, status, code: ownCode, serviceSays, requestIds } = result.failure;
  const code = serviceSays?.code ?? ownCode;
  const outcome = mayHaveHappened === true ? 'unknown' : status === undefined ? 'not sent' : 'rejected';
  return { outcome, status, code, requestIds: { ...requestIds } };
}

/** The result for the caller. */
export function outcomeOf(result: ChangeResult, approved: ApprovedChange, sentAt: string, log: Log): EndedOutcome {
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

/** A change that the cloud accepted, with its answer. */
interface SentChange extends ApprovedChange {
  /** ISO 8601, UTC. */
  readonly sentAt: string;
  readonly answer: Exclude<Answer, { kind: 'failed' }>;
  readonly attempts: readonly Attempt[];
}

/** Puts an accepted change into words. It stays accepted even if nothing of its answer can be read. */
function acceptedSuccess(accepted: SentChange): Success {
  const { call, answer, plan } = accepted;
  const unread = (problem: SafeText): Success => ({
    summary: say`The cloud accepted this (HTTP status ${answer.status}): ${plan.summary}`,
    ...circumstances(accepted, []),
    warnings: [...warningsOf(accepted), say`The answer cannot be read, because ${problem}.`],
  });
  if (answer.kind === 'unread') return unread(answer.problem);
  try {
    const { record, warnings, missingFields } = answer;
    const { operation, change, input, endpoint } = call;
    const contradictions = change.contradictions?.(record, input, endpoint.region) ?? [];
    const told = join(contradictions, '; ');
    const contradicts = contradictions.length > 0;
    const own = operation.next?.(record, input, call.isOffered);
    const shown = truncateRecord(record);
    return {
      // The summary comes first because some hosts pass on only the beginning of the structure.
      summary: join(
        sentences(
          contradicts && say`The change was accepted, but its answer contradicts what was asked for: ${told}.`,
          operation.summarize(record, input),
        ),
        ' ',
      ),
      ...circumstances(accepted, contradictions, own),
      warnings: [
        ...sentences(contradicts && say`The answer says ${told}.`),
        ...warningsOf(accepted),
        ...missingWarning(missingFields, operation.tellIfMissing),
        ...warnings,
        ...shown.warnings,
      ],
      answer: shown.record,
    };
  } catch {
    return unread(words('this server made a mistake'));
  }
}

/** The result without the contents of the answer. */
function circumstances(
  accepted: SentChange,
  contradictions: readonly SafeText[],
  own?: Next,
): Omit<Success, 'summary' | 'warnings'> {
  const { plan, answer, attempts, consent, sentAt } = accepted;
  return {
    outcome: 'accepted',
    consent: words(consentWays[consent.how]),
    sentAt,
    where: plan.where,
    effects: plan.consequences,
    next: nextOf(accepted, contradictions, own),
    requestIds: answer.requestIds,
    ...(attempts.length > 1 && { attempts }),
  };
}

/** Consent that follows an answer with the plan. */
const shownBefore: readonly ConsentWay[] = ['planId', 'clicked', 'page'];

/** The plan's warnings, unless the caller has read the plan. */
const warningsOf = ({ consent, plan }: SentChange) => (shownBefore.includes(consent.how) ? [] : plan.warnings);

/** @param own the operation's own next step */
function nextOf(
  { call: { change }, repeats, verificationHint }: SentChange,
  contradictions: readonly SafeText[],
  own: Next | undefined,
): Next {
  if (contradictions.length > 0)
    return next(
      'user',
      'check',
      say`${forReader({ agent: 'Do not call again. Tell the user what was asked for and what the answer says, and have them look', person: 'Look' })} in the console which of the two is there: it may cost money, wanted or not.`,
    );
  // With `true`, a repetition is the same change, and creates nothing twice.
  if (typeof repeats === 'string' && repeats !== '')
    return next(
      'user',
      'check',
      say`${forAgent('Tell the user the request IDs. ')}The same change was sent before, so ${forAgent('have them ')}check in the console that there is only one${forAgent(', unless they asked for more')}: ${verificationHint}.`,
    );
  const report = forAgent('Tell the user the outcome, where it went, the warnings and the request IDs.');
  if (own !== undefined) return next(own.who, own.action, join([report, own.text], ' '));
  if (!change.continues) return next('nobody', 'none', report);
  return next(
    'user',
    'check',
    say`${report} Only the console shows when it is finished${forAgent(': do not call again to check')}.`,
  );
}

/** The advice for an unknown outcome. */
export function adviceIfUnknown({ call, verificationHint }: ApprovedChange, sentAt: string): Next {
  const sent = say`It was sent at ${time(sentAt)} to region ${place(call.endpoint.region)}.`;
  if (call.operation.repeatable === true)
    return next(
      'agent',
      'call',
      say`${sent} Sending it again does no harm: ${callAgain} with the same arguments, without planId. The aim is ${verificationHint}.`,
    );
  return next(
    'user',
    'check',
    say`Do not repeat it. ${sent} Wait ten minutes, then ${forAgent('have the user ')}look in the console for ${verificationHint}. Only if it is not there and ${theyWant} it, ${callAgain} with the same arguments, without planId, and with allowRepeat: true.`,
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

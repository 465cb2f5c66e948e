import { longestKept } from '../calls/answer-budget.js';
import { type FailedEntries, failedEntries, failedNames, failedSentence, isAll } from '../calls/failed-entries.js';
import { allFailed, faultFacts, mistakeText, serverFault, unreadableAnswer } from '../calls/failure.js';
import type { EndedOutcome, Failure, Success } from '../calls/outcome.js';
import { type Answer, mayAnswerWithErrors, readAnswer, type SentCall } from '../calls/read-reply.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { valueAtSource } from '../tools/define-operation.js';
import { callAgain, forAgent, type Next, next, theyWant } from '../tools/next.js';
import { place } from '../tools/schema/answer-texts.js';
import type { FinalReply } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import type { Log } from '../util/log.js';
import {
  counted,
  forReader,
  join,
  listed,
  own,
  quoted,
  type SafeText,
  say,
  shownValue,
  time,
  words,
} from '../util/safe-text.js';
import { type Change, type DecisionWay, decisionWays, type Ending, type EndState } from './change.js';
import { placesOf } from './plan.js';

/** This file tells what became of a change that was sent, and what comes next. */

export type ChangeResult =
  | { readonly kind: 'failed'; readonly failure: Failure }
  | {
      readonly kind: 'accepted';
      readonly answer: Exclude<Answer, { kind: 'failed' }>;
      readonly failed?: FailedEntries | undefined;
    };

/** Reads the reply to a change. Never rejects. An unreadable answer counts as accepted, unless the API may not have got the request. */
export async function readResult(call: SentCall, reply: FinalReply, log: Log): Promise<ChangeResult> {
  try {
    const answer = await readAnswer(call, reply);
    if (answer.kind === 'failed') return answer;
    if (answer.kind === 'unusable')
      return answer.mayHaveFailed
        ? { kind: 'failed', failure: unreadableAnswer(call, answer.problem, answer.exchange) }
        : { kind: 'accepted', answer };
    const failed = failedEntries(call.operation, call.input, answer.record);
    return failed !== undefined && isAll(failed)
      ? { kind: 'failed', failure: allFailed(call, failed, answer.exchange) }
      : { kind: 'accepted', answer, failed };
  } catch (error) {
    log('error', 'unexpected', faultFacts(call.operation, error));
    // The status still tells whether the cloud accepted the change.
    const status = reply.kind === 'failed' ? 0 : reply.response.status;
    if (status < 200 || status >= 300 || mayAnswerWithErrors(call.operation))
      return { kind: 'failed', failure: serverFault(call, error) };
    const exchange = { status, requestIds: {}, attempts: reply.attempts };
    return {
      kind: 'accepted',
      answer: { kind: 'unusable', exchange, problem: mistakeText(error), mayHaveFailed: false },
    };
  }
}

interface SentChange {
  readonly call: ResolvedChange;
  readonly change: Change;
  /** ISO 8601, UTC. */
  readonly sentAt: string;
}

/** `ending` is for the store, `outcome` for the caller. */
export interface Conclusion {
  readonly state: EndState;
  readonly ending: Ending;
  readonly outcome: EndedOutcome;
}

export function concludeChange(result: ChangeResult, sent: SentChange, log: Log): Conclusion {
  if (result.kind === 'failed') return concludeFailed(result.failure);
  const { answer, failed } = result;
  const { status, requestIds } = answer.exchange;
  const outcomeOf = (given: typeof answer): Extract<EndedOutcome, { kind: 'succeeded' }> => ({
    kind: 'succeeded',
    success: acceptedSuccess({ ...sent, ...result, answer: given }, log),
    view: { kind: 'ended', continues: sent.call.change.continues, isSandbox: sent.change.plan.sandbox === true },
  });
  const outcome = outcomeOf(answer);
  const { withoutShown } = sent.call.operation;
  const isSecret = answer.kind === 'usable' && withoutShown !== undefined;
  // Without the secrets that the caller sees once.
  const kept = isSecret ? outcomeOf({ ...answer, record: withoutShown(answer.record) }) : outcome;
  const { answer: record = null, ...success } = kept.success;
  const notes = sentences(
    JSON.stringify(record).length > longestKept &&
      say`The answer is too long to be kept with the change: more than ${longestKept} characters.`,
  );
  const ending = {
    status,
    requestIds,
    ...(failed !== undefined && { failed: { count: failed.count, codes: failed.codes } }),
    outcome: notes.length === 0 ? kept : withNotes({ ...kept, success }, notes),
  };
  return { state: failed === undefined ? 'accepted' : 'partly', ending, outcome: withNotes(outcome, notes) };
}

/** Without a status, the request did not reach the service, unless `mayHaveHappened` says otherwise. */
export function concludeFailed(failure: Failure): Conclusion {
  const { mayHaveHappened, status, serviceSays, code, requestIds } = failure;
  const stateIfNotMade = status === undefined ? 'not sent' : 'rejected';
  const state = mayHaveHappened === true ? 'unknown' : stateIfNotMade;
  const outcome = { kind: 'failed', failure: { ...failure, outcome: state } } as const;
  return { state, ending: { status, code: serviceSays?.code ?? code, requestIds, outcome }, outcome };
}

interface AcceptedChange extends SentChange, Omit<Extract<ChangeResult, { kind: 'accepted' }>, 'kind'> {}

type Reading = Pick<Success, 'summary' | 'warnings' | 'answer'> & { readonly next: Next };

function acceptedSuccess(accepted: AcceptedChange, log: Log): Success {
  const { change, sentAt, answer, failed } = accepted;
  const { plan, decision } = change;
  const { requestIds, attempts } = answer.exchange;
  const { summary, next: step, warnings, answer: record } = readingOf(accepted, log);
  return {
    // Some hosts pass on only the beginning.
    summary,
    outcome: failed === undefined ? 'accepted' : 'partly',
    ...(failed !== undefined && {
      failed: { count: failed.count, codes: failed.codes.map(quotedShort), names: failed.names.map(quotedShort) },
    }),
    ...(decision !== undefined && { consent: words(decisionWays[decision.way]) }),
    sentAt,
    where: placesOf(plan),
    effects: plan.consequences,
    next: step,
    requestIds,
    ...(attempts.length > 1 && { attempts }),
    warnings,
    ...(record !== undefined && { answer: record }),
  };
}

const quotedShort = (text: string): SafeText => quoted(text, 200);

/** Decisions on a plan that an earlier call has returned. */
const shownBefore: readonly DecisionWay[] = ['confirmed', 'clicked', 'page'];

const warningsOfPlan = ({ plan, decision }: Change): readonly SafeText[] =>
  decision !== undefined && shownBefore.includes(decision.way) ? [] : plan.warnings;

function readingOf(accepted: AcceptedChange, log: Log): Reading {
  const { answer, call } = accepted;
  if (answer.kind === 'unusable') return unreadable(accepted, answer.problem);
  if (answer.missingFields.length > 0)
    log('debug', 'answer', { tool: call.operation.name, lacks: answer.missingFields });
  try {
    return readingOfRecord(accepted, answer);
  } catch (error) {
    log('error', 'unexpected', faultFacts(call.operation, error));
    return unreadable(accepted, mistakeText(error));
  }
}

const unreadable = (accepted: AcceptedChange, problem: SafeText): Reading => ({
  summary: say`The cloud accepted this (HTTP status ${accepted.answer.exchange.status}): ${accepted.change.plan.summary}`,
  next: nextOf(accepted),
  warnings: [...warningsOfPlan(accepted.change), say`The answer cannot be read, because ${problem}.`],
});

function readingOfRecord(accepted: AcceptedChange, { record, warnings }: Extract<Answer, { kind: 'usable' }>): Reading {
  const { call, failed } = accepted;
  const { operation, change, input, endpoint } = call;
  const contradictions = change.contradictions?.(record, input, endpoint.region) ?? [];
  const isContradicted = contradictions.length > 0;
  const contradictionText = join(contradictions, '; ');
  const summary = sentences(
    failed !== undefined && failedSentence(failed),
    isContradicted &&
      say`The change was accepted, but its answer contradicts what was asked for: ${contradictionText}.`,
    operation.summarize(record, input),
  );
  return {
    summary: join(summary, ' '),
    next: isContradicted ? stepAfterContradiction : nextOf(accepted, operation.next?.(record, input, call.isOffered)),
    warnings: [
      ...sentences(isContradicted && say`The answer says ${contradictionText}.`),
      ...warningsOfPlan(accepted.change),
      ...warnings,
    ],
    answer: record,
  };
}

function nextOf({ call, change: { repeats }, answer, failed }: AcceptedChange, stepOfOperation?: Next): Next {
  const { verificationHint } = call;
  if (typeof repeats === 'string')
    return next(
      'user',
      'check',
      forReader({
        agent: say`Tell the user the request IDs. The same change was sent before, so have them check in the console that there is only one, unless they asked for more: ${verificationHint}.`,
        person: say`The same change was sent before, so check in the console that there is only one: ${verificationHint}.`,
      }),
    );
  if (failed !== undefined) return stepAfterFailedEntries(failed);

  const tellOutcome = forAgent('Tell the user the outcome, where it went, the warnings and the request IDs.');
  if (stepOfOperation === undefined)
    return stepAfterAccepted(call, tellOutcome, answer.kind === 'usable' ? answer.record : undefined);
  const { who, action, text } = stepOfOperation;
  return next(who, action, join([tellOutcome, text], ' '));
}

const stepAfterContradiction = next(
  'user',
  'check',
  say`${forReader({
    agent: 'Do not call again. Tell the user what was asked for and what the answer says, and have them look',
    person: 'Look',
  })} in the console which of the two is there: it may cost money, wanted or not.`,
);

function stepAfterFailedEntries(failed: FailedEntries): Next {
  const tell = forReader({ agent: 'Tell the user what failed', person: 'Not done' });
  const names = failedNames(failed) ?? counted(failed.count, 'entry');
  const callAgainForThese = forReader({
    agent:
      failed.areFoundByPlan === true
        ? 'Only if they want it, call again with the same arguments for a new plan of what is left'
        : 'Only if they want it, call again for these entries alone',
    person: 'Try again only for these',
  });
  return next('user', 'ask', say`${tell}: ${names}. ${callAgainForThese}: no others are known to have failed.`);
}

export const withNotes = (outcome: EndedOutcome, newNotes: readonly SafeText[]): EndedOutcome =>
  newNotes.length === 0 ? outcome : withFields(outcome, ({ notes = [] }) => ({ notes: [...notes, ...newNotes] }));

export const withChangeId = (outcome: EndedOutcome, changeId: string): EndedOutcome =>
  withFields(outcome, () => ({ changeId }));

export const withFields = (
  outcome: EndedOutcome,
  fieldsOf: (given: Success | Failure) => Pick<Success & Failure, 'account' | 'changeId' | 'notes'>,
): EndedOutcome =>
  outcome.kind === 'failed'
    ? { ...outcome, failure: { ...outcome.failure, ...fieldsOf(outcome.failure) } }
    : { ...outcome, success: { ...outcome.success, ...fieldsOf(outcome.success) } };

export type FollowedCall = Pick<
  ResolvedChange,
  'operation' | 'change' | 'endpoint' | 'shownInput' | 'followTool' | 'verificationHint'
>;

function stepAfterAccepted(call: FollowedCall, tellOutcome: SafeText, record?: unknown): Next {
  const read = followingRead(call, record);
  if (read !== undefined) {
    const callRead = forReader({ agent: 'Call', person: 'Its progress shows in' });
    const look = say`${callRead} ${read}${forAgent(' to see its progress, not the change again')}.`;
    return next('agent', 'call', join(sentences(tellOutcome, look, doneSentence(call), notFoundYet(call)), ' '));
  }
  if (!call.change.continues) return next('nobody', 'none', tellOutcome);
  const notAgain = forAgent(': do not call this tool again to check');
  return next('user', 'check', say`${tellOutcome} The console shows when it is finished${notAgain}.`);
}

/**
 * The step after a change whose outcome is unknown.
 * @param sentAt ISO 8601
 */
export function stepIfUnknown(call: FollowedCall, sentAt: string): Next {
  const sent = say`It was sent at ${time(sentAt)} to region ${place(call.endpoint.region)}.`;
  if (call.operation.repeatable === true) {
    const repeat = say`Sending it again does no harm: ${callAgain} with the same arguments.`;
    return next('agent', 'call', say`${sent} ${repeat} The aim is ${call.verificationHint}.`);
  }
  const { who, action, text } = stepToVerify(call, {
    beforeLook: words('Wait ten minutes, then'),
    howToRepeat: say`${callAgain} with the same arguments and with allowRepeat: true`,
  });
  return next(who, action, say`Do not repeat it. ${sent} ${text}`);
}

/**
 * The step that finds out whether a change was carried out.
 * @param beforeLook the beginning of the sentence about the console
 * @param howToRepeat the end of the sentence about repeating
 */
export function stepToVerify(
  call: FollowedCall,
  { beforeLook, howToRepeat }: { readonly beforeLook: SafeText; readonly howToRepeat: SafeText },
): Next {
  const repeatIfWanted = say`and ${theyWant} it, ${howToRepeat}.`;
  const read = followingRead(call);
  if (read === undefined) {
    const look = say`${forAgent('have the user ')}look in the console for ${call.verificationHint}.`;
    return next('user', 'check', say`${beforeLook} ${look} Only if it is not there ${repeatIfWanted}`);
  }
  const { effect } = call.operation;
  const steps = sentences(
    say`${forReader({ agent: 'Call', person: 'Look with' })} ${read} to see ${call.verificationHint}.`,
    ...(effect === 'alter'
      ? [
          say`Compare its answer with the values that the change was to set: a state that was there before proves nothing.`,
        ]
      : [doneSentence(call), notFoundYet(call)]),
  );
  const condition = words(conditions[effect]);
  return next('agent', 'call', join([...steps, say`Only if ${condition} ${repeatIfWanted}`], ' '));
}

/** The end of "only if", after which a change may be repeated. */
const conditions = {
  read: 'it is still not there after that',
  create: 'it is still not there after that',
  alter: 'they still differ after ten minutes',
  delete: 'it is still there after ten minutes',
} as const;

/** A cloud may list a new thing only minutes later. */
const notFoundYet = ({ operation }: FollowedCall): SafeText | false =>
  operation.effect !== 'delete' && say`"Not found" proves nothing for ten minutes.`;

/** The arguments of the read that shows the progress. Undefined if one of them is not known. */
export function followArguments(
  { operation: { follow }, shownInput }: Pick<FollowedCall, 'operation' | 'shownInput'>,
  record: unknown,
): Readonly<Record<string, unknown>> | undefined {
  const sources = { input: shownInput, answer: record };
  const found = Object.entries(follow?.arguments ?? {}).map(
    ([name, path]) => [name, valueAtSource(sources, path)] as const,
  );
  return found.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(found);
}

/** `get_instance with InstanceId "wiki"`. Undefined if the caller may not use the read. */
function followingRead(call: FollowedCall, record?: unknown): SafeText | undefined {
  const { operation, followTool } = call;
  if (operation.follow === undefined || followTool === undefined) return undefined;

  const found = followArguments(call, record);
  if (found === undefined) return undefined;
  const argumentTexts = Object.entries(found).map(([name, value]) => {
    // In quotation marks, because a value must not pass for our words.
    return say`${own(name)} ${shownValue(value, 200)}`;
  });
  const withArguments = argumentTexts.length === 0 ? words('') : say` with ${join(argumentTexts, ', ')}`;
  // The read of a service is no tool of its own.
  const tool = followTool.includes(':') ? say`read_operation (name ${own(followTool)})` : own(followTool);
  return say`${tool}${withArguments}`;
}

function doneSentence({ operation: { follow, effect } }: FollowedCall): SafeText | false {
  const again = words(effect === 'alter' ? ' again' : '');
  const fields = Object.entries(follow?.done ?? {}).map(
    ([path, value]) => say`${own(path)} is${again} ${quoted(value, 100)}`,
  );
  const ends = sentences(
    fields.length > 0 && say`${listed(fields)}${forAgent(' in its answer')}`,
    follow?.gone === true && words('the thing is not found'),
  );
  const failures = Object.entries(follow?.failed ?? {}).map(([path, values]) => {
    const quotedValues = values.map((value) => quoted(value, 100));
    return say`${own(path)} is ${listed(quotedValues, 'or')}`;
  });
  const failed = failures.length > 0 && say`It has failed if ${listed(failures, 'or')}.`;
  const texts = sentences(ends.length > 0 && say`It is finished when ${listed(ends, 'or')}.`, failed);
  return texts.length > 0 && join(texts, ' ');
}

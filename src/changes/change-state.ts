import type { EndedOutcome, Success } from '../calls/outcome.js';
import { type Principal, visibleCaller } from '../calls/policy.js';
import { Refusal, refusedChange } from '../calls/refusal.js';
import { forAgent, next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import {
  duration,
  forReader,
  linesOf,
  own,
  quoted,
  type SafeText,
  say,
  sentence,
  time,
  words,
} from '../util/safe-text.js';
import type { Change, Decision, DecisionOptions, DecisionWay } from './change.js';
import type { ChangeRun } from './change-run.js';
import { withChangeId, withNotes } from './conclude-change.js';
import { longestReason } from './decline-reason.js';
import { addressOf, type DecisionPage, whoDecides } from './required-consent.js';

/** This file tells the state of a change, and who decided on it. */

interface WayTexts {
  readonly who: SafeText;
  /** The act of a person who comes too late. */
  readonly act: SafeText;
  readonly declined: SafeText;
}

const user = words('the user');
const otherWay: WayTexts = {
  who: words('somebody'),
  act: words('call'),
  declined: words('this plan was declined'),
};
const ways: Readonly<Partial<Record<DecisionWay, WayTexts>>> = {
  asked: { who: user, act: words('answer'), declined: words('the user declined') },
  clicked: { who: user, act: words('click'), declined: words('the user clicked "Do nothing"') },
  page: {
    who: words('a person on the page'),
    act: words('click'),
    declined: words('a person on the page clicked "Do nothing"'),
  },
  confirmed: { ...otherWay, who: words('the agent') },
};
const textsOf = (way: DecisionWay): WayTexts => ways[way] ?? otherWay;

/** The outcome of a change, with a note about who decided on the page. */
export function outcomeOfState(change: Change, run: ChangeRun) {
  const outcome = stateOf(change, run);
  const decision = visibleDecision(change, run.principal);
  if (decision?.way !== 'page') return outcome;
  const saysThatPersonDecided =
    outcome.kind === 'succeeded' ? outcome.success.consent !== undefined : decision.kind === 'declined';
  // The name of the person is still new.
  if (saysThatPersonDecided && decision.person === undefined) return outcome;
  return withNotes(outcome, [say`${decisionSentence(decision)}.`]);
}

/** The outcome of a change, or who has to decide on it. */
export function stateOf(change: Change, { page }: Pick<ChangeRun, 'page'>): EndedOutcome {
  const { state, ending, tool, id } = change;
  switch (state) {
    case 'waiting':
      if (change.isExpired) return refusedChange(tool, new Refusal('PlanExpired', [], { changeId: id }));
      return planThatWaits(change, page);
    case 'approved':
    case 'begun':
      return underWay(change);
    case 'declined':
    case 'withdrawn':
      return refusedChange(tool, refusalOf(change, change.decision ?? { kind: 'withdrawn', way: 'withdrawn' }));
    default:
      return withChangeId(ending?.outcome ?? recordedOutcome(change), id);
  }
}

export function refusalOf(
  { id, mode, question, options }: Pick<Change, 'id' | 'mode' | 'question' | 'options'>,
  { kind, way, reason, answeredAfterMs = 0, isDismissed = false, replacedBy }: Decision,
): Refusal {
  const more = { changeId: id, outcome: kind === 'declined' ? 'declined' : 'withdrawn' } as const;
  const asked = sentences(question !== undefined && say`the question was: ${linesOf(question)[0] ?? question}`);
  if (way === 'program')
    return new Refusal('NobodyAsked', [say`the client answered it after ${answeredAfterMs} ms`, ...asked], more);
  if (kind === 'withdrawn' && way === 'asked') return new Refusal('WrongName', [], more);
  if (kind === 'withdrawn')
    return new Refusal('Withdrawn', [], { ...more, ...reasonOfWithdrawal(options, replacedBy) });

  const dismissed = isDismissed ? words('the user closed the question, or did not answer') : undefined;
  const isVisit = way === 'asked' && !options.byForm;
  const deed = isVisit ? words('the user declined to open the page') : textsOf(way).declined;
  const why = reason !== undefined && say`the person gave this reason: ${quoted(reason, longestReason)}`;
  const problems = [dismissed ?? deed, ...asked, ...sentences(why)];
  return new Refusal('Declined', problems, {
    ...more,
    ...(mode === 'approval' && {
      reason: words('somebody other than the user declined it'),
      next: next('nobody', 'none', forAgent('Tell the user. Only a new wish of the user justifies a new plan.')),
    }),
  });
}

function reasonOfWithdrawal(
  { byForm }: DecisionOptions,
  replacedBy: string | undefined,
): { readonly reason?: SafeText } {
  if (replacedBy !== undefined) return { reason: replacedText };
  return byForm ? { reason: words('its call was cancelled or ended before anybody answered the question') } : {};
}

const replacedText = words('its caller replaced the plan with a newer one');

const decisionSentence = (decision: Decision): SafeText => sentence(decisionClause(decision));

/** Such as `bob agreed`. */
function decisionClause({ kind, way, person, replacedBy }: Decision): SafeText {
  if (way === 'program') return words('a program answered in place of the user');
  if (kind === 'withdrawn' && way === 'asked') return words('the name was typed wrongly too often');
  if (kind === 'withdrawn') return replacedBy === undefined ? words('its caller withdrew the plan') : replacedText;
  const who = person === undefined ? textsOf(way).who : own(person);
  return kind === 'approved' ? say`${who} agreed` : say`${who} declined`;
}

export const decisionText = (
  { decidedAt, madeAt }: Pick<Change, 'decidedAt' | 'madeAt'>,
  standing: Decision,
): SafeText => say`${decisionSentence(standing)} at ${time(new Date(decidedAt ?? madeAt).toISOString())}.`;

export type LateDecision = ReturnType<typeof lateDecision>;

/**
 * Tells a person that an earlier decision stands: `Too late: bob agreed 12 s before you.` `isLate` is false for a decision that only repeats
 * the earlier one, as if its result was lost.
 */
export function lateDecision(change: Change, late: Decision, standing = change.decision) {
  const { act } = textsOf(late.way);
  const isLate =
    standing !== undefined &&
    (standing.kind !== late.kind || standing.way !== late.way || standing.person !== late.person);
  const { decidedAgoMs } = change;
  const ago = decidedAgoMs === undefined ? words('') : say`${duration(decidedAgoMs / 1000)} `;
  const earlierDecision =
    standing &&
    (isLate
      ? say`Too late: ${decisionClause(standing)} ${ago}before you. Your ${act} changed nothing.`
      : say`${decisionText(change, standing)} This ${act} changed nothing.`);
  return { kind: 'late', change, earlierDecision, isLate } as const;
}

export function lateOutcome(change: Change, late: Decision, principal: Principal | undefined): EndedOutcome {
  const standing = visibleDecision(change, principal);
  // The same person answers a form again.
  const again = standing?.way === late.way ? standing : late;
  const { earlierDecision } = lateDecision(change, again, standing);
  return withNotes(stateOf(change, {}), sentences(earlierDecision ?? false));
}

function visibleDecision({ decision }: Change, principal: Principal | undefined): Decision | undefined {
  const mayKnow = visibleCaller(principal) === undefined || decision?.person === principal?.name;
  return decision && (mayKnow ? decision : { ...decision, person: undefined });
}

export const toldOutcome = (
  { id }: Change,
  { summary, outcome, ...facts }: Partial<Success> & Required<Pick<Success, 'summary' | 'outcome' | 'next'>>,
): EndedOutcome => ({
  kind: 'succeeded',
  success: { summary, outcome, changeId: id, warnings: [], requestIds: {}, ...facts },
});

/** The name that `confirm_change` takes. */
export const thingOf = ({ subject, tool }: Pick<Change, 'subject' | 'tool'>): string => subject?.name ?? tool;

function planThatWaits(change: Change, page: DecisionPage | undefined): EndedOutcome {
  const { id, tool, options, mode, expiresAt } = change;
  const address = options.onPage ? addressOf(id, page) : undefined;
  const step = options.byConfirmation
    ? say`If the user says yes to the plan, call confirm_change with this changeId and thing ${quoted(thingOf(change), 200)}.`
    : say`Call get_change again later.`;
  return toldOutcome(change, {
    summary: say`This plan of ${own(tool)} still waits for ${whoDecides(mode, options, page?.kind ?? 'none')}.`,
    outcome: 'waiting',
    planExpires: new Date(expiresAt).toISOString(),
    ...(address !== undefined && { decideAt: address }),
    next: next('user', 'decide', say`${step} To take the plan back, call withdraw_change.`),
  });
}

function underWay(change: Change): EndedOutcome {
  const { tool, list = [], partsEnded } = change;
  const progress =
    partsEnded === undefined
      ? words('The outcome of this change is not known yet.')
      : say`It is being carried out: ${partsEnded} of ${list.length} have ended.`;
  const summary = say`Somebody has decided on this plan of ${own(tool)}. ${progress}`;
  return toldOutcome(change, {
    summary: forReader({ agent: summary, person: progress, operator: summary }),
    outcome: 'waiting',
    next: next('agent', 'wait', 'Call get_change again in a few seconds.'),
  });
}

const failures = {
  rejected: [words('The cloud refused this'), 'Http'],
  'not sent': [words('This was not sent'), 'NotSent'],
  unknown: [words('Nobody knows whether this was carried out'), 'OutcomeUnknown'],
} as const;

const tell = next('nobody', 'none', forAgent('Tell the user the outcome, the code and the request IDs.'));
const look = next('user', 'check', 'Do not repeat it. Have the user look in the console whether it was carried out.');

/** The outcome of a change whose result is not in the store. */
function recordedOutcome(change: Change): EndedOutcome {
  const { what, state, ending: { status, code, requestIds = {} } = {} } = change;
  const description = quoted(what, 500);
  if (state === 'rejected' || state === 'not sent' || state === 'unknown') {
    const [beginning, ownCode] = failures[state];
    const failure = {
      summary: say`${beginning}: ${description}.`,
      code: state === 'rejected' ? `${ownCode}${status ?? ''}` : ownCode,
      mayHaveHappened: state === 'unknown',
      outcome: state,
      problems: code === undefined ? [] : [say`its code is ${quoted(code, 100)}`],
      status,
      next: state === 'unknown' ? look : tell,
      requestIds,
    };
    return { kind: 'failed', failure };
  }
  return toldOutcome(change, {
    summary: say`The cloud accepted this earlier: ${description}.`,
    outcome: state === 'partly' ? state : 'accepted',
    next: tell,
    warnings: [say`The answer of the cloud was not kept, or was sealed with a key that this server does not have.`],
    requestIds,
  });
}

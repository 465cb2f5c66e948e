import { setTimeout as delay } from 'node:timers/promises';
import type { EndedOutcome, Success } from '../calls/outcome.js';
import { visibleCaller } from '../calls/policy.js';
import { Refusal, refusedChange } from '../calls/refusal.js';
import { waitForPerson } from '../calls/waiting.js';
import { forAgent, next } from '../tools/next.js';
import { reasonOf } from '../util/log.js';
import { duration, forReader, own, quoted, type SafeText, say, sentence, time, words } from '../util/safe-text.js';
import type { Change, Decision, DecisionWay } from './change.js';
import type { ChangeRun } from './change-context.js';
import { withChangeId, withNotes } from './conclude-change.js';
import { decide, refusalOf, thingOf } from './decide.js';
import { addressOf, type DecisionPage } from './decision-page.js';
import { whoDecides } from './required-consent.js';

/** This file tells the state of a change. */

const isOpen = ({ state, isExpired }: Change) => ['waiting', 'approved', 'begun'].includes(state) && !isExpired;

/** In milliseconds. */
const pollMs = 500;

/**
 * Waits until a change has ended, up to `statusWaitMs`.
 * @returns the last state that could be read
 */
export async function awaitEnd(change: Change, run: ChangeRun): Promise<Change> {
  if (run.statusWaitMs === 0 || !isOpen(change)) return change;
  return waitForPerson(run, () => poll(change, run)).catch((error: unknown) => {
    if (error instanceof Refusal) return change;
    throw error;
  });
}

async function poll(first: Change, { signal, stop, store, statusWaitMs, log }: ChangeRun): Promise<Change> {
  let change = first;
  for (let waitedMs = 0; waitedMs < statusWaitMs && isOpen(change); waitedMs += pollMs) {
    if (signal.aborted || stop?.aborted === true) break;
    await delay(pollMs);
    change = (await store.find(change.id).catch((error: unknown) => {
      log('debug', 'journal', { id: change.id, error: reasonOf(error) });
      return change;
    })) ?? { ...change, isExpired: true };
  }
  return change;
}

/** The outcome of a change, with a note about who decided. */
export const outcomeOfState = (change: Change, run: Pick<ChangeRun, 'principal' | 'page'>): EndedOutcome =>
  withNotes(stateOf(change, run), whoDecided(change, run));

/** The outcome of a change, or who has to decide on it. */
export function stateOf(change: Change, run: Pick<ChangeRun, 'page'>): EndedOutcome {
  const { state, ending, tool, id } = change;
  switch (state) {
    case 'waiting':
      if (change.isExpired) return refusedChange(tool, new Refusal('PlanExpired', [], { changeId: id }));
      return planThatWaits(change, run.page);
    case 'approved':
    case 'begun':
      return underWay(change);
    case 'declined':
    case 'withdrawn':
      return refusedChange(tool, refusalOf(change, change.decision ?? { kind: 'withdrawn', way: 'withdrawn' }));
    default:
      return withChangeId(ending?.outcome ?? recordedOutcome(change), change.id);
  }
}

/** The outcome of a call whose decision came after another one. */
export function lateOutcome(change: Change, way: DecisionWay, run: Pick<ChangeRun, 'principal'>): EndedOutcome {
  const standing = visibleDecision(change, run);
  if (standing === undefined) return stateOf(change, {});
  // An answer comes again if its result was lost.
  const isRepetition = standing.way === way;
  return withNotes(stateOf(change, {}), [lateText(change, standing, { way, isRepetition })]);
}

/** Decides on a change for a call. Returns the outcome, or the decision that stands. */
export async function decideForCall(
  change: Change,
  decision: Decision,
  run: ChangeRun,
): Promise<EndedOutcome | Refusal> {
  const decided = await decide(change, decision, run);
  if (decided.kind === 'late') return lateOutcome(decided.change, decision.way, run);
  return decided.kind === 'decided' ? decided.outcome : decided;
}

/** Such as `bob agreed`. */
function decisionClause({ kind, way, person, replacedBy }: Decision): SafeText {
  if (way === 'program') return words('a program answered in place of the user');
  if (kind === 'withdrawn' && way === 'asked') return words('the name was typed wrongly too often');
  if (kind === 'withdrawn')
    return replacedBy === undefined
      ? words('its caller withdrew the plan')
      : words('its caller replaced the plan with a newer one');
  const who = person === undefined ? (deciders[way] ?? words('somebody')) : own(person);
  return say`${who} ${words(kind === 'approved' ? 'agreed' : 'declined')}`;
}

const deciders: Readonly<Partial<Record<DecisionWay, SafeText>>> = {
  asked: words('the user'),
  clicked: words('the user'),
  page: words('a person on the page'),
  confirmed: words('the agent'),
};

/** The decision that stands, in a sentence. */
export const decisionText = (
  { decidedAt, madeAt }: Pick<Change, 'decidedAt' | 'madeAt'>,
  standing: Decision,
): SafeText => say`${sentence(decisionClause(standing))} at ${time(new Date(decidedAt ?? madeAt).toISOString())}.`;

/** Such as `Too late: bob agreed 12 s before you. Your click changed nothing.` */
function lateText(
  change: Change,
  standing: Decision,
  { way, isRepetition }: { readonly way: DecisionWay; readonly isRepetition: boolean },
): SafeText {
  const { decidedAgoMs } = change;
  const act = lateActs[way] ?? words('call');
  if (isRepetition) return say`${decisionText(change, standing)} This ${act} changed nothing.`;
  const ago = decidedAgoMs === undefined ? words('') : say`${duration(decidedAgoMs / 1000)} `;
  return say`Too late: ${decisionClause(standing)} ${ago}before you. Your ${act} changed nothing.`;
}

const lateActs: Readonly<Partial<Record<DecisionWay, SafeText>>> = {
  asked: words('answer'),
  clicked: words('click'),
  page: words('click'),
};

/** A click that came after a decision on its change. */
export interface LateClick {
  readonly kind: 'late';
  readonly change: Change;
  readonly earlierDecision: SafeText | undefined;
  /** False if the click only repeats the decision that stands. */
  readonly isLate: boolean;
}

export function lateClick(change: Change, click: Decision): LateClick {
  const { decision: standing } = change;
  if (standing === undefined) return { kind: 'late', change, earlierDecision: undefined, isLate: false };
  const isLate = standing.kind !== click.kind || standing.way !== click.way || standing.person !== click.person;
  const earlierDecision = lateText(change, standing, { way: click.way, isRepetition: !isLate });
  return { kind: 'late', change, earlierDecision, isLate };
}

function visibleDecision({ decision }: Change, { principal }: Pick<ChangeRun, 'principal'>): Decision | undefined {
  const mayKnow = visibleCaller(principal) === undefined || decision?.person === principal?.name;
  return decision && (mayKnow ? decision : { ...decision, person: undefined });
}

/** A decision on the page may be another person's. */
function whoDecided(change: Change, run: Pick<ChangeRun, 'principal'>): readonly SafeText[] {
  const decision = visibleDecision(change, run);
  return decision?.way === 'page' ? [say`${sentence(decisionClause(decision))}.`] : [];
}

/** The outcome of a call that only tells the state. */
export const toldOutcome = (
  { id }: Change,
  { summary, outcome, ...facts }: Partial<Success> & Required<Pick<Success, 'summary' | 'outcome' | 'next'>>,
): EndedOutcome => ({
  kind: 'succeeded',
  success: { summary, outcome, changeId: id, warnings: [], requestIds: {}, ...facts },
});

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
  const summary = say`Somebody has decided on this plan of ${own(change.tool)}. The outcome is not known yet.`;
  return toldOutcome(change, {
    summary: forReader({
      agent: summary,
      person: 'The outcome of this change is not known yet.',
      operator: summary,
    }),
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

function recordedOutcome(change: Change): EndedOutcome {
  const { id, what, state, ending = {}, begunAt } = change;
  const { status, code, requestIds = {}, failed } = ending;
  const description = quoted(what, 500);
  if (state === 'rejected' || state === 'not sent' || state === 'unknown') {
    const [beginning, ownCode] = failures[state];
    const failure = {
      summary: say`${beginning}: ${description}.`,
      code: state === 'rejected' ? `${ownCode}${status ?? ''}` : ownCode,
      mayHaveHappened: state === 'unknown',
      outcome: state,
      changeId: id,
      problems: code === undefined ? [] : [say`its code is ${quoted(code, 100)}`],
      status,
      next: state === 'unknown' ? look : tell,
      requestIds,
    };
    return { kind: 'failed', failure };
  }
  const inPart = failed === undefined ? words('') : say`, but ${failed.count} of its entries failed`;
  return toldOutcome(change, {
    summary: say`The cloud accepted this earlier${inPart}: ${description}.`,
    outcome: failed === undefined ? 'accepted' : 'partly',
    ...(failed !== undefined && {
      failed: { count: failed.count, codes: failed.codes.map((each) => quoted(each, 100)), names: [] },
    }),
    ...(begunAt !== undefined && { sentAt: new Date(begunAt).toISOString() }),
    next: tell,
    warnings: [
      change.isPrivate === true
        ? say`The answer of the cloud has private values, and was sealed with a key that this server does not have.`
        : say`The answer of the cloud was not kept.`,
    ],
    requestIds,
  });
}

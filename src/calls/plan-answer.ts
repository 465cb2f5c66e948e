import { addressOf } from '../consent/decision-page.js';
import type { EndedOutcome, PlanClaims } from '../consent/outcome.js';
import { acceptOf, planText } from '../consent/plan.js';
import { holdsSecret, type WaitingPlan } from '../consent/plans.js';
import { Refusal } from '../consent/refusal.js';
import { subjectOf } from '../consent/related-plans.js';
import type { ConsentStep } from '../consent/required-consent.js';
import { tokenLifetimeMs } from '../consent/tokens.js';
import { nameToType } from '../consent/typed-name.js';
import { next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import { exact, join, own, type SafeText, say, shortNames, words } from '../util/safe-text.js';
import type { CallContext, CallDependencies } from './context.js';
import type { OtherPlan, PlannedChange } from './stages.js';

type PlanStep = Extract<ConsentStep, { kind: 'plan' }>;

/** Open ways to carry out a plan. A refusal closes some of them. */
interface Ways {
  /** A yes in the chat: the agent calls with the planId. */
  readonly inChat: boolean;
  /** A click in the change view. */
  readonly byClick: boolean;
  /** A decision on the page, until this time (milliseconds since 1970). */
  readonly onPageUntil?: number | undefined;
  /** The page's address, if it may be told. */
  readonly decideAt?: string | undefined;
  readonly claims: PlanClaims;
  /** Set if a person other than the user decides. */
  readonly byAnother: boolean;
  /** Set if nobody can agree to the plan here. */
  readonly isDeadEnd: boolean;
  /** Carries out the plan, or asks for its state. */
  readonly planId?: string | undefined;
}

/**
 * Answers with the plan and the ways to carry it out.
 * @throws Refusal if no way is left, unless the call only wanted the plan
 */
export async function answerWithPlan(
  step: PlanStep,
  planned: PlannedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const { draft, digest, call } = planned;
  const { newNonce, refusals, plans, page, now } = dependencies;
  // All ways share one nonce, so that no model carries out a plan by planId after a person has declined it elsewhere.
  const nonce = newNonce();
  const againstChat = step.withPlanId ? await refusals.againstPlanId(draft) : undefined;
  const storing = await storeForPeople(step, planned, nonce, context, dependencies);
  const inChat = step.withPlanId && againstChat === undefined;
  const byClick = step.withTicket && storing.kind !== 'closed';
  const onPage = step.withPage && storing.kind === 'stored';
  const refusal = storing.refusal ?? againstChat;
  const isPossible = inChat || byClick || onPage;
  if (!isPossible && !call.control.planOnly && refusal !== undefined) throw refusal;

  const decideAt = onPage ? addressOf(nonce, page) : undefined;
  if (onPage) announce(planned, decideAt, dependencies);
  const hasPlanId = inChat || storing.kind === 'stored';
  const use = inChat ? 'plan' : 'handle';
  return planOutcome(planned, now(), {
    inChat,
    byClick,
    onPageUntil: onPage ? plans.expiry() : undefined,
    decideAt,
    claims: { digest, nonce },
    byAnother: call.account.confirm === 'approval',
    isDeadEnd: step.isDeadEnd === true,
    planId: hasPlanId ? context.tokens.issue({ use, digest, nonce }) : undefined,
  });
}

/** The result of storing a plan for the person who decides. Only `closed` rules out a click. */
interface Storing {
  readonly kind: 'stored' | 'notNeeded' | 'closed' | 'notStored';
  /** The reason for `closed` and `notStored`. */
  readonly refusal?: Refusal;
}

/** Stores a plan for the person who decides on it and for the agent that asks for its state. */
async function storeForPeople(
  { withTicket, withPage }: PlanStep,
  planned: PlannedChange,
  nonce: string,
  { principal }: CallContext,
  { refusals, plans, now }: CallDependencies,
): Promise<Storing> {
  if (!withTicket && !withPage) return { kind: 'notNeeded' };
  const { call, draft, digest, plan, repeats } = planned;
  const againstAsking = await refusals.againstAsking(draft);
  if (againstAsking !== undefined) return { kind: 'closed', refusal: againstAsking };
  if (holdsSecret(call)) return { kind: 'notStored', refusal: new Refusal('SecretByValue', []) };
  const waitingPlan: WaitingPlan = {
    digest,
    nonce,
    subject: subjectOf(call.operation, call.endpoint.account, call.input),
    requestKey: draft.digest,
    repeats,
    issuedAt: now().getTime(),
    tool: draft.tool,
    args: call.args,
    caller: draft.caller,
    scopes: principal?.scopes,
    agent: principal?.agent,
    client: draft.client,
    plan,
    accept: acceptOf(call),
    typedName: nameToType(call),
  };
  try {
    const isAdded = await plans.add(waitingPlan);
    return isAdded ? { kind: 'stored' } : { kind: 'notStored', refusal: new Refusal('TooManyWaiting', []) };
  } catch {
    const problem = say`the plans that wait beside it cannot be written`;
    return { kind: 'notStored', refusal: new Refusal('JournalUnavailable', [problem]) };
  }
}

/** Tells people that a plan waits, or opens the page on this machine. */
function announce({ draft, plan }: PlannedChange, decideAt: string | undefined, { page }: CallDependencies): void {
  const { tool, caller } = draft;
  if (page?.kind === 'local') page.show();
  else if (decideAt !== undefined) page?.announce({ tool, caller, headline: shortNames(plan.summary), decideAt });
}

function planOutcome({ call, shown: plan, others }: PlannedChange, time: Date, ways: Ways): EndedOutcome {
  const tool = call.operation.name;
  const { inChat, byClick, onPageUntil, decideAt, claims, planId } = ways;
  const issuedAt = time.getTime();
  const expiresAt = inChat || onPageUntil === undefined ? issuedAt + tokenLifetimeMs : onPageUntil;
  const expires = new Date(expiresAt).toISOString();
  const holdsUntil = planId !== undefined || byClick ? `${expires.slice(0, 16).replace('T', ' ')} UTC` : undefined;
  const isOnlyOnPage = onPageUntil !== undefined && !inChat && !byClick;
  const otherTexts = others.map(({ text }) => text);
  const steps = [...replacing(tool, others, planId), nextSteps(tool, call.control.planOnly, ways)];
  const typedName = nameToType(call);
  return {
    kind: 'succeeded',
    success: {
      summary: join([...otherTexts, say`Plan of ${own(tool)}; nothing was sent.`], ' '),
      outcome: isOnlyOnPage ? 'waiting' : 'planned',
      show: planText(plan, holdsUntil),
      plan,
      ...(planId !== undefined && { planId, planExpires: expires }),
      ...(decideAt !== undefined && { decideAt }),
      next: next('user', 'decide', join(steps, ' ')),
      warnings: [],
      requestIds: {},
    },
    view: {
      kind: 'plan',
      accept: acceptOf(call),
      ...(typedName !== undefined && { typedName }),
      issuedAt,
      ...(inChat && { inChat: true }),
      ...(byClick && { claims }),
    },
  };
}

/** The agent's next steps: people decide by themselves, or the agent carries out their yes, or both are possible. */
function nextSteps(tool: string, planOnly: boolean, ways: Ways): SafeText {
  const people = waysOfPeople(tool, ways);
  if (people.length > 0 && !ways.inChat) return join([...people, ...afterPeople(tool, ways)], ' ');
  if (people.length > 0) {
    const leave = say`Leave the decision to them. Only if they tell you to go ahead instead`;
    return callAfterYes(join([...people, leave], ' '), tool, planOnly, ways);
  }
  const showAll = say`Show the user all of "show", in their language.`;
  if (ways.isDeadEnd)
    return say`${showAll} Nobody can agree to it here: that needs a client that asks its user or shows views, a page, or a terminal (cloudops-mcp call).`;
  const condition = planOnly ? say`Stop there. Only if they then ask for it` : say`If they say yes to it`;
  return callAfterYes(join([showAll, condition], ' '), tool, planOnly, ways);
}

/** How to take back the other plans for the same thing. */
const replacing = (tool: string, others: readonly OtherPlan[], planId: string | undefined): readonly SafeText[] =>
  others.map(({ planId: other }) => {
    const withPlanId = words(planId === undefined ? '' : ', this planId');
    return say`If this plan replaces the other one, call ${own(tool)} with the same arguments${withPlanId} and replaces: ${exact(other)}.`;
  });

/** Sentences about deciding without the agent. */
function waysOfPeople(tool: string, ways: Ways): readonly SafeText[] {
  const { byClick, onPageUntil, decideAt, byAnother } = ways;
  const sentencesOfWays: SafeText[] = [];
  if (byClick)
    sentencesOfWays.push(
      say`The user sees this plan with a button to agree and one to do nothing.`,
      withoutButton(tool, ways),
    );
  if (decideAt !== undefined) {
    const who = words(byAnother ? 'somebody other than the user' : 'a person');
    sentencesOfWays.push(say`Give the user the link in decideAt: ${who} decides there.`);
  } else if (onPageUntil !== undefined)
    sentencesOfWays.push(
      say`This plan waits in a browser tab on the machine of this server: tell the user to decide there.`,
    );
  return sentencesOfWays;
}

/** Some hosts claim to show views and show none, or do not pass clicks on. */
function withoutButton(tool: string, { inChat, decideAt }: Ways): SafeText {
  if (inChat) return say`If they see no button, show them all of "show" and let them answer in the chat.`;
  if (decideAt !== undefined) return say`If they see no button, they decide at the link.`;
  return say`If they see no button, they can decide where this server runs, with cloudops-mcp view ${own(tool)} and the same arguments.`;
}

const afterPeople = (tool: string, { byClick, planId }: Ways): readonly SafeText[] =>
  sentences(
    byClick && say`Wait for the decision: only a click carries this plan out.`,
    planId !== undefined &&
      say`To learn what became of it, call ${own(tool)} with the same arguments and this planId; add withdraw: true if the user no longer wants it.`,
  );

/** @param condition the beginning of a sentence */
function callAfterYes(condition: SafeText, tool: string, planOnly: boolean, { planId }: Ways): SafeText {
  const withPlanId = words(planId === undefined ? '' : ' and this planId');
  const withoutPlanOnly = words(planOnly ? ', without planOnly' : '');
  return say`${condition}, call ${own(tool)} with the same arguments${withPlanId}${withoutPlanOnly}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
}

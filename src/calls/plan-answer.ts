import { addressOf } from '../consent/decision-page.js';
import type { EndedOutcome, PlanClaims } from '../consent/outcome.js';
import { acceptOf, planText } from '../consent/plan.js';
import { holdsSecret, type KeptPlan } from '../consent/plans.js';
import { Refusal, tooLargeToShow } from '../consent/refusal.js';
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

/** The ways in which people can agree to a plan. */
interface Ways {
  /** True if the user can say yes in the chat, after which the agent calls with the planId. The planId is then the user's consent. */
  readonly inChat: boolean;
  /** True if the user can click in the change view. */
  readonly byClick: boolean;
  /** Deadline for a decision on the page (milliseconds since 1970). Undefined if the plan is not on the page. */
  readonly onPageUntil?: number | undefined;
  /** The address of the plan on the page, if the caller may know it. */
  readonly decideAt?: string | undefined;
  readonly claims: PlanClaims;
  readonly byAnotherPerson: boolean;
  /** Set if nobody can agree to the plan, because this client and the configuration offer no way. */
  readonly isDeadEnd: boolean;
  /** With `inChat`, a call with this planId carries out the plan. Otherwise it asks for the plan's state. */
  readonly planId?: string | undefined;
}

/**
 * Answers with the plan and the ways to agree to it. Stores the plan, if a person decides on it later.
 * @throws Refusal if earlier refusals or a failure to store the plan leave no way to agree to it, unless the call only wanted to see it
 */
export async function answerWithPlan(
  step: PlanStep,
  planned: PlannedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const { draft, consentDigest, call } = planned;
  const { newNonce, refusals, plans, page, now } = dependencies;
  // The ways that client and configuration offer.
  const { withPlanId: offersChat, withClick: offersClick, withPage: offersPage } = step;

  // All ways share one nonce, so that no model carries out a plan by planId after a person has declined it elsewhere.
  const nonce = newNonce();

  // An offered way is open unless the user has declined too much before. The page also needs a stored plan. A click in a view does not,
  // because it brings the plan's arguments and claims along.
  const refusalInChat = offersChat ? await refusals.againstPlanId(draft) : undefined;
  const inChat = offersChat && refusalInChat === undefined;
  const storing = await storeForPeople(step, planned, nonce, context, dependencies);
  const isStored = storing.kind === 'stored';
  const onPage = offersPage && isStored;
  const byClick = offersClick && storing.kind !== 'declinedTooOften';

  // What has closed the offered ways. The refusal of `storing` comes first, because it says why people cannot decide without the agent.
  // With `planOnly`, the plan is shown even if nobody can agree to it.
  const refusal = storing.refusal ?? refusalInChat;
  const hasOpenWay = inChat || byClick || onPage;
  if (!hasOpenWay && refusal !== undefined && !call.control.planOnly) throw refusal;

  const decideAt = onPage ? addressOf(nonce, page) : undefined;
  if (onPage) announce(planned, decideAt, dependencies);

  // A planId with the use `plan` is the consent after a yes in the chat. With the use `handle`, it only asks for the state of a stored plan.
  const use = inChat ? 'plan' : 'handle';
  const planId = inChat || isStored ? context.tokens.issue({ use, digest: consentDigest, nonce }) : undefined;
  return planOutcome(planned, now(), {
    inChat,
    byClick,
    onPageUntil: onPage ? plans.expiry() : undefined,
    decideAt,
    claims: { digest: consentDigest, nonce },
    // With `approval`, a person other than the user decides on the page.
    byAnotherPerson: call.account.confirm === 'approval',
    // Set only with `planOnly`, if the same call without `planOnly` would be refused. The answer then says that nobody can agree to the plan.
    isDeadEnd: step.isDeadEnd === true,
    planId,
  });
}

/** The result of storing a plan. `notNeeded`: nobody decides by a click. `declinedTooOften`: the user must not be asked for a decision now. */
interface Storing {
  readonly kind: 'stored' | 'notNeeded' | 'declinedTooOften' | 'notStored';
  /** Set for `declinedTooOften` and `notStored`. */
  readonly refusal?: Refusal;
}

/**
 * Stores a plan that a person decides on by a click. The page shows only stored plans. A click in a view needs no stored plan, but the agent
 * can ask for the outcome only if the plan is stored. Stores nothing if the user has declined too many changes.
 */
async function storeForPeople(
  { withClick, withPage }: PlanStep,
  planned: PlannedChange,
  nonce: string,
  { principal }: CallContext,
  { refusals, plans, now }: CallDependencies,
): Promise<Storing> {
  if (!withClick && !withPage) return { kind: 'notNeeded' };
  const { call, draft, consentDigest, plan, mayRepeat } = planned;
  // A journal entry, and so the draft of one, calls the idempotency key of the request `digest`.
  const { tool, caller, client, digest: requestKey } = draft;
  const tooManyDeclined = await refusals.againstAsking(draft);
  if (tooManyDeclined !== undefined) return { kind: 'declinedTooOften', refusal: tooManyDeclined };
  // A plan with a secret is never stored, but a plan with the name of a secret file may be.
  if (holdsSecret(call)) return { kind: 'notStored', refusal: new Refusal('SecretByValue', []) };

  const planToStore: KeptPlan = {
    // A decision counts only if the call still has this digest.
    digest: consentDigest,
    requestKey,
    nonce,
    subject: subjectOf(call.operation, call.endpoint.account, call.input),
    repeats: mayRepeat,
    issuedAt: now().getTime(),
    tool,
    args: call.args,
    caller,
    scopes: principal?.scopes,
    agent: principal?.agent,
    client,
    plan,
    accept: acceptOf(call),
    typedName: nameToType(call),
  };
  try {
    const result = await plans.add(planToStore);
    if (result === 'added') return { kind: 'stored' };
    const tooLong = { reason: words('its plan is too long to wait for a decision') };
    const refusal = result === 'tooLong' ? tooLargeToShow(call, tooLong) : new Refusal('TooManyWaiting', []);
    return { kind: 'notStored', refusal };
  } catch {
    // This completes the refusal's text, which says that the journal cannot be written. The plans are stored beside the journal.
    const problem = say`the plans that wait beside it cannot be written`;
    return { kind: 'notStored', refusal: new Refusal('JournalUnavailable', [problem]) };
  }
}

/** Opens the page in the browser of this machine, or announces the plan to the people who sign in to the page. */
function announce({ draft, plan }: PlannedChange, decideAt: string | undefined, { page }: CallDependencies): void {
  const { tool, caller } = draft;
  if (page?.kind === 'local') page.show();
  else if (decideAt !== undefined) page?.announce({ tool, caller, headline: shortNames(plan.summary), decideAt });
}

/** The answer with the plan: `success` for the agent, and `view` for the change view, in which the user sees the plan and may click. */
function planOutcome({ call, shown, others }: PlannedChange, time: Date, ways: Ways): EndedOutcome {
  const tool = call.operation.name;
  const { inChat, byClick, onPageUntil, decideAt, claims, planId } = ways;

  // A planId that is the consent (`inChat`) and a click in a view count for ten minutes, and a decision on the page often longer. The plan
  // shows the deadline of its planId or, if the planId is no consent, the deadline on the page, even if a click ends before.
  const issuedAt = time.getTime();
  const tokenExpiresAt = issuedAt + tokenLifetimeMs;
  const expiresAt = inChat ? tokenExpiresAt : (onPageUntil ?? tokenExpiresAt);
  const expiresIso = new Date(expiresAt).toISOString();
  // A plan on the page always has a planId. So nobody can agree to a plan without planId and click, and its text has no deadline.
  const isOnlyShown = planId === undefined && !byClick;
  const deadlineText = isOnlyShown ? undefined : `${expiresIso.slice(0, 16).replace('T', ' ')} UTC`;

  const isOnlyOnPage = onPageUntil !== undefined && !inChat && !byClick;
  // The summary tells the agent of the caller's other plans for the same thing. `shown` tells the person of them.
  const textsOfOtherPlans = others.map(({ text }) => text);
  const steps = [...stepsToReplace(others, tool, planId), nextSteps(tool, call.control.planOnly, ways)];
  const requiredName = nameToType(call);
  return {
    kind: 'succeeded',
    success: {
      summary: join([...textsOfOtherPlans, say`Plan of ${own(tool)}; nothing was sent.`], ' '),
      // `waiting` says that nobody can decide in the client, because a person decides on the page.
      outcome: isOnlyOnPage ? 'waiting' : 'planned',
      // The agent shows this text to the user.
      show: planText(shown, deadlineText),
      // The change view shows all of it. The agent gets only the request in it.
      plan: shown,
      ...(planId !== undefined && { planId, planExpires: expiresIso }),
      ...(decideAt !== undefined && { decideAt }),
      next: next('user', 'decide', join(steps, ' ')),
      warnings: [],
      requestIds: {},
    },
    view: {
      kind: 'plan',
      accept: acceptOf(call),
      ...(requiredName !== undefined && { typedName: requiredName }),
      issuedAt,
      ...(inChat && { inChat: true }),
      ...(byClick && { claims }),
    },
  };
}

/** The agent's next steps: people decide by a click or on the page, or the agent calls after their yes in the chat, or both. */
function nextSteps(tool: string, planOnly: boolean, ways: Ways): SafeText {
  const withoutAgent = sentencesAboutPeople(tool, ways);
  if (withoutAgent.length > 0 && !ways.inChat) return join([...withoutAgent, ...afterPeople(tool, ways)], ' ');
  if (withoutAgent.length > 0) {
    const leave = say`Leave the decision to them. Only if they tell you to go ahead instead`;
    return callAfterYes(join([...withoutAgent, leave], ' '), tool, planOnly, ways);
  }

  const showAll = say`Show the user all of "show", in their language.`;
  if (ways.isDeadEnd)
    return say`${showAll} Nobody can agree to it here: that needs a client that asks its user or shows views, a page, or a terminal (cloudops-mcp call).`;
  const condition = planOnly ? say`Stop there. Only if they then ask for it` : say`If they say yes to it`;
  return callAfterYes(join([showAll, condition], ' '), tool, planOnly, ways);
}

/** A sentence for each of the other plans for the same thing, which says how to withdraw it in favour of this plan. */
const stepsToReplace = (others: readonly OtherPlan[], tool: string, planId: string | undefined): readonly SafeText[] =>
  others.map(({ planId: otherPlanId }) => {
    const withPlanId = words(planId === undefined ? '' : ', this planId');
    return say`If this plan replaces the other one, call ${own(tool)} with the same arguments${withPlanId} and replaces: ${exact(otherPlanId)}.`;
  });

/** Sentences about the ways in which people decide without the agent, by a click or on the page. Empty if there is no such way. */
function sentencesAboutPeople(tool: string, ways: Ways): readonly SafeText[] {
  const { byClick, onPageUntil, decideAt, byAnotherPerson } = ways;
  const texts: SafeText[] = [];
  if (byClick) {
    texts.push(say`The user sees this plan with a button to agree and one to do nothing.`, withoutButton(tool, ways));
  }
  if (decideAt !== undefined) {
    const who = words(byAnotherPerson ? 'somebody other than the user' : 'a person');
    texts.push(say`Give the user the link in decideAt: ${who} decides there.`);
  } else if (onPageUntil !== undefined) {
    texts.push(say`This plan waits in a browser tab on the machine of this server: tell the user to decide there.`);
  }
  return texts;
}

/** The sentence for a user who sees no button, because some hosts say that they show views but show none, or do not pass clicks on. */
function withoutButton(tool: string, { inChat, decideAt }: Ways): SafeText {
  if (inChat) return say`If they see no button, show them all of "show" and let them answer in the chat.`;
  if (decideAt !== undefined) return say`If they see no button, they decide at the link.`;
  return say`If they see no button, they can decide where this server runs, with cloudops-mcp view ${own(tool)} and the same arguments.`;
}

/** Sentences about waiting for a decision without the agent, and about asking for the outcome. */
const afterPeople = (tool: string, { byClick, planId }: Ways): readonly SafeText[] =>
  sentences(
    byClick && say`Wait for the decision: only a click carries this plan out.`,
    planId !== undefined &&
      say`To learn what became of it, call ${own(tool)} with the same arguments and this planId; add withdraw: true if the user no longer wants it.`,
  );

/** @param condition the beginning of the sentence: `If they say yes to it` */
function callAfterYes(condition: SafeText, tool: string, planOnly: boolean, { planId }: Ways): SafeText {
  const withPlanId = words(planId === undefined ? '' : ' and this planId');
  const withoutPlanOnly = words(planOnly ? ', without planOnly' : '');
  return say`${condition}, call ${own(tool)} with the same arguments${withPlanId}${withoutPlanOnly}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
}

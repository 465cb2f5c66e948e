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
import type { OtherPlan, PlannedChange, ResolvedChange } from './stages.js';

type PlanStep = Extract<ConsentStep, { kind: 'plan' }>;

/** The ways in which people can agree to a plan. */
interface Ways {
  /** True if the user can say yes in the chat, after which the agent calls with the planId. The planId is then the user's consent. */
  readonly inChat: boolean;
  /** Set if the user can click in the change view. */
  readonly claimsForClick: PlanClaims | undefined;
  /** Deadline for a decision on the page (milliseconds since 1970). Undefined if the plan is not on the page. */
  readonly onPageUntil: number | undefined;
  /** The address of the plan on the page, if the caller may know it. */
  readonly pageUrl: string | undefined;
  /** Set if nobody can agree to the plan, because this client and the configuration offer no way. */
  readonly isDeadEnd: boolean;
  /** With `inChat`, a call with this planId carries out the plan. Otherwise it asks for the plan's state. */
  readonly planId: string | undefined;
}

/**
 * Answers with the plan and the ways to agree to it. Stores the plan if a person decides on it later.
 * @param step the ways that client and configuration offer
 * @throws Refusal if there is no way to agree, because of earlier refusals or because the plan cannot be stored; never with `planOnly`
 */
export async function answerWithPlan(
  step: PlanStep,
  planned: PlannedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const { newNonce, plans, page, now } = dependencies;
  // All ways share one nonce, so that no model carries out a plan by planId after a person has declined it elsewhere.
  const nonce = newNonce();
  const { inChat, byClick, onPage, isStored, refusal } = await openOfferedWays(
    step,
    planned,
    nonce,
    context,
    dependencies,
  );
  const hasOpenWay = inChat || byClick || onPage;
  // With `planOnly`, the plan is shown even if nobody can agree to it.
  if (!hasOpenWay && refusal !== undefined && !planned.call.control.planOnly) throw refusal;

  const pageUrl = onPage ? addressOf(nonce, page) : undefined;
  if (onPage) announce(planned, pageUrl, dependencies);
  // A planId with the use `plan` is the consent after a yes in the chat. With the use `handle`, it only asks for the state of a stored plan.
  const use = inChat ? 'plan' : 'handle';
  const claims = { digest: planned.consentDigest, nonce };
  return planOutcome(planned, now(), {
    inChat,
    claimsForClick: byClick ? claims : undefined,
    onPageUntil: onPage ? plans.expiry() : undefined,
    pageUrl,
    // Set only with `planOnly`, if the same call without `planOnly` would be refused.
    isDeadEnd: step.isDeadEnd === true,
    planId: inChat || isStored ? context.tokens.issue({ use, ...claims }) : undefined,
  });
}

/** The offered ways that are open, and whether the plan is stored. */
interface OpenWays {
  readonly inChat: boolean;
  readonly byClick: boolean;
  readonly onPage: boolean;
  readonly isStored: boolean;
  /** The reason why an offered way is closed. */
  readonly refusal: Refusal | undefined;
}

/** Opens the offered ways, except those that earlier refusals close. Stores the plan for people who click, in a view or on the page. */
async function openOfferedWays(
  { withPlanId, withClick, withPage }: PlanStep,
  planned: PlannedChange,
  nonce: string,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<OpenWays> {
  const { refusals } = dependencies;
  // After a yes in the chat, the planId is the consent. This way is closed after the user has declined this change, or too many changes.
  const refusalOfPlanId = withPlanId ? await refusals.againstPlanId(planned.draft) : undefined;
  const inChat = withPlanId && refusalOfPlanId === undefined;

  // People are not asked to click after the user has declined too many changes.
  const offersClicks = withClick || withPage;
  const refusalOfClicks = offersClicks ? await refusals.againstAsking(planned.draft) : undefined;
  const mayAsk = offersClicks && refusalOfClicks === undefined;
  // The page needs the stored plan. A click in a view does not, but the plan is stored for it too, so that the agent can ask for the outcome.
  const refusalOfStoring = mayAsk ? await storePlan(planned, nonce, context, dependencies) : undefined;
  const isStored = mayAsk && refusalOfStoring === undefined;
  return {
    inChat,
    // A click in a view brings the plan's arguments and claims along, so it also counts for a plan that could not be stored.
    byClick: withClick && mayAsk,
    onPage: withPage && isStored,
    isStored,
    refusal: refusalOfClicks ?? refusalOfStoring ?? refusalOfPlanId,
  };
}

/** Stores a plan. Returns the refusal if it cannot be stored. */
async function storePlan(
  { call, draft, consentDigest, plan, repeats }: PlannedChange,
  nonce: string,
  { principal }: CallContext,
  { plans, now }: CallDependencies,
): Promise<Refusal | undefined> {
  // A plan with a secret is never stored, but a plan with the name of a secret file may be.
  if (holdsSecret(call)) return new Refusal('SecretByValue');
  // Journal entries and their drafts call the request's idempotency key `digest`.
  const { tool, caller, client, digest: requestKey } = draft;
  const planToStore: KeptPlan = {
    // A decision counts only if the call still has this digest.
    digest: consentDigest,
    requestKey,
    nonce,
    subject: subjectOf(call.operation, call.endpoint.account, call.input),
    repeats,
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
  const added = await plans.add(planToStore).catch(() => 'unwritable' as const);
  switch (added) {
    case 'added':
      return undefined;
    case 'tooLong':
      return tooLargeToShow(call, { reason: words('its plan is too long to wait for a decision') });
    case 'tooMany':
      return new Refusal('TooManyWaiting');
    case 'unwritable':
      // There is no code for plans. This code fits, because they are stored beside the journal.
      return new Refusal('JournalUnavailable', [say`the plans that wait beside it cannot be written`]);
  }
}

/** Opens the page in the browser of this machine, or announces the plan to the people who sign in to the page. */
function announce({ draft, plan }: PlannedChange, pageUrl: string | undefined, { page }: CallDependencies): void {
  const { tool, caller } = draft;
  if (page?.kind === 'local') page.show();
  else if (pageUrl !== undefined)
    page?.announce({ tool, caller, headline: shortNames(plan.summary), decideAt: pageUrl });
}

/** The answer with the plan: `success` for the agent, and `view` for the change view, in which the user sees the plan and may click. */
function planOutcome({ call, shown, others }: PlannedChange, time: Date, ways: Ways): EndedOutcome {
  const tool = call.operation.name;
  const { inChat, claimsForClick, onPageUntil, pageUrl, planId } = ways;
  const byClick = claimsForClick !== undefined;
  const onPage = onPageUntil !== undefined;

  const issuedAt = time.getTime();
  const expiresIso = new Date(shownDeadline(ways, issuedAt)).toISOString();
  // If nobody can agree to the plan, its text has no deadline.
  const hasOpenWay = inChat || byClick || onPage;
  const deadlineText = hasOpenWay ? `${expiresIso.slice(0, 16).replace('T', ' ')} UTC` : undefined;

  // The summary tells the agent of the caller's other plans for the same thing. `shown` tells the person of them.
  const textsOfOtherPlans = others.map(({ text }) => text);
  const steps = [...stepsToReplace(others, tool, planId), nextSteps(call, ways)];
  const requiredName = nameToType(call);
  return {
    kind: 'succeeded',
    success: {
      summary: join([...textsOfOtherPlans, say`Plan of ${own(tool)}; nothing was sent.`], ' '),
      // `waiting` says that nobody can decide in the client, because a person decides on the page.
      outcome: onPage && !inChat && !byClick ? 'waiting' : 'planned',
      // The agent shows this text to the user.
      show: planText(shown, deadlineText),
      // The whole plan is for the change view. In the agent's result, only the request of the plan stays (`plainResult`).
      plan: shown,
      ...(planId !== undefined && { planId, planExpires: expiresIso }),
      ...(pageUrl !== undefined && { decideAt: pageUrl }),
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
      ...(byClick && { claims: claimsForClick }),
    },
  };
}

/**
 * The one deadline that a plan shows (milliseconds since 1970). The ways to decide may have different deadlines: a yes in the chat or a click in a
 * view counts for ten minutes, and a decision on the page often longer.
 */
function shownDeadline({ inChat, onPageUntil }: Ways, issuedAt: number): number {
  const tokenExpiresAt = issuedAt + tokenLifetimeMs;
  // Without a yes in the chat, the deadline on the page is shown, even if clicks in a view stop counting before.
  return inChat ? tokenExpiresAt : (onPageUntil ?? tokenExpiresAt);
}

/** The agent's next steps: people decide by a click or on the page, or the agent calls after their yes in the chat, or both. */
function nextSteps(call: ResolvedChange, ways: Ways): SafeText {
  const withoutAgent = sentencesAboutPeople(call, ways);
  if (withoutAgent.length > 0 && !ways.inChat)
    return join([...withoutAgent, ...sentencesAboutOutcome(call, ways)], ' ');
  if (withoutAgent.length > 0) {
    const leave = say`Leave the decision to them. Only if they tell you to go ahead instead`;
    return callAfterYes(join([...withoutAgent, leave], ' '), call, ways);
  }

  const showAll = say`Show the user all of "show", in their language.`;
  if (ways.isDeadEnd)
    return say`${showAll} Nobody can agree to it here: that needs a client that asks its user or shows views, a page, or a terminal (cloudops-mcp call).`;
  const condition = call.control.planOnly ? say`Stop there. Only if they then ask for it` : say`If they say yes to it`;
  return callAfterYes(join([showAll, condition], ' '), call, ways);
}

/** A sentence for each of the other plans for the same thing, which says how to withdraw it in favour of this plan. */
const stepsToReplace = (others: readonly OtherPlan[], tool: string, planId: string | undefined): readonly SafeText[] =>
  others.map(({ planId: otherPlanId }) => {
    const withPlanId = words(planId === undefined ? '' : ', this planId');
    return say`If this plan replaces the other one, call ${own(tool)} with the same arguments${withPlanId} and replaces: ${exact(otherPlanId)}.`;
  });

/** Sentences about the ways in which people decide without the agent, by a click or on the page. Empty if there is no such way. */
function sentencesAboutPeople({ operation, account }: ResolvedChange, ways: Ways): readonly SafeText[] {
  const { claimsForClick, onPageUntil, pageUrl } = ways;
  const who = words(account.confirm === 'approval' ? 'somebody other than the user' : 'a person');
  return sentences(
    claimsForClick !== undefined && say`The user sees this plan with a button to agree and one to do nothing.`,
    claimsForClick !== undefined && withoutButton(operation.name, ways),
    pageUrl !== undefined && say`Give the user the link in decideAt: ${who} decides there.`,
    pageUrl === undefined &&
      onPageUntil !== undefined &&
      say`This plan waits in a browser tab on the machine of this server: tell the user to decide there.`,
  );
}

/** The sentence for a user who sees no button, because some hosts say that they show views but show none, or do not pass clicks on. */
function withoutButton(tool: string, { inChat, pageUrl }: Ways): SafeText {
  if (inChat) return say`If they see no button, show them all of "show" and let them answer in the chat.`;
  if (pageUrl !== undefined) return say`If they see no button, they decide at the link.`;
  return say`If they see no button, they can decide where this server runs, with cloudops-mcp call ${own(tool)} and the same arguments.`;
}

/** Sentences about waiting for a decision without the agent, and about asking for the outcome. */
const sentencesAboutOutcome = ({ operation }: ResolvedChange, { claimsForClick, planId }: Ways): readonly SafeText[] =>
  sentences(
    claimsForClick !== undefined && say`Wait for the decision: only a click carries this plan out.`,
    planId !== undefined &&
      say`To learn what became of it, call ${own(operation.name)} with the same arguments and this planId; add withdraw: true if the user no longer wants it.`,
  );

/** Tells the agent to call after a yes. `condition` is the beginning of the sentence: `If they say yes to it`. */
function callAfterYes(condition: SafeText, { operation, control }: ResolvedChange, { planId }: Ways): SafeText {
  const withPlanId = words(planId === undefined ? '' : ' and this planId');
  const withoutPlanOnly = words(control.planOnly ? ', without planOnly' : '');
  return say`${condition}, call ${own(operation.name)} with the same arguments${withPlanId}${withoutPlanOnly}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
}

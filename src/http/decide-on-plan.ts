import * as z from 'zod';
import { type Account, type Accounts, accountsOf } from '../calls/account.js';
import type { CallContext, CallOutcome, CallTool } from '../calls/context.js';
import { boundedReason, longestReason } from '../changes/decline-reason.js';
import type { EndedOutcome } from '../calls/outcome.js';
import { decisionText, type PlanDecision } from '../consent/plan-decision.js';
import type { FoundPlan, Plans } from '../consent/plans.js';
import { Refusal, refusalFailure, refusedChange } from '../calls/refusal.js';
import { relatedPlans, relatedText, withOtherPlans } from '../changes/open-changes.js';
import { reasonAgainstDeciding } from '../changes/required-consent.js';
import { createConsentTokens } from '../consent/tokens.js';
import { decideTool } from '../mcp/views/contract/apps.js';
import { viewMeta } from '../mcp/views/results.js';
import { decisionSchema } from '../mcp/views/view-of-tool.js';
import type { Operation } from '../tools/define-operation.js';
import { type Log, reasonOf } from '../util/log.js';
import { quoted, type SafeText, say, sentence, words } from '../util/safe-text.js';
import type { SealingKeys } from '../util/seal.js';
import type { Authentication } from './auth.js';
import type { DecisionSession } from './decision-session.js';

export interface DecisionDependencies {
  readonly plans: Plans;
  readonly accounts: Accounts;
  readonly operations: readonly Operation[];
  readonly call: CallTool;
  readonly stateKeys: SealingKeys;
  readonly now: () => Date;
  readonly log: Log;
  /** Finds the caller of a plan, with the caller's present scopes. Undefined if the plan has no `caller`. */
  readonly callerOf: (plan: FoundPlan) => Promise<Authentication | undefined>;
}

/** The person at the page: signed in, or at this machine. The person at this machine has no name and may use every account. */
export type PageUser =
  | Pick<DecisionSession, 'person' | 'mayApprove' | 'scopes'>
  | { readonly person: undefined; readonly mayApprove: false; readonly scopes: undefined };

/** The account of a plan; undefined if the person may not use the account. */
export function accountOfPlan({ args }: FoundPlan, user: PageUser, accounts: Accounts): Account | undefined {
  const principal = user.person === undefined ? undefined : { name: user.person, scopes: user.scopes };
  const { all, areNamed } = accountsOf(accounts, principal);
  // If accounts have no names, there is only one account.
  return all.find(({ name }) => !areNamed || name === args.account);
}

/** Returns the reason why a person may not decide on a plan; undefined if the person may. */
export function reasonAgainst(plan: FoundPlan, user: PageUser, accounts: Accounts): SafeText | undefined {
  const account = accountOfPlan(plan, user, accounts);
  if (account === undefined) return words('You have no access to the account of this change.');
  return reasonAgainstDeciding({ ...user, mode: account.confirm, caller: plan.caller });
}

/** The result of a click that decides. */
interface ClickResult {
  /**
   * The effect of the click, for the log. `counted`: the click decided the plan. `too late`: an earlier decision stands. `refused`: the plan's
   * call is not allowed or not possible any more, so another click would be refused too. `not counted`: the plan waits for another click.
   */
  readonly effect: 'counted' | 'too late' | 'refused' | 'not counted';
  readonly outcome: EndedOutcome;
  /** The earlier decision in sentences, if the plan was decided before the click. */
  readonly earlierDecision?: SafeText | undefined;
}

/** Codes of failures that another click may avoid. After such a failure, the plan continues to wait for a click. */
const temporaryFailures = [
  'NobodyAsked',
  'WrongName',
  'JournalUnavailable',
  'StateUnavailable',
  'SenderUnavailable',
  'NotConfigured',
  'InternalError',
];

/** Carries out a person's decision on a plan. If an earlier click has decided the plan, the result is the outcome of that decision. */
async function decideOnPlan(
  plan: FoundPlan,
  click: DecidingClick,
  user: PageUser,
  dependencies: DecisionDependencies,
): Promise<ClickResult> {
  const objection = reasonAgainst(plan, user, dependencies.accounts);
  if (objection !== undefined) return { effect: 'refused', outcome: refusedOutcome(plan, 'NotAllowed', objection) };
  const prepared = await prepareCall(plan, dependencies);
  if (plan.state === 'decided') return resultOfEarlierDecision(plan, prepared, dependencies);
  if (prepared.kind === 'blocked') return prepared.clickResult;

  const result = await callWithClick(plan, click, user, prepared.callOfPlan, dependencies);
  return result ?? resultOfEarlierDecision(plan, prepared, dependencies);
}

/**
 * Makes the call of a plan, with the click as the consent. Policy, scopes and limits are checked again, as for any call. The click is refused
 * if the call would now send another request than the person saw. The first click that decides is stored with the plan.
 * @param click has the reason for a decline, and the name that a person types to confirm a deletion
 * @returns undefined if an earlier click has decided the plan
 */
async function callWithClick(
  plan: FoundPlan,
  click: DecidingClick,
  { person }: PageUser,
  callOfPlan: CallOfPlan,
  dependencies: DecisionDependencies,
): Promise<ClickResult | undefined> {
  const { decision, reason, name: typedName } = click;
  let isDecisionStored = false;
  /** The parts that only a click on a page has. */
  const page = {
    person,
    // The earlier change that the plan repeats, if there is one. The person's consent is for this repetition only.
    repeats: plan.repeats,
    onClaim: () => {
      isDecisionStored = true;
    },
  };
  const outcome = await callOfPlan({ click: { decision, reason, typedName, claims: tokenClaimsOf(plan), page } });
  if (outcome.kind === 'succeeded') return { effect: 'counted', outcome };
  // Cannot happen, because the click is the consent, so the call never asks its user. Only the compiler needs this result.
  if (outcome.kind === 'inputRequired') return { effect: 'refused', outcome: refusedOutcome(plan, 'TicketRefused') };

  const { code } = outcome.failure;
  if (code === 'AlreadyDecided') return undefined;
  // A call that has stored the decision also stores its outcome, unless a fault leaves the outcome unknown. So nothing is stored here.
  if (isDecisionStored) return { effect: 'counted', outcome };
  if (temporaryFailures.includes(code)) return { effect: 'not counted', outcome };
  // Any other failure is a refusal, for example by the policy, and another click would be refused too.
  return storeRefusal(plan, click, person, outcome, dependencies);
}

/**
 * Stores the decision of a click with the plan. The call that the click made was refused, and this refusal becomes the plan's outcome.
 * @returns undefined if an earlier click has decided the plan
 */
async function storeRefusal(
  plan: FoundPlan,
  { decision, reason }: DecidingClick,
  person: string | undefined,
  refusal: EndedOutcome,
  dependencies: DecisionDependencies,
): Promise<ClickResult | undefined> {
  const { plans, operations, now } = dependencies;
  const at = now().getTime();
  // The call was refused before it removed secrets from the reason. So the reason is kept only if the operation takes no secrets.
  const takesSecrets = operations.some(({ name, secrets }) => name === plan.tool && secrets !== undefined);
  const storedDecision: PlanDecision =
    decision === 'accept'
      ? { kind: 'accepted', person, at }
      : { kind: 'declined', person, at, reason: takesSecrets ? undefined : boundedReason(reason) };

  // Undefined if the decision cannot be stored now.
  const claimResult = await plans
    .claim(plan.nonce, storedDecision)
    .catch((error: unknown) => logUnavailable(plan, error, dependencies));
  if (claimResult === 'taken') return undefined;
  // Only a stored decision can have an outcome for the caller. The person who clicked gets the refusal in any case.
  if (claimResult === 'claimed') await plans.settle(plan.nonce, refusal);
  return { effect: 'refused', outcome: refusal };
}

/** The result of a click on a plan that is decided already. */
async function resultOfEarlierDecision(
  plan: FoundPlan,
  prepared: PreparedCall,
  dependencies: DecisionDependencies,
): Promise<ClickResult> {
  const storedPlan = await dependencies.plans
    .find(plan.nonce)
    .catch((error: unknown) => logUnavailable(plan, error, dependencies));
  const decidedPlan = storedPlan ?? plan;
  return {
    effect: 'too late',
    outcome: await lookUpOutcome(decidedPlan, prepared, { waitsForEnd: true }),
    earlierDecision: say`${describeDecision(decidedPlan)} This click sent nothing.`,
  };
}

/**
 * Returns the outcome of a decided plan. Looks for the outcome with a call of the plan, which waits for a change under way if `waitsForEnd` is
 * true. If the call is blocked or finds no outcome, returns the outcome in the stored plan.
 */
async function lookUpOutcome(
  plan: FoundPlan,
  prepared: PreparedCall,
  { waitsForEnd }: { readonly waitsForEnd: boolean },
): Promise<EndedOutcome> {
  // A call whose `stop` has aborted reads the state of the plan once, and does not wait.
  const stop = waitsForEnd ? undefined : AbortSignal.abort();
  const lookedUp =
    prepared.kind === 'ready' ? await prepared.callOfPlan({ lookAt: tokenClaimsOf(plan), stop }) : undefined;
  return lookedUp !== undefined && answersLook(lookedUp) ? lookedUp : outcomeOf(plan);
}

/** The claims of a plan's token: the values by which a call names the plan. */
const tokenClaimsOf = ({ digest, nonce, issuedAt }: FoundPlan) => ({ digest, nonce, issuedAt });

function logUnavailable({ nonce }: FoundPlan, error: unknown, { log }: DecisionDependencies): undefined {
  log('error', 'journal', { plan: nonce, error: reasonOf(error) });
}

/** The outcome of a plan's call that is refused. */
const refusedOutcome = ({ tool }: FoundPlan, code: Refusal['code'], ...problems: readonly SafeText[]): EndedOutcome =>
  refusedChange(tool, new Refusal(code, problems));

/** Describes the decision on a plan to people, with the reason if there is one. */
function describeDecision({ decision }: FoundPlan): SafeText {
  if (decision === undefined) return words('This was decided before.');
  const { reason } = decision;
  const because = reason === undefined ? words('') : say` Reason: ${quoted(reason, longestReason)}.`;
  return say`${sentence(say`${decisionText(decision)}.`)}${because}`;
}

/**
 * The outcome with which a decided plan ended. If the outcome is not known, returns the refusal `AlreadyDecided`. Its summary does not describe
 * the decision, because all callers show the decision separately.
 */
const outcomeOf = (plan: FoundPlan): EndedOutcome => {
  if (plan.outcome !== undefined) return { ...plan.outcome, isOfPlan: true };
  const failure = refusalFailure(plan.tool, new Refusal('AlreadyDecided'), { isChange: true });
  const mayBeSent = plan.decision === undefined || plan.decision.kind === 'accepted';
  const summary = words(mayBeSent ? 'The outcome of this change is not known yet.' : 'Nothing was sent.');
  return { kind: 'failed', failure: { ...failure, summary } };
};

/** Makes the call of a plan in the name of the plan's caller: with a click that decides, or only to look up the outcome. */
type CallOfPlan = (action: Pick<CallContext, 'click' | 'lookAt' | 'stop'>) => Promise<CallOutcome>;

/** The call of a plan, or the result of a click if the plan's caller or tool is not known. */
type PreparedCall =
  | { readonly kind: 'ready'; readonly callOfPlan: CallOfPlan }
  | { readonly kind: 'blocked'; readonly clickResult: ClickResult };

/** Prepares the call of a plan. The call is blocked if its caller cannot be verified now, or if its caller or tool does not exist any more. */
async function prepareCall(
  plan: FoundPlan,
  { operations, call, stateKeys, now, callerOf }: DecisionDependencies,
): Promise<PreparedCall> {
  const { tool, args, caller, agent, client } = plan;
  const operation = operations.find(({ name }) => name === tool);
  const authentication = await callerOf(plan);
  if (authentication?.kind === 'unavailable') {
    const outcome = undecidedOutcome(tool, words('the caller of this change cannot be verified now'));
    return { kind: 'blocked', clickResult: { effect: 'not counted', outcome } };
  }
  const principal = authentication?.kind === 'authenticated' ? authentication.principal : undefined;
  const isCallerGone = caller !== undefined && principal === undefined;
  if (operation === undefined || isCallerGone) {
    const problem = say`the caller, or the tool, does not exist here any more`;
    const outcome = refusedOutcome(plan, 'NotAllowed', problem);
    return { kind: 'blocked', clickResult: { effect: 'refused', outcome } };
  }

  const tokens = createConsentTokens(stateKeys, caller ?? '', now);
  // Never aborts, because the change continues when the page is closed.
  const { signal } = new AbortController();
  const context = { tokens, client, principal: principal && { ...principal, agent }, signal };
  return { kind: 'ready', callOfPlan: (action) => call(operation, args, { ...context, ...action }) };
}

/** The outcome of a click that is refused for a temporary reason, after which the plan waits for another click. */
const undecidedOutcome = (tool: string, reason: SafeText): EndedOutcome =>
  refusedChange(
    tool,
    new Refusal('StateUnavailable', [say`the plan is kept; load this page again in a few seconds`], {
      reason: say`${reason}, so this click decided nothing`,
      mayHaveHappened: false,
    }),
  );

/**
 * The answer to a click that decided nothing, for a temporary reason. It has an outcome, because the view takes an answer without an outcome
 * for a lost answer.
 */
export function undecidedClick(reason: SafeText): object {
  const outcome = undecidedOutcome(decideTool, reason);
  const call = { tool: decideTool, args: {} };
  return { content: [], _meta: viewMeta(outcome, call, { seal: () => '' }, { onDecisionPage: true }) };
}

/**
 * True if a look at a plan found the outcome with which the plan ended, or if the state of the plan cannot be read now. False, for example, for
 * a change under way.
 */
const answersLook = (outcome: CallOutcome): outcome is EndedOutcome =>
  outcome.kind !== 'inputRequired' &&
  (outcome.isOfPlan === true || (outcome.kind === 'failed' && outcome.failure.code === 'StateUnavailable'));

/** Describes each other plan for the same thing in a sentence, if the person may see the plan. */
export function relatedTexts(
  plan: FoundPlan,
  visible: readonly FoundPlan[],
  { operations, now }: Pick<DecisionDependencies, 'operations' | 'now'>,
): readonly SafeText[] {
  const operation = operations.find(({ name }) => name === plan.tool);
  return relatedPlans(visible, plan).map((other) => relatedText(other, plan, operation, now()));
}

/**
 * The content of the change view: a waiting plan, with its buttons if the person may decide, or the outcome above a decided plan.
 * @param related sentences about other plans for the same thing. They are no part of the plan, so a click is valid even if they have changed
 */
export async function shownPlan(
  plan: FoundPlan,
  user: PageUser,
  dependencies: DecisionDependencies,
  related: readonly SafeText[] = [],
): Promise<object> {
  const { state, outcome, decision } = plan;
  if (state === 'waiting') {
    const mayDecide = reasonAgainst(plan, user, dependencies.accounts) === undefined;
    return resultForView(waitingOutcome(plan, { mayDecide, related }), plan);
  }
  // An accepted plan has no outcome while its change is under way, or if its server was killed. Then the journal may have the outcome.
  const needsJournal = decision?.kind === 'accepted' && outcome === undefined;
  const shownOutcome = needsJournal
    ? await lookUpOutcome(plan, await prepareCall(plan, dependencies), { waitsForEnd: false })
    : outcomeOf(plan);
  return resultForView(shownOutcome, plan, describeDecision(plan));
}

/** A waiting plan as the outcome of a call, which the view can show. Without `mayDecide`, the view gets no ticket (see `resultForView`). */
function waitingOutcome(
  stored: FoundPlan,
  { mayDecide, related = [] }: { readonly mayDecide: boolean; readonly related?: readonly SafeText[] },
): EndedOutcome {
  const { plan, accept, typedName, issuedAt, expiresAt, digest, nonce } = stored;
  return {
    kind: 'succeeded',
    success: {
      summary: plan.summary,
      outcome: 'waiting',
      plan: withOtherPlans(plan, related),
      warnings: [],
      requestIds: {},
    },
    view: { kind: 'plan', accept, typedName, issuedAt, expiresAt, ...(mayDecide && { claims: { digest, nonce } }) },
  };
}

/**
 * Makes the result of a call for the change view: an outcome together with its plan. The view shows buttons only if it gets a ticket, which
 * it sends with a click. In chats, the ticket is a sealed action token. On our pages, it is the plan's nonce, because the page proves who
 * clicks.
 * @param decision the decision on the plan in sentences, if the view should show the decision
 */
function resultForView(outcome: EndedOutcome, stored: FoundPlan, decision?: SafeText): object {
  const structuredContent = outcome.kind === 'failed' ? outcome.failure : outcome.success;
  const metaOf = (shown: EndedOutcome) =>
    viewMeta(shown, stored, { seal: () => stored.nonce }, { onDecisionPage: true, earlierDecision: decision });
  const planMeta = metaOf(waitingOutcome(stored, { mayDecide: false }));
  // If the plan and the outcome have the same field, the outcome's field counts.
  return { content: [], structuredContent, _meta: { ...planMeta, ...metaOf(outcome) } };
}

/** The note above a plan: who asked for it, and with which client. Both names are quoted, because they come from outside. */
export const noteOf = (plan: FoundPlan): SafeText => {
  const asker = plan.caller === undefined ? words('a caller without a name') : quoted(plan.caller, 100);
  return say`Asked for by ${asker} with the client ${quoted(plan.client, 100)}.`;
};

/** The tool call that the view makes for a click. `ticket` is the nonce of the plan. With `look`, the view only asks for the plan's state. */
const clickSchema = z.object({
  name: z.literal(decideTool),
  arguments: decisionSchema.extend({ decision: z.enum(['accept', 'decline', 'look']) }),
});

type PlanClick = z.output<typeof clickSchema>['arguments'];

type DecidingClick = PlanClick & { readonly decision: 'accept' | 'decline' };
const isDeciding = (click: PlanClick): click is DecidingClick => click.decision !== 'look';

/** Reads a tool call of the change view as a click. Undefined for any other call, which a page does not answer. */
export const readClick = (params: unknown): PlanClick | undefined => clickSchema.safeParse(params).data?.arguments;

/**
 * Carries out a click. Returns the new content of the change view: for a look, the plan, and otherwise the outcome and the decision on the plan.
 */
export async function answerClick(
  plan: FoundPlan,
  click: PlanClick,
  user: PageUser,
  dependencies: DecisionDependencies,
): Promise<object> {
  const { plans, log } = dependencies;
  if (!isDeciding(click)) return shownPlan(plan, user, dependencies);

  const { effect, outcome, earlierDecision } = await decideOnPlan(plan, click, user, dependencies);
  const { tool, nonce, caller } = plan;
  // The nonce, which is the end of the plan's address, may be in the log, because the address alone is not enough for a click: a click also needs
  // a session, or has to come from the local page.
  log('info', 'decision', {
    tool,
    plan: nonce,
    decision: click.decision,
    result: effect,
    person: user.person,
    caller,
  });
  // An earlier click decided the plan, so this click did nothing.
  if (earlierDecision !== undefined) return resultForView(outcome, plan, earlierDecision);
  // The person at this machine, who has no name, knows who decided, so the view shows only the outcome.
  if (user.person === undefined) return resultForView(outcome, plan);

  // A signed-in person reads who decided and when, like everybody who opens the plan later.
  const storedPlan = await plans.find(plan.nonce).catch(() => undefined);
  // The plan has no decision after a temporary failure, and `storedPlan` is undefined if the plan cannot be read now.
  if (storedPlan?.decision === undefined) return resultForView(outcome, plan);
  return resultForView(outcome, plan, describeDecision(storedPlan));
}

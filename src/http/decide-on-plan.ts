import * as z from 'zod';
import { type Account, type Accounts, accountsOf } from '../calls/account.js';
import type { CallContext, CallOutcome, CallTool } from '../calls/context.js';
import type { Principal } from '../calls/policy.js';
import { longestReason } from '../consent/decline-reason.js';
import type { EndedOutcome } from '../consent/outcome.js';
import { decisionText } from '../consent/plan-decision.js';
import type { FoundPlan, Plans } from '../consent/plans.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import { relatedPlans, relatedText, withOtherPlans } from '../consent/related-plans.js';
import { reasonAgainstDeciding } from '../consent/required-consent.js';
import { createConsentTokens } from '../consent/tokens.js';
import { decideTool } from '../mcp/views/contract/apps.js';
import { viewMeta } from '../mcp/views/results.js';
import { decisionSchema } from '../mcp/views/view-of-tool.js';
import type { Operation } from '../tools/define-operation.js';
import { type Log, reasonOf } from '../util/log.js';
import { quoted, type SafeText, say, sentence, words } from '../util/safe-text.js';
import type { SealingKeys } from '../util/seal.js';
import type { DecisionSession } from './decision-session.js';

export interface PlanDeciding {
  readonly plans: Plans;
  readonly accounts: Accounts;
  readonly operations: readonly Operation[];
  readonly call: CallTool;
  readonly stateKeys: SealingKeys;
  readonly now: () => Date;
  readonly log: Log;
  /** The caller of a plan, with its present scopes; undefined if the caller no longer exists. */
  readonly callerOf: (plan: FoundPlan) => Promise<Principal | undefined>;
}

/** The person who decides: signed in, or at this machine. The person at this machine has no name and may use every account. */
export type Decider =
  | Pick<DecisionSession, 'person' | 'mayApprove' | 'scopes'>
  | { readonly person: undefined; readonly mayApprove: false; readonly scopes: undefined };

/** The account of a plan; undefined if the person may not use it. */
export function accountOfPlan({ args }: FoundPlan, decider: Decider, accounts: Accounts): Account | undefined {
  const principal = decider.person === undefined ? undefined : { name: decider.person, scopes: decider.scopes };
  const { all, areNamed } = accountsOf(accounts, principal);
  return all.find(({ name }) => !areNamed || name === args.account);
}

/** Why a person may not decide on a plan; undefined if the person may. */
export function reasonAgainst(plan: FoundPlan, decider: Decider, accounts: Accounts): SafeText | undefined {
  const account = accountOfPlan(plan, decider, accounts);
  if (account === undefined) return words('You have no access to the account of this change.');
  return reasonAgainstDeciding({ ...decider, mode: account.confirm, caller: plan.caller });
}

/** The result of a decision. */
interface DecidedPlan {
  readonly outcome: EndedOutcome;
  /** The earlier decision, if another decision on the plan came first. */
  readonly earlier?: SafeText | undefined;
}

/** Failures that are not about the change itself, so that the plan continues to wait. */
const temporaryFailures = [
  'NobodyAsked',
  'WrongName',
  'JournalUnavailable',
  'StateUnavailable',
  'SenderUnavailable',
  'NotConfigured',
  'InternalError',
];

/**
 * Carries out the decision of a person on a plan. The call is made like any other, so that policy, scopes and limits are checked again.
 * A click is refused if its claims do not match the request and the plan that were shown. Only the click that claims the plan stores its
 * person; any other click gets the outcome of the decision that came first.
 */
async function decideOnPlan(
  plan: FoundPlan,
  { decision, reason, name: typedName }: PlanDecision,
  decider: Decider,
  deciding: PlanDeciding,
): Promise<DecidedPlan> {
  const { nonce, repeats } = plan;
  const { person } = decider;
  const { plans, accounts, now } = deciding;
  const objection = reasonAgainst(plan, decider, accounts);
  if (objection !== undefined) return refused(plan, 'NotAllowed', [objection]);
  const callOfPlan = await createCall(plan, deciding);
  if (callOfPlan === undefined)
    return refused(plan, 'NotAllowed', [say`the caller, or the tool, does not exist here any more`]);
  if (plan.state === 'decided') return earlierDecision(plan, callOfPlan, deciding);

  let isClaimed = false;
  const onClaim = () => {
    isClaimed = true;
  };
  const click = { decision, claims: claimsOf(plan), reason, typedName, page: { person, repeats, onClaim } };
  const outcome = await callOfPlan({ click });
  // Cannot happen, because a click answers the question.
  if (outcome.kind === 'inputRequired') return refused(plan, 'TicketRefused', []);
  const code = outcome.kind === 'failed' ? outcome.failure.code : undefined;
  if (code === 'AlreadyDecided') return earlierDecision(plan, callOfPlan, deciding);
  if (isClaimed || code === undefined || temporaryFailures.includes(code)) return { outcome };

  // The call stopped before it claimed the plan. The plan ends here, so that its caller learns the reason.
  const kind = decision === 'accept' ? 'accepted' : 'declined';
  const claim = await plans
    .claim(nonce, { kind, person, at: now().getTime() })
    .catch((error: unknown) => logUnavailable(plan, error, deciding));
  if (claim === 'taken') return earlierDecision(plan, callOfPlan, deciding);
  if (claim === 'claimed') await plans.settle(nonce, outcome);
  return { outcome };
}

/** The outcome of the decision that came first. */
async function earlierDecision(plan: FoundPlan, callOfPlan: CallOfPlan, deciding: PlanDeciding): Promise<DecidedPlan> {
  const storedPlan = await deciding.plans
    .find(plan.nonce)
    .catch((error: unknown) => logUnavailable(plan, error, deciding));
  const decidedPlan = storedPlan ?? plan;
  const outcome = await callOfPlan({ look: claimsOf(plan) });
  return {
    outcome: isEnd(outcome) ? outcome : decidedBefore(decidedPlan),
    earlier: say`${decisionSentence(decidedPlan)} This click sent nothing.`,
  };
}

const claimsOf = ({ digest, nonce, issuedAt }: FoundPlan) => ({ digest, nonce, issuedAt });

function logUnavailable({ nonce }: FoundPlan, error: unknown, { log }: PlanDeciding): undefined {
  log('error', 'journal', { plan: nonce, error: reasonOf(error) });
}

const refused = (plan: FoundPlan, ...refusal: ConstructorParameters<typeof Refusal>): DecidedPlan => ({
  outcome: { kind: 'failed', failure: refusalFailure(plan.tool, new Refusal(...refusal), true) },
});

/** The decision on a plan for people: a sentence, and the reason if there is one. */
function decisionSentence({ decision }: FoundPlan): SafeText {
  if (decision === undefined) return words('This was decided before.');
  const { reason } = decision;
  const because = reason === undefined ? words('') : say` Reason: ${quoted(reason, longestReason)}.`;
  return say`${sentence(say`${decisionText(decision)}.`)}${because}`;
}

/** The outcome that is shown for a plan that was decided, but whose own outcome is not known. */
const decidedBefore = ({ tool, decision }: FoundPlan): EndedOutcome => {
  const more = decision === undefined ? {} : { reason: decisionText(decision) };
  return { kind: 'failed', failure: refusalFailure(tool, new Refusal('AlreadyDecided', [], more), true) };
};

/** Makes the call of a plan, in the name of its caller. */
type CallOfPlan = (action: Pick<CallContext, 'click' | 'look'>) => Promise<CallOutcome>;

/** Undefined if the caller, or the tool, no longer exists. */
async function createCall(
  plan: FoundPlan,
  { operations, call, stateKeys, now, callerOf }: PlanDeciding,
): Promise<CallOfPlan | undefined> {
  const { tool, args, caller, agent, client } = plan;
  const operation = operations.find(({ name }) => name === tool);
  const principal = await callerOf(plan);
  if (operation === undefined || (caller !== undefined && principal === undefined)) return undefined;
  const tokens = createConsentTokens(stateKeys, caller ?? '', now);
  // The change continues when the page is closed.
  const { signal } = new AbortController();
  const context = { tokens, client, principal: principal && { ...principal, agent }, signal };
  return (action) => call(operation, args, { ...context, ...action });
}

/** False for a change that is still under way. */
const isEnd = (outcome: CallOutcome): outcome is EndedOutcome =>
  outcome.kind === 'failed' || (outcome.kind === 'succeeded' && outcome.success.outcome !== 'waiting');

/**
 * Describes the other plans for the same thing, in a sentence each.
 * @param visible the plans that the person may see
 */
export function relatedTexts(
  plan: FoundPlan,
  visible: readonly FoundPlan[],
  { operations, now }: Pick<PlanDeciding, 'operations' | 'now'>,
): readonly SafeText[] {
  const operation = operations.find(({ name }) => name === plan.tool);
  return relatedPlans(visible, plan).map((other) => relatedText(other, plan, operation, now()));
}

/**
 * The content of the change view: the plan with its buttons, or the outcome above the plan.
 * @param related sentences about other plans for the same thing. They are not in the plan that the digest of a decision covers
 */
export function shownPlan(stored: FoundPlan, mayDecide: boolean, related: readonly SafeText[] = []): object {
  if (stored.state === 'waiting') return resultOf(waitingOutcome(stored, mayDecide, related), stored);
  return resultOf(stored.outcome ?? decidedBefore(stored), stored, decisionSentence(stored));
}

/**
 * The outcome of a call whose plan waits.
 * @param mayDecide true if the view may show the buttons
 */
function waitingOutcome(stored: FoundPlan, mayDecide: boolean, related: readonly SafeText[] = []): EndedOutcome {
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
 * Makes a result for the change view, with the plan. In place of an action token, the view gets the plan's nonce, which allows nothing
 * without the session.
 */
function resultOf(outcome: EndedOutcome, stored: FoundPlan, earlier?: SafeText): object {
  const structuredContent = outcome.kind === 'failed' ? outcome.failure : outcome.success;
  const metaOf = (shown: EndedOutcome) =>
    viewMeta(shown, stored, { seal: () => stored.nonce }, { onPage: true, earlier });
  const planMeta = metaOf(waitingOutcome(stored, false));
  return { content: [], structuredContent, _meta: { ...planMeta, ...metaOf(outcome) } };
}

/** The note above a plan, with the names of the caller and the client, which come from outside. */
export const noteOf = (plan: FoundPlan): SafeText => {
  const asker = plan.caller === undefined ? words('a caller without a name') : quoted(plan.caller, 100);
  return say`Asked for by ${asker} with the client ${quoted(plan.client, 100)}.`;
};

/** Reads a click in the change view. Returns undefined if a page does not answer such a click. */
export function readClick(params: unknown): PlanClick | undefined {
  const { data } = toolCall.safeParse(params);
  if (data === undefined) return undefined;
  const { ticket: nonce, ...click } = data.arguments;
  return { nonce, ...click };
}

/** A click that decides. */
type PlanDecision = Pick<PlanClick, 'reason' | 'name'> & { readonly decision: 'accept' | 'decline' };

/** A decision, or a request for the plan's outcome. */
interface PlanClick {
  readonly nonce: string;
  readonly decision: 'accept' | 'decline' | 'look';
  /** Why the person declines. */
  readonly reason?: string | undefined;
  /** The name that the person typed. */
  readonly name?: string | undefined;
}

const toolCall = z.object({
  name: z.literal(decideTool),
  arguments: decisionSchema.extend({ decision: z.enum(['accept', 'decline', 'look']) }),
});

/** Carries out a click. Returns the new content of the change view. */
export async function answerClick(
  plan: FoundPlan,
  { decision, ...typed }: Omit<PlanClick, 'nonce'>,
  decider: Decider,
  deciding: PlanDeciding,
): Promise<object> {
  if (decision === 'look') return shownPlan(plan, reasonAgainst(plan, decider, deciding.accounts) === undefined);
  const { outcome, earlier } = await decideOnPlan(plan, { decision, ...typed }, decider, deciding);
  deciding.log('info', 'decision', { tool: plan.tool, decision, person: decider.person, caller: plan.caller });
  if (earlier !== undefined || decider.person === undefined) return resultOf(outcome, plan, earlier);
  // Like everybody else, the person who decided reads who decided and when.
  const decided = await deciding.plans.find(plan.nonce).catch(() => undefined);
  return resultOf(outcome, plan, decided?.decision && decisionSentence(decided));
}

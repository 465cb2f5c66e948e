import * as z from 'zod';
import type { ChangeTools } from '../call-stack.js';
import { type Account, type Accounts, accountsOf } from '../calls/account.js';
import type { EndedOutcome } from '../calls/outcome.js';
import type { Principal } from '../calls/policy.js';
import { Refusal, refusedChange } from '../calls/refusal.js';
import type { Change, State } from '../changes/change.js';
import { decisionText, lateDecision, stateOf } from '../changes/change-state.js';
import { type Click, type DecisionResult, decisionOfClick } from '../changes/decide.js';
import { longestReason } from '../changes/decline-reason.js';
import { otherChangeText } from '../changes/plan-change.js';
import { isOwnChange, reasonAgainstDeciding } from '../changes/required-consent.js';
import type { Changes } from '../changes/store.js';
import { toolArguments } from '../mcp/server-tools.js';
import { type Showing, viewMeta } from '../mcp/views/results.js';
import { decideTool } from '../mcp/views/view-contract.js';
import type { Operation } from '../tools/define-operation.js';
import type { Translator } from '../util/language.js';
import type { Log } from '../util/log.js';
import { quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { Authentication } from './auth.js';
import type { PageUser } from './decision-session.js';

/** The changes on the pages for decisions: who may see them and decide, and the clicks. */

export interface PageDependencies {
  readonly store: Pick<Changes, 'find' | 'waiting' | 'newest'>;
  readonly changes: Pick<ChangeTools, 'click'>;
  readonly accounts: Accounts;
  readonly operations: readonly Operation[];
  readonly now: () => Date;
  readonly log: Log;
  readonly callerOf: (change: Change) => Promise<Authentication | undefined>;
}

/** A change, and who looks at it in which language. */
interface Viewing extends PageDependencies {
  readonly change: Change;
  readonly user: PageUser;
  readonly translator: Translator;
}

function accountFor({ args }: Change, user: PageUser, accounts: Accounts): Account | undefined {
  const principal = user.person === undefined ? undefined : { name: user.person, scopes: user.scopes };
  const { all, areNamed } = accountsOf(accounts, principal);
  return all.find(({ name }) => !areNamed || name === args.account);
}

/** True if the person may use the account of a change, and made it or may approve. */
export const isVisible = (change: Change, user: PageUser, accounts: Accounts): boolean =>
  change.options.onPage &&
  !(change.state === 'waiting' && change.isExpired) &&
  (user.mayApprove || isOwnChange(change, user)) &&
  accountFor(change, user, accounts) !== undefined;

export function reasonAgainst(change: Change, user: PageUser, accounts: Accounts): SafeText | undefined {
  const account = accountFor(change, user, accounts);
  if (account === undefined) return words('You have no access to the account of this change.');
  return reasonAgainstDeciding(account.confirm, change, user);
}

const relatedStates: readonly State[] = ['waiting', 'approved', 'begun', 'accepted', 'partly', 'unknown'];

/** The content of the change view: a waiting plan, or the outcome above a decided plan. */
export function shownChange(
  { change, user, accounts, operations, now, translator }: Viewing,
  visible: readonly Change[],
): object {
  if (change.state !== 'waiting') return endOnPage(change, { translator, earlierDecision: standingDecision(change) });
  const mayDecide = reasonAgainst(change, user, accounts) === undefined;
  const operation = operations.find(({ name }) => name === change.tool);
  // The open or agreed changes of the same thing.
  const others = visible
    .filter(({ id, subject, state }) => id !== change.id && subject !== undefined && relatedStates.includes(state))
    .filter(({ subject }) => subject?.digest === change.subject?.digest)
    .map((other) => otherChangeText(other, change, operation, now()));
  return resultForView(waitingOutcome(change, { mayDecide, others }), change, { translator });
}

function endOnPage(change: Change, showing: Showing): object {
  const { replacedBy } = change.decision ?? {};
  const result = resultForView(stateOf(change, {}), change, { ...showing, isOfPlan: true });
  return { ...result, ...(replacedBy !== undefined && { successor: replacedBy }) };
}

const standingDecision = (change: Change): SafeText | undefined =>
  change.decision && withReason(change, decisionText(change, change.decision));

const withReason = ({ decision }: Change, text: SafeText | undefined): SafeText | undefined =>
  text === undefined || decision?.reason === undefined
    ? text
    : say`${text} Reason: ${quoted(decision.reason, longestReason)}.`;

/** Without `mayDecide`, the view gets no ticket, and shows no buttons. */
function waitingOutcome(
  { id, plan, accept, typedName, madeAt, expiresAt }: Change,
  { mayDecide, others = [] }: { readonly mayDecide: boolean; readonly others?: readonly SafeText[] },
): EndedOutcome {
  return {
    kind: 'succeeded',
    success: { summary: plan.summary, outcome: 'waiting', plan: { ...plan, others }, warnings: [], requestIds: {} },
    // The page proves who clicks, so the ID is enough.
    view: { kind: 'plan', accept, typedName, issuedAt: madeAt, expiresAt, ...(mayDecide && { ticket: id }) },
  };
}

function resultForView(outcome: EndedOutcome, change: Change, showing: Showing): object {
  const structuredContent = outcome.kind === 'failed' ? outcome.failure : outcome.success;
  const metaOf = (shown: EndedOutcome) => viewMeta(shown, { onDecisionPage: true, ...showing });
  const planMeta = metaOf(waitingOutcome(change, { mayDecide: false }));
  return { content: [], structuredContent, _meta: { ...planMeta, ...metaOf(outcome) } };
}

/** The note above a plan. The names come from outside, so they are quoted. */
export const noteOf = ({ caller, client }: Change): SafeText => {
  const asker = caller === undefined ? words('a caller without a name') : quoted(caller, 100);
  return say`Asked for by ${asker} with the client ${quoted(client, 100)}.`;
};

/** `ticket` is the ID of the change, and `look` only asks for its state. */
const clickSchema = z.object({
  name: z.literal(decideTool),
  arguments: toolArguments().decide_change,
});

type PageClick = z.output<typeof clickSchema>['arguments'];

export const readClick = (params: unknown): PageClick | undefined => clickSchema.safeParse(params).data?.arguments;

export async function answerClick(
  viewing: Viewing,
  { decision, reason, name: typedName }: PageClick & { readonly decision: 'accept' | 'decline' },
): Promise<object> {
  const {
    change,
    change: { tool, id, caller },
    user: { person },
    translator,
  } = viewing;
  const decided = await decideByClick(viewing, { decision, where: 'page', person, reason, typedName });
  const result = { decided: 'counted', late: 'too late', refused: 'not counted' }[decided.kind];
  viewing.log('info', 'decision', { tool, id, decision, result, person, caller });
  switch (decided.kind) {
    case 'decided': {
      const earlierDecision = person === undefined ? undefined : standingDecision(decided.change);
      return resultForView(decided.outcome, change, { translator, earlierDecision });
    }
    case 'late': {
      const earlierDecision = withReason(decided.change, decided.earlierDecision);
      return endOnPage(decided.change, { translator, earlierDecision, isLate: decided.isLate });
    }
    case 'refused':
      return resultForView(refusedClick(tool, decided), change, { translator });
  }
}

/** Calls in the name of the caller, with the caller's present scopes. */
async function decideByClick(
  { change, user, accounts, changes, callerOf }: Viewing,
  click: Click,
): Promise<DecisionResult> {
  if (change.state !== 'waiting') return lateDecision(change, decisionOfClick(change, click));
  const objection = reasonAgainst(change, user, accounts);
  if (objection !== undefined) return new Refusal('NotAllowed', [objection]);
  const caller = await callerOf(change);
  if (caller?.kind === 'unavailable') return undecided(words('the caller of this change cannot be verified now'));
  // A caller who lost access has no scopes, so the change is not carried out.
  const gone: Principal | undefined = change.caller === undefined ? undefined : { name: change.caller, scopes: [] };
  const principal = caller?.kind === 'authenticated' ? caller.principal : gone;
  // Never aborts, because the change continues when the page is closed.
  const { signal } = new AbortController();
  return changes.click(change, click, { client: { name: change.client }, principal, signal });
}

const undecided = (reason: SafeText): Refusal =>
  new Refusal('StateUnavailable', [say`the plan is kept; click again in a few seconds`], {
    reason: say`${reason}, so this click decided nothing`,
  });

/** Nothing was sent, or the view would take the outcome for a lost answer. */
const refusedClick = (tool: string, { code, problems, more }: Refusal): EndedOutcome =>
  refusedChange(tool, new Refusal(code, problems, { ...more, mayHaveHappened: false }));

/** The answer to a click that decided nothing, for a temporary reason. */
export function undecidedClick(reason: SafeText, translator: Translator): object {
  const outcome = refusedClick(decideTool, undecided(reason));
  return { content: [], _meta: viewMeta(outcome, { onDecisionPage: true, translator }) };
}

import * as z from 'zod';
import type { ChangeTools } from '../call-stack.js';
import { type Account, type Accounts, accountsOf } from '../calls/account.js';
import type { EndedOutcome } from '../calls/outcome.js';
import type { Principal } from '../calls/policy.js';
import { Refusal, refusedChange } from '../calls/refusal.js';
import type { Change, Changes, State } from '../changes/change.js';
import { decisionText, lateClick, stateOf } from '../changes/change-state.js';
import type { ClickResult } from '../changes/change-tools.js';
import { decisionOfClick } from '../changes/decide.js';
import { longestReason } from '../changes/decline-reason.js';
import { otherChangeText } from '../changes/open-changes.js';
import { isOwnChange, reasonAgainstDeciding } from '../changes/required-consent.js';
import { decideTool } from '../mcp/views/contract/apps.js';
import { type Showing, viewMeta } from '../mcp/views/results.js';
import { decisionSchema } from '../mcp/views/view-of-tool.js';
import type { Operation } from '../tools/define-operation.js';
import type { Log } from '../util/log.js';
import { quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { Authentication } from './auth.js';
import type { DecisionSession } from './decision-session.js';

/** This file has what the pages for decisions show of changes, who may see them and decide on them, and the clicks there. */

export interface PageDependencies {
  readonly store: Pick<Changes, 'find' | 'waiting' | 'newest'>;
  readonly changes: Pick<ChangeTools, 'click'>;
  readonly accounts: Accounts;
  readonly operations: readonly Operation[];
  readonly now: () => Date;
  readonly log: Log;
  /** Finds the caller of a change, with the caller's present scopes. Undefined if the change has no `caller`. */
  readonly callerOf: (change: Change) => Promise<Authentication | undefined>;
}

/** The person at the page: signed in, or at this machine. The person at this machine has no name and may use every account. */
export type PageUser =
  | Pick<DecisionSession, 'person' | 'personId' | 'mayApprove' | 'scopes'>
  | {
      readonly person: undefined;
      readonly personId: undefined;
      readonly mayApprove: false;
      readonly scopes: undefined;
    };

/** The account of a change; undefined if the person may not use the account. */
function accountFor({ args }: Change, user: PageUser, accounts: Accounts): Account | undefined {
  const principal = user.person === undefined ? undefined : { name: user.person, scopes: user.scopes };
  const { all, areNamed } = accountsOf(accounts, principal);
  // If accounts have no names, there is only one account.
  return all.find(({ name }) => !areNamed || name === args.account);
}

/** True if a change is for people on the page, and this person may use its account and made it, or may approve changes. */
export const isVisible = (change: Change, user: PageUser, accounts: Accounts): boolean =>
  change.options.onPage &&
  !(change.state === 'waiting' && change.isExpired) &&
  (user.mayApprove || isOwnChange(change, user)) &&
  accountFor(change, user, accounts) !== undefined;

/** Returns the reason why a person may not decide on a change; undefined if the person may. */
export function reasonAgainst(change: Change, user: PageUser, accounts: Accounts): SafeText | undefined {
  const account = accountFor(change, user, accounts);
  if (account === undefined) return words('You have no access to the account of this change.');
  return reasonAgainstDeciding(account.confirm, change, user);
}

/** The states of another change that matters to a plan for the same thing: it waits, or somebody agreed to it. */
const relatedStates: readonly State[] = ['waiting', 'approved', 'begun', 'accepted', 'partly', 'unknown'];

/** Returns the other changes of the same thing that wait, or to which somebody agreed. */
export const relatedChanges = (change: Change, all: readonly Change[]): readonly Change[] =>
  all.filter(
    ({ id, subject, state }) =>
      id !== change.id &&
      subject !== undefined &&
      subject.digest === change.subject?.digest &&
      relatedStates.includes(state),
  );

/**
 * The content of the change view: a waiting plan, with its buttons if the person may decide, or the outcome above a decided plan.
 * @param visible all changes that the person may see. The plan names those of the same thing
 */
export function shownChange(
  change: Change,
  user: PageUser,
  { accounts, operations, now }: Pick<PageDependencies, 'accounts' | 'operations' | 'now'>,
  visible: readonly Change[] = [],
): object {
  if (change.state !== 'waiting') return endOnPage(change, { earlierDecision: standingDecision(change) });
  const mayDecide = reasonAgainst(change, user, accounts) === undefined;
  const operation = operations.find(({ name }) => name === change.tool);
  const others = relatedChanges(change, visible).map((other) => otherChangeText(other, change, operation, now()));
  return resultForView(waitingOutcome(change, { mayDecide, others }), change);
}

/** What became of a change that was decided, below a text about its decision, and the ID of the newer plan that replaced it. */
function endOnPage(
  change: Change,
  { earlierDecision, isLate = false }: { readonly earlierDecision: SafeText | undefined; readonly isLate?: boolean },
): object {
  const { replacedBy } = change.decision ?? {};
  const result = resultForView(stateOf(change, {}), change, { earlierDecision, isLate, isOfPlan: true });
  return { ...result, ...(replacedBy !== undefined && { successor: replacedBy }) };
}

/** The decision on a change in sentences for people. */
const standingDecision = (change: Change): SafeText | undefined =>
  change.decision && withReason(change, decisionText(change, change.decision));

/** A text about the decision on a change, and the reason that the person gave. */
const withReason = ({ decision }: Change, text: SafeText | undefined): SafeText | undefined =>
  text === undefined || decision?.reason === undefined
    ? text
    : say`${text} Reason: ${quoted(decision.reason, longestReason)}.`;

/** A waiting plan as the outcome of a call, which the view can show. Without `mayDecide`, the view gets no ticket, and shows no buttons. */
function waitingOutcome(
  { id, plan, accept, typedName, madeAt, expiresAt }: Change,
  { mayDecide, others = [] }: { readonly mayDecide: boolean; readonly others?: readonly SafeText[] },
): EndedOutcome {
  return {
    kind: 'succeeded',
    success: {
      summary: plan.summary,
      outcome: 'waiting',
      // Other changes are named as they are now, and not as they were when the plan was made.
      plan: { ...plan, others },
      warnings: [],
      requestIds: {},
    },
    // On a page, the ID is enough, because the page proves who clicks.
    view: { kind: 'plan', accept, typedName, issuedAt: madeAt, expiresAt, ...(mayDecide && { ticket: id }) },
  };
}

/** Makes the result of a call for the change view: an outcome together with its plan. */
function resultForView(outcome: EndedOutcome, change: Change, showing: Showing = {}): object {
  const structuredContent = outcome.kind === 'failed' ? outcome.failure : outcome.success;
  const metaOf = (shown: EndedOutcome) => viewMeta(shown, { onDecisionPage: true, ...showing });
  const planMeta = metaOf(waitingOutcome(change, { mayDecide: false }));
  // If the plan and the outcome have the same field, the outcome's field counts.
  return { content: [], structuredContent, _meta: { ...planMeta, ...metaOf(outcome) } };
}

/** The note above a plan: who asked for it, and with which client. Both names are quoted, because they come from outside. */
export const noteOf = ({ caller, client }: Change): SafeText => {
  const asker = caller === undefined ? words('a caller without a name') : quoted(caller, 100);
  return say`Asked for by ${asker} with the client ${quoted(client, 100)}.`;
};

/** The tool call that the view makes for a click. `ticket` is the ID of the change. With `look`, the view only asks for the state of the change. */
const clickSchema = z.object({
  name: z.literal(decideTool),
  arguments: decisionSchema.extend({ decision: z.enum(['accept', 'decline', 'look']) }),
});

type PageClick = z.output<typeof clickSchema>['arguments'];
type DecidingClick = PageClick & { readonly decision: 'accept' | 'decline' };

const isDeciding = (click: PageClick): click is DecidingClick => click.decision !== 'look';

/** Reads a tool call of the change view as a click. Undefined for any other call, which a page does not answer. */
export const readClick = (params: unknown): PageClick | undefined => clickSchema.safeParse(params).data?.arguments;

/** The effect of a click, for the log. */
const effects = { decided: 'counted', late: 'too late', refused: 'not counted' } as const satisfies Record<
  ClickResult['kind'],
  string
>;

/** Takes a click. Returns the new content of the change view: for a look, the plan, and otherwise the outcome and the decision on the plan. */
export async function answerClick(
  change: Change,
  click: PageClick,
  user: PageUser,
  dependencies: PageDependencies,
): Promise<object> {
  if (!isDeciding(click)) return shownChange(change, user, dependencies);
  const { tool, id, caller } = change;
  const decided = await decideByClick(change, click, user, dependencies);
  // The ID may be in the log, because it is not enough for a click: a click also needs a session, or has to come from the local page.
  const decision = { decision: click.decision, result: effects[decided.kind], person: user.person };
  dependencies.log('info', 'decision', { tool, id, ...decision, caller });
  switch (decided.kind) {
    case 'decided':
      // The person at this machine, who has no name, knows who decided.
      return resultForView(
        decided.outcome,
        change,
        user.person === undefined ? {} : { earlierDecision: standingDecision(decided.change) },
      );
    case 'late':
      return endOnPage(decided.change, {
        ...decided,
        earlierDecision: withReason(decided.change, decided.earlierDecision),
      });
    case 'refused':
      return resultForView(refusedClick(tool, decided), change);
  }
}

/** Decides on a change by a click. The call of the change is made in the name of its caller, with the caller's present scopes. */
async function decideByClick(
  change: Change,
  { decision, reason, name: typedName }: DecidingClick,
  user: PageUser,
  { accounts, changes, callerOf }: PageDependencies,
): Promise<ClickResult> {
  const click = { decision, where: 'page', person: user.person, reason, typedName } as const;
  if (change.state !== 'waiting') return lateClick(change, decisionOfClick(change, click));
  const objection = reasonAgainst(change, user, accounts);
  if (objection !== undefined) return new Refusal('NotAllowed', [objection]);
  const caller = await callerOf(change);
  if (caller?.kind === 'unavailable') return undecided(words('the caller of this change cannot be verified now'));
  // Never aborts, because the change continues when the page is closed.
  const { signal } = new AbortController();
  return changes.click(change, click, { client: change.client, principal: principalOf(change, caller), signal });
}

/** The caller of a change as it is now. A caller who may not call this server any more has no scopes, so its change is not carried out. */
function principalOf({ caller: name }: Change, caller: Authentication | undefined): Principal | undefined {
  if (caller?.kind === 'authenticated') return caller.principal;
  return name === undefined ? undefined : { name, scopes: [] };
}

/** The refusal of a click for a temporary reason, after which the plan waits for another click. */
const undecided = (reason: SafeText): Refusal =>
  new Refusal('StateUnavailable', [say`the plan is kept; click again in a few seconds`], {
    reason: say`${reason}, so this click decided nothing`,
  });

/** The outcome of a click that decided nothing. Nothing was sent, or the view would take the outcome for a lost answer. */
const refusedClick = (tool: string, { code, problems, more }: Refusal): EndedOutcome =>
  refusedChange(tool, new Refusal(code, problems, { ...more, mayHaveHappened: false }));

/** The answer to a click that decided nothing, for a temporary reason, before its change could be read. */
export function undecidedClick(reason: SafeText): object {
  const outcome = refusedClick(decideTool, undecided(reason));
  return { content: [], _meta: viewMeta(outcome, { onDecisionPage: true }) };
}

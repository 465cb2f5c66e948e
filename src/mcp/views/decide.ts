import type { CallContext, CallOutcome } from '../../calls/context.js';
import type { ActionToken, ActionTokens } from '../../consent/action-tokens.js';
import type { EndedOutcome } from '../../consent/outcome.js';
import { Refusal, refusalFailure } from '../../consent/refusal.js';
import { InvalidToken } from '../../consent/tokens.js';
import type { Operation } from '../../tools/define-operation.js';
import { type SafeText, words } from '../../util/safe-text.js';
import { decideTool } from './contract/apps.js';
import { decisionSchema } from './view-of-tool.js';

/** The outcome of a click. */
interface Decided {
  readonly outcome: EndedOutcome;
  /** The call that made the plan. If no plan is known, the call of `decide_change` itself. */
  readonly call: Pick<ActionToken, 'tool' | 'args'>;
  /** A sentence for the person, set if an earlier click decided on the plan. */
  readonly earlier?: SafeText;
}

type ClickContext = Pick<CallContext, 'click' | 'look'>;

type CallTool = (operation: Operation, args: ActionToken['args'], context: ClickContext) => Promise<CallOutcome>;

/**
 * Handles a click on the change view, which calls the tool `decide_change`. A click needs an action token that this server made for this
 * caller and an offered tool. If the plan was already decided, the click gets the outcome of the earlier decision.
 */
export async function decide(
  args: unknown,
  tokens: ActionTokens,
  operations: readonly Operation[],
  callTool: CallTool,
): Promise<Decided> {
  const click = decisionSchema.safeParse(args);
  if (!click.success) return refused('TicketRefused');
  const { ticket, decision, reason, name: typedName } = click.data;
  const opened = openToken(tokens, ticket);
  const operation = operations.find(({ name }) => name === opened?.token.tool);
  if (opened === undefined || operation === undefined) return refused('TicketRefused');

  const { tool, args: plannedArgs, claims } = opened.token;
  const callAgain = async (context: ClickContext, callArgs = plannedArgs): Promise<Decided> => {
    const outcome = await callTool(operation, callArgs, context);
    // Cannot happen, because a call with a click, with `look` or with `planOnly` never asks its user.
    if (outcome.kind === 'inputRequired') return refused('TicketRefused');
    return { outcome, call: { tool, args: plannedArgs } };
  };

  // For these, the token may be expired, because neither sends the change.
  if (decision === 'look') return callAgain({ look: claims });
  if (decision === 'again') return callAgain({}, { ...plannedArgs, planOnly: true });

  const decided = opened.isExpired
    ? refused('TicketExpired')
    : await callAgain({ click: { decision, claims, reason, typedName } });
  if (!mayBeDecided(decided.outcome)) return decided;

  // An earlier click may have decided on the plan. Then its outcome says more than the failure of this click.
  const state = await callAgain({ look: claims });
  return saysMore(state.outcome) ? { ...state, earlier: earlierClick } : decided;
}

/** Opens an action token (`ticket`), which may be too old for a decision. Undefined if it is not of this server, or not for this caller. */
function openToken(tokens: ActionTokens, ticket: string) {
  try {
    return { token: tokens.open(ticket), isExpired: false };
  } catch (error) {
    if (!(error instanceof InvalidToken)) throw error;
    if (error.reason !== 'expired') return undefined;
    return { token: tokens.open(ticket, Number.POSITIVE_INFINITY), isExpired: true };
  }
}

const earlierClick = words('An earlier click decided this. This one sent nothing.');

const refused = (code: 'TicketRefused' | 'TicketExpired'): Decided => ({
  outcome: { kind: 'failed', failure: refusalFailure(decideTool, new Refusal(code, []), true) },
  call: { tool: decideTool, args: {} },
});

/** Error codes that mean that the plan may have been decided before this click. */
const decidedBefore: readonly string[] = ['AlreadyDecided', 'PlanRefused', 'Repeated', 'TicketExpired'];

/** True if the click caused no request to the cloud, with an error code that can mean that the plan was decided before. */
const mayBeDecided = (outcome: EndedOutcome) =>
  outcome.kind === 'failed' && outcome.failure.status === undefined && decidedBefore.includes(outcome.failure.code);

/**
 * True if the state of the plan, which was read after the click failed, says more than that failure. A plan that waits or is under way
 * (`waiting`) says no more, nor does another failure of `decidedBefore`. Any other failure is the outcome of the change, or says why the
 * state cannot be read.
 */
const saysMore = (outcome: EndedOutcome) =>
  outcome.kind === 'succeeded' ? outcome.success.outcome !== 'waiting' : !decidedBefore.includes(outcome.failure.code);

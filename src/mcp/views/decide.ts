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

type Call = (operation: Operation, args: ActionToken['args'], context: ClickContext) => Promise<CallOutcome>;

/**
 * Handles a click on the change view, which calls the tool `decide_change`. A click needs an action token that this server made for this
 * caller and an offered tool. If the plan was already decided, the click gets the outcome of the earlier decision.
 */
export async function decide(
  args: unknown,
  tokens: ActionTokens,
  operations: readonly Operation[],
  call: Call,
): Promise<Decided> {
  const click = decisionSchema.safeParse(args);
  if (!click.success) return refused('TicketRefused');
  const { ticket, decision, reason, name: typedName } = click.data;
  const token = openToken(tokens, ticket);
  const operation = operations.find(({ name }) => name === token?.tool);
  if (token === undefined || operation === undefined) return refused('TicketRefused');

  const { tool, args: plannedArgs, claims } = token;
  const makeCall = async (context: ClickContext, callArgs = plannedArgs): Promise<Decided> => {
    const outcome = await call(operation, callArgs, context);
    // No question can follow, because the click is the reply.
    if (outcome.kind === 'inputRequired') return refused('TicketRefused');
    return { outcome, call: { tool, args: plannedArgs } };
  };

  // For these, the token may be expired, because neither sends the change.
  if (decision === 'look') return makeCall({ look: claims });
  if (decision === 'again') return makeCall({}, { ...plannedArgs, planOnly: true });

  const decided = isExpired(tokens, ticket)
    ? refused('TicketExpired')
    : await makeCall({ click: { decision, claims, reason, typedName } });
  if (!sentNothing(decided.outcome)) return decided;

  // The plan may have been decided by an earlier click, whose outcome says more.
  const state = await makeCall({ look: claims });
  return isKnown(state.outcome) ? { ...state, earlier: earlierClick } : decided;
}

/** Opens an action token of any age. Returns undefined if it is not of this server, or not for this caller. */
function openToken(tokens: ActionTokens, ticket: string): ActionToken | undefined {
  try {
    return tokens.open(ticket, Number.POSITIVE_INFINITY);
  } catch (error) {
    if (error instanceof InvalidToken) return undefined;
    throw error;
  }
}

/** True if an action token is too old for a decision. */
function isExpired(tokens: ActionTokens, ticket: string): boolean {
  try {
    tokens.open(ticket);
    return false;
  } catch (error) {
    if (error instanceof InvalidToken && error.reason === 'expired') return true;
    throw error;
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
const sentNothing = (outcome: EndedOutcome) =>
  outcome.kind === 'failed' && outcome.failure.status === undefined && decidedBefore.includes(outcome.failure.code);

/** True if the outcome of a decided plan is known. */
const isKnown = (outcome: EndedOutcome) =>
  outcome.kind === 'succeeded' ? outcome.success.outcome !== 'waiting' : !decidedBefore.includes(outcome.failure.code);

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
  /** The call that the plan belongs to. Without a plan, the call of `decide_change` itself. */
  readonly call: Pick<ActionToken, 'tool' | 'args'>;
  /** Set if an earlier click decided on the plan. */
  readonly earlier?: SafeText;
}

type Call = (
  operation: Operation,
  args: ActionToken['args'],
  context: Pick<CallContext, 'click' | 'look'>,
) => Promise<CallOutcome>;

/**
 * Handles a click on the change view, which calls the tool `decide_change`. Nothing is called without an action token of this server
 * for this caller and an offered tool. A decision needs a valid token, and `call` executes the decided plan. If the plan was already
 * decided, the click gets the outcome of the earlier decision.
 */
export async function decide(
  args: unknown,
  tickets: ActionTokens,
  operations: readonly Operation[],
  call: Call,
): Promise<Decided> {
  const click = decisionSchema.safeParse(args);
  if (!click.success) return refused('TicketRefused');
  const { ticket, decision, reason, name: typedName } = click.data;
  try {
    const { tool, args: callArgs, claims } = tickets.open(ticket, Number.POSITIVE_INFINITY);
    const operation = operations.find(({ name }) => name === tool);
    if (operation === undefined) return refused('TicketRefused');
    const makeCall = async (context: Parameters<Call>[2], args = callArgs): Promise<Decided> => {
      const outcome = await call(operation, args, context);
      // The click is the reply, so no question is left.
      return outcome.kind === 'inputRequired' ? refused('TicketRefused') : { outcome, call: { tool, args: callArgs } };
    };
    const readState = () => makeCall({ look: claims });
    if (decision === 'look') return await readState();
    if (decision === 'again') return await makeCall({}, { ...callArgs, planOnly: true });
    const decided = await decideBy(ticket, () => makeCall({ click: { decision, claims, reason, typedName } }), tickets);
    if (!sentNothing(decided.outcome)) return decided;
    const earlier = await readState();
    return isEnd(earlier.outcome) ? { ...earlier, earlier: earlierClick } : decided;
  } catch (error) {
    if (!(error instanceof InvalidToken)) throw error;
    return refused('TicketRefused');
  }
}

/** Runs `act` if the token has not expired. */
async function decideBy(ticket: string, act: () => Promise<Decided>, tickets: ActionTokens): Promise<Decided> {
  try {
    tickets.open(ticket);
  } catch (error) {
    if (error instanceof InvalidToken && error.reason === 'expired') return refused('TicketExpired');
    throw error;
  }
  return act();
}

const earlierClick = words('An earlier click decided this. This one sent nothing.');

const refused = (code: 'TicketRefused' | 'TicketExpired'): Decided => ({
  outcome: { kind: 'failed', failure: refusalFailure(decideTool, new Refusal(code, []), true) },
  call: { tool: decideTool, args: {} },
});

/** Error codes of a click whose plan may already have been decided. */
const mayBeDecided: readonly string[] = ['AlreadyDecided', 'PlanRefused', 'Repeated', 'TicketExpired'];

const sentNothing = (outcome: EndedOutcome) =>
  outcome.kind === 'failed' && outcome.failure.status === undefined && mayBeDecided.includes(outcome.failure.code);

/** False if the plan is undecided, or if its outcome cannot be determined. */
const isEnd = (outcome: EndedOutcome) =>
  outcome.kind === 'succeeded' ? outcome.success.outcome !== 'waiting' : !mayBeDecided.includes(outcome.failure.code);

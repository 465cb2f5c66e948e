import type { CallContext, CallOutcome } from '../../calls/context.js';
import type { ActionToken, ActionTokens } from '../../consent/action-tokens.js';
import type { EndedOutcome } from '../../calls/outcome.js';
import { Refusal, refusedChange } from '../../calls/refusal.js';
import type { Operation } from '../../tools/define-operation.js';
import { type SafeText, words } from '../../util/safe-text.js';
import { decideTool } from './contract/apps.js';
import { decisionSchema } from './view-of-tool.js';

/** The answer to a request of the change view. */
interface ClickResult {
  readonly outcome: EndedOutcome;
  /** The call that made the plan. If no plan is known, the call of `decide_change` itself. */
  readonly call: Pick<ActionToken, 'tool' | 'args'>;
  /** A sentence for the person. Set if an earlier click decided on the plan. */
  readonly earlierDecision?: SafeText;
}

type ClickContext = Pick<CallContext, 'click' | 'lookAt'>;

type CallTool = (operation: Operation, args: ActionToken['args'], context: ClickContext) => Promise<CallOutcome>;

/**
 * Answers a call of `decide_change`, which the change view makes: for a click that accepts or declines a plan, for a click for a new plan (`again`),
 * or for the state of a plan (`look`). The `ticket` is the action token that the view got with the plan. The token contains the call that made
 * the plan, and the plan's claims. If the plan is already decided, a click gets the outcome of the earlier decision.
 * @param operations the operations whose tools are offered to this caller
 */
export async function decide(
  args: unknown,
  tokens: ActionTokens,
  operations: readonly Operation[],
  callTool: CallTool,
): Promise<ClickResult> {
  const request = decisionSchema.safeParse(args);
  if (!request.success) return refused('TicketRefused');
  const { ticket, decision, reason, name: typedName } = request.data;
  const opened = tokens.open(ticket);
  const operation = operations.find(({ name }) => name === opened?.token.tool);
  if (opened === undefined || operation === undefined) return refused('TicketRefused');

  const { tool, args: plannedArgs, claims } = opened.token;
  const callPlanned = async (context: ClickContext, extraArgs: ActionToken['args'] = {}): Promise<ClickResult> => {
    const outcome = await callTool(operation, { ...plannedArgs, ...extraArgs }, context);
    // Cannot happen, because a call with a click, with `lookAt` or with `planOnly` never asks its user.
    if (outcome.kind === 'inputRequired') return refused('TicketRefused');
    // `call` becomes the ticket of a new plan. It leaves out `planOnly` (`extraArgs`), with which a click on the new plan would only plan again.
    return { outcome, call: { tool, args: plannedArgs } };
  };

  // `look` and `again` do not send the change, so the token may have expired.
  if (decision === 'look') return callPlanned({ lookAt: claims });
  // A new plan has nothing to do with the old plan or its click, so the context is empty.
  if (decision === 'again') return callPlanned({}, { planOnly: true });

  const result = opened.isExpired
    ? refused('TicketExpired')
    : await callPlanned({ click: { decision, claims, reason, typedName } });
  if (!mightBeDecidedAlready(result.outcome)) return result;

  // An earlier click may have decided on the plan. The outcome of that decision then replaces the failure of this click.
  const state = await callPlanned({ lookAt: claims });
  return replacesFailure(state.outcome) ? { ...state, earlierDecision: earlierClickText } : result;
}

const earlierClickText = words('An earlier click decided this. This one sent nothing.');

const refused = (code: 'TicketRefused' | 'TicketExpired'): ClickResult => ({
  outcome: refusedChange(decideTool, new Refusal(code)),
  call: { tool: decideTool, args: {} },
});

/** Error codes that a click may get if its plan was decided already. */
const codesIfDecided: readonly string[] = ['AlreadyDecided', 'PlanRefused', 'Repeated', 'TicketExpired'];

/** True if a click sent nothing to the cloud, and failed with one of `codesIfDecided`. */
const mightBeDecidedAlready = (outcome: EndedOutcome) =>
  outcome.kind === 'failed' && outcome.failure.status === undefined && codesIfDecided.includes(outcome.failure.code);

/**
 * True if the outcome of the plan, found after a click failed, is shown in place of that failure. False for an outcome with one of
 * `codesIfDecided`, because the click itself may have ended the plan with this code.
 */
const replacesFailure = (outcome: EndedOutcome) =>
  outcome.isOfPlan === true && (outcome.kind === 'succeeded' || !codesIfDecided.includes(outcome.failure.code));

import type { CallTool, ChangeTools } from '../../call-stack.js';
import type { EndedOutcome } from '../../calls/outcome.js';
import { Refusal, refusedChange } from '../../calls/refusal.js';
import type { Change } from '../../changes/change.js';
import type { ChangeContext } from '../../changes/change-context.js';
import type { Operation } from '../../tools/define-operation.js';
import type { SafeText } from '../../util/safe-text.js';
import { decideTool } from './contract/apps.js';
import { decisionSchema } from './view-of-tool.js';

/** The answer to a request of the change view. */
interface ViewAnswer {
  readonly outcome: EndedOutcome;
  /** The tool of the change. If no change is known, `decide_change` itself. */
  readonly tool: string;
  /** Set if this is what became of the change, and not the result of this click. */
  readonly isOfPlan?: true;
  /** A sentence for the person. Set if an earlier decision stands. */
  readonly earlierDecision?: SafeText | undefined;
  /** True if the click did not only repeat the earlier decision. */
  readonly isLate?: boolean;
}

/**
 * Answers a call of `decide_change`, which the change view makes: for a click that accepts or declines a plan, for a click for a new plan (`again`),
 * or for the state of a plan (`look`). The `ticket` is the proof that the view got with the plan, and no model.
 */
export async function decideInView(
  args: unknown,
  {
    call,
    changes,
    operations,
  }: { readonly call: CallTool; readonly changes: ChangeTools; readonly operations: readonly Operation[] },
  context: ChangeContext,
): Promise<ViewAnswer> {
  const { data: request } = decisionSchema.safeParse(args);
  if (request === undefined) return refused('ClickRefused');
  const change = await changes.findByProof(request.ticket, context);
  if (change instanceof Refusal) return { outcome: refusedChange(decideTool, change), tool: decideTool };

  const { tool } = change;
  if (request.decision === 'again') return planAgain(change, call, operations, context);
  if (request.decision === 'look') return { outcome: await changes.state(change, context), tool, isOfPlan: true };

  const { decision, reason, name: typedName } = request;
  const decided = await changes.click(change, { where: 'view', decision, reason, typedName }, context);
  if (decided.kind === 'decided') return { outcome: decided.outcome, tool };
  if (decided.kind === 'refused') return { outcome: refusedChange(tool, decided), tool };
  const { earlierDecision, isLate } = decided;
  return { outcome: await changes.state(decided.change, context), tool, isOfPlan: true, earlierDecision, isLate };
}

const refused = (code: Refusal['code']): ViewAnswer => ({
  outcome: refusedChange(decideTool, new Refusal(code)),
  tool: decideTool,
});

/** Makes a new plan for the same change. Nothing is sent. */
async function planAgain(
  { tool, args }: Change,
  call: CallTool,
  operations: readonly Operation[],
  context: ChangeContext,
): Promise<ViewAnswer> {
  const operation = operations.find(({ name }) => name === tool);
  if (operation === undefined) return refused('ClickRefused');
  const outcome = await call(operation, { ...args, planOnly: true }, context);
  // A call with `planOnly` never asks its user, so this case is only for the type.
  return outcome.kind === 'inputRequired' ? refused('ClickRefused') : { outcome, tool };
}

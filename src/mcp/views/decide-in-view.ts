import type { ChangeTools } from '../../call-stack.js';
import type { EndedOutcome } from '../../calls/outcome.js';
import { Refusal, refusedChange } from '../../calls/refusal.js';
import type { ChangeContext } from '../../changes/change-context.js';
import { toolArguments } from '../server-tools.js';
import { decideTool } from './contract/apps.js';
import type { Showing } from './results.js';

/** Answers a call of `decide_change`. The `ticket` is a proof that no model gets. */
export async function decideInView(
  args: unknown,
  changes: ChangeTools,
  context: ChangeContext,
): Promise<Showing & { readonly outcome: EndedOutcome }> {
  const { data: request } = toolArguments().decide_change.safeParse(args);
  if (request === undefined) return { outcome: refusedChange(decideTool, new Refusal('ClickRefused')) };
  const { ticket, decision, reason, name: typedName } = request;
  const change = await changes.findByProof(ticket, context);
  if (change instanceof Refusal) return { outcome: refusedChange(decideTool, change) };
  if (decision === 'look') return { outcome: await changes.state(change, context), isOfPlan: true };

  const decided = await changes.click(change, { where: 'view', decision, reason, typedName }, context);
  if (decided.kind === 'decided') return { outcome: decided.outcome };
  if (decided.kind === 'refused') return { outcome: refusedChange(change.tool, decided) };
  const { earlierDecision, isLate } = decided;
  return { outcome: await changes.state(decided.change, context), isOfPlan: true, earlierDecision, isLate };
}

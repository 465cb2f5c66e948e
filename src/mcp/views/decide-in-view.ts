import type { CallTool, ChangeTools } from '../../call-stack.js';
import type { EndedOutcome } from '../../calls/outcome.js';
import { Refusal, refusedChange } from '../../calls/refusal.js';
import type { Change } from '../../changes/change.js';
import type { ChangeContext } from '../../changes/change-context.js';
import { findOperation } from '../../models/service-catalog.js';
import { toolArguments } from '../server-tools.js';
import { decideTool } from './contract/apps.js';
import type { Showing } from './results.js';

interface ViewAnswer extends Showing {
  readonly outcome: EndedOutcome;
}

/** Answers a call of `decide_change`. The `ticket` is a proof that no model gets. */
export async function decideInView(
  args: unknown,
  {
    call,
    changes,
    ...all
  }: { readonly call: CallTool; readonly changes: ChangeTools } & Parameters<typeof findOperation>[1],
  context: ChangeContext,
): Promise<ViewAnswer> {
  const { data: request } = toolArguments().decide_change.safeParse(args);
  if (request === undefined) return refused('ClickRefused');
  const change = await changes.findByProof(request.ticket, context);
  if (change instanceof Refusal) return { outcome: refusedChange(decideTool, change) };

  if (request.decision === 'again') return planAgain(change, call, all, context);
  if (request.decision === 'look') return { outcome: await changes.state(change, context), isOfPlan: true };

  const { decision, reason, name: typedName } = request;
  const decided = await changes.click(change, { where: 'view', decision, reason, typedName }, context);
  if (decided.kind === 'decided') return { outcome: decided.outcome };
  if (decided.kind === 'refused') return { outcome: refusedChange(change.tool, decided) };
  const { earlierDecision, isLate } = decided;
  return { outcome: await changes.state(decided.change, context), isOfPlan: true, earlierDecision, isLate };
}

const refused = (code: Refusal['code']): ViewAnswer => ({ outcome: refusedChange(decideTool, new Refusal(code)) });

async function planAgain(
  { tool, args }: Change,
  call: CallTool,
  all: Parameters<typeof findOperation>[1],
  context: ChangeContext,
): Promise<ViewAnswer> {
  const operation = await findOperation(tool, all);
  if (operation === undefined) return refused('ClickRefused');
  const outcome = await call(operation, { ...args, planOnly: true }, context);
  // Only for the type: a call with `planOnly` never asks.
  return outcome.kind === 'inputRequired' ? refused('ClickRefused') : { outcome };
}

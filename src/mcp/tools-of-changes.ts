import * as z from 'zod';
import type { ChangeTools } from '../call-stack.js';
import { pickFields } from '../calls/answer-budget.js';
import type { CallContext } from '../calls/context.js';
import type { EndedOutcome } from '../calls/outcome.js';
import { Refusal, refusedChange } from '../calls/refusal.js';
import { parsedBy } from '../calls/validate.js';
import { pathInAnswer, pathsSchema } from '../tools/schema/answer-paths.js';
import { toolArguments } from './server-tools.js';
import type { Showing } from './views/results.js';
import { decideTool } from './views/view-contract.js';

/** Calls one of the tools that take the ID of a change. */
export async function callChangeTool(
  name: string,
  args: unknown,
  changes: ChangeTools,
  context: CallContext,
): Promise<EndedOutcome> {
  const { get_change, withdraw_change, confirm_change } = toolArguments();
  try {
    if (name === 'confirm_change') {
      const { changeId: id, thing } = parsedBy(confirm_change, args);
      return await changes.confirm({ id, thing }, context);
    }
    if (name === 'withdraw_change') return await changes.withdraw(parsedBy(withdraw_change, args).changeId, context);
    const { changeId, fields } = parsedBy(get_change, args);
    const outcome = await changes.get(changeId, context);
    return fields === undefined ? outcome : withPickedFields(outcome, fields);
  } catch (error) {
    if (error instanceof Refusal) return refusedChange(name, error);
    throw error;
  }
}

function withPickedFields(outcome: EndedOutcome, fields: readonly string[]): EndedOutcome {
  if (outcome.kind === 'failed' || outcome.success.answer === undefined) return outcome;
  const { answer, ...success } = outcome.success;
  const schema = z.strictObject({ fields: pathsSchema((path) => pathInAnswer(path, answer)) });
  try {
    return { ...outcome, success: { ...success, answer: pickFields(answer, parsedBy(schema, { fields }).fields) } };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // The outcome stays: the change was made, whatever fields were asked for.
    return { ...outcome, success: { ...success, warnings: [...success.warnings, ...error.problems] } };
  }
}

/** Answers a call of `decide_change`. The `ticket` is a proof that no model gets. */
export async function decideInView(
  args: unknown,
  changes: ChangeTools,
  context: CallContext,
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

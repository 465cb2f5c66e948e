import * as z from 'zod';
import type { ChangeTools } from '../call-stack.js';
import type { Accounts } from '../calls/account.js';
import type { EndedOutcome } from '../calls/outcome.js';
import { pickFields } from '../calls/pick-fields.js';
import { Refusal, refusedChange } from '../calls/refusal.js';
import { parsedBy } from '../calls/validate.js';
import type { ChangeContext } from '../changes/change-context.js';
import { mayConfirm } from '../changes/required-consent.js';
import type { Operation } from '../tools/define-operation.js';
import { pathInAnswer, pathsSchema } from '../tools/schema/answer-paths.js';
import schemas from './schemas.generated.json' with { type: 'json' };
import { toolArguments } from './tool-arguments.js';

/** This file has the tools that take the ID of a change. */

const hints = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const getChange = {
  name: 'get_change',
  title: 'Read a change',
  description: 'Returns the outcome of a change, or who has to decide on it. Waits up to 25 s for its end.',
  inputSchema: { ...schemas.get_change.input, type: 'object' as const },
  annotations: { ...hints, readOnlyHint: true },
};

const withdrawChange = {
  name: 'withdraw_change',
  title: 'Withdraw a change',
  description: 'Takes a waiting plan back, if the user no longer wants it.',
  inputSchema: { ...schemas.withdraw_change.input, type: 'object' as const },
  annotations: hints,
};

const confirmChange = {
  name: 'confirm_change',
  title: 'Confirm a change',
  description: 'Carries a plan out, only after the user has seen it and said yes, and if its "next" names this tool.',
  inputSchema: { ...schemas.confirm_change.input, type: 'object' as const },
  annotations: { ...hints, destructiveHint: true, idempotentHint: false, openWorldHint: true },
};

type ChangeTool = typeof getChange | typeof withdrawChange | typeof confirmChange;

export const changeTools: readonly ChangeTool[] = [getChange, withdrawChange, confirmChange];

/** No other tool may have one of these names. */
export const changeToolNames: readonly string[] = changeTools.map(({ name }) => name);

/** The tools of changes for a caller. A caller whose accounts only read can still read earlier changes. */
export function changeToolsFor(
  offered: readonly Pick<Operation, 'effect'>[],
  all: readonly Pick<Operation, 'effect'>[],
  accounts: Accounts,
): readonly ChangeTool[] {
  const isChange = ({ effect }: Pick<Operation, 'effect'>) => effect !== 'read';
  if (!offered.some(isChange)) {
    const onlyReads = accounts.all.some(({ policy }) => policy.readOnly) && all.some(isChange);
    return onlyReads ? [getChange] : [];
  }
  const isConfirmable = accounts.all.some(({ policy, confirm }) => !policy.readOnly && mayConfirm(confirm));
  return isConfirmable ? changeTools : [getChange, withdrawChange];
}

/** Calls one of the tools of changes. */
export async function callChangeTool(
  name: string,
  args: unknown,
  changes: ChangeTools,
  context: ChangeContext,
): Promise<EndedOutcome> {
  const { get_change, withdraw_change, confirm_change } = toolArguments();
  try {
    if (name === confirmChange.name) {
      const { changeId: id, thing } = parsedBy(confirm_change, args);
      return await changes.confirm({ id, thing }, context);
    }
    if (name === withdrawChange.name) return await changes.withdraw(parsedBy(withdraw_change, args).changeId, context);
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

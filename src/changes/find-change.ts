import { auditScope, type Principal } from '../calls/policy.js';
import { Refusal } from '../calls/refusal.js';
import { reasonOf, shownReason } from '../util/log.js';
import { say } from '../util/safe-text.js';
import type { Change } from './change.js';
import type { ChangeRun } from './change-context.js';
import { idInProof, isProofOf } from './proof.js';

/** Finds a change of the caller, or for an auditor of anybody. */
export async function findChange(
  id: string,
  { principal, store, log }: ChangeRun,
  { mayBeOfOthers = false } = {},
): Promise<Change | Refusal> {
  let change: Change | undefined;
  try {
    change = await store.find(id);
  } catch (error) {
    log('error', 'journal', { id, error: reasonOf(error) });
    return new Refusal('StateUnavailable', [say`${shownReason(error)}`], { changeId: id });
  }
  if (change === undefined) return new Refusal('UnknownChange');
  return change.caller === principal?.name || (mayBeOfOthers && isAuditor(principal))
    ? change
    : new Refusal('UnknownChange');
}

/** Finds the change that a proof names. */
export async function findByProof(proof: string, run: ChangeRun): Promise<Change | Refusal> {
  const id = idInProof(proof);
  if (id === undefined) return new Refusal('ClickRefused');
  const change = await findChange(id, run);
  if (change instanceof Refusal) return change.code === 'UnknownChange' ? new Refusal('PlanExpired') : change;
  return isProofOf(change, proof) ? change : new Refusal('ClickRefused');
}

const isAuditor = (principal: Principal | undefined) => principal?.scopes.includes(auditScope) === true;

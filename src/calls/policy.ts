import { Refusal } from '../results/refusal.js';
import type { Operation } from '../tools/define-operation.js';
import { quote } from '../util/quote.js';
import { type Principal, scopeOf } from './principal.js';

/** Which of the operations this server may carry out at all. */
export interface Policy {
  readonly readOnly: boolean;
  /** Names of the tools that are offered; undefined offers all. */
  readonly tools: readonly string[] | undefined;
  /** Regions that calls may name; undefined allows any. */
  readonly regions?: readonly string[] | undefined;
  /** Protocols that endpoints speak beyond the reference: see `Operation.extension`. */
  readonly extensions?: readonly string[] | undefined;
}

/** Whether the policy and the caller's scopes let an operation be listed and called. */
export const isAllowed = (policy: Policy, operation: Operation, principal?: Principal): boolean =>
  reasonAgainst(policy, operation, principal) === undefined;

/** @throws Refusal if the operation, or the region that the call names, is not allowed */
export function checkPolicy(policy: Policy, operation: Operation, region: unknown, principal?: Principal): void {
  const reason = reasonAgainst(policy, operation, principal);
  if (reason !== undefined) throw new Refusal('NotAllowed', [reason]);
  if (policy.regions !== undefined && typeof region === 'string' && !policy.regions.includes(region))
    throw new Refusal('NotAllowed', [
      `region ${quote(region, 40)} is not among those of CLOUDOPS_REGIONS: ${policy.regions.join(', ')}`,
    ]);
}

function reasonAgainst(policy: Policy, operation: Operation, principal: Principal | undefined): string | undefined {
  const { readOnly, tools, extensions = [] } = policy;
  const { name, effect, extension } = operation;
  if (readOnly && effect !== 'read') return 'CLOUDOPS_READ_ONLY is set';
  if (tools !== undefined && !tools.includes(name)) return 'CLOUDOPS_TOOLS does not name it';
  if (tools === undefined && extension !== undefined && !extensions.includes(extension))
    return `it is not in the API reference; set CLOUDOPS_STORAGE_HEADERS=amz, or name it in CLOUDOPS_TOOLS`;
  if (principal !== undefined && !principal.scopes.includes(scopeOf(operation)))
    return `the token does not have the scope ${scopeOf(operation)}`;
  return undefined;
}

import { digestOf } from '../util/digest.js';
import type { Budget } from './account.js';
import type { Cloud } from './endpoint.js';

/** The budget of an account and a caller. */
export interface CallBudget {
  /** Names the account and the caller. Changes with the same value count together, even if different access keys signed them. */
  readonly key: string;
  /** Undefined if changes are not limited. */
  readonly limit: Budget | undefined;
}

/** The budget of a caller in an account. Callers that are not authenticated (undefined) share one budget. */
export function budgetOf(
  { account, endpoints, keys }: Cloud,
  limit: Budget | undefined,
  caller: string | undefined,
): CallBudget {
  const source = 'missing' in keys ? '' : keys.id;
  return { key: digestOf([account, endpoints, source, caller ?? null]), limit };
}

import { digestOf } from '../util/digest.js';
import type { Budget } from './account.js';
import type { Cloud } from './endpoint.js';

/** The budget of an account and a caller. */
export interface CallBudget {
  /** Changes with the same key count together, even if different access keys signed them. */
  readonly key: string;
  readonly limit: Budget | undefined;
}

/** Callers that are not authenticated share one budget. */
export function budgetOf(
  { account, endpoints, keys }: Cloud,
  limit: Budget | undefined,
  caller: string | undefined,
): CallBudget {
  const source = 'missing' in keys ? '' : keys.id;
  return { key: digestOf([account, endpoints, source, caller ?? null]), limit };
}

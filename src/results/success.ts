import * as z from 'zod';
import type { Plan } from '../consent/plan.js';
import type { Effect } from '../tools/define-operation.js';
import type { Attempt } from '../transport/signed-client.js';
import type { RequestIds } from './failure.js';

/** How consent to a change came. */
export const consentWays = {
  asked: 'the user was asked through the client and agreed',
  clicked: 'the user agreed with a click in the change view',
  planId: 'the call carried the planId of its plan',
  option: 'given beforehand with --yes',
  off: 'nobody was asked (CLOUDOPS_CONFIRM=off)',
} as const;
export type ConsentWay = keyof typeof consentWays;

/** The structured content of a call that succeeded. What the service says is under `answer` and nowhere else. */
export interface Success {
  /** What happened, in a few sentences. */
  readonly summary: string;
  /** Of a change. */
  readonly outcome?: 'accepted' | 'planned';
  readonly next?: string;
  /** How consent came, and when the change was sent (ISO 8601, UTC). */
  readonly consent?: string;
  readonly sentAt?: string;
  readonly plan?: Plan;
  readonly planId?: string;
  /** Time of day at which the planId expires, with its date and zone. */
  readonly planExpires?: string;
  readonly warnings: readonly string[];
  readonly requestIds: RequestIds;
  /** Of requests that were sent more than once. */
  readonly attempts?: readonly Attempt[];
  /** What there is to say about earlier calls. */
  readonly notes?: readonly string[];
  readonly answer?: Readonly<Record<string, unknown>>;
}

/** What the advertised schema of an answer says. Fields that are rare are left out: a list of tools has to stay short. */
export function outputSchema(effect: Effect, answer: z.ZodObject): z.ZodObject {
  const change = {
    outcome: z.enum(['accepted', 'planned']).optional(),
    plan: z.looseObject({}).describe('what would be sent').optional(),
    planId: z.string().optional(),
  };
  return z.object({
    summary: z.string(),
    next: z.string().optional(),
    ...(effect !== 'read' && change),
    warnings: z.array(z.string()),
    requestIds: z.record(z.string(), z.string()).describe('for the support of the service'),
    answer: answer.describe('from the service'),
  });
}

/** A change that was accepted stays accepted, even if nothing else of its answer can be read. `planned` is what the plan said. */
export const acceptedUnread = (planned: string, status: number, problem: string) => ({
  summary: `The cloud accepted this (HTTP status ${status}): ${planned}`,
  warnings: [`The answer cannot be read, because ${problem}.`],
});

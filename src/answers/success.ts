import type { Next } from '../tools/next.js';
import type { Attempt } from '../transport/signed-client.js';
import type { Shown } from '../util/say.js';
import type { RequestIds } from './failure.js';
import type { Plan } from './plan.js';

/** The ways in which consent to a change comes. */
export const consentWays = {
  asked: 'the user was asked through the client and agreed',
  clicked: 'the user agreed with a click in the change view',
  page: 'a person agreed on the page for decisions',
  planId: 'the call carried the planId of its plan',
  option: 'given beforehand with --yes',
  off: 'nobody was asked (CLOUDOPS_CONFIRM=off)',
  withdrawn: 'the caller withdrew the plan',
} as const;
export type ConsentWay = keyof typeof consentWays;

/** The structured content of a call that succeeded. What the service says is under `answer` and nowhere else. */
export interface Success {
  /** The result in a few sentences. */
  readonly summary: Shown;
  /** Of a change. */
  readonly outcome?: 'accepted' | 'planned' | 'waiting' | 'withdrawn';
  /** Name of the account, where accounts have names. */
  readonly account?: string;
  readonly next?: Next;
  /** The way in which consent came, and the time of sending (ISO 8601, UTC). */
  readonly consent?: Shown;
  readonly sentAt?: string;
  /** Of an accepted change: region, zone and account with their origins, and what follows from it, costs first. */
  readonly where?: readonly Shown[];
  readonly effects?: readonly Shown[];
  readonly plan?: Plan;
  /** The plan as text for a person: all of it but the request. */
  readonly show?: Shown;
  readonly planId?: string;
  /** The page on which a person decides on the plan. The address has no power of its own. */
  readonly decideAt?: string;
  /** Time of day at which the plan expires, with its date and zone. */
  readonly planExpires?: string;
  readonly warnings: readonly Shown[];
  readonly requestIds: RequestIds;
  /** Of requests that were sent more than once. */
  readonly attempts?: readonly Attempt[];
  /** News of earlier calls. */
  readonly notes?: readonly Shown[];
  readonly answer?: Readonly<Record<string, unknown>>;
}

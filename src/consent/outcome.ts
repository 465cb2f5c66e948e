import type { Next } from '../tools/next.js';
import type { UploadPart } from '../tools/upload/part.js';
import type { ServiceError } from '../transport/service-error.js';
import type { Attempt } from '../transport/signed-client.js';
import type { SafeText } from '../util/safe-text.js';
import type { Plan } from './plan.js';

/** Request IDs by header name: what the support of the service asks for. */
export type RequestIds = Readonly<Record<string, string>>;

/** A call that did not succeed: the structured content of every error. */
export interface Failure {
  /** The failure and its cause in one sentence. */
  readonly summary: SafeText;
  /** One of our own: the service's stands under `serviceSays`. */
  readonly code: string;
  /** Name of the account, where accounts have names. */
  readonly account?: string;
  /** Corrections that are needed, one line each. */
  readonly problems: readonly SafeText[];
  readonly status?: number | undefined;
  /** The service's own words: data, whatever they say. */
  readonly serviceSays?: ServiceSays;
  /** True if the cloud may have acted on it. Undefined for a read. */
  readonly mayHaveHappened?: boolean | undefined;
  readonly next: Next;
  readonly requestIds: RequestIds;
  /** Of a request that was sent more than once. */
  readonly attempts?: readonly Attempt[];
  /** Of a plan that could not be made: what applies to the arguments that are right. */
  readonly defaults?: readonly SafeText[];
  /** The same, or what there is to warn of a read. */
  readonly warnings?: readonly SafeText[];
  /** News of earlier calls. */
  readonly notes?: readonly SafeText[];
  /** The call that this one would repeat, as far as its caller may know of it. */
  readonly earlier?: EarlierCall;
}

export type ServiceSays = Omit<ServiceError, 'requestId'>;

/** A change that was sent before: what came of it, and when it was sent. */
export interface EarlierCall {
  readonly outcome: 'accepted' | 'unknown' | 'not ended';
  readonly sentAt: string;
  readonly requestIds: RequestIds;
}

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
  readonly summary: SafeText;
  /** Of a change. */
  readonly outcome?: 'accepted' | 'planned' | 'waiting' | 'withdrawn';
  /** Name of the account, where accounts have names. */
  readonly account?: string;
  readonly next?: Next;
  /** The way in which consent came, and the time of sending (ISO 8601, UTC). */
  readonly consent?: SafeText;
  readonly sentAt?: string;
  /** Of an accepted change: region, zone and account with their origins, and what follows from it, costs first. */
  readonly where?: readonly SafeText[];
  readonly effects?: readonly SafeText[];
  readonly plan?: Plan;
  /** The plan as text for a person: all of it but the request. */
  readonly show?: SafeText;
  readonly planId?: string;
  /** The page on which a person decides on the plan. The address has no power of its own. */
  readonly decideAt?: string;
  /** Time of day at which the plan expires, with its date and zone. */
  readonly planExpires?: string;
  readonly warnings: readonly SafeText[];
  readonly requestIds: RequestIds;
  /** Of requests that were sent more than once. */
  readonly attempts?: readonly Attempt[];
  /** News of earlier calls. */
  readonly notes?: readonly SafeText[];
  readonly answer?: Readonly<Record<string, unknown>>;
}

/** The end of a call that needs no further entry. */
export type EndedOutcome =
  | { readonly kind: 'succeeded'; readonly success: Success; readonly view?: ViewData }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** Binds a click or a planId to the plan that was shown, and makes it count once. */
export interface PlanClaims {
  /** Of tool, arguments, endpoint and account: hexadecimal. */
  readonly digest: string;
  readonly nonce: string;
}

/** For views, beside what models are told. */
export type ViewData =
  | { readonly kind: 'parts'; readonly parts: readonly UploadPart[] }
  /** A change that was accepted, and whether it continues in the cloud. */
  | { readonly kind: 'ended'; readonly continues: boolean }
  /** A plan. Without claims, it is not decided on in the view. Times are in milliseconds since 1970. */
  | {
      readonly kind: 'plan';
      readonly accept: SafeText;
      readonly issuedAt: number;
      /** Ten minutes after it was made, if absent. */
      readonly expiresAt?: number;
      readonly claims?: PlanClaims;
      /** Set if a yes in the chat carries it out as well. */
      readonly inChat?: boolean;
    };

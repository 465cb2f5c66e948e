import type { Next } from '../tools/next.js';
import type { UploadPart } from '../tools/upload/part.js';
import type { ServiceError } from '../transport/service-error.js';
import type { Attempt } from '../transport/signed-client.js';
import type { SafeText } from '../util/safe-text.js';
import type { Plan } from '../changes/plan.js';

/** Request IDs of the cloud, by header name. The cloud's support asks for them. */
export type RequestIds = Readonly<Record<string, string>>;

/** A call that failed. These fields are the structured content of every error result. */
export interface Failure {
  /** The failure and its cause in one sentence. */
  readonly summary: SafeText;
  /** This server's code. The service's code is in `serviceSays`. */
  readonly code: string;
  /** Name of the account, if accounts have names. */
  readonly account?: string;
  /** Problems that have to be corrected, one line each. */
  readonly problems: readonly SafeText[];
  /** HTTP status of the service's answer. */
  readonly status?: number | undefined;
  /** The service's own text. Models must take it as data and not as instructions. */
  readonly serviceSays?: ServiceSays;
  /** Set if the state of a plan could not be read, so that the caller can ask again with this planId. */
  readonly planId?: string;
  /** True if the cloud may have acted on the request. Undefined for a read, and if only another call about the same plan can tell. */
  readonly mayHaveHappened?: boolean | undefined;
  readonly next: Next;
  readonly requestIds: RequestIds;
  /** Attempts, if the request was retried. */
  readonly attempts?: readonly Attempt[];
  /** The cloud's defaults for absent arguments. Set if arguments are invalid, because then no plan shows the defaults. */
  readonly defaults?: readonly SafeText[];
  /** Warnings about the arguments that are valid, or about a read. */
  readonly warnings?: readonly SafeText[];
  /** Notes on earlier calls, on the person who decided, or on the journal. */
  readonly notes?: readonly SafeText[];
  /** The earlier call that this call would repeat. Absent if this caller may not know about the earlier call. */
  readonly earlier?: EarlierCall;
}

export type ServiceSays = Omit<ServiceError, 'requestId'>;

/** The facts about a change that was sent before. */
export interface EarlierCall {
  readonly outcome: 'accepted' | 'unknown' | 'not ended';
  readonly sentAt: string;
  readonly requestIds: RequestIds;
}

/** The ways in which a change was decided, in words. */
export const consentWays = {
  asked: 'the user was asked through the client and agreed',
  clicked: 'the user agreed with a click in the change view',
  page: 'a person agreed on the page for decisions',
  planId: 'the call carried the planId of its plan',
  option: 'given beforehand with --yes',
  off: 'nobody was asked (CLOUDOPS_CONFIRM=off)',
  withdrawn: 'the caller withdrew the plan',
  program: 'a program answered in place of the user',
} as const;
export type ConsentWay = keyof typeof consentWays;

/** The structured content of a call that succeeded. Only `answer` holds the service's data. */
export interface Success {
  /** The result in a few sentences. */
  readonly summary: SafeText;
  /** The result of a change. Absent for a read. */
  readonly outcome?: 'accepted' | 'partly' | 'planned' | 'waiting' | 'withdrawn';
  /** Set if only some entries of a change succeeded: the number of failed entries, their error codes, and the first failed names. */
  readonly failed?: {
    readonly count: number;
    readonly codes: readonly SafeText[];
    readonly names: readonly SafeText[];
  };
  /** Name of the account, if accounts have names. */
  readonly account?: string;
  readonly next?: Next;
  /** How the change was agreed to, in words: see `consentWays`. */
  readonly consent?: SafeText;
  /** Time at which the change was sent (ISO 8601, UTC). */
  readonly sentAt?: string;
  /** Region, zone and account of an accepted change, each with its source: `region jp-east-1 (given)`. */
  readonly where?: readonly SafeText[];
  /** Consequences of an accepted change, costs first. */
  readonly effects?: readonly SafeText[];
  readonly plan?: Plan;
  /** The plan as text for a person, without the request. */
  readonly show?: SafeText;
  readonly planId?: string;
  /** Address of the page on which a person decides. It allows nothing without signing in. */
  readonly decideAt?: string;
  /** Date and time at which the plan expires (ISO 8601, UTC). */
  readonly planExpires?: string;
  readonly warnings: readonly SafeText[];
  readonly requestIds: RequestIds;
  /** Attempts, if requests were retried. */
  readonly attempts?: readonly Attempt[];
  /** Notes on earlier calls, on the person who decided, or on the journal. */
  readonly notes?: readonly SafeText[];
  readonly answer?: Readonly<Record<string, unknown>>;
}

/** The outcome of a call that needs no further reply from its client. */
export type EndedOutcome = (
  | { readonly kind: 'succeeded'; readonly success: Success; readonly view?: ViewData }
  | { readonly kind: 'failed'; readonly failure: Failure }
) & {
  /**
   * Set if a view or a page asked for the state of a plan that has ended, or clicked too late. The outcome is then the plan's, so that a failure is
   * no refusal of the question or the click. Absent in the answer to the call or the click that ended the plan.
   */
  readonly isOfPlan?: true;
};

/** Binds a decision to the plan that was shown, and ensures that the decision counts once. */
export interface PlanClaims {
  /** Digest of tool, arguments, endpoint, account and plan (hexadecimal). */
  readonly digest: string;
  readonly nonce: string;
}

/** Further data for views. Models do not get it. */
type ViewData =
  | { readonly kind: 'parts'; readonly parts: readonly UploadPart[] }
  /** A change that the cloud accepted. `continues` is true if the change still runs in the cloud. */
  | { readonly kind: 'ended'; readonly continues: boolean; readonly isSandbox?: boolean }
  /** A plan. Without `claims`, the view has no buttons to decide. Times are in milliseconds since 1970. */
  | {
      readonly kind: 'plan';
      /** Label of the accepting button. */
      readonly accept: SafeText;
      /** The name that the person types to accept, for a deletion. */
      readonly typedName?: string | undefined;
      readonly issuedAt: number;
      /** Defaults to ten minutes after `issuedAt`. */
      readonly expiresAt?: number;
      readonly claims?: PlanClaims;
      /** Set if the user can also agree by a yes in the chat, after which the agent calls with the planId. */
      readonly inChat?: boolean;
    };

import type { UploadPart } from '../tools/upload/part.js';
import type { Shown } from '../util/say.js';
import type { Failure } from './failure.js';
import type { Success } from './success.js';

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
      readonly accept: Shown;
      readonly issuedAt: number;
      /** Ten minutes after it was made, if absent. */
      readonly expiresAt?: number;
      readonly claims?: PlanClaims;
      /** Set if a yes in the chat carries it out as well. */
      readonly inChat?: boolean;
    };

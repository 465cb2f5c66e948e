import type { SafeText } from '../util/safe-text.js';

/** The page on which people decide on plans. */
export type DecisionPage =
  /** A page with a sign-in. The address of a plan can be told to anyone, because it allows nothing without signing in. */
  | {
      readonly kind: 'signIn';
      readonly addressOf: (nonce: string) => string;
      /** Announces a waiting plan. */
      readonly announce: (announcement: Announcement) => void;
    }
  /** A page in the browser on this machine. Its address is kept secret, because it is all that a decision needs. */
  | { readonly kind: 'local'; readonly show: () => void };

/** A plan that waits for a decision. */
export interface Announcement {
  readonly tool: string;
  readonly caller: string | undefined;
  /** The change in a sentence. */
  readonly headline: SafeText;
  readonly decideAt: string;
}

/** The address of a plan, if it may be told. */
export const addressOf = (nonce: string, page: DecisionPage | undefined): string | undefined =>
  page?.kind === 'signIn' ? page.addressOf(nonce) : undefined;

import type { SafeText } from '../util/safe-text.js';

/** The page on which people decide on plans. */
export type DecisionPage =
  /** People sign in to it. The address of a plan there has no power of its own, so that it can be told. */
  | {
      readonly kind: 'signIn';
      readonly addressOf: (nonce: string) => string;
      /** Tells people of a plan that waits. */
      readonly announce: (announcement: Announcement) => void;
    }
  /** In the browser of the person at this machine. Its address is all that a decision needs: nobody is told it. */
  | { readonly kind: 'local'; readonly show: () => void };

/** A plan that waits for somebody to decide on it. */
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

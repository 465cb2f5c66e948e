import type { SafeText } from '../util/safe-text.js';

/** The page on which people decide on plans. */
export type DecisionPage =
  /** A page with a sign-in. Anyone may see the address of a plan, because it allows nothing without signing in. */
  | {
      readonly kind: 'signIn';
      readonly addressOf: (id: string) => string;
      readonly announce: (announcement: Announcement) => void;
    }
  /** A page in the browser on this machine. Its address stays secret, because anyone who has the address can decide. */
  | { readonly kind: 'local'; readonly show: (id: string) => void };

/** The message that a plan waits for a decision. */
export interface Announcement {
  readonly tool: string;
  readonly caller: string | undefined;
  /** The change in a sentence. */
  readonly headline: SafeText;
  /** Address of the plan on the page. */
  readonly decideAt: string;
}

/** The address of a plan on the sign-in page. Undefined for the local page, whose address is secret, and if there is no page. */
export const addressOf = (id: string, page: DecisionPage | undefined): string | undefined =>
  page?.kind === 'signIn' ? page.addressOf(id) : undefined;

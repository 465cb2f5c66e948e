import type { SafeText } from '../util/safe-text.js';

/** The page on which people decide on plans. */
export type DecisionPage =
  /** Anyone may see the address, because it allows nothing without signing in. */
  | {
      readonly kind: 'signIn';
      readonly addressOf: (id: string) => string;
      readonly announce: (announcement: Announcement) => void;
    }
  /** In the browser on this machine. The address stays secret, because anyone who has it can decide. */
  | { readonly kind: 'local'; readonly show: (id: string) => void };

/** The message that a plan waits for a decision. */
export interface Announcement {
  readonly tool: string;
  readonly caller: string | undefined;
  readonly headline: SafeText;
  readonly decideAt: string;
}

/** The address of a plan on the sign-in page. */
export const addressOf = (id: string, page: DecisionPage | undefined): string | undefined =>
  page?.kind === 'signIn' ? page.addressOf(id) : undefined;

import { quoted, type SafeText, say } from '../util/safe-text.js';

/** Longest reason of a person for declining (characters). */
export const longestReason = 200;

/** The reason within its bound; undefined if the person typed none. */
export function boundedReason(typed: string | undefined): string | undefined {
  const reason = (typed ?? '').trim().slice(0, longestReason);
  return reason === '' ? undefined : reason;
}

/** The reason in a sentence for the agent. */
export const reasonText = (reason: string): SafeText =>
  say`the person gave this reason: ${quoted(reason, longestReason)}`;

import { quoted, type SafeText, say } from '../util/safe-text.js';

/** In characters. */
export const longestReason = 200;

/** The typed reason, cut to `longestReason`. */
export function boundedReason(typed: string | undefined): string | undefined {
  const reason = (typed ?? '').trim().slice(0, longestReason);
  return reason === '' ? undefined : reason;
}

/** The reason as a clause for the agent. */
export const reasonText = (reason: string): SafeText =>
  say`the person gave this reason: ${quoted(reason, longestReason)}`;

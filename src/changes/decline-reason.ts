/** The longest reason of a person who declines (characters). */
export const longestReason = 200;

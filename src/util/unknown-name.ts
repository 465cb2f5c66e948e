import { didYouMean } from './did-you-mean.js';
import { quoteName } from './quote.js';

/**
 * Says that a name is not one of the known names, and suggests the nearest: `name is not a field; did you mean names?`
 * @param kind completes "is not", such as `a field`
 */
export const unknownName = (name: string, kind: string, known: readonly string[]): string =>
  `${quoteName(name)} is not ${kind}${nearestHint(name, known)}`;

/** The end of a sentence about an unknown name: `; did you mean names?` Empty if no known name is similar. */
export function nearestHint(name: string, known: readonly string[]): string {
  const similar = didYouMean(name, known);
  return similar === undefined ? '' : `; did you mean ${quoteName(similar)}?`;
}

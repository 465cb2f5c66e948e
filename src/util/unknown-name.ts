import { didYouMean } from './did-you-mean.js';
import { quoteName } from './quote.js';

/** @param kind completes "is not", such as `a field` */
export const unknownName = (name: string, kind: string, known: readonly string[]): string =>
  `${quoteName(name)} is not ${kind}${nearestHint(name, known)}`;

export function nearestHint(name: string, known: readonly string[]): string {
  const similar = didYouMean(name, known);
  return similar === undefined ? '' : `; did you mean ${quoteName(similar)}?`;
}

import { alternativesOf, boundsOf, isReference, type PatternPart, readPattern } from './read-pattern.js';

/** Numbers of repetitions to try for a part that may be repeated. A larger number helps if the text has a minimum length. */
const repetitions = [1, 8, 16, 32];
/** A part is repeated only up to this length (characters). If a pattern requires more, the caller's test finds that the text does not match. */
const longestPart = 2000;
/** Printable characters to try for a class, the most readable ones first. */
const characters = ['a', '1', 'A', ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index))];

/**
 * Returns texts that may match a pattern, for a caller that tests them. Only the first of several alternatives is tried. Assertions and
 * references such as `\1` become empty. Returns none for a pattern that is left to the cloud.
 */
export function textsLikePattern(pattern: string): readonly string[] {
  if (readPattern(pattern).kind === 'unchecked') return [];
  const alternatives = alternativesOf(pattern);
  return repetitions.map((count) => textOfFirst(alternatives, count));
}

const textOfFirst = ([first = []]: readonly (readonly PatternPart[])[], count: number): string =>
  first.map((part) => textOfPart(part, count)).join('');

function textOfPart(part: PatternPart, count: number): string {
  if (part.kind === 'group') return repeatedText(textOfFirst(part.alternatives, count), part.quantifier, count);
  if (part.kind !== 'single' || isReference(part.text)) return '';

  const expression = new RegExp(`^${part.text}$`, 'u');
  // `^`, `$` and `\b` match no character, so they become empty.
  const character = [...characters, part.text].find((candidate) => expression.test(candidate)) ?? '';
  return repeatedText(character, part.quantifier, count);
}

function repeatedText(text: string, quantifier: string, count: number): string {
  const [min, max] = boundsOf(quantifier);
  const limit = Math.ceil(longestPart / Math.max(1, text.length));
  return text.repeat(Math.min(Math.max(count, min), max, limit));
}

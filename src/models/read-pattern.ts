import { fieldsAtAnyDepth } from './argument-names.js';
import { shortenText } from './documentation-text.js';
import { type Member, textTrait } from './model.js';

/** A pattern of an API model as a check of texts, or the reason why the cloud checks it. */
type ReadPattern =
  /** Also true for a text that is too long to check. */
  | { readonly kind: 'checked'; readonly allows: (text: string) => boolean }
  | { readonly kind: 'unchecked'; readonly reason: string };

const longestPattern = 1000;
/** Characters. Longer texts are left to the cloud. */
const longestChecked = 250;
/** Matching a text of `longestChecked` characters in all ways takes up to a fifth of a second. */
const mostRepetitions = 3;
/** This number of alternatives and optional characters has as many ways as a repetition. */
const choicesPerRepetition = 8;

const classOrEscape = /\[(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|.)/gsu;
/** Matching a repeated group can take exponential time. */
const quantifiedGroup = /\)[*+?{]/;
const repetition = /[*+]|\{\d+,\d*\}/g;
/** JavaScript cannot compile it. */
const hugeCount = /\{\d{4}/;
const choice = /\||[^*+}(]\?/g;

export function readPattern(pattern: string): ReadPattern {
  if (pattern.length > longestPattern)
    return { kind: 'unchecked', reason: `it has more than ${longestPattern} characters` };
  const expression = expressionOf(pattern);
  // Older versions of Node.js cannot read modifiers such as `(?i:`.
  const plain = pattern.replace(classOrEscape, (part) => (/^\\[1-9k]/.test(part) ? 'a*' : 'a'));
  if (expression === undefined || /\(\?(?![:=!<])/.test(plain))
    return { kind: 'unchecked', reason: 'JavaScript cannot read it' };
  if (quantifiedGroup.test(plain)) return { kind: 'unchecked', reason: 'it repeats a group' };

  const count = (part: RegExp) => plain.match(part)?.length ?? 0;
  // A pattern without a beginning is tried at each character.
  const isAnchored = plain.startsWith('^') && !plain.includes('|');
  const ways = count(repetition) + Math.ceil(count(choice) / choicesPerRepetition) + (isAnchored ? 0 : 1);
  if (ways > mostRepetitions || hugeCount.test(plain))
    return { kind: 'unchecked', reason: 'matching it can take very long' };
  return { kind: 'checked', allows: (text) => text.length > longestChecked || expression.test(text) };
}

function expressionOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined;
  }
}

/** Returns a sentence for each of the first ten arguments with a pattern that only the cloud checks. */
export const uncheckedPatterns = (fields: readonly Member[]): readonly string[] =>
  fieldsAtAnyDepth(fields)
    .flatMap((field) => {
      const pattern = patternIn(field);
      const read = pattern === undefined ? undefined : readPattern(pattern);
      if (read?.kind !== 'unchecked') return [];
      return [`The pattern of ${shortenText(field.name, 200)} is left to the cloud, because ${read.reason}.`];
    })
    .slice(0, 10);

const patternIn = ({ shape, traits }: Member): string | undefined =>
  shape.kind === 'list' || shape.kind === 'map'
    ? patternIn(shape.element)
    : shape.kind === 'text'
      ? textTrait(traits, 'smithy.api#pattern')
      : undefined;

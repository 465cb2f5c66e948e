import { boundsOf, isReference, readPattern, type Token, tokensOf } from './read-pattern.js';

/** Numbers of repetitions to try for a part that may be repeated. A larger number helps if the text has a minimum length. */
const repetitions = [1, 8, 16, 32];
/** A part is repeated only up to this length (characters). If a pattern requires more, the caller's test finds that the text does not match. */
const longestPart = 2000;
/** Printable characters to try for a class, the most readable ones first. */
const characters = ['a', '1', 'A', ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index))];

/**
 * Returns texts that may match a pattern, for a caller that tests them. Of alternatives, they have the first. Assertions and references
 * such as `\1` count as empty. Returns none for a pattern that is left to the cloud.
 */
export const textsLikePattern = (pattern: string): readonly string[] =>
  readPattern(pattern).kind === 'unchecked' ? [] : repetitions.map((count) => takeText(tokensOf(pattern), count));

/** Removes the tokens of a group, with its end, or of the whole pattern from `tokens`, and returns a text for its first alternative. */
function takeText(tokens: Token[], count: number): string {
  let text = '';
  let isFirstAlternative = true;
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    if (token.text === ')') return repeatedText(text, token.quantifier, count);
    if (token.text === '|') {
      isFirstAlternative = false;
    } else {
      const part = takePart(token, tokens, count);
      if (isFirstAlternative) text += part;
    }
  }
  return text;
}

/** Returns a text for a part that begins with the token `first`. The other tokens of a group are removed from `tokens`. */
function takePart(first: Token, tokens: Token[], count: number): string {
  const { text, quantifier } = first;
  if (text.startsWith('(')) {
    const group = takeText(tokens, count);
    return /^\(\?<?[=!]/.test(text) ? '' : group;
  }
  if (isReference(text)) return '';
  const expression = new RegExp(`^${text}$`, 'u');
  // `^`, `$` and `\b` match no character.
  const character = [...characters, text].find((candidate) => expression.test(candidate)) ?? '';
  return repeatedText(character, quantifier, count);
}

function repeatedText(text: string, quantifier: string, count: number): string {
  const [min, max] = boundsOf(quantifier);
  const limit = Math.ceil(longestPart / Math.max(1, text.length));
  return text.repeat(Math.min(Math.max(count, min), max, limit));
}

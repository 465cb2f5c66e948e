/** A pattern of an API model as a check of texts, or the reason why this server leaves the pattern to the cloud. */
type ReadPattern =
  /** `allows` is also true for a text that is left to the cloud, because it is so long that matching it could take very long. */
  | { readonly kind: 'checked'; readonly allows: (text: string) => boolean }
  | { readonly kind: 'unchecked'; readonly reason: string };

const longestPattern = 1000;
/** Upper bound of the steps of a match. They take a hundredth to a tenth of a second, and a call may have many texts. */
const maximumSteps = 3e6;
/** A pattern is left to the cloud if a text of this length (characters) could take more than `maximumSteps`. */
const usualLength = 25;
/** A longer text is left to the cloud (characters). */
const longestText = 1_000_000;

/** Reads a pattern. As in Smithy, a pattern without `^` and `$` may match a part of a text. */
export function readPattern(pattern: string): ReadPattern {
  if (pattern.length > longestPattern)
    return { kind: 'unchecked', reason: `it has more than ${longestPattern} characters` };
  const expression = expressionOf(pattern);
  const tokens = expression === undefined ? [] : tokensOf(pattern);
  // Older versions of Node.js cannot read modifiers such as `(?i:`, so no version checks them. The `?` then looks like a quantifier of `(`.
  const hasModifiers = tokens.some(({ text, quantifier }) => text === '(' && quantifier !== '');
  if (expression === undefined || hasModifiers) return { kind: 'unchecked', reason: 'JavaScript cannot read it' };

  // A match may begin at each position in a text, and after its end.
  const isFast = (length: number) => takeAlternatives([...tokens], length, length + 1, false).steps <= maximumSteps;
  if (!isFast(usualLength)) return { kind: 'unchecked', reason: 'matching it can take very long' };
  const longest = longestWhere(isFast);
  return { kind: 'checked', allows: (text) => text.length > longest || expression.test(text) };
}

/** The longest length from `usualLength` to `longestText` that is fast. The steps grow with the length, so halving the interval finds it. */
function longestWhere(isFast: (length: number) => boolean): number {
  let fast = usualLength;
  let slow = longestText + 1;
  while (slow - fast > 1) {
    const middle = Math.floor((fast + slow) / 2);
    if (isFast(middle)) fast = middle;
    else slow = middle;
  }
  return fast;
}

function expressionOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined;
  }
}

/** The beginning or end of a group, or a part of a pattern without inner parts, such as a class. */
export interface Token {
  readonly text: string;
  /** The quantifier after the token, such as `*` or `{2,}`. Empty if there is none. The quantifier of a group is at its end. */
  readonly quantifier: string;
  /** True if the next token is a character that this token cannot match, so that repetitions of this token can end only there. */
  readonly isDelimited: boolean;
}

/** Matches a class, an escape, the beginning of a group or another character, and the quantifier after it. */
const quantifiedToken =
  /(\[(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|c[A-Za-z]|k<[^>]*>|.)|\((?:\?(?::|<?[=!]|<[^>]*>))?|[\s\S])([*+?]|\{\d+(?:,\d*)?\})?\??/gu;

/** Splits a pattern that JavaScript can read into its tokens. */
export function tokensOf(pattern: string): Token[] {
  // Lookbehind matches backwards, so there the next token is no delimiter.
  const looksBehind = /\(\?<[=!]/.test(pattern);
  const tokens = [...pattern.matchAll(quantifiedToken)].map(([, text = '', quantifier = '']) => ({ text, quantifier }));
  return tokens.map((token, index) => {
    const isPlainGroupEnd = ({ text, quantifier }: Omit<Token, 'isDelimited'>) => text === ')' && quantifier === '';
    const next = tokens.slice(index + 1).find((later) => !isPlainGroupEnd(later));
    return { ...token, isDelimited: !looksBehind && next?.quantifier === '' && excludes(token.text, next.text) };
  });
}

/** True if a token is a class, escape or character, and the next token is a character that it does not match. */
function excludes(text: string, next: string): boolean {
  const [, character] = /^\\?([^\w\\^$.()|])$|^(\w)$/.exec(next) ?? [];
  return (
    character !== undefined &&
    !isReference(text) &&
    /^[^()|]/.test(text) &&
    !new RegExp(`^${text}$`, 'u').test(character)
  );
}

/** True for a token such as `\1`, which matches the text of a group. */
export const isReference = (text: string) => /^\\[1-9k]/.test(text);

/** Upper bounds for matching a part of a pattern at one position in a text. */
interface Cost {
  /** Number of ways in which the part can match. The parts after it are tried with each way. */
  readonly ways: number;
  /** Number of attempts to match a token, until every way was tried. */
  readonly steps: number;
}

/** The cost of a part and the part after it. */
const sequence = (first: Cost, second: Cost): Cost => ({
  ways: first.ways * second.ways,
  steps: first.steps + first.ways * second.steps,
});
/** The cost of two alternatives. */
const choice = (first: Cost, second: Cost): Cost => ({
  ways: first.ways + second.ways,
  steps: first.steps + second.steps,
});

/**
 * Removes the tokens of a group, with its end, or of the whole pattern from `tokens`, and returns the cost of matching them.
 * @param length of the text
 * @param starts number of positions in the text at which an alternative is tried. An alternative that begins with `^` goes on at a single position
 * @param isBackwards true in a lookbehind such as `(?<=ab)`, of which the last part is matched first
 */
function takeAlternatives(tokens: Token[], length: number, starts: number, isBackwards: boolean): Cost {
  const costOfStarting = (first: Token | undefined): Cost => ({
    ways: first?.text === '^' ? 1 : starts,
    steps: starts,
  });
  let earlierAlternatives: Cost = { ways: 0, steps: 0 };
  let alternative = costOfStarting(tokens[0]);
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    if (token.text === ')') return repeated(choice(earlierAlternatives, alternative), token.quantifier, length);
    if (token.text === '|') {
      earlierAlternatives = choice(earlierAlternatives, alternative);
      alternative = costOfStarting(tokens[0]);
    } else {
      const part = takePart(token, tokens, length, isBackwards);
      alternative = isBackwards ? sequence(part, alternative) : sequence(alternative, part);
    }
  }
  return choice(earlierAlternatives, alternative);
}

/** Returns the cost of a part that begins with the token `first`. The other tokens of a group are removed from `tokens`. */
function takePart(first: Token, tokens: Token[], length: number, isBackwards: boolean): Cost {
  const { text, quantifier, isDelimited } = first;
  if (text.startsWith('(')) {
    const isAssertion = /^\(\?<?[=!]/.test(text);
    const group = takeAlternatives(tokens, length, 1, isAssertion ? text.startsWith('(?<') : isBackwards);
    // After an assertion such as `(?=a*)` has matched, no other way to match it is tried.
    return isAssertion ? { ...group, ways: 1 } : group;
  }
  // A reference such as `\1` is compared with the text of a group.
  const cost = repeated({ ways: 1, steps: isReference(text) ? length : 1 }, quantifier, length);
  return isDelimited ? { ways: 1, steps: cost.steps + cost.ways } : cost;
}

/** Returns the cost of a part with a quantifier. */
function repeated({ ways, steps }: Cost, quantifier: string, length: number): Cost {
  const [min, max] = boundsOf(quantifier);
  // Beyond `min` repetitions, an engine matches none that is empty. So a text of `length` characters has at most `length` more.
  const mostRepetitions = Math.min(max, min + length);
  return {
    ways: sumOfPowers(ways, min, mostRepetitions),
    steps: 1 + steps * sumOfPowers(ways, 0, mostRepetitions - 1),
  };
}

/** Returns the smallest and the largest number of repetitions that a quantifier allows. */
export function boundsOf(quantifier: string): [min: number, max: number] {
  const [min = '', max = min] = (quantifiersInBraces[quantifier] ?? quantifier).slice(1, -1).split(',');
  return [Number(min), max === '' ? Number.POSITIVE_INFINITY : Number(max)];
}

const quantifiersInBraces: Readonly<Record<string, string>> = { '': '{1}', '?': '{0,1}', '*': '{0,}', '+': '{1,}' };

/** Adds the powers of a base from one exponent to another. Stops at a sum above `maximumSteps`, because the exponents may be large. */
function sumOfPowers(base: number, from: number, to: number): number {
  if (base === 1) return to - from + 1;
  let sum = 0;
  for (let exponent = from; exponent <= to && sum <= maximumSteps; exponent += 1) sum += base ** exponent;
  return sum;
}

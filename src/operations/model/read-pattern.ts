/** A pattern of an API model as a check of texts, or the reason why this server leaves the pattern to the cloud. */
type ReadPattern =
  /** `allows` is also true for a text that is left to the cloud, because it is so long that matching it could take very long. */
  | { readonly kind: 'checked'; readonly allows: (text: string) => boolean }
  | { readonly kind: 'unchecked'; readonly reason: string };

const longestPattern = 1000;
/** Maximum number of steps of a match, which take a hundredth to a tenth of a second. A call may have many texts. */
const maximumSteps = 3e6;
/** A pattern is left to the cloud if a text of this length (characters) could take more than `maximumSteps`. */
const usualLength = 25;
/** Texts of more than this length (characters) are left to the cloud. */
const longestText = 1_000_000;

/** Reads a pattern. As in Smithy, a pattern without `^` and `$` may match a part of a text. */
export function readPattern(pattern: string): ReadPattern {
  if (pattern.length > longestPattern)
    return { kind: 'unchecked', reason: `it has more than ${longestPattern} characters` };
  const expression = expressionOf(pattern);
  const tokens = expression === undefined ? [] : tokensOf(pattern);
  // Modifiers such as `(?i:` are left to the cloud on every version of Node.js, because older versions cannot read them. `tokensOf` takes the
  // `?` of a modifier for a quantifier of `(`.
  const hasModifiers = tokens.some(({ text, quantifier }) => text === '(' && quantifier !== '');
  if (expression === undefined || hasModifiers) return { kind: 'unchecked', reason: 'JavaScript cannot read it' };

  const { alternatives } = takeAlternatives(tokens);
  const isFast = (length: number) => {
    // A match may begin at each position in a text, and after its end.
    const { steps } = costOfAlternatives(alternatives, { length, starts: length + 1, isBackwards: false });
    return steps <= maximumSteps;
  };
  if (!isFast(usualLength)) return { kind: 'unchecked', reason: 'matching it can take very long' };
  const longestFast = longestFastLength(isFast);
  return { kind: 'checked', allows: (text) => text.length > longestFast || expression.test(text) };
}

/** The largest length from `usualLength` to `longestText` for which a match is fast. Steps grow with the length, so a binary search finds it. */
function longestFastLength(isFast: (length: number) => boolean): number {
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

/** A part of a pattern: a group, or a single token, such as a class, an escape or a character. */
export type PatternPart = Group | ({ readonly kind: 'single' } & Token);

type Alternative = readonly PatternPart[];

interface Group {
  /** `lookahead` and `lookbehind` are assertions, which match no text. */
  readonly kind: 'group' | 'lookahead' | 'lookbehind';
  readonly alternatives: readonly Alternative[];
  readonly quantifier: string;
}

/** The beginning or end of a group, the `|` between alternatives, or a part of a pattern without inner parts, such as a class. */
interface Token {
  readonly text: string;
  /** The quantifier after the token, such as `*` or `{2,}`. Empty if there is none. The quantifier of a group is at its end. */
  readonly quantifier: string;
  /** True if the next token is a character that this token cannot match, so that repetitions of this token can end only there. */
  readonly isDelimited: boolean;
}

/** Matches a class, an escape, the beginning of a group or another character, and the quantifier after it. */
const quantifiedToken =
  /(\[(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|c[A-Za-z]|k<[^>]*>|.)|\((?:\?(?::|<?[=!]|<[^>]*>))?|[\s\S])([*+?]|\{\d+(?:,\d*)?\})?\??/gu;

/** Parses a pattern that JavaScript can read. */
export const alternativesOf = (pattern: string): readonly Alternative[] =>
  takeAlternatives(tokensOf(pattern)).alternatives;

/** Parses the alternatives of a group, or of the whole pattern. Removes their tokens, and the end of the group, from `tokens`. */
function takeAlternatives(tokens: Token[]): Omit<Group, 'kind'> {
  let parts: PatternPart[] = [];
  const alternatives = [parts];
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    const { text, quantifier } = token;
    if (text === ')') return { alternatives, quantifier };
    if (text === '|') {
      parts = [];
      alternatives.push(parts);
    } else if (text.startsWith('(')) {
      parts.push({ kind: groupKind(text), ...takeAlternatives(tokens) });
    } else {
      parts.push({ kind: 'single', ...token });
    }
  }
  return { alternatives, quantifier: '' };
}

/** Returns the kind of a group by its beginning: `(`, `(?:`, `(?<name>`, `(?=`, `(?!`, `(?<=` or `(?<!`. */
function groupKind(beginning: string): Group['kind'] {
  if (!/[=!]$/.test(beginning)) return 'group';
  return beginning.startsWith('(?<') ? 'lookbehind' : 'lookahead';
}

/** Splits a pattern that JavaScript can read into its tokens. */
function tokensOf(pattern: string): Token[] {
  // A lookbehind matches backwards, so the next token is no delimiter in a pattern with a lookbehind.
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
const costOfSequence = (first: Cost, second: Cost): Cost => ({
  ways: first.ways * second.ways,
  steps: first.steps + first.ways * second.steps,
});
/** The cost of two alternatives. */
const costOfChoice = (first: Cost, second: Cost): Cost => ({
  ways: first.ways + second.ways,
  steps: first.steps + second.steps,
});

/**
 * Returns the cost of matching alternatives, which are tried one after the other.
 * @param length of the text
 * @param starts number of positions in the text at which each alternative is tried: all for the whole pattern, and one for a group
 * @param isBackwards true in a lookbehind
 */
function costOfAlternatives(
  alternatives: readonly Alternative[],
  { length, starts, isBackwards }: { readonly length: number; readonly starts: number; readonly isBackwards: boolean },
): Cost {
  const costs = alternatives.map((parts) => {
    const [first] = parts;
    // An alternative that begins with `^` is tried at all positions as well, but only the first position lets it go on.
    const isAtStart = first?.kind === 'single' && first.text === '^';
    const start: Cost = { ways: isAtStart ? 1 : starts, steps: starts };
    const costsInOrder = [start, ...parts.map((part) => costOfPart(part, length, isBackwards))];
    // In a lookbehind such as `(?<=ab)`, the last part is matched first.
    if (isBackwards) costsInOrder.reverse();
    return costsInOrder.reduce(costOfSequence);
  });
  return costs.reduce(costOfChoice);
}

function costOfPart(part: PatternPart, length: number, isBackwards: boolean): Cost {
  if (part.kind === 'single') {
    // A reference such as `\1` is compared with the text of a group.
    const steps = isReference(part.text) ? length : 1;
    const cost = repeated({ ways: 1, steps }, part.quantifier, length);
    return part.isDelimited ? { ways: 1, steps: cost.steps + cost.ways } : cost;
  }
  const isInLookbehind = part.kind === 'group' ? isBackwards : part.kind === 'lookbehind';
  const costOfOne = costOfAlternatives(part.alternatives, { length, starts: 1, isBackwards: isInLookbehind });
  const cost = repeated(costOfOne, part.quantifier, length);
  // After an assertion such as `(?=a*)` has matched, no other way to match it is tried.
  return part.kind === 'group' ? cost : { ...cost, ways: 1 };
}

/** Returns the cost of a part with a quantifier. */
function repeated({ ways, steps }: Cost, quantifier: string, length: number): Cost {
  const [min, max] = boundsOf(quantifier);
  // After `min` repetitions, an engine matches no empty repetition. So a text of `length` characters allows at most `length` more.
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

/** A pattern of an API model as a regular expression, or the reason why this server leaves the pattern to the cloud. */
type ReadPattern =
  | {
      readonly kind: 'expression';
      readonly expression: RegExp;
      /** Length limit (characters). Longer texts are not matched here, because matching could take too long. */
      readonly longestText: number;
    }
  | { readonly kind: 'unchecked'; readonly reason: string };

const longestPattern = 1000;
/** Upper bound of the steps of a match. They take about a tenth of a second. */
const maximumSteps = 3e7;

/** Reads a pattern. As in Smithy, a pattern without `^` and `$` may match a part of a text. */
export function readPattern(pattern: string): ReadPattern {
  if (pattern.length > longestPattern)
    return { kind: 'unchecked', reason: `it has more than ${longestPattern} characters` };
  const repetitions = countRepetitions(pattern);
  // Most ambiguous repetitions are nested, as in `(a+)*`.
  if (repetitions === 'ambiguous')
    return { kind: 'unchecked', reason: 'it has nested repetitions, which can take very long' };
  try {
    const expression = new RegExp(pattern, 'u');
    // Each repetition can multiply the steps by the length of the text, and so can the choice of the start if there is no `^`.
    const degree = repetitions + (pattern.startsWith('^') ? 0 : 1);
    return { kind: 'expression', expression, longestText: Math.floor(maximumSteps ** (1 / Math.max(1, degree))) };
  } catch {
    return { kind: 'unchecked', reason: 'JavaScript cannot read it' };
  }
}

/** Matches a class, an escape, the beginning of a group or another character, and the quantifier after it, such as `*` or `{2,}?`. */
const quantifiedToken =
  /(\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|\((?:\?(?:[:=!]|<[=!]|<\w+>))?|[\s\S])((?:[*+?]|\{\d+(?:,\d*)?\})?\??)/gu;

/** True for `?`, `*`, `+` and `{2,}`. False for a fixed number such as `{2}`, and if there is no quantifier. */
const isVariable = (quantifier: string) => quantifier !== '' && !/^\{\d+\}/.test(quantifier);

/**
 * Counts the repetitions of variable length, such as `*`, `+` and `{2,}`, because each can multiply the steps of a match by the length of the
 * text. Returns `ambiguous` if such a repetition repeats an ambiguous group, which can match in several ways, as in `(a+)*` or `(a|b)*`. The
 * steps could then double with each character.
 */
function countRepetitions(pattern: string): number | 'ambiguous' {
  let count = 0;
  /** The groups around the current token, outermost first. */
  const groups: { isAmbiguous: boolean }[] = [];
  for (const [, token = '', quantifier = ''] of pattern.matchAll(quantifiedToken)) {
    const hasVariableLength = isVariable(quantifier);
    // `?` has a variable length, too, and so makes a group ambiguous, but repeats nothing.
    const isRepetition = hasVariableLength && !quantifier.startsWith('?');
    if (isRepetition) count += 1;

    if (token.startsWith('(')) groups.push({ isAmbiguous: false });
    const endedGroup = token === ')' ? groups.pop() : undefined;
    const endsAmbiguousGroup = endedGroup?.isAmbiguous === true;
    if (isRepetition && endsAmbiguousGroup) return 'ambiguous';

    // Alternatives, a variable length and an ambiguous group make the group around them ambiguous.
    const groupAround = groups.at(-1);
    if (groupAround !== undefined && (token === '|' || hasVariableLength || endsAmbiguousGroup))
      groupAround.isAmbiguous = true;
  }
  return count;
}

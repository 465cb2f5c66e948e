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
  if (repetitions === 'nested')
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
 * Counts the variable repetitions, such as `*`, `+` and `{2,}`, because each can multiply the steps of a match by the length of the text. Not
 * counted are `?`, which repeats nothing, and a fixed number such as `{2}`, which does not depend on the text. Returns `nested` if a variable
 * repetition repeats an ambiguous group, which can match in several ways: `(a+)*` or `(a|b)*`. The steps could double with each character.
 */
function countRepetitions(pattern: string): number | 'nested' {
  let count = 0;
  /** The groups around the current token, outermost first. */
  const groups: { isAmbiguous: boolean }[] = [];
  for (const [, token = '', quantifier = ''] of pattern.matchAll(quantifiedToken)) {
    if (token.startsWith('(')) groups.push({ isAmbiguous: false });
    const endedGroup = token === ')' ? groups.pop() : undefined;
    const endsAmbiguousGroup = endedGroup?.isAmbiguous === true;

    const isVariableRepetition = isVariable(quantifier) && !quantifier.startsWith('?');
    if (isVariableRepetition && endsAmbiguousGroup) return 'nested';
    if (isVariableRepetition) count += 1;

    // A group is ambiguous if it has alternatives, a variable quantifier or an ambiguous group in it.
    const makesAmbiguous = token === '|' || isVariable(quantifier) || endsAmbiguousGroup;
    // Undefined outside of all groups. After a `)`, this is the group around the group that has ended.
    const innermostGroup = groups.at(-1);
    if (innermostGroup !== undefined && makesAmbiguous) innermostGroup.isAmbiguous = true;
  }
  return count;
}

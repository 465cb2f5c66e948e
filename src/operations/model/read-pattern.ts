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
const isOptional = (quantifier: string) => quantifier.startsWith('?');

/**
 * Counts the open repetitions, such as `*`, `+` and `{2,}`: each can multiply the steps of a match by the length of the text. A fixed number
 * such as `{2}` is not counted, because it does not depend on the text. Returns `nested` if an open repetition repeats a group that can match
 * in several ways, as in `(a+)*` or `(a|b)*`, because the steps could then double with each character.
 */
function countRepetitions(pattern: string): number | 'nested' {
  let count = 0;
  /** The groups around the current token, outermost first. */
  const openGroups: { isAmbiguous: boolean }[] = [];
  for (const [, token = '', quantifier = ''] of pattern.matchAll(quantifiedToken)) {
    if (token.startsWith('(')) openGroups.push({ isAmbiguous: false });
    const endedGroup = token === ')' ? openGroups.pop() : undefined;
    const endsAmbiguousGroup = endedGroup?.isAmbiguous === true;

    // `?` is variable, but repeats nothing.
    const isOpenRepetition = isVariable(quantifier) && !isOptional(quantifier);
    if (isOpenRepetition && endsAmbiguousGroup) return 'nested';
    if (isOpenRepetition) count += 1;

    // A group is ambiguous, which means that it can match in several ways, if it has alternatives, a variable quantifier or an ambiguous
    // group in it. After a `)`, the innermost group is the one around the group that has ended. Outside of all groups, it is undefined.
    const makesAmbiguous = token === '|' || isVariable(quantifier) || endsAmbiguousGroup;
    const innermostGroup = openGroups.at(-1);
    if (innermostGroup !== undefined && makesAmbiguous) innermostGroup.isAmbiguous = true;
  }
  return count;
}

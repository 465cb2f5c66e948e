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

/** Matches a class, an escape, the beginning of a group or another character, and the repetition after it, such as `*` or `{2,}?`. */
const repeatedToken =
  /(\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|\((?:\?(?:[:=!]|<[=!]|<\w+>))?|[\s\S])((?:[*+?]|\{\d+(?:,\d*)?\})?\??)/gu;

/** False for no repetition, and for a fixed number such as `{2}`. */
const isVariableLength = (repetition: string) => repetition !== '' && !/^\{\d+\}/.test(repetition);
/** False also for `?`, which has a variable length, but does not repeat. */
const isVariableRepetition = (repetition: string) => isVariableLength(repetition) && !repetition.startsWith('?');

/**
 * Counts the repetitions of variable length, such as `*`, because each can multiply the steps of a match by the length of the text. Returns
 * `nested` if one of them repeats an ambiguous group, as in `(a+)*` or `(a|b)*`: the steps could then double with each character.
 */
function countRepetitions(pattern: string): number | 'nested' {
  let count = 0;
  /** The groups around the current token, outermost first. The first entry stands for the whole pattern and never ends. */
  const openGroups = [{ isAmbiguous: false }];
  for (const [, token = '', repetition = ''] of pattern.matchAll(repeatedToken)) {
    if (token.startsWith('(')) openGroups.push({ isAmbiguous: false });
    const endedGroup = token === ')' && openGroups.length > 1 ? openGroups.pop() : undefined;
    const endsAmbiguousGroup = endedGroup?.isAmbiguous === true;

    if (isVariableRepetition(repetition)) {
      if (endsAmbiguousGroup) return 'nested';
      count += 1;
    }

    // A group is ambiguous, which means that it may match in several ways, if it has alternatives, something of variable length or an
    // ambiguous group in it. After a `)`, the current group is the one around the group that has ended.
    const makesAmbiguous = token === '|' || isVariableLength(repetition) || endsAmbiguousGroup;
    const currentGroup = openGroups.at(-1);
    if (currentGroup && makesAmbiguous) currentGroup.isAmbiguous = true;
  }
  return count;
}

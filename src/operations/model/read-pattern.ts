/** A pattern of an API model as a regular expression. `left` is the reason why the pattern is left to the cloud. */
type ReadPattern =
  | {
      readonly kind: 'expression';
      readonly expression: RegExp;
      /** Length limit (characters). Longer texts are not matched here, because matching could take too long. */
      readonly longestText: number;
    }
  | { readonly kind: 'left'; readonly reason: string };

const longestPattern = 1000;
/** Upper bound of the steps of a match, about a tenth of a second. */
const maximumSteps = 3e7;

/** Reads a pattern. A pattern without `^` and `$` may match a part of a text. */
export function readPattern(pattern: string): ReadPattern {
  if (pattern.length > longestPattern) return { kind: 'left', reason: `it has more than ${longestPattern} characters` };
  const repetitions = countRepetitions(pattern);
  if (repetitions === 'nested') return { kind: 'left', reason: 'it has nested repetitions, which can take very long' };
  try {
    const expression = new RegExp(pattern, 'u');
    // Each repetition, and each possible start, can multiply the steps by the length of the text.
    const degree = repetitions + (pattern.startsWith('^') ? 0 : 1);
    return { kind: 'expression', expression, longestText: Math.floor(maximumSteps ** (1 / Math.max(1, degree))) };
  } catch {
    return { kind: 'left', reason: 'JavaScript cannot read it' };
  }
}

/** Matches one token of a pattern and its repetition. A token is a class, an escape, the beginning of a group, or another character. */
const repeatedToken =
  /(\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|\((?:\?(?:[:=!]|<[=!]|<\w+>))?|[\s\S])((?:[*+?]|\{\d+(?:,\d*)?\})?\??)/gu;

/** Counts the repetitions of variable length. Returns `nested` if a repeated group contains a repetition or alternatives. */
function countRepetitions(pattern: string): number | 'nested' {
  let count = 0;
  /** Whether each open group can match a text in several ways. The first entry is for the whole pattern. */
  const areGroupsAmbiguous = [false];
  for (const [, token = '', repetition = ''] of pattern.matchAll(repeatedToken)) {
    if (token.startsWith('(')) areGroupsAmbiguous.push(false);
    const isGroupEnd = token === ')' && areGroupsAmbiguous.length > 1;
    const isEndedGroupAmbiguous = isGroupEnd && areGroupsAmbiguous.pop() === true;
    const isVariable = repetition !== '' && !/^\{\d+\}/.test(repetition);
    if (token === '|' || isEndedGroupAmbiguous || isVariable) areGroupsAmbiguous.splice(-1, 1, true);
    if (!isVariable || repetition.startsWith('?')) continue;
    if (isEndedGroupAmbiguous) return 'nested';
    count += 1;
  }
  return count;
}

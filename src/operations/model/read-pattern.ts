/** A pattern of a model as an expression of JavaScript, or the reason why it is left to the cloud. */
type ReadPattern =
  | {
      readonly kind: 'expression';
      readonly expression: RegExp;
      /** Longer texts (characters) are not matched, because matching could take too long. They are left to the cloud. */
      readonly longestText: number;
    }
  | { readonly kind: 'left'; readonly reason: string };

const longestPattern = 1000;
/** Upper bound of the steps of a match, about a tenth of a second. */
const maximumSteps = 3e7;

/** Reads a pattern. It is not anchored unless it says so. */
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

/** A class, an escape, the beginning of a group, or any other character, each with its repetition. */
const repeatedToken =
  /(\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|\((?:\?(?:[:=!]|<[=!]|<\w+>))?|[\s\S])((?:[*+?]|\{\d+(?:,\d*)?\})?\??)/gu;

/** Counts the repetitions of variable length. `nested` if a repeated group has another one or alternatives in it. */
function countRepetitions(pattern: string): number | 'nested' {
  let count = 0;
  /** For each open group, whether it can match in several ways. */
  const groups = [false];
  const mark = () => groups.splice(-1, 1, true);
  for (const [, token = '', repetition = ''] of pattern.matchAll(repeatedToken)) {
    if (token.startsWith('(')) groups.push(false);
    const hasWays = token === ')' && groups.length > 1 && groups.pop() === true;
    const isVariable = repetition !== '' && !/^\{\d+\}/.test(repetition);
    if (token === '|' || hasWays || isVariable) mark();
    if (!isVariable || repetition.startsWith('?')) continue;
    if (hasWays) return 'nested';
    count += 1;
  }
  return count;
}

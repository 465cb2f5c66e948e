/** A pattern of an API model as a check of texts, or the reason why this server leaves the pattern to the cloud. */
type ReadPattern =
  /** `allows` is also true for a text that is left to the cloud, because it is longer than this server checks. */
  | { readonly kind: 'checked'; readonly allows: (text: string) => boolean }
  | { readonly kind: 'unchecked'; readonly reason: string };

const longestPattern = 1000;
/** Maximum number of steps of a match, which take about a tenth of a second. */
const maximumSteps = 1e7;
/** A pattern is left to the cloud if this server could not even check a text of this length (characters). */
const usualLength = 20;

/** Matches a class or an escape, in which the characters of the other patterns have no meaning. */
const classOrEscape = /\[(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|.)/gsu;
/** A group that may be repeated. The time for matching it can grow exponentially with the text. */
const quantifiedGroup = /\)[*+?{]/;
const repetition = /[*+]|\{\d+,\d*\}/g;
const fixedCount = /\{(\d+)\}/g;
/** A choice between two ways to match: an alternative or an optional character. */
const choice = /\||[^*+}(]\?/g;

/**
 * Reads a pattern. As in Smithy, a pattern without `^` and `$` may match a part of a text. A pattern with a quantified group is left to the
 * cloud. Others are checked in texts that are so short that matching takes little time.
 */
export function readPattern(pattern: string): ReadPattern {
  if (pattern.length > longestPattern)
    return { kind: 'unchecked', reason: `it has more than ${longestPattern} characters` };
  const expression = expressionOf(pattern);
  // Modifiers such as `(?i:` are left to the cloud on every version of Node.js, because older versions cannot read them.
  const plain = pattern.replace(classOrEscape, (part) => (/^\\[1-9k]/.test(part) ? 'a*' : 'a'));
  if (expression === undefined || /\(\?(?![:=!<])/.test(plain))
    return { kind: 'unchecked', reason: 'JavaScript cannot read it' };
  if (quantifiedGroup.test(plain)) return { kind: 'unchecked', reason: 'it repeats a group' };

  const longest = longestChecked(plain);
  if (longest < usualLength) return { kind: 'unchecked', reason: 'matching it can take very long' };
  return { kind: 'checked', allows: (text) => text.length > longest || expression.test(text) };
}

/**
 * Returns the length of the longest text that is checked (characters). In a text of this length, each repetition may end at any place, an
 * unanchored match may begin at any place, and each choice doubles the ways to match.
 * @param plain the pattern with a letter in place of each class and escape. A reference such as `\1` counts as a repetition
 */
function longestChecked(plain: string): number {
  const repetitions = plain.match(repetition)?.length ?? 0;
  const choices = plain.match(choice)?.length ?? 0;
  const isAnchored = plain.startsWith('^') && !plain.includes('|');
  const places = repetitions + (isAnchored ? 0 : 1);
  const stepsOfOneWay = [...plain.matchAll(fixedCount)].reduce((sum, [, count]) => sum + Number(count), plain.length);
  const ways = maximumSteps / stepsOfOneWay / 2 ** choices;
  return Math.floor(ways ** (1 / Math.max(1, places)));
}

function expressionOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined;
  }
}

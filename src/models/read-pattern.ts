import type { Argument, ValueRules } from './arguments.js';
import { shortenText } from './documentation-text.js';

/** A pattern of an API model as a check of texts, or the reason why the cloud checks it. */
type ReadPattern =
  /** Also true for a text that is too long to check. */
  | { readonly kind: 'checked'; readonly allows: (text: string) => boolean }
  | { readonly kind: 'unchecked'; readonly reason: string };

const longestPattern = 1000;
/** Number of steps in about a tenth of a second. */
const maximumSteps = 1e7;
/** Characters. Patterns that are too slow for this length are left to the cloud. */
const usualLength = 20;

const classOrEscape = /\[(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|.)/gsu;
/** Matching a repeated group can take exponential time. */
const quantifiedGroup = /\)[*+?{]/;
const repetition = /[*+]|\{\d+,\d*\}/g;
const fixedCount = /\{(\d+)\}/g;
/** An alternative or an optional character. */
const choice = /\||[^*+}(]\?/g;

/** Reads a pattern. As in Smithy, a pattern without `^` and `$` may match a part of a text. */
export function readPattern(pattern: string): ReadPattern {
  if (pattern.length > longestPattern)
    return { kind: 'unchecked', reason: `it has more than ${longestPattern} characters` };
  const expression = expressionOf(pattern);
  // Older versions of Node.js cannot read modifiers such as `(?i:`.
  const plain = pattern.replace(classOrEscape, (part) => (/^\\[1-9k]/.test(part) ? 'a*' : 'a'));
  if (expression === undefined || /\(\?(?![:=!<])/.test(plain))
    return { kind: 'unchecked', reason: 'JavaScript cannot read it' };
  if (quantifiedGroup.test(plain)) return { kind: 'unchecked', reason: 'it repeats a group' };

  const longest = longestChecked(plain);
  if (longest < usualLength) return { kind: 'unchecked', reason: 'matching it can take very long' };
  return { kind: 'checked', allows: (text) => text.length > longest || expression.test(text) };
}

/**
 * Returns the length of the longest text that is checked (characters).
 * @param plain the pattern with a letter in place of each class and escape
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

/** Returns a sentence for each argument whose pattern only the cloud checks, up to `maximumSentences`. */
export const uncheckedPatterns = (fields: readonly Argument[]): readonly string[] =>
  sentencesAbout(fields, '', new Set()).slice(0, maximumSentences);

const maximumSentences = 10;

/** Structures in `searched` are not searched again, because structures may contain themselves. */
const sentencesAbout = (fields: readonly Argument[], pathPrefix: string, searched: Set<string>): readonly string[] =>
  fields.flatMap(({ name, rules }) => sentencesAboutValue(rules, pathPrefix + name, searched));

function sentencesAboutValue(rules: ValueRules, path: string, searched: Set<string>): readonly string[] {
  if (rules.kind === 'list' || rules.kind === 'map') return sentencesAboutValue(rules.element(), `${path}[]`, searched);
  if (rules.kind === 'structure' && !searched.has(rules.id)) {
    searched.add(rules.id);
    return sentencesAbout(rules.fields(), `${path}.`, searched);
  }
  if (rules.kind !== 'text' || rules.pattern === undefined) return [];
  const read = readPattern(rules.pattern);
  if (read.kind === 'checked') return [];
  return [`The pattern of ${shortenText(path, 200)} is left to the cloud, because ${read.reason}.`];
}

import type { Argument, ValueRules } from './arguments.js';
import { shortenText } from './documentation-text.js';
import { readPattern } from './read-pattern.js';

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

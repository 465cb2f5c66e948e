import type { Argument, ValueRules } from './arguments.js';
import { shortenText } from './documentation-text.js';
import { readPattern } from './read-pattern.js';

/**
 * Returns a sentence for each argument, at any depth, whose pattern only the cloud checks, up to `maximumSentences`. If a structure is in
 * several places, the sentences are about the first place.
 */
export function uncheckedPatterns(fields: readonly Argument[]): readonly string[] {
  const sentences: string[] = [];
  for (const sentence of sentencesAbout(fields, '', new Set())) {
    if (sentences.length === maximumSentences) break;
    sentences.push(sentence);
  }
  return sentences;
}

const maximumSentences = 10;

/**
 * `pathPrefix` ends with a dot. Structures in `searched` are not searched again, because structures may contain themselves, and because
 * large models have millions of paths to some structures.
 */
function* sentencesAbout(fields: readonly Argument[], pathPrefix: string, searched: Set<string>): Generator<string> {
  for (const { name, rules } of fields) yield* sentencesAboutValue(rules, pathPrefix + name, searched);
}

function* sentencesAboutValue(rules: ValueRules, path: string, searched: Set<string>): Generator<string> {
  if (rules.kind === 'list' || rules.kind === 'map') {
    yield* sentencesAboutValue(rules.element(), `${path}[]`, searched);
  } else if (rules.kind === 'structure' && !searched.has(rules.id)) {
    searched.add(rules.id);
    yield* sentencesAbout(rules.fields(), `${path}.`, searched);
  } else if (rules.kind === 'text' && rules.pattern !== undefined) {
    const read = readPattern(rules.pattern);
    if (read.kind === 'unchecked')
      yield `The pattern of ${shortenText(path, 200)} is left to the cloud, because ${read.reason}.`;
  }
}

import type { Argument, ValueRules } from './arguments.js';
import { shortenText } from './documentation-text.js';
import { readPattern } from './read-pattern.js';

/** Returns a sentence for each argument, at any depth, whose pattern only the cloud checks, up to `maximumSentences`. */
export function uncheckedPatterns(fields: readonly Argument[]): readonly string[] {
  const sentences: string[] = [];
  for (const sentence of sentencesAbout(fields, '', [])) {
    if (sentences.length === maximumSentences) break;
    sentences.push(sentence);
  }
  return sentences;
}

const maximumSentences = 10;

/** `pathPrefix` ends with a dot. Structures whose IDs are in `around` are not searched again, because structures may contain themselves. */
function* sentencesAbout(
  fields: readonly Argument[],
  pathPrefix: string,
  around: readonly string[],
): Generator<string> {
  for (const { name, rules } of fields) yield* sentencesAboutValue(rules, pathPrefix + name, around);
}

function* sentencesAboutValue(rules: ValueRules, path: string, around: readonly string[]): Generator<string> {
  if (rules.kind === 'list' || rules.kind === 'map') {
    yield* sentencesAboutValue(rules.element(), `${path}[]`, around);
  } else if (rules.kind === 'structure' && !around.includes(rules.id)) {
    yield* sentencesAbout(rules.fields(), `${path}.`, [...around, rules.id]);
  } else if (rules.kind === 'text' && rules.pattern !== undefined) {
    const read = readPattern(rules.pattern);
    if (read.kind === 'unchecked')
      yield `The pattern of ${shortenText(path, 200)} is left to the cloud, because ${read.reason}.`;
  }
}

import type { Argument, ArgumentValue } from './arguments.js';
import { shortenText } from './documentation-text.js';
import { readPattern } from './read-pattern.js';

/** Returns a sentence for each argument, at any depth, whose pattern only the cloud checks, up to `maximumSentences`. */
export function uncheckedPatterns(fields: readonly Argument[]): readonly string[] {
  const sentences: string[] = [];
  for (const { path, reason } of leftPatterns(fields, '', [])) {
    if (sentences.length === maximumSentences) break;
    sentences.push(`The pattern of ${shortenText(path, 200)} is left to the cloud, because ${reason}.`);
  }
  return sentences;
}

const maximumSentences = 10;

interface LeftPattern {
  readonly path: string;
  readonly reason: string;
}

/** `pathPrefix` ends with a dot. Structures whose IDs are in `around` are not searched again, because structures may contain themselves. */
function* leftPatterns(
  fields: readonly Argument[],
  pathPrefix: string,
  around: readonly string[],
): Generator<LeftPattern> {
  for (const { name, value } of fields) yield* leftInValue(value, pathPrefix + name, around);
}

function* leftInValue(value: ArgumentValue, path: string, around: readonly string[]): Generator<LeftPattern> {
  if (value.kind === 'list' || value.kind === 'map') {
    yield* leftInValue(value.element(), `${path}[]`, around);
  } else if (value.kind === 'structure' && !around.includes(value.id)) {
    yield* leftPatterns(value.fields(), `${path}.`, [...around, value.id]);
  } else if (value.kind === 'text' && value.pattern !== undefined) {
    const read = readPattern(value.pattern);
    if (read.kind === 'left') yield { path, reason: read.reason };
  }
}

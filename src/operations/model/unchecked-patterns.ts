import type { Argument, ArgumentValue } from './arguments.js';
import { shortenText } from './documentation-text.js';
import { readPattern } from './read-pattern.js';

/** Returns a sentence for each argument whose pattern only the cloud checks, at any depth, for at most `mostTold` arguments. */
export function uncheckedPatterns(fields: readonly Argument[]): readonly string[] {
  const sentences: string[] = [];
  for (const { path, reason } of leftPatterns(fields, '', [])) {
    if (sentences.length === mostTold) break;
    sentences.push(`The pattern of ${shortenText(path, 200)} is left to the cloud, because ${reason}.`);
  }
  return sentences;
}

const mostTold = 10;

interface LeftPattern {
  readonly path: string;
  readonly reason: string;
}

/** @param around IDs of the structures around the fields */
function* leftPatterns(fields: readonly Argument[], before: string, around: readonly string[]): Generator<LeftPattern> {
  for (const { name, value } of fields) yield* leftInValue(value, before + name, around);
}

function* leftInValue(value: ArgumentValue, path: string, around: readonly string[]): Generator<LeftPattern> {
  if (value.kind === 'list' || value.kind === 'map') yield* leftInValue(value.element(), `${path}[]`, around);
  else if (value.kind === 'structure' && !around.includes(value.id))
    yield* leftPatterns(value.fields(), `${path}.`, [...around, value.id]);
  else if (value.kind === 'text' && value.pattern !== undefined) {
    const read = readPattern(value.pattern);
    if (read.kind === 'left') yield { path, reason: read.reason };
  }
}

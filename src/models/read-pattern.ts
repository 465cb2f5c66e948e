import { attempt } from '../util/objects.js';
import { fieldsAtAnyDepth } from './argument-names.js';
import { shortenText } from './documentation-text.js';
import { type Member, textTrait } from './model.js';

/** A pattern of an API model as a check of texts, or the reason why the cloud checks it. */
export function readPattern(
  pattern: string,
):
  | { readonly kind: 'checked'; readonly allows: (text: string) => boolean }
  | { readonly kind: 'unchecked'; readonly reason: string } {
  if (pattern.length > 1000) return { kind: 'unchecked', reason: 'it has more than 1000 characters' };
  const expression = attempt(() => new RegExp(pattern, 'u'), undefined);
  // A class or an escape is one character, and a reference to a group may be any text.
  const plain = pattern.replace(/\[(?:\\.|[^\]\\])*\]|\\(?:[pPu]\{[^}]*\}|.)/gsu, (part) =>
    /^\\[1-9k]/.test(part) ? 'a*' : 'a',
  );
  // Older versions of Node.js cannot read modifiers such as `(?i:`.
  if (expression === undefined || /\(\?(?![:=!<])/.test(plain))
    return { kind: 'unchecked', reason: 'JavaScript cannot read it' };
  if (/\)[*+?{]/.test(plain)) return { kind: 'unchecked', reason: 'it repeats a group' };

  const count = (part: RegExp) => plain.match(part)?.length ?? 0;
  // A pattern without a beginning is tried at each character. Eight alternatives have as many ways as a repetition.
  const isAnchored = plain.startsWith('^') && !plain.includes('|');
  const ways = count(/[*+]|\{\d+,\d*\}/g) + Math.ceil(count(/\||[^*+}(]\?/g) / 8) + (isAnchored ? 0 : 1);
  // Three repetitions take up to a fifth of a second. JavaScript cannot compile a huge count.
  if (ways > 3 || /\{\d{4}/.test(plain)) return { kind: 'unchecked', reason: 'matching it can take very long' };
  // Longer texts are left to the cloud.
  return { kind: 'checked', allows: (text) => text.length > 250 || expression.test(text) };
}

/** Returns a sentence for each of the first ten arguments with a pattern that only the cloud checks. */
export const uncheckedPatterns = (fields: readonly Member[]): readonly string[] =>
  fieldsAtAnyDepth(fields)
    .flatMap((field) => {
      const pattern = patternIn(field);
      const read = pattern === undefined ? undefined : readPattern(pattern);
      if (read?.kind !== 'unchecked') return [];
      return [`The pattern of ${shortenText(field.name, 200)} is left to the cloud, because ${read.reason}.`];
    })
    .slice(0, 10);

const patternIn = ({ shape, traits }: Member): string | undefined =>
  shape.kind === 'list' || shape.kind === 'map'
    ? patternIn(shape.element)
    : shape.kind === 'text'
      ? textTrait(traits, 'smithy.api#pattern')
      : undefined;

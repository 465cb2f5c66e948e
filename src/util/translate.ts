/** Translates our own words by a table. Server and views share this file. */

/** Templates such as `Delete {0}` in English, each with its translation. */
export type TextTable = ReadonlyMap<string, string>;

/** A space around a template, or a capital letter at its start, makes no other text. */
const keyOf = (template: string): string => {
  const trimmed = template.trim();
  return trimmed.charAt(0).toLowerCase() + trimmed.slice(1);
};

export const createTextTable = (texts: Readonly<Record<string, string>>): TextTable =>
  new Map(Object.entries(texts).map(([template, translation]) => [keyOf(template), translation]));

export const translationOf = (table: TextTable, template: string): string | undefined => table.get(keyOf(template));

const number = /\d+(?:\.\d+)?/g;

/** Translates words with numbers, the field of a thing (`node pool's disk size`), and the title of an operation (`Delete bucket`). */
export function findWords(
  table: TextTable,
  words: string,
): { readonly template: string; readonly values: readonly string[] } | undefined {
  const numbers = words.match(number) ?? [];
  let index = -1;
  const withIndexes = words.replace(number, () => {
    index += 1;
    return `{${index}}`;
  });
  const [, owner = '', field = ''] = /^(.+)'s (.+)$/.exec(words) ?? [];
  const [, verb = '', thing = ''] = /^([A-Z][a-z]+) (.+)$/.exec(words) ?? [];
  const attempts: readonly (readonly [template: string, values: readonly string[]])[] = [
    [words, []],
    ...(owner === '' ? [] : [["{0}'s {1}", [owner, field]] as const]),
    [withIndexes, numbers],
    [`${verb} {0}`, [thing]],
  ];
  for (const [template, values] of attempts) {
    const translation = translationOf(table, template);
    if (translation !== undefined) return { template: translation, values };
  }
  return undefined;
}

export const piecesOfTemplate = (template: string): readonly (string | number)[] =>
  template.split(/\{(\d+)\}/).map((piece, index) => (index % 2 === 0 ? piece : Number(piece)));

/** Translates words, or fills a template with values that are shown already. */
export function translateWords(table: TextTable, words: string, ...shown: readonly string[]): string {
  const found = findWords(table, words);
  if (found === undefined && shown.length === 0) return words;
  const { template, values } = found ?? { template: words, values: [] };
  const filled = shown.length > 0 ? shown : values.map((value) => translateWords(table, value));
  return piecesOfTemplate(template)
    .map((piece) => (typeof piece === 'number' ? (filled[piece] ?? '') : piece))
    .join('');
}

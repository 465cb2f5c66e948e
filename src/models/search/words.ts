// cspell:ignore aeiou
/** Splits names, documentation and questions into the words that the search compares. */

/** Returns the words of an operation's or argument's name: `describe`, `db`, `instances` for `DescribeDBInstances`. */
export const wordsOfName = (name: string): readonly string[] =>
  name
    .replace(/([A-Z])([A-Z]+)s(?![a-z])/g, (_, first: string, others: string) => `${first}${others.toLowerCase()}s`)
    .split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());

/** Prefixes of names that say whose an operation is, and not what it does. */
export const withoutVendor = (name: string): string => name.replace(/^(?:nifty|aws|amazon)(?=[A-Z_-])/i, '');

/** Returns a name without case and separators, so that all spellings of a name are equal. */
export const compactName = (name: string): string =>
  withoutVendor(name)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');

/** A run of Japanese letters, or of other letters and digits. */
const run =
  /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ー]+|[^\s\p{P}\p{S}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ー]+/gu;
const isJapanese = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u;

/** Returns the words of a text in lower case, in order. Of Japanese, which has no spaces, each pair of letters is a word. */
export function wordsOfText(text: string): readonly string[] {
  const plain = text.normalize('NFKC').replace(/[\u00c0-\u024f]/g, withoutAccent);
  return (plain.match(run) ?? []).flatMap((found) =>
    isJapanese.test(found)
      ? pairsOf(found)
      : wordsOfName(found).length > 0
        ? wordsOfName(found)
        : [found.toLowerCase()],
  );
}

const withoutAccent = (letter: string): string => letter.normalize('NFD').replace(/\p{M}/gu, '');

export const isPair = (word: string): boolean => isJapanese.test(word);

function pairsOf(letters: string): readonly string[] {
  const characters = [...letters];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** Cuts the endings of English words, so that `volumes`, `creating` and `creation` meet `volume` and `create`. */
export function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  const singular = word
    .replace(/ies$/, 'y')
    .replace(/(?<=ss|sh|ch|x|z)es$/, '')
    .replace(/(?<![su]|^.{0,2}i)s$/, '');
  const root = singular.replace(/(?<=[aeiouy].*[^aeiou]|[^aeiou]{2}[aeiou].+)(?:ing|ed)$/, '');
  const single = root === singular ? root : root.replace(/([bdgmnprt])\1$/, '$1');
  return single.length > 6 ? single.replace(/(?<=[st])(?:ion|or|e)$/, '').replace(/e$/, '') : single.replace(/e$/, '');
}

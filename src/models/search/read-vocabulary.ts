/** Reads `vocabulary.json`: the words by which people and agents mean the words in names of operations. */
import tables from './vocabulary.json' with { type: 'json' };
import { stem, wordsOfText } from './words.js';

/** Words that mean the same together, each a list of stems. */
export type Meaning = readonly string[];

/** A phrase of a question: stems, and undefined for a gap. */
interface Phrase {
  readonly stems: readonly (string | undefined)[];
  readonly meanings: readonly Meaning[];
}

export type Vocabulary = ReturnType<typeof readVocabulary>;

const stemsOf = (text: string): string[] => wordsOfText(text).map(stem);
const stemSet = (lines: readonly string[]): ReadonlySet<string> => new Set(lines.join(' ').split(' ').map(stem));

export function readVocabulary() {
  const { japanese, serviceKinds, kindsByWords, commonWords, readingWords, fillerWords, foreignNames } = tables;
  const english = new Map(
    Object.entries(japanese).flatMap(([words, meaning]) => words.split(' ').map((word) => [word, meaning] as const)),
  );
  const longestFirst = [...english.keys()].sort((a, b) => b.length - a.length);
  const anyJapanese = new RegExp(longestFirst.join('|'), 'g');
  return {
    phrases: readPhrases(),
    /** Replaces Japanese words, in questions and in documentation, by English ones. */
    translate: (text: string): string => text.replace(anyJapanese, (word) => ` ${english.get(word)} `),
    /** Names of a service in other clouds, and the words for its kind. */
    kinds: new Map(
      Object.entries(serviceKinds).flatMap(([left, right]) => {
        const names = left.split(' ');
        return names.map((name) => [name, { names, words: stemsOf(right) }] as const);
      }),
    ),
    fillers: stemSet([...fillerWords, ...readingWords]),
    /** Words that say only that a read is wanted, because clouds use `Get`, `List` and `Describe` for the same. */
    readingWords: stemSet(readingWords),
    /** Everyday words in lower case. If no operation knows one of them, this says nothing. */
    commonWords: new Set(commonWords.join(' ').split(' ')),
    /** Phrases that only services of some names can answer. */
    ofServices: Object.entries(kindsByWords).flatMap(([services, texts]) =>
      texts.split('; ').map((text) => ({ text, stems: stemsOf(text), services: services.split(' ') })),
    ),
    otherNames: new Map(Object.entries(foreignNames)),
  };
}

/** In the tables, "_" stands for up to four words, "+" joins words that belong together, and "-" means nothing. */
function readPhrases(): ReadonlyMap<string, readonly Phrase[]> {
  const phrases = new Map<string, Phrase[]>();
  for (const [left, right] of Object.entries({ ...tables.synonyms, ...tables.otherLanguages })) {
    const meanings = right === '-' ? [] : right.split(' ').map((meaning) => meaning.split('+').map(stem));
    for (const text of left.split(', ')) {
      const stems = text.split(' ').map((word) => (word === '_' ? undefined : stem(word)));
      const first = stems[0] ?? '';
      phrases.set(first, [...(phrases.get(first) ?? []), { stems, meanings }]);
    }
  }
  for (const list of phrases.values()) list.sort((a, b) => b.stems.length - a.stems.length);
  return phrases;
}

/** A part of a question. An operation fits if it has one of the meanings. */
export interface Concept {
  readonly text: string;
  readonly meanings: readonly { readonly stems: Meaning; readonly weight: number }[];
}

const longestGap = 4;

/** Divides words into phrases and single words. A phrase with a gap leaves the words in the gap. */
export function conceptsOf(words: readonly string[], { phrases, fillers }: Vocabulary): readonly Concept[] {
  const given = words.map(stem);
  const textOf = (places: readonly number[]) => places.map((place) => words[place]).join(' ');
  const taken = new Set<number>();
  const ofPhrases = given.flatMap((first, start) => {
    const found = (phrases.get(first) ?? []).flatMap(({ stems, meanings }) => {
      const places = placesOf(stems, given, start, taken);
      return places === undefined ? [] : [{ places, meanings }];
    });
    const [longest] = found;
    if (longest === undefined) return [];
    for (const place of longest.places) taken.add(place);
    // A word such as `copy` may stand in several lines.
    const meanings = found
      .filter(({ places }) => places.join() === longest.places.join())
      .flatMap((each) => each.meanings);
    // Words such as "unused" would meet other words of names.
    if (meanings.length === 0) return [];
    return [
      conceptOf(
        textOf(longest.places),
        longest.places.map((place) => given[place] ?? ''),
        meanings,
        fillers,
      ),
    ];
  });
  const others = [...given.entries()].filter(([place, word]) => !taken.has(place) && !fillers.has(word));
  return [...ofPhrases, ...others.map(([place, word]) => conceptOf(textOf([place]), [word], [], fillers))];
}

/** The word itself counts most, then its first meaning. */
function conceptOf(
  text: string,
  stems: readonly string[],
  meanings: readonly Meaning[],
  fillers: ReadonlySet<string>,
): Concept {
  const isWord = stems.length === 1 && !stems.some((word) => fillers.has(word));
  return {
    text,
    meanings: [
      ...(isWord ? [{ stems, weight: 1 }] : []),
      ...meanings.map((meaning, index) => ({ stems: meaning, weight: 0.85 - 0.03 * index })),
    ],
  };
}

function placesOf(
  stems: readonly (string | undefined)[],
  given: readonly string[],
  start: number,
  taken: ReadonlySet<number>,
): readonly number[] | undefined {
  const places: number[] = [];
  let [from, to] = [start, start + 1];
  for (const wanted of stems) {
    if (wanted === undefined) {
      to = from + longestGap + 1;
      continue;
    }
    const place = given.slice(from, to).indexOf(wanted);
    if (place < 0 || taken.has(from + place)) return undefined;
    places.push(from + place);
    [from, to] = [from + place + 1, from + place + 2];
  }
  return places;
}

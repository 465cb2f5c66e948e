/** Finds operations by words, in an index of all operations of the loaded models. */
import type { Effect } from '../../tools/define-operation.js';
import type { OperationEntry, OperationIndex } from './operation-index.js';
import { type Concept, conceptsOf, type Vocabulary } from './read-vocabulary.js';
import { compactName, isPair, stem, withoutVendor, wordsOfName, wordsOfText } from './words.js';

export type { OperationEntry } from './operation-index.js';

export interface OperationQuery {
  readonly words: string;
  readonly service?: string | undefined;
  readonly effect?: Effect | undefined;
}

export interface FoundOperation {
  readonly entry: OperationEntry;
  readonly score: number;
  /** Other services that have an operation of this name. */
  readonly sameNameIn: readonly string[];
  /** An operation that does nearly the same, but removes the thing or keeps it: `TerminateInstances` of `StopInstances`. */
  readonly nearOpposite?: string;
}

export type FoundOperations =
  | { readonly kind: 'found'; readonly operations: readonly FoundOperation[] }
  | { readonly kind: 'nothing'; readonly unknownWords: readonly string[]; readonly services: readonly string[] };

export interface OperationSearch {
  /** @param isAllowed says which operations the caller may use. Others are not found. */
  search(query: OperationQuery, isAllowed: (entry: OperationEntry) => boolean): FoundOperations;
}

export const maximumFound = 8;
const longestQuery = 500;
/** Number of operations that are compared in detail. */
const candidates = 150;
/** The share of a question that the best operations must have. */
const lowestCoverage = 0.4;

/** Everything that a search reads. */
interface Source {
  readonly index: OperationIndex;
  readonly vocabulary: Vocabulary;
  /** Numbers of operations by compact name. */
  readonly byName: ReadonlyMap<string, readonly number[]>;
  /** The stems of each operation's name. The first one is its verb. */
  readonly nameStems: readonly (readonly string[])[];
  readonly changingVerbs: ReadonlySet<string>;
}

export function createSearch(index: OperationIndex, vocabulary: Vocabulary): OperationSearch {
  const byName = new Map<string, number[]>();
  const addName = (name: string, number: number) => byName.set(name, [...(byName.get(name) ?? []), number]);
  for (const [number, { operation }] of index.entries.entries()) {
    addName(compactName(operation), number);
    const otherName = vocabulary.otherNames.get(operation);
    if (otherName !== undefined) addName(compactName(otherName), number);
  }
  const nameStems = index.entries.map(({ operation }) => wordsOfName(withoutVendor(operation)).map(stem));
  const changingVerbs = new Set(
    index.entries.flatMap(({ effect }, number) => (effect === 'read' ? [] : (nameStems[number]?.[0] ?? []))),
  );
  const source = { index, vocabulary, byName, nameStems, changingVerbs };
  return { search: (query, isAllowed) => search(source, query, isAllowed) };
}

interface Ranked {
  readonly number: number;
  readonly entry: OperationEntry;
  readonly score: number;
  /** Share of the question that the operation has. */
  readonly coverage: number;
}

function search(source: Source, query: OperationQuery, isAllowed: (entry: OperationEntry) => boolean): FoundOperations {
  const { index, byName } = source;
  const mayBeFound = index.entries.map(
    (entry) =>
      (query.service === undefined || entry.service === query.service) &&
      (query.effect === undefined || entry.effect === query.effect) &&
      isAllowed(entry),
  );
  const asked = readQuestion(query.words.slice(0, longestQuery), source);
  const { scores, covered, total, unknown } = scoresOf(index, asked, mayBeFound);

  const named = new Set(asked.names.flatMap((name) => byName.get(name) ?? []).filter((number) => mayBeFound[number]));
  const ranked = [...new Set([...named, ...bestOf(scores, candidates)])].flatMap((number): Ranked[] => {
    const entry = index.entries[number];
    if (entry === undefined) return [];
    const score = (scores[number] ?? 0) * factorOf(number, entry, asked, source) + (named.has(number) ? 1000 : 0);
    return [{ number, entry, score, coverage: (covered[number] ?? 0) / total }];
  });
  ranked.sort((a, b) => b.score - a.score);
  const best = ranked.slice(0, maximumFound);
  const coverage = Math.max(0, ...best.map((each) => each.coverage));
  if (named.size === 0 && coverage < lowestCoverage) {
    const services = new Set(index.entries.filter((_, number) => mayBeFound[number]).map(({ service }) => service));
    return { kind: 'nothing', unknownWords: unknown, services: [...services] };
  }
  return {
    kind: 'found',
    operations: best.map(({ number, entry, score }) => ({ entry, score, sameNameIn: sameNameIn(number) })),
  };

  function sameNameIn(number: number): readonly string[] {
    const name = compactName(index.entries[number]?.operation ?? '');
    const others = (byName.get(name) ?? []).filter((other) => other !== number && mayBeFound[other]);
    return others.flatMap((other) => index.entries[other]?.service ?? []);
  }
}

/** What a question asks for. */
interface Asked {
  readonly concepts: readonly Concept[];
  /** Compact names that the words may spell. */
  readonly names: readonly string[];
  readonly isQuestion: boolean;
  readonly hasChangingVerb: boolean;
  /** Stems of all meanings. */
  readonly stems: ReadonlySet<string>;
  readonly firstStem: string;
  readonly services: ReadonlySet<string>;
  /** Long sentences have words about other things. */
  readonly isShort: boolean;
}

function readQuestion(words: string, { vocabulary, changingVerbs }: Source): Asked {
  const isCommand = /^(?:aws|nifcloud) |\s--/.test(words);
  const withoutFlags = words.replace(/\s--[\w-]+(?:=\S+|\s+(?!--)\S+)?/g, ' ');
  const cleaned = withoutFlags
    .replace(/\b(?:without|do not|don't|never|instead of) (?:\w+ing|delete\w*|remove\w*|terminate\w*)\b/gi, ' ')
    .replace(/\S+@\S+|https?:\S+/g, ' ');
  const spokenWords = wordsOfText(vocabulary.translate(cleaned)).filter((word) => !isPair(word) && !isIdentifier(word));
  const firstStem = stem(spokenWords[0] ?? '');
  const pairs = wordsOfText(cleaned).filter((word) => isPair(word) && !vocabulary.fillers.has(word));
  const spoken = conceptsOf(spokenWords, vocabulary);
  const concepts = [
    ...spoken,
    ...pairs.map((pair) => ({ text: pair, meanings: [{ stems: [pair], weight: weightOfPair }] })),
  ];

  const tokens = withoutFlags.split(/\s+/).filter((token) => token !== '');
  const isSpelled = (token: string, index: number) => /[a-z][A-Z]|[-_]/.test(token) || (isCommand && index > 0);
  const isVerb = ({ meanings }: Concept) => meanings.some(({ stems: [verb = ''] }) => changingVerbs.has(verb));
  return {
    concepts,
    names: [...tokens.filter(isSpelled), words, tokens.slice(1).join(' ')].map(compactName),
    isQuestion: questions.test(words) || vocabulary.readingWords.has(firstStem),
    hasChangingVerb: spoken.some(isVerb),
    stems: new Set(concepts.flatMap(({ meanings }) => meanings.flatMap((meaning) => meaning.stems))),
    firstStem,
    services: new Set(tokens.map((token) => token.toLowerCase())),
    isShort: spoken.length <= 4,
  };
}

const questions =
  /(?:^|[,.;:] )(?:which|what|who|why|how|is|are|did|does|do|has|have|where|when|show|list|see|find|tell|get|describe|view)\b|\?|ですか|見る|見た|一覧|確認|知りたい|教えて/i;

/** Such as `web02` and `1.29`. */
const isIdentifier = (word: string): boolean =>
  /\d/.test(word) && !/^(?:ec2|s3|route53|ipv[46]|v\d|x509|k8s|2fa)$/.test(word);

/** Pairs of Japanese letters also occur in other words. */
const weightOfPair = 0.25;

interface Scores {
  readonly scores: Float32Array;
  readonly covered: Float32Array;
  readonly total: number;
  readonly unknown: readonly string[];
}

/** Adds the best meaning of each concept. */
function scoresOf(index: OperationIndex, { concepts, isShort }: Asked, mayBeFound: readonly boolean[]): Scores {
  const size = index.entries.length;
  const scores = new Float32Array(size);
  const covered = new Float32Array(size);
  const unknown: string[] = [];
  let total = 0;
  for (const concept of concepts) {
    const { best, rarity } = scoresOfConcept(index, concept, mayBeFound);
    addTo(scores, best);
    // Pairs of letters occur in any Japanese text, so they say nothing about how well an operation fits.
    if (isPair(concept.text)) continue;
    addTo(covered, best, rarity);
    total += rarity;
    if (rarity > 0) continue;
    unknown.push(concept.text);
    total += Math.log(1 + size) * (isShort ? 1 : weightOfUnknown);
  }
  return { scores, covered, total, unknown };
}

/** A long sentence has words about other things. */
const weightOfUnknown = 0.4;

function addTo(sums: Float32Array, values: Float32Array, limit = Number.POSITIVE_INFINITY): void {
  for (let at = 0; at < sums.length; at += 1) sums[at] = (sums[at] ?? 0) + Math.min(values[at] ?? 0, limit);
}

/** Returns the score of each operation for its best meaning, and the highest score that a word in a name has. */
function scoresOfConcept(index: OperationIndex, { meanings }: Concept, mayBeFound: readonly boolean[]) {
  const size = index.entries.length;
  const best = new Float32Array(size);
  let rarity = 0;
  for (const { stems, weight } of meanings) {
    const sum = new Float32Array(size);
    for (const word of stems) {
      const [start, end] = rangeOf(index, word);
      const rarityOfWord = weight * Math.log(1 + size / Math.max(1, end - start));
      for (let at = start; at < end; at += 1) {
        const operation = index.operations[at] ?? 0;
        if (mayBeFound[operation] !== true) continue;
        rarity = Math.max(rarity, rarityOfWord);
        sum[operation] = (sum[operation] ?? 0) + (index.weights[at] ?? 0) * rarityOfWord;
        best[operation] = Math.max(best[operation] ?? 0, sum[operation] ?? 0);
      }
    }
  }
  return { best, rarity };
}

/** Returns where the operations of a word begin and end. */
function rangeOf({ numbers, starts }: OperationIndex, word: string): readonly [start: number, end: number] {
  const number = numbers.get(word);
  return number === undefined ? [0, 0] : [starts[number] ?? 0, starts[number + 1] ?? 0];
}

const bestOf = (scores: Float32Array, count: number): readonly number[] =>
  [...scores.keys()]
    .filter((number) => (scores[number] ?? 0) > 0)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
    .slice(0, count);

function factorOf(number: number, entry: OperationEntry, asked: Asked, source: Source): number {
  const { index, vocabulary } = source;
  const stems = source.nameStems[number] ?? [];
  const [verb = ''] = stems;
  const rarity = (word: string) => {
    const [start, end] = rangeOf(index, word);
    return Math.log(1 + index.entries.length / Math.max(1, end - start));
  };
  const nouns = stems.slice(1);
  const all = nouns.reduce((sum, word) => sum + rarity(word), 0);
  const has = nouns.reduce((sum, word) => sum + (asked.stems.has(word) ? rarity(word) : 0), 0);
  const names = vocabulary.kinds.get(entry.service)?.names ?? [entry.service];
  const isRead = entry.effect === 'read';
  const rules: readonly (readonly [boolean, number])[] = [
    [names.some((name) => asked.services.has(name)), 1.3],
    [asked.isQuestion && isRead, 1.5],
    [!asked.isQuestion && asked.hasChangingVerb && isRead, 0.75],
    [!asked.isQuestion && !asked.hasChangingVerb && isRead, 1.1],
    [verb === asked.firstStem, 1.1],
    [entry.effect === 'delete' && !asked.stems.has(verb), 0.4],
    [entry.deprecated !== undefined, 0.7],
  ];
  const factor = rules.reduce((product, [applies, by]) => (applies ? product * by : product), 1);
  return factor * (0.5 + (all === 0 ? 0 : (0.5 * has) / all));
}

/** Finds operations by words, in an index of all operations of the loaded models. */
import type { Effect } from '../../tools/define-operation.js';
import { lazy } from '../../util/objects.js';
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
export function createSearch(index: OperationIndex, vocabulary: Vocabulary): OperationSearch {
  const source = sourceOf(index, vocabulary);
  return { search: (query, isAllowed) => search(source, query, isAllowed) };
}

type Source = ReturnType<typeof sourceOf>;

function sourceOf(index: OperationIndex, vocabulary: Vocabulary) {
  /** Numbers of operations by compact name. */
  const byName = new Map<string, number[]>();
  /** The stems of each operation's name. The first one is its verb. */
  const nameStems: (readonly string[])[] = [];
  const changingVerbs = new Set<string>();
  for (const [number, { operation, effect }] of index.entries.entries()) {
    const otherName = vocabulary.otherNames.get(operation);
    for (const name of otherName === undefined ? [operation] : [operation, otherName])
      byName.set(compactName(name), [...(byName.get(compactName(name)) ?? []), number]);
    const stems = wordsOfName(withoutVendor(otherName ?? operation)).map(stem);
    nameStems.push(stems);
    if (effect !== 'read') changingVerbs.add(stems[0] ?? '');
  }
  return { index, vocabulary, byName, nameStems, changingVerbs };
}

function search(source: Source, query: OperationQuery, isAllowed: (entry: OperationEntry) => boolean): FoundOperations {
  const { index, byName } = source;
  const mayBeFound = filterOf(index, query, isAllowed);
  const asked = readQuestion(query.words.slice(0, 500), source);
  const { scores, covered, total, unknown } = scoresOf(source, asked, mayBeFound);

  const named = new Set(asked.names.flatMap((name) => byName.get(name) ?? []).filter(mayBeFound));
  const ranked = [...new Set([...named, ...bestOf(scores)])].flatMap((number) => {
    const entry = index.entries[number];
    if (entry === undefined) return [];
    const score = (scores[number] ?? 0) * factorOf(number, entry, asked, source) + (named.has(number) ? exactName : 0);
    return [{ number, entry, score, coverage: (covered[number] ?? 0) / total }];
  });
  ranked.sort((a, b) => b.score - a.score);
  const top = ranked.slice(0, maximumFound);
  // A question gets a read first, and what deletes comes first only if the words ask for it.
  const isSafe = (number: number, { effect }: OperationEntry) =>
    effect === 'read' ||
    (!asked.isQuestion && (effect !== 'delete' || asked.stems.has(source.nameStems[number]?.[0] ?? '')));
  const safe = top.find(
    ({ number, entry, score }) => score >= exactName || (isSafe(number, entry) && score >= (top[0]?.score ?? 0) / 4),
  );
  const best = safe === undefined ? top : [safe, ...top.filter((each) => each !== safe)];

  const coverage = Math.max(0, ...best.slice(0, 3).map((each) => each.coverage));
  // In a short question, each unknown word matters.
  const lowest = asked.isShort && unknown.length > 0 ? 0.52 : 0.45;
  const fits = coverage >= lowest || (asked.isCommand && best.length > 0 && unknown.length === 0);
  const services = lazy(() => new Set(index.entries.flatMap(({ service }, at) => (mayBeFound(at) ? [service] : []))));
  const absent = absentKinds(asked, services, source);
  if (named.size === 0 && (!fits || absent.length > 0))
    return { kind: 'nothing', unknownWords: [...new Set([...absent, ...unknown])], services: [...services()] };
  const operations = best.map(({ number, entry, score }) => ({
    entry,
    score,
    ...relativesOf(number, source, mayBeFound),
  }));
  return { kind: 'found', operations };
}

const exactName = 1000;

/** True for an operation that the query and the caller's rights include. */
type Filter = (operation: number) => boolean;

/** Asks about each operation once, and only about those that have a word of the question. */
function filterOf(
  { entries }: OperationIndex,
  { service, effect }: OperationQuery,
  isAllowed: (entry: OperationEntry) => boolean,
): Filter {
  // 1 for included, 2 for left out.
  const known = new Uint8Array(entries.length);
  const isIncluded = (entry: OperationEntry | undefined) =>
    entry !== undefined &&
    (service === undefined || entry.service === service) &&
    (effect === undefined || entry.effect === effect) &&
    isAllowed(entry);
  return (operation) => {
    if (known[operation] === 0) known[operation] = isIncluded(entries[operation]) ? 1 : 2;
    return known[operation] === 1;
  };
}

function relativesOf(number: number, { index, byName }: Source, mayBeFound: Filter) {
  const { service = '', operation = '' } = index.entries[number] ?? {};
  const named = (name: string) =>
    (byName.get(compactName(name)) ?? []).flatMap((other) => (mayBeFound(other) ? (index.entries[other] ?? []) : []));
  const [, verb = '', things = ''] = /^([A-Z][a-z]+)(.*)$/.exec(withoutVendor(operation)) ?? [];
  const otherVerbs = keepingVerbs.includes(verb) ? removingVerbs : removingVerbs.includes(verb) ? keepingVerbs : [];
  const opposites = otherVerbs.flatMap((other) => named(other + things)).filter((entry) => entry.service === service);
  const nearOpposite = opposites[0]?.operation;
  return {
    sameNameIn: named(operation).flatMap((entry) => (entry.service === service ? [] : [entry.service])),
    ...(nearOpposite !== undefined && { nearOpposite }),
  };
}

const keepingVerbs = ['Stop', 'Detach', 'Disable', 'Suspend', 'Deregister', 'Disassociate'];
const removingVerbs = ['Terminate', 'Delete', 'Release'];

/** Returns the words of a question that only services can answer that are not loaded. */
function absentKinds({ text }: Asked, loaded: () => ReadonlySet<string>, { vocabulary }: Source): readonly string[] {
  const isLoaded = (names: readonly string[]) =>
    [...loaded()].some((service) => [service, ...service.split('-')].some((part) => names.includes(part)));
  const asked = vocabulary.ofServices.filter(({ stems }) => text.includes(` ${stems.join(' ')} `));
  return asked.filter(({ services }) => !isLoaded(services)).map((kind) => kind.text);
}

type Asked = ReturnType<typeof readQuestion>;

function readQuestion(words: string, { vocabulary, changingVerbs }: Source) {
  // Such as `aws ec2 describe-volumes`.
  const isCommand = /^(?:aws|nifcloud) |\s--/.test(words);
  const withoutFlags = words.replace(/\s--[\w-]+(?:=\S+|\s+(?!--)\S+)?/g, ' ');
  const cleaned = withoutFlags
    .replace(/\b(?:without|do not|don't|never|instead of) (?:\w+ing|delete\w*|remove\w*|terminate\w*)\b/gi, ' ')
    .replace(/\S+@\S+|https?:\S+|(?<=^|\s)\/\S+|\b[\w-]+(?:\.[\w-]+)+\b/g, ' ');
  const spokenWords = wordsOfText(vocabulary.translate(cleaned)).filter((word) => !isPair(word) && !isIdentifier(word));
  const [firstWord = ''] = spokenWords;
  const firstStem = stem(firstWord);
  const pairs = wordsOfText(cleaned).filter((word) => isPair(word) && !vocabulary.fillers.has(word));
  const spoken = conceptsOf(spokenWords, vocabulary);
  const concepts = [
    ...spoken,
    ...pairs.map((pair) => ({
      text: pair,
      // Pairs of Japanese letters also occur in other words.
      meanings: [{ stems: [pair], weight: 0.25 }],
    })),
  ];

  const tokens = withoutFlags.split(/[\s:]+/).filter((token) => token !== '');
  const isSpelled = (token: string, index: number) => /[a-z][A-Z]|[-_]/.test(token) || (isCommand && index > 0);
  const isVerb = ({ meanings }: Concept) => meanings.some(({ stems: [verb = ''] }) => changingVerbs.has(verb));
  return {
    /** The stems of all words, with spaces around them. */
    text: ` ${wordsOfText(words).map(stem).join(' ')} `,
    concepts,
    /** Compact names that the words may spell. */
    names: [...tokens.filter(isSpelled), words, tokens.slice(1).join(' ')].map(compactName),
    isCommand,
    isQuestion: questions.test(words) || (vocabulary.readingWords.has(firstStem) && !isInPhrase(spoken, firstWord)),
    hasChangingVerb: spoken.some(isVerb),
    stems: new Set(concepts.flatMap(({ meanings }) => meanings.flatMap((meaning) => meaning.stems))),
    firstStem,
    services: new Set(tokens.map((token) => token.toLowerCase())),
    /** Long sentences have words about other things. */
    isShort: spoken.length <= 4,
  };
}

/** True for the "get" of "get rid of". */
const isInPhrase = (concepts: readonly Concept[], word: string): boolean =>
  concepts.some(({ text }) => text.startsWith(`${word} `));

const questions =
  /(?:^|[,.;:] )(?:which|what|who|why|how|is|are|did|does|has|(?:do|have) (?:we|i|you|they|the|my|our)|wh(?:en|ere) (?:is|are|was|were|did))\b|[,.;:] (?:show|list|see|find|tell)\b|\?|ですか|見る|見た|一覧|確認|知りたい|教えて/i;

const isIdentifier = (word: string): boolean =>
  /\d/.test(word) && !/^(?:ec2|s3|route53|ipv[46]|v\d|x509|k8s|2fa)$/.test(word);

/** Adds the best meaning of each concept. `covered` says how much of `total` an operation has. */
function scoresOf({ index, vocabulary: { commonWords } }: Source, { concepts, isShort }: Asked, mayBeFound: Filter) {
  const size = index.entries.length;
  const scores = new Float32Array(size);
  const covered = new Float32Array(size);
  const unknown: string[] = [];
  let total = 0;
  for (const { text, meanings } of concepts) {
    const best = new Float32Array(size);
    let rarity = 0;
    for (const meaning of meanings) rarity = Math.max(rarity, raiseToMeaning(best, index, meaning, mayBeFound));
    const highest = best.reduce((most, score) => Math.max(most, score), 0);
    const expected = Math.min(rarity, Math.max(highest, rarity * 0.45));
    // Pairs of letters occur in any Japanese text, so they say nothing about how well an operation fits.
    const mostCovered = isPair(text) ? 0 : expected;
    for (const [at, score] of best.entries()) {
      scores[at] = (scores[at] ?? 0) + score;
      covered[at] = (covered[at] ?? 0) + Math.min(score, mostCovered);
    }
    total += mostCovered;
    if (isPair(text) || expected > 0 || commonWords.has(text)) continue;
    unknown.push(text);
    total += Math.log(1 + size) * (isShort ? 1 : 0.4);
  }
  return { scores, covered, total, unknown };
}

/** Raises the scores of operations that have all words of a meaning. Returns the rarity of its rarest word. */
function raiseToMeaning(
  best: Float32Array,
  index: OperationIndex,
  { stems, weight }: Concept['meanings'][number],
  mayBeFound: Filter,
): number {
  if (!stems.every((word) => index.postings.has(word))) return 0;
  const sums = new Float32Array(best.length);
  const parts = new Uint8Array(best.length);
  let highest = 0;
  for (const word of stems) {
    const rarity = weight * rarityOf(index, word);
    const { operations = [], weights = [] } = index.postings.get(word) ?? {};
    for (const [at, operation] of operations.entries()) {
      if (!mayBeFound(operation)) continue;
      highest = Math.max(highest, rarity);
      const sum = (sums[operation] ?? 0) + (weights[at] ?? 0) * rarity;
      const count = (parts[operation] ?? 0) + 1;
      sums[operation] = sum;
      parts[operation] = count;
      if (count === stems.length) best[operation] = Math.max(best[operation] ?? 0, sum);
    }
  }
  return highest;
}

const rarityOf = ({ entries, postings }: OperationIndex, word: string): number =>
  Math.log(1 + entries.length / (postings.get(word)?.operations.length ?? 1));

/** Sorting the many operations with low scores would take most of a search. */
function bestOf(scores: Float32Array): readonly number[] {
  const highest = scores.reduce((most, score) => Math.max(most, score), 0);
  const high = [...scores.keys()].filter((number) => (scores[number] ?? 0) > highest * 0.15);
  return high.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0)).slice(0, 150);
}

function factorOf(number: number, entry: OperationEntry, asked: Asked, source: Source): number {
  const { index, vocabulary } = source;
  const stems = source.nameStems[number] ?? [];
  const [verb = ''] = stems;
  const nouns = stems.length > 1 ? stems.slice(1) : stems;
  const rarityOfAll = (words: readonly string[]) => words.reduce((sum, word) => sum + rarityOf(index, word), 0);
  const all = rarityOfAll(nouns);
  const has = rarityOfAll(nouns.filter((word) => asked.stems.has(word)));
  const names = vocabulary.kinds.get(entry.service)?.names ?? [entry.service];
  const isRead = entry.effect === 'read';
  const rules: readonly (readonly [boolean, number])[] = [
    [names.some((name) => asked.services.has(name)), 1.3],
    [asked.isQuestion && isRead, 1.5],
    [!asked.isQuestion && asked.hasChangingVerb && isRead, 0.75],
    [verb === asked.firstStem, 1.1],
    [!isRead && asked.stems.has(verb), 1.15],
    [entry.effect === 'delete' && !asked.stems.has(verb), 0.4],
    [entry.deprecated !== undefined, 0.7],
  ];
  const factor = rules.reduce((product, [applies, by]) => (applies ? product * by : product), 1);
  return factor * (0.5 + (all === 0 ? 0 : (0.5 * has) / all));
}

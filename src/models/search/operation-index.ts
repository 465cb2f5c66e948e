/** The index of the search: which operations have which words, and how much each word says about an operation. */
import type { Effect } from '../../tools/define-operation.js';
import { nameInWords } from '../../util/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { isSetByServer } from '../check-supported.js';
import { documentationText, shortenText } from '../documentation-text.js';
import { type EffectOfOperation, effectOf } from '../guess-effect.js';
import { hasTrait, type Model, type ModelOperation, readableNames, textTrait } from '../model.js';
import type { Vocabulary } from './read-vocabulary.js';
import { stem, withoutVendor, wordsOfName, wordsOfText } from './words.js';

export interface OperationEntry extends EffectOfOperation {
  readonly service: string;
  readonly operation: string;
  readonly summary: string;
  readonly required: readonly string[];
  /** What the model says about a deprecated operation. May be empty. */
  readonly deprecated?: string | undefined;
}

export interface IndexedOperation {
  readonly entry: OperationEntry;
  readonly words: ReadonlyMap<string, number>;
}

export interface OperationIndex {
  readonly entries: readonly OperationEntry[];
  /** By word, the numbers of its operations, and how much the word says about each. */
  readonly postings: ReadonlyMap<
    string,
    { readonly operations: readonly number[]; readonly weights: readonly number[] }
  >;
}

/** The effects that settings and tools give to operations, by names such as `ec2:DescribeVolumes`. The others are guessed. */
export type GivenEffects = ReadonlyMap<string, Effect>;

/** A word in the name says most. A word that the documentation repeats does not say more. */
const weightOf = { name: 1, service: 0.4, argument: 0.2, documentation: 0.3, firstSentence: 0.15 };
const longestSummary = 76;

/** An operation that the model describes wrongly is left out. */
export function* entriesOf(
  { service, model, effects }: { readonly service: string; readonly model: Model; readonly effects?: GivenEffects },
  vocabulary: Vocabulary,
): Generator<IndexedOperation> {
  const { words: kind, names } = vocabulary.kinds.get(service) ?? { words: [], names: [] };
  const title = textTrait(model.service.traits, 'smithy.api#title') ?? '';
  const ofService = [service, ...names, ...kind, ...wordsOfText(`${title} ${model.service.name}`)];
  for (const name of readableNames(model)) {
    const operation = model.operation(name);
    const documentation = documentationText(textTrait(operation.traits, 'smithy.api#documentation') ?? '');
    const required = operation.input.members
      .filter((member) => member.isRequired && !isSetByServer(operation, member))
      .map((member) => member.name);
    yield {
      entry: {
        service,
        operation: name,
        summary: summaryOf(name, documentation, required),
        required,
        ...(hasTrait(operation.traits, 'smithy.api#deprecated') && {
          deprecated: shortenText(String(Object(operation.traits['smithy.api#deprecated']).message ?? ''), 40),
        }),
        ...effectOf(model, operation, effects?.get(`${service}:${name}`)),
      },
      words: wordsOf(operation, ofService, shortenText(documentation, 300), vocabulary),
    };
  }
}

/** A sentence that does not say what the operation does. */
const aboutItself =
  /^\W*(?:this|these|we|note|important|end of|deprecated)\b(?:.*\b(?:no|not|only|deprecated|preview|limited|supports?|supported|documentation|recommend|notice)\b|\W*$)/i;

/** Documentation that is not English is replaced by the name in words. */
function summaryOf(name: string, documentation: string, required: readonly string[]): string {
  const isEnglish = /^[\p{Script=Latin}\p{N}\p{P}\p{S}\s]+$/u.test(documentation);
  const sentences = documentation.split(/(?<=[.!?])\s+/);
  const start = sentences.findIndex((each) => !aboutItself.test(each));
  const sentence = isEnglish && start >= 0 ? shortenText(sentences.slice(start).join(' '), longestSummary) : '';
  if (sentence !== '') return sentence;
  const by = required.length === 0 ? '' : ` by ${required.map(nameInWords).join(', ')}`;
  return shortenText(`${sentenceCase(nameInWords(withoutVendor(name)))}${by}.`, longestSummary);
}

function wordsOf(
  { name, input }: ModelOperation,
  ofService: readonly string[],
  documentation: string,
  { translate, otherNames }: Vocabulary,
): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  const add = (words: readonly string[], weight: number) => {
    for (const word of new Set(words.map(stem))) weights.set(word, (weights.get(word) ?? 0) + weight);
  };
  add(
    [name, otherNames.get(name) ?? ''].flatMap((each) => wordsOfName(withoutVendor(each))),
    weightOf.name,
  );
  add(ofService, weightOf.service);
  add(
    input.members.flatMap((member) => wordsOfName(member.name)),
    weightOf.argument,
  );
  const [sentence = ''] = documentation.split(/(?<=[.。])/);
  add(wordsOfText(`${translate(sentence)} ${sentence}`), weightOf.firstSentence);
  add(wordsOfText(`${translate(documentation)} ${documentation}`), weightOf.documentation);
  return weights;
}

export function createIndexBuilder(): { add(operation: IndexedOperation): void; readonly index: OperationIndex } {
  const entries: OperationEntry[] = [];
  const postings = new Map<string, { readonly operations: number[]; readonly weights: number[] }>();
  return {
    add: ({ entry, words }) => {
      for (const [word, weight] of words) {
        const posting = postings.get(word) ?? { operations: [], weights: [] };
        postings.set(word, posting);
        posting.operations.push(entries.length);
        posting.weights.push(weight);
      }
      entries.push(entry);
    },
    index: { entries, postings },
  };
}

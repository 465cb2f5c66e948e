/** The answer of a search, as data for programs and as text. */
import { withoutUndefined } from '../../util/objects.js';
import { join, listed, own, quoted, type SafeText, say, words } from '../../util/safe-text.js';
import type { FoundOperation, FoundOperations } from './search-operations.js';

/** Bounds, so that an answer with eight operations has at most 600 tokens. */
const shownServices = 30;
const shownWords = 10;
const longestWord = 40;

export function foundData(found: FoundOperations) {
  if (found.kind === 'found') return { operations: found.operations.map((each) => withoutUndefined(dataOf(each))) };
  return {
    operations: [],
    unknownWords: found.unknownWords.slice(0, shownWords).map((word) => word.slice(0, longestWord)),
    services: found.services.slice(0, shownServices),
  };
}

const dataOf = ({ entry, sameNameIn, nearOpposite }: FoundOperation) => ({
  operation: `${entry.service}:${entry.operation}`,
  summary: entry.summary,
  effect: entry.effect,
  canCost: entry.canCost || undefined,
  givesSecrets: entry.givesSecrets || undefined,
  required: shortList(entry.required),
  sameNameIn: shortList(sameNameIn),
  nearOpposite,
  deprecated: entry.deprecated === '' ? true : entry.deprecated,
});

function shortList(names: readonly string[]): readonly string[] | undefined {
  if (names.length === 0) return undefined;
  let characters = 0;
  const shown = names.slice(0, 3).filter((name) => {
    characters += name.length;
    return characters <= 45;
  });
  return shown.length === names.length ? names : [...shown, `${names.length - shown.length} more`];
}

export function foundText(found: FoundOperations): SafeText {
  if (found.kind === 'found') return join(found.operations.map(lineOf), '\n');
  const services = found.services.slice(0, shownServices).map(own);
  const unknown = found.unknownWords.slice(0, shownWords).map((word) => quoted(word, longestWord));
  const reason =
    unknown.length === 0
      ? words('No operation fits these words together.')
      : say`No operation knows ${listed(unknown, 'or')}.`;
  return say`${reason} Loaded services: ${join(services, ', ')}${found.services.length > shownServices ? words(' and more') : words('')}. Try a verb and a thing, in general cloud terms.`;
}

function lineOf(found: FoundOperation): SafeText {
  const { operation, summary, effect, canCost, givesSecrets, required, sameNameIn, nearOpposite, deprecated } =
    dataOf(found);
  const opposite = nearOpposite && own(nearOpposite);
  const notes = [
    effect === 'read' ? words('read') : say`change (${own(effect)})`,
    canCost && words('may cost money'),
    givesSecrets && words('gives out secrets'),
    required && say`needs ${join(required.map(own), ', ')}`,
    sameNameIn && say`same name in: ${join(sameNameIn.map(own), ', ')}`,
    opposite && (effect === 'delete' ? say`removes it, ${opposite} keeps it` : say`keeps it, ${opposite} removes it`),
    deprecated && (deprecated === true ? words('deprecated') : say`deprecated: ${deprecated}`),
  ];
  const shown = notes.filter((note) => note !== undefined && note !== '' && note !== false);
  return say`${own(operation)} - ${quoted(summary, 100)} [${join(shown, '; ')}]`;
}

/** The answer of a search, as data for programs and as text. */
import { join, listed, own, quoted, type SafeText, say, words } from '../../util/safe-text.js';
import type { OperationEntry } from './operation-index.js';
import type { FoundOperation, FoundOperations } from './search-operations.js';

interface FoundData {
  readonly operations: readonly Readonly<Record<string, unknown>>[];
  readonly unknownWords?: readonly string[];
  readonly services?: readonly string[];
}

/** Bounds, so that an answer with eight operations has at most 600 tokens. */
const shownNames = 3;
const shownCharacters = 45;
const shownServices = 30;
const shownWords = 10;
const longestWord = 40;

export function foundData(found: FoundOperations): FoundData {
  if (found.kind === 'nothing')
    return {
      operations: [],
      unknownWords: found.unknownWords.slice(0, shownWords).map((word) => word.slice(0, longestWord)),
      services: found.services.slice(0, shownServices),
    };
  return {
    operations: found.operations.map(({ entry, sameNameIn, nearOpposite }) => ({
      operation: nameOf(entry),
      summary: entry.summary,
      effect: entry.effect,
      ...(entry.canCost && { canCost: true }),
      ...(entry.givesSecrets && { givesSecrets: true }),
      ...(entry.required.length > 0 && { required: shortList(entry.required) }),
      ...(sameNameIn.length > 0 && { sameNameIn: shortList(sameNameIn) }),
      ...(nearOpposite !== undefined && { nearOpposite }),
      ...(entry.deprecated !== undefined && { deprecated: entry.deprecated === '' ? true : entry.deprecated }),
    })),
  };
}

const nameOf = ({ service, operation }: Pick<OperationEntry, 'service' | 'operation'>) => `${service}:${operation}`;

function shortList(names: readonly string[]): readonly string[] {
  let characters = 0;
  const shown = names.slice(0, shownNames).filter((name) => {
    characters += name.length;
    return characters <= shownCharacters;
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

function lineOf({ entry, sameNameIn, nearOpposite }: FoundOperation): SafeText {
  const notes = [
    entry.effect === 'read' ? words('read') : say`change (${own(entry.effect)})`,
    ...(entry.canCost ? [words('may cost money')] : []),
    ...(entry.givesSecrets ? [words('gives out secrets')] : []),
    ...(entry.required.length > 0 ? [say`needs ${join(shortList(entry.required).map(own), ', ')}`] : []),
    ...(sameNameIn.length > 0 ? [say`same name in: ${join(shortList(sameNameIn).map(own), ', ')}`] : []),
    ...(nearOpposite === undefined ? [] : [aboutOpposite(entry, nearOpposite)]),
    ...(entry.deprecated === undefined
      ? []
      : [entry.deprecated === '' ? words('deprecated') : say`deprecated: ${entry.deprecated}`]),
  ];
  return say`${own(nameOf(entry))} - ${quoted(entry.summary, 100)} [${join(notes, '; ')}]`;
}

const aboutOpposite = ({ effect }: OperationEntry, nearOpposite: string): SafeText =>
  effect === 'delete' ? say`removes it, ${own(nearOpposite)} keeps it` : say`keeps it, ${own(nearOpposite)} removes it`;

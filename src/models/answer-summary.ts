/** Describes answers in one sentence: the state, the names and the sizes of a thing, or the number and the names of entries. */
import { nameInWords, namesState } from '../util/field-names.js';
import { isObject, leavesOf, textAt, valueAt } from '../util/objects.js';
import { hiddenInAnswer } from '../util/quote.js';
import { defined, join, own, quoted, type SafeText, say, words } from '../util/safe-text.js';

/** Maximum number of names in a list. */
const namesShown = 3;
/** Length limit of each value (characters). */
const longestShown = 60;

type Fields = Readonly<Record<string, unknown>>;

/** @param items path of the list with the entries of all pages */
export function answerSummary(
  operationName: string,
  record: Fields,
  { isChange, items }: { readonly isChange: boolean; readonly items?: string | undefined },
): SafeText {
  const entries = items === undefined ? undefined : valueAt(record, items);
  const facts = factsIn(record);
  // The change may still be going on, or may have failed for some entries.
  const beginning = say`${own(operationName)} ${words(isChange ? 'was accepted' : 'succeeded')}`;
  const summary =
    items !== undefined && Array.isArray(entries)
      ? say`${own(operationName)} found ${listText({ path: items, entries })}.`
      : facts.length > 0
        ? say`${beginning}: ${join(facts, ', ')}.`
        : say`${beginning}. Its answer has no values to show.`;
  const saysMore = [...leavesOf(record)].some(([path, value]) => value === true && moreFlag.test(path));
  return !isChange && (saysMore || nextPageFields(record).length > 0) ? say`${summary} More follow.` : summary;
}

export function thingSummary(operationName: string, record: Fields): SafeText {
  const facts = factsIn(thingIn(operationName, record));
  if (facts.length === 0) return answerSummary(operationName, record, { isChange: false });
  return say`${own(operationName)} shows ${join(facts, ', ')}.`;
}

/** Finds the list with one entry, or the structure, that is named like the thing, or else the only one. */
function thingIn(operationName: string, record: Fields): Fields {
  const inner = Object.entries(record).flatMap(([name, value]) => {
    const [only, ...others] = [value].flat();
    return isObject(only)
      ? [{ isNamesake: operationName.toLowerCase().endsWith(name.toLowerCase()), only, isOne: others.length === 0 }]
      : [];
  });
  const namesake = inner.find(({ isNamesake, isOne }) => isNamesake && isOne);
  if (namesake !== undefined) return namesake.only;
  const [first, ...others] = inner;
  const scalars = Object.values(record).filter((value) => typeof value !== 'object');
  const isHolder = first?.isOne === true && others.length === 0 && scalars.length <= 1;
  return isHolder ? thingIn(operationName, first.only) : record;
}

function factsIn(record: Fields): readonly SafeText[] {
  const scalars = scalarsOf(record)
    .slice(0, 8)
    .map(([path, value]) =>
      typeof value === 'string'
        ? say`${own(path)} ${quoted(value, longestShown)}`
        : say`${own(path)} ${defined(String(value))}`,
    );
  const lists = listsIn(record)
    .sort((a, b) => Number(isTags(b)) - Number(isTags(a)) || b.entries.length - a.entries.length)
    .slice(0, 4);
  return [...scalars, ...lists.map((list) => (isTags(list) ? tagsText(list) : listText(list)))];
}

interface ListInRecord {
  readonly path: string;
  readonly entries: readonly unknown[];
}

const listsIn = (record: Fields, prefix = ''): ListInRecord[] =>
  Object.entries(record).flatMap(([name, value]) => {
    const path = prefix + name;
    if (Array.isArray(value)) return [{ path, entries: value }];
    return isObject(value) ? listsIn(value, `${path}.`) : [];
  });

const isTags = ({ path, entries }: ListInRecord): boolean => entries.length > 0 && /^tag(?:s|list|set)?$/i.test(path);

function tagsText({ path, entries }: ListInRecord): SafeText {
  const tags = entries.slice(0, namesShown).map((entry) => {
    const [name, value] = ['Key', 'Value'].map((field) => textAt(entry, field) ?? textAt(entry, field.toLowerCase()));
    return name === undefined
      ? say`(unnamed)`
      : say`${quoted(name, longestShown)} ${quoted(value ?? '', longestShown)}`;
  });
  return say`${own(path)} ${join(tags, ', ')}${words(entries.length > namesShown ? ' and others' : '')}`;
}

function listText({ path, entries }: ListInRecord): SafeText {
  const count = say`${entries.length} in ${own(path)}`;
  const listName = nameInWords(path.split('.').at(-1) ?? '');
  const names = entries.slice(0, namesShown).flatMap((entry) => nameOfEntry(entry, listName) ?? []);
  if (names.length === 0) return count;
  const quotedNames = names.map((name) => quoted(name, longestShown));
  return say`${count}: ${join(quotedNames, ', ')}${words(entries.length > names.length ? ' and others' : '')}`;
}

/** Prefers fields without a word for another thing: for `instances`, "name" comes before "firewall group name". */
function nameOfEntry(entry: unknown, listName: string): string | undefined {
  if (typeof entry === 'string') return entry;
  const textFields = Object.keys(Object(entry)).filter((name) => textAt(entry, name) !== undefined);
  const wordsBeforeLast = (name: string) => nameInWords(name).split(' ').slice(0, -1).join(' ');
  const ownFields = textFields.filter((name) => listName.startsWith(wordsBeforeLast(name)));

  const field = identifyingField(ownFields) ?? identifyingField(textFields) ?? textFields[0];
  return field === undefined ? undefined : textAt(entry, field);
}

export function identifyingField(fields: readonly string[]): string | undefined {
  for (const ending of nameEndings) {
    const field = fields.find((name) => ending.test(nameInWords(name)));
    if (field !== undefined) return field;
  }
  return undefined;
}

/** The best first. */
export const nameEndings: readonly RegExp[] = [/\bname$/i, /\b(?:identifier|id)$/i, /\bkey$/i, /\barn$/i];

/** The outermost level comes first. Within a level, the state comes first, then the names, then the sizes. */
function scalarsOf(record: Fields): readonly [string, unknown][] {
  const nextPage = nextPageFields(record);
  const scalars = [...leavesOf(record)].filter(([path, value]) => {
    const isAboutPages = moreFlag.test(path) || nextPage.some((field) => `${path}.`.startsWith(`${field}.`));
    return (
      !isAboutPages &&
      typeof value !== 'object' &&
      !path.includes('[') &&
      !['', hiddenInAnswer].some((empty) => empty === value)
    );
  });
  const rank = ([path]: readonly [string, unknown]) => {
    const steps = path.split('.');
    // A state may be a structure, such as `State.Name`.
    const stateIndex = steps.findIndex(namesState);
    const level = stateIndex < 0 ? steps.length : stateIndex + 1;
    const name = steps[level - 1] ?? '';
    const isSizeOrKind = /size|capacity|count|type|class|engine|storage/i.test(name);
    return level * 4 + (stateIndex >= 0 ? 0 : identifyingField([name]) !== undefined ? 1 : isSizeOrKind ? 2 : 3);
  };
  return scalars.sort((a, b) => rank(a) - rank(b));
}

/** Paths of fields such as `NextKeyMarker`. */
export function nextPageFields(record: Fields): readonly string[] {
  const paths = [...leavesOf(record)].flatMap(([path, value]) => {
    const steps = path.split('.');
    const index = steps.findIndex((step) => startOfPage.test(step));
    const isField =
      index >= 0 && !path.includes('[') && typeof value === 'string' && !['', hiddenInAnswer].includes(value);
    return isField ? [steps.slice(0, index + 1).join('.')] : [];
  });
  return [...new Set(paths)];
}

/** Matches the name of a field that says where the next page begins. */
export const startOfPage = /^next\w*(?:token|marker|key)$|^next(?:token|marker)\w*$|^last_?evaluated_?\w+$/i;
const moreFlag = /^(?:[^[]*\.)?(?:(?:is_?)?truncated|(?:has_?)?more\w*)$/i;

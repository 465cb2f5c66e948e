import { nameInWords, namesState } from '../util/field-names.js';
import { isObject, leavesOf, textAt, valueAt } from '../util/objects.js';
import { hiddenInAnswer } from '../util/quote.js';
import { defined, join, own, quoted, type SafeText, say, words } from '../util/safe-text.js';

/** Maximum number of names and of values, and length limit of each (characters). */
const namesShown = 3;
const scalarsShown = 5;
const longestShown = 100;
const maximumLevel = 3;

interface SummarizedOperation {
  readonly isChange: boolean;
  /** Path of the list with the entries of all pages. */
  readonly items?: string | undefined;
}

/** Returns a sentence about a successful answer, with the state and the name of a thing, or the number and the names of entries. */
export function answerSummary(
  operationName: string,
  record: Readonly<Record<string, unknown>>,
  operation: SummarizedOperation,
): SafeText {
  const summary = firstSentence(own(operationName), record, operation);
  const saysMore = !operation.isChange && (hasMoreFlag(record) || nextPageFields(record).length > 0);
  return saysMore ? say`${summary} More follow.` : summary;
}

function firstSentence(
  operationName: SafeText,
  record: Readonly<Record<string, unknown>>,
  { isChange, items }: SummarizedOperation,
): SafeText {
  const itemList = items === undefined ? undefined : valueAt(record, items);
  if (items !== undefined && Array.isArray(itemList))
    return say`${operationName} found ${listText({ path: items, entries: itemList })}.`;

  const scalars = scalarsOf(record).slice(0, scalarsShown);
  const list = longestList(record);
  // Values outside of lists describe the changed thing.
  const describesChange = isChange && scalars.length > 0;
  const mainList = list === undefined || describesChange || isFieldOfOneThing(list, record) ? undefined : list;

  // The change may still be going on, or may have failed for some entries.
  const beginning = say`${operationName} ${words(isChange ? 'was accepted' : 'succeeded')}`;
  if (mainList !== undefined)
    return isChange
      ? say`${beginning}. Its answer has ${listText(mainList)}.`
      : say`${operationName} found ${listText(mainList)}.`;

  if (scalars.length > 0) {
    const shown = scalars.map(([path, value]) => say`${own(path)} ${scalarText(value)}`);
    return say`${beginning}: ${join(shown, ', ')}.`;
  }

  const lacksItems = items !== undefined && itemList === undefined;
  const nothing = lacksItems ? say`nothing in ${own(items)}` : words('no values to show');
  return say`${beginning}. Its answer has ${nothing}.`;
}

const factsShown = 8;
const listsShown = 4;
const longestFact = 60;

/** Returns a sentence about the one thing that a read was about, with its state, its sizes, its tags and what belongs to it. */
export function thingSummary(operationName: string, record: Readonly<Record<string, unknown>>): SafeText {
  const thing = thingIn(operationName, record);
  const scalars = scalarsOf(thing)
    .filter(([, value]) => value !== '' && value !== hiddenInAnswer)
    .slice(0, factsShown)
    .map(([path, value]) => say`${own(path)} ${scalarText(value, longestFact)}`);
  const lists = Object.entries(thing).flatMap(([path, value]) =>
    Array.isArray(value) && value.length > 0 ? [{ path, entries: value }] : [],
  );
  const tagsFirst = lists.sort((a, b) => Number(isTags(b)) - Number(isTags(a))).slice(0, listsShown);
  const facts = [...scalars, ...tagsFirst.map((list) => (isTags(list) ? tagsText(list) : listText(list)))];
  if (facts.length === 0) return answerSummary(operationName, record, { isChange: false });
  return say`${own(operationName)} shows ${join(facts, ', ')}.`;
}

/** Finds the list with one entry, or the structure, that is named like the thing, or else the only one. */
function thingIn(operationName: string, record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
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

const sizeOrKind = /size|capacity|count|type|class|engine|storage/i;
const rankOfFact = (name: string): number => {
  if (namesState(name)) return 0;
  if (isNameOrId(name)) return 1;
  return sizeOrKind.test(name) ? 2 : 3;
};

const isTags = ({ path }: ListInRecord): boolean => /^tag(?:s|list|set)?$/i.test(path);

function tagsText({ path, entries }: ListInRecord): SafeText {
  const tags = entries.slice(0, namesShown).map((entry) => {
    const [name, value] = ['Key', 'Value'].map((field) => textAt(entry, field) ?? textAt(entry, field.toLowerCase()));
    return name === undefined ? say`(unnamed)` : say`${quoted(name, longestFact)} ${quoted(value ?? '', longestFact)}`;
  });
  return say`${own(path)} ${join(tags, ', ')}${words(entries.length > namesShown ? ' and others' : '')}`;
}

/** True if the fields next to a list have the state or the name of one thing. */
function isFieldOfOneThing({ path }: ListInRecord, record: Readonly<Record<string, unknown>>): boolean {
  const holder = path.slice(0, Math.max(0, path.lastIndexOf('.')));
  const fields = holder === '' ? record : valueAt(record, holder);
  const textFields = Object.keys(Object(fields)).filter((name) => textAt(fields, name) !== undefined);
  // A name at the top level may be that of the thing that holds the entries, such as a bucket.
  return textFields.some((name) => namesState(name) || (holder !== '' && isNameOrId(name)));
}

const isNameOrId = (name: string) => nameEndings.some((ending) => ending.test(nameInWords(name)));

/** The outermost level comes first. Within a level, the state comes first, then the names, then the sizes. */
function scalarsOf(record: Readonly<Record<string, unknown>>): readonly [string, unknown][] {
  const scalars = [...leavesOf(record)].filter(([path, value]) => typeof value !== 'object' && !path.includes('['));
  const rank = ([path]: readonly [string, unknown]) => {
    const steps = path.split('.');
    // A state may be a structure, such as `State.Name`.
    const stateIndex = steps.findIndex(namesState);
    const level = stateIndex < 0 ? steps.length : stateIndex + 1;
    return level * 4 + rankOfFact(steps[level - 1] ?? '');
  };
  return scalars.sort((a, b) => rank(a) - rank(b));
}

/** Returns the paths of the fields that say where the next page begins, such as `NextKeyMarker`. */
export function nextPageFields(record: Readonly<Record<string, unknown>>): readonly string[] {
  const paths = [...leavesOf(record)].flatMap(([path, value]) => {
    const steps = path.split('.');
    const index = steps.findIndex((step) => startOfPage.test(step));
    const isField =
      index >= 0 && !path.includes('[') && typeof value === 'string' && !['', hiddenInAnswer].includes(value);
    return isField ? [steps.slice(0, index + 1).join('.')] : [];
  });
  return [...new Set(paths)];
}

const hasMoreFlag = (record: Readonly<Record<string, unknown>>): boolean =>
  [...leavesOf(record)].some(([path, value]) => value === true && moreFlag.test(path));

/** Matches the name of a field that says where the next page begins. */
export const startOfPage = /^next\w*(?:token|marker|key)$|^next(?:token|marker)\w*$|^last_?evaluated_?\w+$/i;
const moreFlag = /^(?:[^[]*\.)?(?:(?:is_?)?truncated|(?:has_?)?more\w*)$/i;

const scalarText = (value: unknown, longest = longestShown): SafeText =>
  typeof value === 'string' ? quoted(value, longest) : defined(String(value));

interface ListInRecord {
  readonly path: string;
  readonly entries: readonly unknown[];
}

function longestList(record: unknown, path = '', level = 0): ListInRecord | undefined {
  if (Array.isArray(record)) return { path, entries: record };
  if (!isObject(record) || level === maximumLevel) return undefined;
  let longest: ListInRecord | undefined;
  for (const [name, value] of Object.entries(record)) {
    const list = longestList(value, path === '' ? name : `${path}.${name}`, level + 1);
    if (list === undefined) continue;
    if (longest === undefined || list.entries.length > longest.entries.length) longest = list;
  }
  return longest;
}

function listText({ path, entries }: ListInRecord): SafeText {
  const count = say`${entries.length} in ${own(path)}`;
  const listName = nameInWords(path.split('.').at(-1) ?? '');
  const firstEntries = entries.slice(0, namesShown).map((entry) => nameOfEntry(entry, listName));
  const names = firstEntries.filter((name) => name !== undefined);
  if (names.length === 0) return count;

  const quotedNames = names.map((name) => quoted(name, longestShown));
  const others = words(entries.length > names.length ? ' and others' : '');
  return say`${count}: ${join(quotedNames, ', ')}${others}`;
}

/** Prefers fields without a word for another thing: for `instances`, "name" comes before "firewall group name". */
function nameOfEntry(entry: unknown, listName: string): string | undefined {
  if (typeof entry === 'string') return entry;
  if (!isObject(entry)) return undefined;
  const textFields = Object.keys(entry).filter((name) => textAt(entry, name) !== undefined);
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

/** Last words of the names of fields that identify a thing, the best first. */
export const nameEndings: readonly RegExp[] = [/\bname$/i, /\b(?:identifier|id)$/i, /\bkey$/i, /\barn$/i];

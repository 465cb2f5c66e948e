import { nameInWords } from '../../tools/schema/field-names.js';
import { isObject, leavesOf, textAt } from '../../util/objects.js';
import { defined, join, own, quoted, type SafeText, say, words } from '../../util/safe-text.js';

/** Maximum number of names and of values in a summary, and length limit of each (characters). */
const namesShown = 3;
const scalarsShown = 5;
const longestShown = 100;
/** Levels of nesting at which lists are searched. */
const maximumLevel = 3;

/** Returns a sentence about a successful answer: its longest list with the first entries, or its first values if it has no list. */
export function answerSummary(operationName: string, record: Readonly<Record<string, unknown>>): SafeText {
  const list = longestList(record);
  if (list !== undefined) return listSummary(operationName, list);
  const scalars = [...leavesOf(record)].filter(([, value]) => typeof value !== 'object').slice(0, scalarsShown);
  if (scalars.length === 0) return say`${own(operationName)} succeeded. The answer is empty.`;
  const shown = scalars.map(([path, value]) => say`${own(path)} ${scalarText(value)}`);
  return say`${own(operationName)} succeeded: ${join(shown, ', ')}.`;
}

const scalarText = (value: unknown): SafeText =>
  typeof value === 'string' ? quoted(value, longestShown) : defined(String(value));

interface ListInRecord {
  readonly path: string;
  readonly entries: readonly unknown[];
}

/** Returns the longest list in a record. Lists inside of lists do not count. */
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

/** Returns a sentence such as `ListBooks found 4 in books: "a", "b", "c" and others.` */
function listSummary(operationName: string, { path, entries }: ListInRecord): SafeText {
  const count = say`${own(operationName)} found ${entries.length} in ${own(path)}`;
  const listName = nameInWords(path.split('.').at(-1) ?? '');
  const firstEntries = entries.slice(0, namesShown).map((entry) => nameOfEntry(entry, listName));
  const names = firstEntries.filter((name) => name !== undefined);
  if (names.length === 0) return say`${count}.`;

  const quotedNames = names.map((name) => quoted(name, longestShown));
  const others = words(entries.length > names.length ? ' and others' : '');
  return say`${count}: ${join(quotedNames, ', ')}${others}.`;
}

/**
 * Returns the name of an entry of a list: the entry itself if it is a text, or the text in the field that looks most like a name. Fields
 * without a word for another thing are preferred: for `instances`, "instance ID" and "name" come before "firewall group name".
 */
function nameOfEntry(entry: unknown, listName: string): string | undefined {
  if (typeof entry === 'string') return entry;
  if (!isObject(entry)) return undefined;
  const textFields = Object.keys(entry).filter((name) => textAt(entry, name) !== undefined);
  const wordsBeforeLast = (name: string) => nameInWords(name).split(' ').slice(0, -1).join(' ');
  const ownFields = textFields.filter((name) => listName.startsWith(wordsBeforeLast(name)));

  const field = identifyingField(ownFields) ?? identifyingField(textFields) ?? textFields[0];
  return field === undefined ? undefined : textAt(entry, field);
}

/** Returns the field whose name has the best ending: `name` before `id`. */
function identifyingField(fields: readonly string[]): string | undefined {
  for (const ending of nameEndings) {
    const field = fields.find((name) => ending.test(nameInWords(name)));
    if (field !== undefined) return field;
  }
  return undefined;
}

/** Last words of the names of fields that identify a thing, the best first. */
export const nameEndings: readonly RegExp[] = [/\bname$/i, /\b(?:identifier|id)$/i, /\bkey$/i, /\barn$/i];

import { nameInWords } from '../../tools/schema/field-names.js';
import { isObject, leavesOf, textAt } from '../../util/objects.js';
import { defined, join, own, quoted, type SafeText, say, words } from '../../util/safe-text.js';

const namesShown = 3;
const scalarsShown = 5;
const longestShown = 100;
/** Levels at which lists are searched. */
const maximumLevel = 3;

/** Summarizes an answer: the longest list with the names of its first entries, or else the first scalars. */
export function answerSummary(api: string, record: Readonly<Record<string, unknown>>): SafeText {
  const list = longestList(record);
  if (list !== undefined) return listSummary(api, list);
  const scalars = [...leavesOf(record)].filter(([, value]) => typeof value !== 'object').slice(0, scalarsShown);
  if (scalars.length === 0) return say`${own(api)} succeeded. The answer is empty.`;
  const shown = scalars.map(([path, value]) => say`${own(path)} ${scalarText(value)}`);
  return say`${own(api)} succeeded: ${join(shown, ', ')}.`;
}

const scalarText = (value: unknown): SafeText =>
  typeof value === 'string' ? quoted(value, longestShown) : defined(String(value));

interface ListInRecord {
  readonly path: string;
  readonly entries: readonly unknown[];
}

/** The longest list in a record. Lists in lists are not searched. */
function longestList(record: unknown, path = '', level = 0): ListInRecord | undefined {
  if (Array.isArray(record)) return { path, entries: record };
  if (!isObject(record) || level === maximumLevel) return undefined;
  let longest: ListInRecord | undefined;
  for (const [name, value] of Object.entries(record)) {
    const list = longestList(value, path === '' ? name : `${path}.${name}`, level + 1);
    if (list !== undefined && list.entries.length > (longest?.entries.length ?? -1)) longest = list;
  }
  return longest;
}

function listSummary(api: string, { path, entries }: ListInRecord): SafeText {
  const found = say`${own(api)} found ${entries.length} in ${own(path)}`;
  const thing = nameInWords(path.split('.').at(-1) ?? '');
  const names = entries.slice(0, namesShown).flatMap((entry) => nameOfEntry(entry, thing) ?? []);
  if (names.length === 0) return say`${found}.`;
  const quotedNames = names.map((name) => quoted(name, longestShown));
  const others = words(entries.length > names.length ? ' and others' : '');
  return say`${found}: ${join(quotedNames, ', ')}${others}.`;
}

/**
 * The name of an entry of a list: the entry itself if it is a text, or the first of its texts that is named like a name or an ID. Fields
 * named after the list come first: for `instances`, "instance ID" and "name" are better than "firewall group name".
 * @param thing name of the list in words
 */
function nameOfEntry(entry: unknown, thing: string): string | undefined {
  if (typeof entry === 'string') return entry;
  if (!isObject(entry)) return undefined;
  const texts = Object.keys(entry).filter((name) => textAt(entry, name) !== undefined);
  const ofThing = texts.filter((name) => thing.startsWith(nameInWords(name).split(' ').slice(0, -1).join(' ')));
  return textAt(entry, firstNamed(ofThing) ?? firstNamed(texts) ?? texts[0] ?? '');
}

const firstNamed = (names: readonly string[]): string | undefined =>
  nameEndings.flatMap((ending) => names.find((name) => ending.test(nameInWords(name))) ?? [])[0];

/** Last words of the names of fields that identify a thing, the best first. */
export const nameEndings: readonly RegExp[] = [/\bname$/i, /\b(?:identifier|id)$/i, /\bkey$/i, /\barn$/i];

import { isObject, leavesOf } from '../util/objects.js';
import { defined, join, own, quoted, type SafeText, say } from '../util/safe-text.js';

const longestValue = 80;
/** A text without tables shows lists of up to this number of entries in full. */
export const shortList = 5;
/** Number of entries that a shortened list shows. */
const firstEntries = 3;

/** The arguments of a change that are in neither its headline nor its consequences, in words. */
export interface OtherArguments {
  /** Arguments that are in no list: `diskSize 200`, `network (id "a", zone "b")`. */
  readonly fields: readonly SafeText[];
  /** Lists, of which long ones are shortened: `objects: 60 entries, the first are "a", "b", "c"`. */
  readonly lists: readonly SafeText[];
}

/**
 * Describes the arguments of a change that are not in `named`.
 * @param named paths of the arguments in the headline or the consequences, such as `pools[].name`
 * @param input without secrets
 * @param longestList longer lists are shortened
 */
export function otherArguments(
  named: readonly string[],
  input: Readonly<Record<string, unknown>>,
  longestList: number,
): OtherArguments {
  const isNamed = (path: string) => named.some((name) => path === name || path.startsWith(`${name}.`));
  const leaves = [...leavesOf(input)].filter(([path]) => !isNamed(path.replace(/\[\d+\]/g, '[]')));
  const lists = listsIn(input);
  const fields = leaves.filter(([path]) => !lists.some(([list]) => path.startsWith(`${list}[`)));
  // A list of one value reads like a value.
  const valuesByPath = fields.map(([path, value]) => [path.replace(/\[0\]$/, ''), value] as const);
  const listTexts: SafeText[] = [];
  for (const [list, entries] of lists) {
    const leavesOfList = leaves.filter(([path]) => path.startsWith(`${list}[`));
    if (leavesOfList.length > 0) listTexts.push(...textsOfList(list, entries, leavesOfList, longestList));
  }
  return { fields: grouped(valuesByPath), lists: listTexts };
}

/** Describes a list: shortened, or with all values of its objects, or with all its values. */
function textsOfList(
  path: string,
  entries: readonly unknown[],
  leaves: readonly (readonly [string, unknown])[],
  longestList: number,
): SafeText[] {
  if (entries.length > longestList) return [shortenedList(path, entries)];
  if (entries.some(isObject)) return grouped(leaves);
  return [say`${own(path)} ${join(entries.map(valueText), ', ')}`];
}

/** The arguments that are in no list, in a sentence. Lists stand in tables. */
export const alsoSentence = (also: OtherArguments | undefined): readonly SafeText[] =>
  also === undefined || also.fields.length === 0 ? [] : [say`Also: ${join(also.fields, ', ')}.`];

/** The lists of objects, and of two and more values, at any depth but not within lists, each with its path. */
export function listsIn(value: unknown, path = ''): (readonly [string, readonly unknown[]])[] {
  if (Array.isArray(value)) return value.length > 1 || value.some(isObject) ? [[path, value]] : [];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => listsIn(inner, path === '' ? name : `${path}.${name}`));
}

const valueText = (value: unknown): SafeText =>
  typeof value === 'string' ? quoted(value, longestValue) : defined(JSON.stringify(value));

/** The number of entries of a list, and the first ones. An entry is shown by its first text. */
function shortenedList(path: string, entries: readonly unknown[]): SafeText {
  const names = entries.slice(0, firstEntries).map((entry) => {
    const [, first] = [...leavesOf(entry)].find(([, leaf]) => typeof leaf === 'string') ?? [];
    return quoted(typeof first === 'string' ? first : JSON.stringify(entry), longestValue);
  });
  return say`${own(path)}: ${entries.length} entries, the first are ${join(names, ', ')}`;
}

/** Groups values by the path of their parent: `adminWorkstation (region "a", keyName "b")`. */
function grouped(leaves: readonly (readonly [string, unknown])[]): SafeText[] {
  const groups = new Map<string, SafeText[]>();
  for (const [path, value] of leaves) {
    const end = path.lastIndexOf('.');
    const group = path.slice(0, Math.max(end, 0));
    const shown = say`${own(path.slice(end + 1))} ${valueText(value)}`;
    groups.set(group, [...(groups.get(group) ?? []), shown]);
  }
  return [...groups].map(([group, values]) => {
    const all = join(values, ', ');
    return group === '' ? all : say`${own(group)} (${all})`;
  });
}

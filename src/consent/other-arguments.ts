import { isObject, leavesOf } from '../util/objects.js';
import { defined, join, own, quoted, type SafeText, say } from '../util/safe-text.js';

const longestValue = 80;
/** A text has no tables, so it shortens a list of more than this number of entries. */
export const longestListInText = 5;
/** Number of entries that a shortened list still shows. */
const firstEntries = 3;

/** The arguments of a change that are in neither its headline nor its consequences, in words. */
export interface OtherArguments {
  /** Arguments that are in no list: `diskSize 200`, `network (id "a", zone "b")`. */
  readonly fields: readonly SafeText[];
  /** Arguments that are lists. Long lists are shortened: `objects: 60 entries, the first are "a", "b", "c"`. */
  readonly lists: readonly SafeText[];
}

/**
 * Describes the arguments of a change that its headline and its consequences do not name.
 * @param named paths of the arguments that the headline and the consequences name. The path of an object covers its fields, and `pools[]` covers
 *   all entries of the list `pools`. Without brackets, the path of a list covers nothing
 * @param input arguments without secrets
 * @param longestList lists with more entries are shortened
 */
export function otherArguments(
  named: readonly string[],
  input: Readonly<Record<string, unknown>>,
  longestList: number,
): OtherArguments {
  const isNamed = (path: string) => named.some((name) => path === name || path.startsWith(`${name}.`));
  // The path of a leaf has the index of its entry (`pools[2].name`), and a path in `named` has none (`pools[].name`).
  const leaves = [...leavesOf(input)].filter(([path]) => !isNamed(path.replace(/\[\d+\]/g, '[]')));
  // A list whose only entry is a plain value is not among these lists. It is shown like that value.
  const lists = outerListsIn(input);

  const listTexts: SafeText[] = [];
  for (const [listPath, entries] of lists) {
    const leavesOfList = leaves.filter(([path]) => path.startsWith(`${listPath}[`));
    // If no leaf is left, the headline or the consequences name everything in the list.
    if (leavesOfList.length === 0) continue;
    listTexts.push(...textsOfList(listPath, entries, leavesOfList, longestList));
  }

  const outsideLists = leaves.filter(([path]) => !lists.some(([listPath]) => path.startsWith(`${listPath}[`)));
  // Leaves out the index of a list's only entry: `zones "a"` in place of `zones[0] "a"`.
  const fields = outsideLists.map(([path, value]) => [path.replace(/\[0\]$/, ''), value] as const);
  return { fields: groupedTexts(fields), lists: listTexts };
}

/** Describes a list. A list of more than `longestList` entries is shortened. Otherwise, shows all its values, or all fields of its objects. */
function textsOfList(
  path: string,
  entries: readonly unknown[],
  leaves: readonly (readonly [string, unknown])[],
  longestList: number,
): SafeText[] {
  if (entries.length > longestList) return [shortenedList(path, entries)];
  if (entries.some(isObject)) return groupedTexts(leaves);
  return [say`${own(path)} ${join(entries.map(valueText), ', ')}`];
}

/** The arguments that are in no list, in a sentence. Lists are not in it, because a plan shows them in tables. Empty without arguments. */
export const fieldsSentence = (also: OtherArguments | undefined): readonly SafeText[] =>
  also === undefined || also.fields.length === 0 ? [] : [say`Also: ${join(also.fields, ', ')}.`];

/** Finds the lists in a value, with their paths: lists with an object, and lists of at least two entries. Skips lists within lists. */
export function outerListsIn(value: unknown, path = ''): (readonly [string, readonly unknown[]])[] {
  if (Array.isArray(value)) return value.length > 1 || value.some(isObject) ? [[path, value]] : [];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => outerListsIn(inner, path === '' ? name : `${path}.${name}`));
}

const valueText = (value: unknown): SafeText =>
  typeof value === 'string' ? quoted(value, longestValue) : defined(JSON.stringify(value));

/** A list as the number of its entries and its first entries. Of an object, only the first text is shown, which usually is its name. */
function shortenedList(path: string, entries: readonly unknown[]): SafeText {
  const names = entries.slice(0, firstEntries).map((entry) => {
    const [, first] = [...leavesOf(entry)].find(([, leaf]) => typeof leaf === 'string') ?? [];
    return quoted(typeof first === 'string' ? first : JSON.stringify(entry), longestValue);
  });
  return say`${own(path)}: ${entries.length} entries, the first are ${join(names, ', ')}`;
}

/** Describes values, grouped by the path of their object: `adminWorkstation (region "a", keyName "b")`. */
function groupedTexts(leaves: readonly (readonly [string, unknown])[]): SafeText[] {
  const groups = new Map<string, SafeText[]>();
  for (const [path, value] of leaves) {
    // -1 for an argument at the top, which belongs to the group without a name.
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

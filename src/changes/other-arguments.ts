import type { OtherArguments } from '../calls/outcome.js';
import { isObject, leavesOf } from '../util/objects.js';
import { defined, join, own, quoted, type SafeText, say } from '../util/safe-text.js';

/** Length limit of a value and of a list in the text of a plan (characters). The request of the plan has them in full. */
export const longestInPlan = 1_000;

type Leaf = readonly [path: string, value: unknown];

/**
 * Describes the arguments of a change that its headline and its consequences do not name.
 * @param named paths of the arguments that the headline and the consequences name. The path of an object covers its fields, and `pools[]` covers
 *   all entries of the list `pools`. Without brackets, the path of a list covers nothing
 * @param input arguments without secrets
 * @param longest length limit of a value and of a list (characters)
 */
export function otherArguments(
  named: readonly string[],
  input: Readonly<Record<string, unknown>>,
  longest: number,
): OtherArguments {
  const isNamed = (path: string) => named.some((name) => path === name || path.startsWith(`${name}.`));
  // Without arguments, the only leaf is `input` itself, and has no path.
  const leaves = [...leavesOf(input)].filter(([path]) => path !== '' && !isNamed(withoutIndexes(path)));
  const lists = outerListsIn(input);

  const listTexts: SafeText[] = [];
  for (const [listPath, { length }] of lists) {
    const leavesOfList = leaves.filter((leaf) => isInList(leaf, listPath));
    // If no leaf is left, the headline or the consequences name everything in the list.
    if (leavesOfList.length > 0) listTexts.push(...textsOfList(listPath, length, leavesOfList, longest));
  }

  const outsideLists = leaves.filter((leaf) => !lists.some(([listPath]) => isInList(leaf, listPath)));
  // A list whose only entry is a plain value is not in `lists`. It is shown like that value, without the index: `zones "a"`, not `zones[0] "a"`.
  const fields = outsideLists.map(([path, value]) => [path.replace(/\[0\]$/, ''), value] as const);
  return { fields: groupedTexts(fields, longest), lists: listTexts };
}

/** The path of a leaf as `named` has it: `pools[].name` for `pools[2].name`. */
const withoutIndexes = (path: string) => path.replace(/\[\d+\]/g, '[]');

const isInList = ([path]: Leaf, listPath: string) => path.startsWith(`${listPath}[`);

/**
 * Describes the entries of a list, as many as `longest` characters hold.
 * @param listLength the number of all entries
 * @param leaves the leaves of the list that neither the headline nor the consequences name. An entry without such a leaf is not described
 */
function textsOfList(listPath: string, listLength: number, leaves: readonly Leaf[], longest: number): SafeText[] {
  const entries = entriesOf(listPath, leaves);
  // The path within the entry: `.key` of `objects[0].key`, or an empty text if the entry is a plain value.
  const fields = new Set(leaves.map(([path]) => path.slice(path.indexOf(']', listPath.length) + 1)));
  const [field = ''] = fields;
  // If every entry has a single leaf, and all have the same field, the values are enough: `objects[].key "a", "b"`.
  const isOfOneField = fields.size === 1 && entries.length === listLength && leaves.length === listLength;

  const shown: SafeText[] = [];
  let notShown = entries.length;
  let charactersLeft = longest;
  for (const entry of entries) {
    const texts = isOfOneField ? entry.map(([, value]) => valueText(value, longest)) : groupedTexts(entry, longest);
    charactersLeft -= join(texts, ', ').text.length;
    if (charactersLeft < 0) break;
    shown.push(...texts);
    notShown -= 1;
  }

  const name = field === '' ? listPath : `${listPath}[]${field}`;
  const inOneText = isOfOneField && shown.length > 0 ? [say`${own(name)} ${join(shown, ', ')}`] : shown;
  if (notShown === 0) return inOneText;
  return [...inOneText, say`${own(listPath)}: ${notShown} of ${entries.length} entries are only in the request`];
}

/** Groups the leaves of a list by the entries that they are in. */
function entriesOf(listPath: string, leaves: readonly Leaf[]): readonly (readonly Leaf[])[] {
  const entries = new Map<string, Leaf[]>();
  for (const leaf of leaves) {
    const [path] = leaf;
    const entryPath = path.slice(0, path.indexOf(']', listPath.length));
    const entry = entries.get(entryPath);
    if (entry === undefined) entries.set(entryPath, [leaf]);
    else entry.push(leaf);
  }
  return [...entries.values()];
}

/** Finds the lists in a value, with their paths: lists with an object, and lists of at least two entries. Skips lists within lists. */
export function outerListsIn(value: unknown, path = ''): (readonly [string, readonly unknown[]])[] {
  if (Array.isArray(value)) return value.length > 1 || value.some(isObject) ? [[path, value]] : [];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => outerListsIn(inner, path === '' ? name : `${path}.${name}`));
}

const valueText = (value: unknown, longest: number): SafeText =>
  typeof value === 'string' ? quoted(value, longest) : defined(JSON.stringify(value));

/** Describes values, grouped by the path of their object: `adminWorkstation (region "a", keyName "b")`. */
function groupedTexts(leaves: readonly Leaf[], longest: number): SafeText[] {
  const groups = new Map<string, SafeText[]>();
  for (const [path, value] of leaves) {
    // -1 for an argument at the top, which belongs to the group without a name.
    const end = path.lastIndexOf('.');
    const group = path.slice(0, Math.max(end, 0));
    const shown = say`${own(path.slice(end + 1))} ${valueText(value, longest)}`;
    groups.set(group, [...(groups.get(group) ?? []), shown]);
  }
  return [...groups].map(([group, values]) => {
    const all = join(values, ', ');
    return group === '' ? all : say`${own(group)} (${all})`;
  });
}

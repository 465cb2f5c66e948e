import type { OtherArguments, PlanTable } from '../calls/outcome.js';
import type { Operation } from '../tools/define-operation.js';
import { fieldInWords, fieldUnit } from '../util/field-names.js';
import { sentenceCase } from '../util/human.js';
import { groupedBy, isObject, leavesOf } from '../util/objects.js';
import {
  defined,
  join,
  longestName,
  own,
  type SafeText,
  say,
  shortNames,
  shownValue,
  words,
} from '../util/safe-text.js';

/** Length limit of a value and of a list in the text of a plan (characters). */
export const longestInPlan = 1_000;

type Leaf = readonly [path: string, value: unknown];

/**
 * Describes the arguments of a change that its headline and its consequences do not name.
 * @param named paths. An object covers its fields, and `pools[]` covers all entries of `pools`
 * @param longest limit of a value and of a list (characters)
 */
export function otherArguments(
  named: readonly string[],
  input: Readonly<Record<string, unknown>>,
  longest: number,
): OtherArguments {
  const isNamed = (path: string) => named.some((name) => path === name || path.startsWith(`${name}.`));
  const leaves = [...leavesOf(input)].filter(([path]) => path !== '' && !isNamed(withoutIndexes(path)));
  const lists = outerListsIn(input);

  const listTexts: SafeText[] = [];
  for (const [listPath, { length }] of lists) {
    const leavesOfList = leaves.filter((leaf) => isInList(leaf, listPath));
    if (leavesOfList.length > 0) listTexts.push(...textsOfList(listPath, length, leavesOfList, longest));
  }

  const outsideLists = leaves.filter((leaf) => !lists.some(([listPath]) => isInList(leaf, listPath)));
  // `zones "a"`, not `zones[0] "a"`.
  const fields = outsideLists.map(([path, value]) => [path.replace(/\[0\]$/, ''), value] as const);
  return { fields: groupedTexts(fields, longest), lists: listTexts };
}

/** `pools[].name` for `pools[2].name`. */
const withoutIndexes = (path: string) => path.replace(/\[\d+\]/g, '[]');

const isInList = ([path]: Leaf, listPath: string) => path.startsWith(`${listPath}[`);

/** Describes as many entries of a list as `longest` characters hold. */
function textsOfList(listPath: string, listLength: number, leaves: readonly Leaf[], longest: number): SafeText[] {
  const entries = [...groupedBy(leaves, ([path]) => path.slice(0, path.indexOf(']', listPath.length))).values()];
  // `.key` of `objects[0].key`.
  const fields = new Set(leaves.map(([path]) => path.slice(path.indexOf(']', listPath.length) + 1)));
  const [field = ''] = fields;
  // `objects[].key "a", "b"`
  const isOfOneField = fields.size === 1 && entries.length === listLength && leaves.length === listLength;

  const shown: SafeText[] = [];
  let notShown = entries.length;
  let charactersLeft = longest;
  for (const entry of entries) {
    const texts = isOfOneField ? entry.map(([, value]) => shownValue(value, longest)) : groupedTexts(entry, longest);
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

/** Finds the lists with an object or at least two entries, but not lists within lists. */
function outerListsIn(value: unknown, path = ''): (readonly [string, readonly unknown[]])[] {
  if (Array.isArray(value)) return value.length > 1 || value.some(isObject) ? [[path, value]] : [];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => outerListsIn(inner, path === '' ? name : `${path}.${name}`));
}

/** `adminWorkstation (region "a", keyName "b")` */
function groupedTexts(leaves: readonly Leaf[], longest: number): SafeText[] {
  const groups = groupedBy(leaves, ([path]) => path.slice(0, Math.max(path.lastIndexOf('.'), 0)));
  return [...groups].map(([group, fields]) => {
    const texts = fields.map(
      ([path, value]) => say`${own(path.slice(path.lastIndexOf('.') + 1))} ${shownValue(value, longest)}`,
    );
    const all = join(texts, ', ');
    return group === '' ? all : say`${own(group)} (${all})`;
  });
}

/** Makes a table of each list in `input`, the arguments without secrets. With `isWhole`, nothing of it is left out. */
export const planTables = (
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  isWhole = false,
): PlanTable[] => outerListsIn(input).map(([path, elements]) => tableOf(operation, path, elements, isWhole));

function tableOf(operation: Operation, path: string, elements: readonly unknown[], isWhole: boolean): PlanTable {
  const most = isWhole ? elements.length : 100;
  const longest = isWhole ? longestInPlan : longestName;
  const schema = operation.input();
  const rows = elements.slice(0, most).map((element) => new Map(leavesOf(element)));
  const allFields = new Set(rows.flatMap((row) => [...row.keys()]));
  const fields = [...allFields].slice(0, 12);
  const units = fields.map((field) => fieldUnit(schema, `${path}[0].${field}`));
  return {
    title: defined(sentenceCase(fieldInWords(schema, path) ?? path)),
    columns: fields.map((field) => defined(sentenceCase(columnName(schema, path, field)))),
    rows: rows.map((row) => fields.map((field, index) => cell(row.get(field), units[index], longest))),
    more: Math.max(0, elements.length - most),
  };
}

/** `disk size` and not `node pool's disk size`. */
function columnName(schema: ReturnType<Operation['input']>, path: string, field: string): string {
  if (field === '') return 'value';
  const name = fieldInWords(schema, `${path}[0].${field}`) ?? field;
  const owner = `${fieldInWords(schema, `${path}[0]`) ?? ''}'s `;
  return name.startsWith(owner) ? name.slice(owner.length) : name;
}

function cell(value: unknown, unit: string | undefined, longest: number): SafeText {
  if (value === undefined) return words('');
  const shown = shortNames(shownValue(value, longestInPlan), longest);
  return typeof value === 'string' || unit === undefined ? shown : say`${shown} ${defined(unit)}`;
}

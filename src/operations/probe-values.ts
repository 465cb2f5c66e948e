import * as z from 'zod';
import type { ExampleInput, Operation } from '../tools/define-operation.js';
import { isObject, leavesOf, withValueAt } from '../util/objects.js';

/** Arguments and answers that every operation has to cope with. `cloudops-mcp operations check` tries them. */

type Arguments = Readonly<Record<string, unknown>>;

/** Values that few arguments allow. `undefined` stands for a missing argument. */
const unusualValues: readonly unknown[] = [
  undefined,
  null,
  '',
  ' ',
  '..',
  'a\u202eb',
  '\ud800',
  0,
  -1,
  1.5,
  2 ** 53,
  true,
  [],
  [[]],
  [null],
  {},
  { a: 1 },
];

/** The example, no arguments at all, and the example with each argument in turn replaced by an unusual value. */
export function probeArguments(operation: Operation, example: ExampleInput): Arguments[] {
  const leaves = [...leavesOf(example)].map(([path]) => path).filter((path) => path !== '' && !path.includes('['));
  const paths = new Set([...Object.keys(operation.input().shape), ...leaves]);
  const changed = [...paths].flatMap((path) =>
    unusualValues.map((value) => ({ ...Object(withArgument(example, path, value)) })),
  );
  return [example, {}, ...changed];
}

/** `withValueAt` changes only existing arguments, but an argument at the top may be new. */
const withArgument = (example: Arguments, path: string, value: unknown): unknown =>
  path in example ? { ...example, [path]: value } : withValueAt(example, path, () => value);

/** Sizes of texts (characters) and lists (elements) to try, largest first. */
const textSizes = [65_536, 16_384, 4096, 2048, 1024, 512, 255, 128, 63, 32, 20, 16];
const listSizes = [1000, 500, 300, 100, 50, 20, 16, 10, 5, 3, 2];

/** Size limit of all arguments (characters of JSON, about). Without limits in the rules, long texts in long lists would fill the memory. */
const largestTotal = 1_100_000;
/** Characters of the JSON of a value besides its texts and names, such as quotation marks. */
const overhead = 3;

/** The rest of `room` (characters) after a value. If it is negative, nothing more is counted. Makes no JSON, which could fill the memory. */
function roomAfter(room: number, value: unknown): number {
  const left = room - overhead - (typeof value === 'string' ? value.length : 0);
  if (left < 0 || typeof value !== 'object' || value === null) return left;
  let rest = left;
  for (const [name, inner] of Object.entries(value)) {
    if (rest < 0) break;
    const nameLength = Array.isArray(value) ? 0 : name.length;
    rest = roomAfter(rest - nameLength, inner);
  }
  return rest;
}

type Step = string | number;
type Path = readonly Step[];

/** A way to enlarge a value, and the sizes to try. */
interface Growth {
  readonly sizes: readonly number[];
  readonly resize: (value: unknown, size: number) => unknown;
}

/**
 * The example, with the lists that it leaves out, and with each text and list as long as the operation's rules allow. Tries sizes and keeps
 * the first valid one.
 */
export function largestArguments(operation: Operation, example: ExampleInput): Arguments {
  const isValid = (args: unknown) => roomAfter(largestTotal, args) >= 0 && operation.input().safeParse(args).success;
  let args: unknown = withMissingLists(operation, example, isValid);
  const textPaths = pathsOf(args, (value) => typeof value === 'string');
  for (const path of textPaths) {
    args = grow(args, path, { sizes: textSizes, resize: padText }, isValid) ?? args;
  }
  // The innermost lists first, because a list of longer lists is longer.
  const listPaths = pathsOf(args, Array.isArray).reverse();
  for (const path of listPaths) {
    args =
      grow(args, path, { sizes: listSizes, resize: repeatFirst }, isValid) ??
      // The rules may refuse equal entries.
      grow(args, path, { sizes: listSizes, resize: differentEntries }, isValid) ??
      args;
  }
  return { ...Object(args) };
}

/** Arguments with the value at a path in the largest valid size. Undefined if no size is valid. */
function grow(args: unknown, path: Path, { sizes, resize }: Growth, isValid: (args: unknown) => boolean): unknown {
  for (const size of sizes) {
    const grown = withValueAtPath(args, path, (value) => resize(value, size));
    if (isValid(grown)) return grown;
  }
  return undefined;
}

/** The example, with an entry in each list that it leaves out, if the rules allow the entry. */
function withMissingLists(operation: Operation, example: ExampleInput, isValid: (args: unknown) => boolean): Arguments {
  const schema: unknown = z.toJSONSchema(operation.input(), { io: 'input', unrepresentable: 'any' });
  let args: Arguments = { ...example };
  for (const [name, property] of Object.entries(Object(Object(schema).properties))) {
    const { type, items } = Object(property);
    if (type !== 'array' || Object.hasOwn(args, name)) continue;
    const withList = { ...args, [name]: [sampleOf(items, true)] };
    if (isValid(withList)) args = withList;
  }
  return args;
}

const padText = (value: unknown, size: number) => `${value}`.padEnd(size, `${value}`.at(-1) ?? 'a');
const repeatFirst = (value: unknown, size: number) => Array.from({ length: size }, () => [value].flat()[0]);

/** Repeats the first entry, with a number at the end of each text in it. */
const differentEntries = (value: unknown, size: number) =>
  repeatFirst(value, size).map((entry, index) =>
    pathsOf(entry, (inner) => typeof inner === 'string').reduce<unknown>(
      (changed, path) => withValueAtPath(changed, path, (inner) => numbered(String(inner), index)),
      entry,
    ),
  );

/** The text with a number in place of its end. Its length stays the same, if it is long enough. */
const numbered = (text: string, index: number) =>
  text.slice(0, Math.max(1, text.length - String(index).length)) + index;

/** Paths of the values that `matches` accepts, outer ones first. Of a list, only the first element is searched. */
function pathsOf(value: unknown, matches: (value: unknown) => boolean, path: Path = []): Path[] {
  const inner = innerValues(value).flatMap(([step, field]) => pathsOf(field, matches, [...path, step]));
  return matches(value) ? [path, ...inner] : inner;
}

function innerValues(value: unknown): [Step, unknown][] {
  if (Array.isArray(value)) return value.slice(0, 1).map((element) => [0, element]);
  return isObject(value) ? Object.entries(value) : [];
}

function withValueAtPath(value: unknown, [step, ...rest]: Path, change: (value: unknown) => unknown): unknown {
  if (step === undefined) return change(value);
  if (Array.isArray(value))
    return value.map((element, index) => (index === step ? withValueAtPath(element, rest, change) : element));
  return { ...Object(value), [step]: withValueAtPath(Object(value)[step], rest, change) };
}

/** Returns a complete record, then records in which fields are missing or have unusual values. */
export function probeRecords({ output, pages }: Operation): unknown[] {
  const schema: unknown = z.toJSONSchema((pages?.page ?? output)(), { io: 'output', unrepresentable: 'any' });
  const complete = sampleOf(schema, true);
  return [complete, sampleOf(schema, false), {}, undefined, ...variantsOf(complete, 0)];
}

/** A value that a JSON Schema allows. Each boolean in it is `flag`. */
function sampleOf(schema: unknown, flag: boolean): unknown {
  const { type, properties, items, enum: allowed, anyOf } = Object(schema);
  if (Array.isArray(allowed)) return allowed[0];
  if (Array.isArray(anyOf)) return sampleOf(anyOf[0], flag);
  if (type === 'boolean') return flag;
  if (type === 'integer' || type === 'number') return 3;
  if (type === 'array') return [sampleOf(items, flag), sampleOf(items, flag)];
  if (type !== 'object') return 'a';
  return Object.fromEntries(Object.entries(Object(properties)).map(([name, inner]) => [name, sampleOf(inner, flag)]));
}

/** Levels of nesting at which fields are varied. */
const maximumDepth = 4;
const unusualFields: readonly unknown[] = [null, '', 'odd \u202e', -1, [], {}];

/** Copies of a record in which one field is missing or has an unusual value. */
function variantsOf(value: unknown, depth: number): unknown[] {
  if (depth > maximumDepth) return [];
  if (Array.isArray(value)) return [[], ...variantsOf(value[0], depth + 1).map((element) => [element])];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const { [name]: _, ...without } = value;
    const replacements = [...unusualFields, ...variantsOf(field, depth + 1)];
    return [without, ...replacements.map((replacement) => ({ ...value, [name]: replacement }))];
  });
}

import * as z from 'zod';
import type { ExampleInput, Operation } from '../tools/define-operation.js';
import { isObject, leavesOf, withValueAt } from '../util/objects.js';

/**
 * Arguments and answers that every operation must handle without a fault. `cloudops-mcp operations check` tries them without a network.
 * The field `probe` of a read is something else: the call with which `doctor` checks keys and endpoint.
 */

type Arguments = Readonly<Record<string, unknown>>;

/** Values that most arguments refuse. `undefined` stands for a missing argument. */
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

/** Returns the example, no arguments at all, and copies of the example in each of which one argument has an unusual value. */
export function probeArguments(operation: Operation, example: ExampleInput): Arguments[] {
  // An empty example has one leaf with the path ''. Elements of lists are not replaced, only whole lists.
  const innerPaths = [...leavesOf(example)].map(([path]) => path).filter((path) => path !== '' && !path.includes('['));
  const paths = new Set([...Object.keys(operation.input().shape), ...innerPaths]);
  const changed = [...paths].flatMap((path) =>
    unusualValues.map((value) => ({ ...Object(withArgument(example, path, value)) })),
  );
  return [example, {}, ...changed];
}

/** Replaces the argument at a dotted path. The name of an argument in the example is not split, because it may contain a dot. */
const withArgument = (example: Arguments, path: string, value: unknown): unknown =>
  path in example ? { ...example, [path]: value } : withValueAt(example, path, () => value);

/** Approximate size limit of all arguments (characters of JSON). */
const largestTotal = 1_100_000;
/** Approximate characters of JSON for each value besides texts and names, such as quotation marks. */
const overhead = 3;

/** Returns about how many of `available` characters remain after a value. No JSON is made, because it could fill the memory. */
function remainingAfter(available: number, value: unknown): number {
  let remaining = available - overhead - (typeof value === 'string' ? value.length : 0);
  if (typeof value !== 'object' || value === null) return remaining;
  for (const [name, inner] of Object.entries(value)) {
    if (remaining < 0) break;
    const nameLength = Array.isArray(value) ? 0 : name.length;
    remaining = remainingAfter(remaining - nameLength, inner);
  }
  return remaining;
}

type Step = string | number;
type Path = readonly Step[];

/**
 * Adds the lists that the example lacks, and then makes each text and list as large as the rules of the operation allow. These arguments
 * are tried, because some faults appear only with large values, such as wrong advice on a change that is too large to show.
 */
export function largestArguments(operation: Operation, example: ExampleInput): Arguments {
  // The total size is limited, because long texts in long lists could fill the memory.
  const isValid = (args: unknown) =>
    remainingAfter(largestTotal, args) >= 0 && operation.input().safeParse(args).success;
  let args: unknown = withMissingLists(operation, example, isValid);

  for (const path of pathsOf(args, isText)) args = firstValid(args, path, enlargedTexts, isValid);

  // Inner lists come before the lists around them, which then repeat inner lists that are already long. All entries of a list get the value
  // of the first one, with numbers at the ends of its texts if the rules refuse equal entries.
  for (const path of pathsOf(args, Array.isArray).reverse()) args = firstValid(args, path, enlargedLists, isValid);

  // For the compiler, `args` may be any value. It is always an object here.
  return { ...Object(args) };
}

/** Replaces the value at a path by the first of its `changes` that is valid. Returns the same arguments if none is. */
function firstValid(
  args: unknown,
  path: Path,
  changes: readonly ((value: unknown) => unknown)[],
  isValid: (args: unknown) => boolean,
): unknown {
  for (const change of changes) {
    const changed = withValueAtPath(args, path, change);
    if (isValid(changed)) return changed;
  }
  return args;
}

/** Adds the lists that the example leaves out, each with one entry, if the rules allow the entry. */
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

const isText = (value: unknown) => typeof value === 'string';

/** Repeats the last character of a text, for each size to try (characters). The largest size comes first. */
const enlargedTexts = [65_536, 16_384, 4096, 2048, 1024, 512, 255, 128, 63, 32, 20, 16].map(
  (size) => (value: unknown) => `${value}`.padEnd(size, `${value}`.at(-1) ?? 'a'),
);

/** Returns a list of `size` entries, each of which is the first entry of a list. */
const repeatFirst = (list: unknown, size: number) => Array.from({ length: size }, () => [list].flat()[0]);

/** Like `repeatFirst`, but each text in an entry ends with the index of the entry. */
const repeatNumbered = (list: unknown, size: number) =>
  repeatFirst(list, size).map((entry, index) => {
    let changed: unknown = entry;
    for (const path of pathsOf(entry, isText))
      changed = withValueAtPath(changed, path, (text) => numbered(String(text), index));
    return changed;
  });

/** Repeats the first entry of a list, for each size to try. Equal entries come before numbered ones, and the largest size first. */
const enlargedLists = [repeatFirst, repeatNumbered].flatMap((repeat) =>
  [1000, 500, 300, 100, 50, 20, 16, 10, 5, 3, 2].map((size) => (list: unknown) => repeat(list, size)),
);

/** Replaces the end of a text by a number. The length stays the same if the text is longer than the number. */
const numbered = (text: string, index: number) =>
  text.slice(0, Math.max(1, text.length - String(index).length)) + index;

/** Returns the paths of the values that `matches` accepts, outer values first. Of a list, only the first element is searched. */
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

/** Makes a value that a JSON Schema allows. Each boolean in it is `flag`. */
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

/** The deepest level of nesting at which fields are varied. */
const maximumDepth = 4;
const unusualFields: readonly unknown[] = [null, '', 'odd \u202e', -1, [], {}];

/** Returns copies of a value, in each of which one field is missing or unusual. Lists are also replaced by empty lists. */
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

import type { Operation } from '../tools/define-operation.js';
import { leavesOf, withValueAt } from '../util/objects.js';

type Arguments = Readonly<Record<string, unknown>>;

/** Values that are wrong nearly everywhere, the absent one included. */
const strange: readonly unknown[] = [
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

/** Arguments of calls: those of the example, with one of them missing, or of another type or value. */
export function argumentTrials(operation: Operation): Arguments[] {
  const example: Arguments = { ...operation.example };
  const paths = [...leavesOf(example)].map(([path]) => path).filter((path) => !path.includes('['));
  const names = new Set([...Object.keys(operation.input().shape), ...paths].filter((path) => path !== ''));
  const changed = [...names].flatMap((path) =>
    strange.map((value) => ({ ...Object(withValue(example, path, value)) })),
  );
  return [example, {}, ...changed];
}

/** Also where there is none yet, at the top. */
const withValue = (example: Arguments, path: string, value: unknown): unknown =>
  path in example ? { ...example, [path]: value } : withValueAt(example, path, () => value);

const lengths = [65_536, 16_384, 4096, 2048, 1024, 512, 255, 128, 63, 32, 20, 16];
const counts = [1000, 500, 300, 100, 50, 20, 16, 10, 5, 3, 2];

/** The arguments of the example with texts and lists as long as the rules allow, as far as that can be found by trying. */
export function largestArguments(operation: Operation): Arguments {
  const isValid = (args: unknown) => operation.input().safeParse(args).success;
  const grown = (
    args: unknown,
    path: readonly (string | number)[],
    sizes: readonly number[],
    grow: (value: unknown, size: number) => unknown,
  ) => {
    for (const size of sizes) {
      const larger = replaced(args, path, (value) => grow(value, size));
      if (isValid(larger)) return larger;
    }
    return args;
  };
  let args: unknown = operation.example;
  for (const path of pathsOf(args, (value) => typeof value === 'string'))
    args = grown(args, path, lengths, (value, size) => `${value}`.padEnd(size, `${value}`.at(-1) ?? 'a'));
  // The innermost lists first: a list of longer lists is longer.
  for (const path of pathsOf(args, Array.isArray).reverse())
    args = grown(args, path, counts, (value, size) => Array.from({ length: size }, () => [value].flat()[0]));
  return { ...Object(args) };
}

function pathsOf(
  value: unknown,
  wanted: (value: unknown) => boolean,
  path: readonly (string | number)[] = [],
): (string | number)[][] {
  const inner = Array.isArray(value)
    ? value.slice(0, 1).flatMap((one, index) => pathsOf(one, wanted, [...path, index]))
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, one]) => pathsOf(one, wanted, [...path, name]))
      : [];
  return wanted(value) ? [[...path], ...inner] : inner;
}

function replaced(
  value: unknown,
  [step, ...rest]: readonly (string | number)[],
  change: (value: unknown) => unknown,
): unknown {
  if (step === undefined) return change(value);
  if (Array.isArray(value)) return value.map((one, index) => (index === step ? replaced(one, rest, change) : one));
  return { ...Object(value), [step]: replaced(Object(value)[step], rest, change) };
}

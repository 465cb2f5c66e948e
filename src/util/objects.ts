export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses JSON, which may begin with a byte order mark. Returns undefined for text that is not JSON. */
export const parseJson = (text: string): unknown =>
  attempt((): unknown => JSON.parse(text.replace(/^\uFEFF/, '')), undefined);

export function attempt<Result, Otherwise>(work: () => Result, otherwise: Otherwise): Result | Otherwise {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

/** Stops at `levels`, so a very deep value cannot overflow the stack. */
export const isDeeperThan = (levels: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner)));

/** `rules[0].id` becomes `['rules', 0, 'id']`. */
export const stepsOf = (path: string): (string | number)[] =>
  path.split('.').flatMap((step) => {
    const [name = '', ...indexes] = step.split(/\[(\d+)\]/).filter((piece) => piece !== '');
    return [name, ...indexes.map(Number)];
  });

export function valueAt(fields: unknown, path: string): unknown {
  let value = fields;
  for (const step of stepsOf(path)) {
    const canHaveStep = typeof step === 'number' ? Array.isArray(value) : isObject(value);
    if (!canHaveStep || !Object.hasOwn(Object(value), step)) return undefined;
    value = Object(value)[step];
  }
  return value;
}

export const textAt = (fields: unknown, path: string): string | undefined => {
  const value = valueAt(fields, path);
  return typeof value === 'string' ? value : undefined;
};

/** `[]` stands for every element of a list: `users[].password`. */
export function textsAt(fields: unknown, path: string): string[] {
  let values: readonly unknown[] = [fields];
  for (const step of path.split(/\.|(?=\[\])/)) {
    values = values.flatMap((value) => {
      if (step === '[]') return Array.isArray(value) ? value : [];
      return isObject(value) && Object.hasOwn(value, step) ? [value[step]] : [];
    });
  }
  const leaves = values.flatMap((value) => [...leavesOf(value)]);
  return leaves.flatMap(([, leaf]) => (typeof leaf === 'string' ? [leaf] : []));
}

/** If `change` returns undefined, the field is left out. */
export function withValueAt(fields: unknown, path: string, change: (value: unknown) => unknown): unknown {
  const [step = '', ...rest] = path.split('.');
  if (!isObject(fields)) return fields;
  const { [step]: inner, ...others } = fields;
  const changed = rest.length > 0 ? withValueAt(inner, rest.join('.'), change) : change(inner);
  return changed === undefined ? others : { ...others, [step]: changed };
}

export function withTexts<Value>(value: Value, replacements: ReadonlyMap<string, string>): Value;
export function withTexts(value: unknown, replacements: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return replacements.get(value) ?? value;
  if (Array.isArray(value)) return value.map((element) => withTexts(element, replacements));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withTexts(inner, replacements)]));
}

/** Clients send null for absent fields. Elements of lists stay. */
export function withoutNulls(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
export function withoutNulls(value: unknown): unknown;
export function withoutNulls(value: unknown): unknown {
  if (!isObject(value)) return Array.isArray(value) ? value.map(withoutNulls) : value;
  const present = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(present.map(([name, field]) => [name, withoutNulls(field)]));
}

export function withoutUndefined<Fields extends object>(fields: Fields): Fields {
  const copy = { ...fields };
  for (const [name, value] of Object.entries(fields)) if (value === undefined) Reflect.deleteProperty(copy, name);
  return copy;
}

export function groupedBy<Value>(values: Iterable<Value>, keyOf: (value: Value) => string): Map<string, Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups;
}

/** Yields values with their paths: `['nodePools[0].name', 'a']`. Includes empty lists and objects. */
export function* leavesOf(value: unknown, path = ''): Generator<[string, unknown]> {
  if (Array.isArray(value) && value.length > 0)
    for (const [index, element] of value.entries()) yield* leavesOf(element, `${path}[${index}]`);
  else if (isObject(value) && Object.keys(value).length > 0)
    for (const [name, field] of Object.entries(value)) yield* leavesOf(field, path === '' ? name : `${path}.${name}`);
  else yield [path, value];
}

export function lazy<Value extends object>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

// The views import this file, and browsers have no `Buffer`.
const [quote, backslash, comma, bracket, brace] = Array.from('"\\,[{', (character) => character.charCodeAt(0));

/**
 * Counts the values of JSON, or the tags of XML.
 * Each JSON value has a comma or an opening bracket before it.
 */
export function countValues(text: string, most = Number.POSITIVE_INFINITY): number {
  if (/^\s*</.test(text)) return countCharacter('<', text, most);
  let count = 0;
  let isString = false;
  for (let at = 0; at < text.length && count <= most; at += 1) {
    const code = text.charCodeAt(at);
    if (isString && code === backslash) at += 1;
    else if (code === quote) isString = !isString;
    else if (!isString && (code === comma || code === bracket || code === brace)) count += 1;
  }
  return count;
}

export function countCharacter(character: string, text: string, most: number): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= most; at = text.indexOf(character, at + 1)) count += 1;
  return count;
}

export const mapValues = (
  object: Readonly<Record<string, unknown>>,
  convert: (value: unknown) => unknown,
): Record<string, unknown> => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, convert(value)]));

/** A JSON object or a record: neither null nor an array. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of JSON. Undefined for other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True if a value is nested deeper than a number of levels. Deeper levels are not visited. */
export const isDeeperThan = (levels: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner)));

/** The steps of a dotted path: `rules[0].id` is `['rules', 0, 'id']`. */
export const stepsOf = (path: string): (string | number)[] =>
  path.split('.').flatMap((step) => {
    const [name = '', ...indexes] = step.split(/\[(\d+)\]/).filter((piece) => piece !== '');
    return [name, ...indexes.map(Number)];
  });

/** The value at a dotted path, such as `adminCluster.name` or `rules[0].id`. */
export function valueAt(fields: unknown, path: string): unknown {
  let value = fields;
  for (const step of stepsOf(path)) {
    const canHaveStep = typeof step === 'number' ? Array.isArray(value) : isObject(value);
    if (!canHaveStep || !Object.hasOwn(Object(value), step)) return undefined;
    value = Object(value)[step];
  }
  return value;
}

/** The text at a dotted path, if there is one. */
export const textAt = (fields: unknown, path: string): string | undefined => {
  const value = valueAt(fields, path);
  return typeof value === 'string' ? value : undefined;
};

/** The texts at a dotted path, and those inside the value there. `[]` stands for each element of a list: `users[].password`. */
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

/** Copies a value and changes the field at a dotted path. If `change` returns undefined, the copy lacks the field. */
export function withValueAt(fields: unknown, path: string, change: (value: unknown) => unknown): unknown {
  const [step = '', ...rest] = path.split('.');
  if (!isObject(fields)) return fields;
  const { [step]: inner, ...others } = fields;
  const changed = rest.length > 0 ? withValueAt(inner, rest.join('.'), change) : change(inner);
  return changed === undefined ? others : { ...others, [step]: changed };
}

/** Copies a value and replaces one text by another at any depth, if the text is a whole value. */
export function withText<Value>(value: Value, text: string, replacement: string): Value;
export function withText(value: unknown, text: string, replacement: string): unknown {
  if (typeof value === 'string') return value === text ? replacement : value;
  if (Array.isArray(value)) return value.map((element) => withText(element, text, replacement));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withText(inner, text, replacement)]));
}

const holdsNull = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).some((inner) => inner === null || holdsNull(inner));

/** Copies a value without fields that are null, because clients send null for absent fields. A value without null is not copied. */
export function withoutNulls(value: unknown): unknown {
  // Answers with a thousand parts have none, and a copy would take long.
  if (!holdsNull(value)) return value;
  if (!isObject(value)) return Array.isArray(value) ? value.map(withoutNulls) : value;
  const present = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(present.map(([name, field]) => [name, withoutNulls(field)]));
}

/** A copy without fields that are undefined. */
export function withoutUndefined<Fields extends object>(fields: Fields): Fields {
  const copy = { ...fields };
  for (const [name, value] of Object.entries(fields)) if (value === undefined) Reflect.deleteProperty(copy, name);
  return copy;
}

/** The leaves of a value with their paths, such as `['nodePools[0].name', 'a']`. An empty list or object is a leaf, too. */
export function* leavesOf(value: unknown, path = ''): Generator<[string, unknown]> {
  if (Array.isArray(value) && value.length > 0)
    for (const [index, element] of value.entries()) yield* leavesOf(element, `${path}[${index}]`);
  else if (isObject(value) && Object.keys(value).length > 0)
    for (const [name, field] of Object.entries(value)) yield* leavesOf(field, path === '' ? name : `${path}.${name}`);
  else yield [path, value];
}

/** Returns a function that makes its value at the first call, and then always returns this value. */
export function lazy<Value extends object>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

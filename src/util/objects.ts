/** True for an object that is neither null nor an array. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses JSON. Returns undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True if lists and objects are nested more than `levels` deep. It stops at that depth, so a very deep value cannot overflow the stack. */
export const isDeeperThan = (levels: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner)));

/** Splits a dotted path into its steps: `rules[0].id` becomes `['rules', 0, 'id']`. */
export const stepsOf = (path: string): (string | number)[] =>
  path.split('.').flatMap((step) => {
    const [name = '', ...indexes] = step.split(/\[(\d+)\]/).filter((piece) => piece !== '');
    return [name, ...indexes.map(Number)];
  });

/** Returns the value at a dotted path, such as `adminCluster.name` or `rules[0].id`; undefined if there is none. */
export function valueAt(fields: unknown, path: string): unknown {
  let value = fields;
  for (const step of stepsOf(path)) {
    const canHaveStep = typeof step === 'number' ? Array.isArray(value) : isObject(value);
    if (!canHaveStep || !Object.hasOwn(Object(value), step)) return undefined;
    value = Object(value)[step];
  }
  return value;
}

/** Returns the text at a dotted path; undefined if there is no value, or if it is no text. */
export const textAt = (fields: unknown, path: string): string | undefined => {
  const value = valueAt(fields, path);
  return typeof value === 'string' ? value : undefined;
};

/** Returns all texts in the value at a dotted path. In the path, `[]` stands for every element of a list: `users[].password`. */
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

/** Copies an object and changes the field at a dotted path. If `change` returns undefined, the field is left out. */
export function withValueAt(fields: unknown, path: string, change: (value: unknown) => unknown): unknown {
  const [step = '', ...rest] = path.split('.');
  if (!isObject(fields)) return fields;
  const { [step]: inner, ...others } = fields;
  const changed = rest.length > 0 ? withValueAt(inner, rest.join('.'), change) : change(inner);
  return changed === undefined ? others : { ...others, [step]: changed };
}

/** Copies a value, and replaces strings that are keys of `replacements` at any depth. Strings that only contain a key stay. */
export function withTexts<Value>(value: Value, replacements: ReadonlyMap<string, string>): Value;
export function withTexts(value: unknown, replacements: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return replacements.get(value) ?? value;
  if (Array.isArray(value)) return value.map((element) => withTexts(element, replacements));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withTexts(inner, replacements)]));
}

const holdsNull = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).some((inner) => inner === null || holdsNull(inner));

/** Leaves out fields that are null, at any depth, because clients send null for absent fields. Elements of lists stay. */
export function withoutNulls(value: unknown): unknown {
  // Most values have no null, and copying an answer with a thousand parts would take long.
  if (!holdsNull(value)) return value;
  if (!isObject(value)) return Array.isArray(value) ? value.map(withoutNulls) : value;
  const present = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(present.map(([name, field]) => [name, withoutNulls(field)]));
}

/** Copies an object without the fields whose value is undefined. */
export function withoutUndefined<Fields extends object>(fields: Fields): Fields {
  const copy = { ...fields };
  for (const [name, value] of Object.entries(fields)) if (value === undefined) Reflect.deleteProperty(copy, name);
  return copy;
}

/** Yields each value that has no values inside, with its path: `['nodePools[0].name', 'a']`. Empty lists and objects are yielded too. */
export function* leavesOf(value: unknown, path = ''): Generator<[string, unknown]> {
  if (Array.isArray(value) && value.length > 0)
    for (const [index, element] of value.entries()) yield* leavesOf(element, `${path}[${index}]`);
  else if (isObject(value) && Object.keys(value).length > 0)
    for (const [name, field] of Object.entries(value)) yield* leavesOf(field, path === '' ? name : `${path}.${name}`);
  else yield [path, value];
}

/** Returns a function that calls `make` when it is called first, and returns the same value at every call. */
export function lazy<Value extends object>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

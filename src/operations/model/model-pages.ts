import * as z from 'zod';
import type { Page, PageStart, PageStep } from '../../tools/define-operation.js';
import { isObject, textAt, valueAt, withValueAt } from '../../util/objects.js';
import { say } from '../../util/safe-text.js';
import { type Model, type ModelOperation, readTrait, type StructureShape } from './model.js';

type Values = Readonly<Record<string, unknown>>;

/** How the answers of an operation are joined. Records are by the names of members. */
export interface ModelPages {
  /** Members of the input that are no arguments: the start of a page, and its size. */
  readonly hidden: readonly string[];
  /** Members of the output that hold the start of the next page. They are no secrets, and not part of the joined record. */
  readonly tokens: readonly string[];
  start(): Values;
  add(state: Values, page: Pick<Page<Values>, 'record' | 'number'>): PageStep<Values>;
  result(state: Values): Values;
  count(record: Values): number;
}

const names = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());
const pagesTrait = z.object({
  inputToken: names.optional(),
  outputToken: names.optional(),
  items: names.optional(),
  pageSize: z.string().optional(),
  moreResults: z.string().optional(),
});

/**
 * Returns the pages of an operation, if the model describes them by texts at fixed places. Otherwise, the start of a page is an argument
 * like any other.
 * @throws ModelError
 */
export function pagesOf(model: Model, operation: ModelOperation): ModelPages | undefined {
  const { service } = model;
  const own = readTrait(operation.traits, 'smithy.api#paginated', pagesTrait, operation.id);
  if (own === undefined) return undefined;
  const shared = readTrait(service.traits, 'smithy.api#paginated', pagesTrait, service.id);
  const { inputToken = [], outputToken = [], items, pageSize, moreResults } = { ...shared, ...own };
  const isComplete = inputToken.length > 0 && inputToken.length === outputToken.length;
  if (!isComplete || !inputToken.every((name) => isText(model, operation.input, name))) return undefined;
  if (!outputToken.every((path) => plainPath.test(path))) return undefined;
  const isOptional = ({ name, traits }: StructureShape['members'][number]) =>
    name === pageSize && !('smithy.api#required' in traits);
  return {
    hidden: [...inputToken, ...operation.input.members.filter(isOptional).map(({ name }) => name)],
    tokens: outputToken.map(lastName),
    start: () => ({}),
    add(state, { record, number }) {
      const joined = number === 1 ? record : join(state, record);
      if (moreResults !== undefined && valueAt(record, moreResults) === false) return { kind: 'end', state: joined };
      const after = startAfter(record, inputToken, outputToken);
      if (after !== undefined) return { kind: 'next', state: joined, after };
      if (moreResults === undefined || valueAt(record, moreResults) !== true) return { kind: 'end', state: joined };
      return { kind: 'inconsistent', problem: say`page ${number} says that more follow, but not where` };
    },
    result: (state) => outputToken.reduce<Values>(without, state),
    count: (record) => listsIn(record, items).reduce((sum, list) => sum + list.length, 0),
  };
}

/** Member names, with dots between them. */
const plainPath = /^\w+(?:\.\w+)*$/;
const lastName = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

function isText({ shape }: Model, { members }: StructureShape, name: string): boolean {
  const member = members.find((one) => one.name === name);
  if (member === undefined) return false;
  const target = shape(member.target);
  return target.kind === 'simple' && target.type === 'string';
}

/** The start of the next page: the tokens that the answer has. */
function startAfter(record: Values, inputs: readonly string[], outputs: readonly string[]): PageStart | undefined {
  const tokens = inputs.map((name, index) => [name, textAt(record, outputs[index] ?? '') ?? ''] as const);
  const present = tokens.filter(([, token]) => token !== '');
  return present.length === 0 ? undefined : Object.fromEntries(present);
}

const without = (record: Values, path: string): Values => {
  const rest = withValueAt(record, path, () => undefined);
  return isObject(rest) ? rest : record;
};

/** Joins lists at any depth of structures. Other fields are kept if all pages agree on them, such as a name but not a count. */
function join(before: Values, page: Values): Values {
  const fields = new Set([...Object.keys(before), ...Object.keys(page)]);
  return Object.fromEntries(
    [...fields].flatMap((name) => {
      const [a, b] = [before[name], page[name]];
      if (Array.isArray(a) || Array.isArray(b)) return [[name, [a ?? [], b ?? []].flat()]];
      if (isObject(a) && isObject(b)) return [[name, join(a, b)]];
      return a === b ? [[name, a]] : [];
    }),
  );
}

/** The lists of entries: those that the model names, or else all that stand outside of other lists. */
const listsIn = (record: Values, paths: readonly string[] | undefined): unknown[][] =>
  (paths?.map((path) => valueAt(record, path)) ?? Object.values(record)).filter(Array.isArray);

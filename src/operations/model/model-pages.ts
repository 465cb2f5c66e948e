import * as z from 'zod';
import type { Page, PageStart, PageStep } from '../../tools/define-operation.js';
import { isObject, textAt, valueAt, withValueAt } from '../../util/objects.js';
import { say } from '../../util/safe-text.js';
import { hasTrait, type Model, type ModelOperation, readTrait, type Shape } from './model.js';

type Values = Readonly<Record<string, unknown>>;

/** How the pages of an operation are joined. Fields of records have the names of members of the model. */
export interface ModelPages {
  /** Members of the input that are no arguments: the start of a page, and its size. */
  readonly hidden: readonly string[];
  /** Members of the output that hold the start of the next page. They are never masked, and not part of the joined record. */
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
 * Returns how the pages of an operation are read. Undefined if the model describes no pages, or if their starts are not texts at fixed
 * places. Then the start of a page is an argument like any other.
 * @throws ModelError
 */
export function pagesOf(model: Model, operation: ModelOperation): ModelPages | undefined {
  const trait = pagesTraitOf(model, operation);
  if (trait === undefined) return undefined;
  const { inputToken, outputToken, items, pageSize, moreResults } = trait;
  const sizeMember = operation.input.members.find(({ name }) => name === pageSize);
  const isSizeOptional = sizeMember !== undefined && !hasTrait(sizeMember.traits, 'smithy.api#required');
  return {
    hidden: isSizeOptional ? [...inputToken, sizeMember.name] : inputToken,
    tokens: outputToken.map(lastName),
    start: () => ({}),
    add(state, { record, number }) {
      const joined = number === 1 ? record : join(state, record);
      const hasMore = moreResults === undefined ? undefined : valueAt(record, moreResults);
      if (hasMore === false) return { kind: 'end', state: joined };
      const after = startAfter(record, inputToken, outputToken);
      if (after !== undefined) return { kind: 'next', state: joined, after };
      if (hasMore !== true) return { kind: 'end', state: joined };
      return { kind: 'inconsistent', problem: say`page ${number} says that more follow, but not where` };
    },
    result: (state) => outputToken.reduce<Values>(without, state),
    count: (record) => listsIn(record, items).reduce((sum, list) => sum + list.length, 0),
  };
}

/** The trait of an operation, completed by the trait of the service. Undefined if the starts of pages are not texts at fixed places. */
function pagesTraitOf({ service, shape }: Model, { id, traits, input }: ModelOperation) {
  const ofOperation = readTrait(traits, 'smithy.api#paginated', pagesTrait, id);
  if (ofOperation === undefined) return undefined;
  const ofService = readTrait(service.traits, 'smithy.api#paginated', pagesTrait, service.id);
  const { inputToken = [], outputToken = [], ...others } = { ...ofService, ...ofOperation };
  const tokenMembers = input.members.filter(({ name }) => inputToken.includes(name));
  const textTokens = tokenMembers.filter(({ target }) => isText(shape(target))).map(({ name }) => name);
  const isUsable =
    inputToken.length > 0 &&
    inputToken.length === outputToken.length &&
    inputToken.every((name) => textTokens.includes(name)) &&
    outputToken.every((path) => plainPath.test(path));
  return isUsable ? { inputToken, outputToken, ...others } : undefined;
}

const isText = (shape: Shape): boolean => shape.kind === 'simple' && shape.type === 'string';

/** Member names, with dots between them. */
const plainPath = /^\w+(?:\.\w+)*$/;
const lastName = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

/** The start of the next page: the tokens that the answer has. */
function startAfter(record: Values, inputs: readonly string[], outputs: readonly string[]): PageStart | undefined {
  const tokens = inputs.map((name, index) => [name, textAt(record, outputs[index] ?? '') ?? ''] as const);
  const present = tokens.filter(([, token]) => token !== '');
  return present.length === 0 ? undefined : Object.fromEntries(present);
}

/** The record without the field at a path. */
const without = (record: Values, path: string): Values => {
  const rest = withValueAt(record, path, () => undefined);
  return isObject(rest) ? rest : record;
};

/** Joins lists at any depth of structures. Other fields are kept if all pages agree on them, such as a name but not a count. */
function join(before: Values, page: Values): Values {
  const fields = new Set([...Object.keys(before), ...Object.keys(page)]);
  return Object.fromEntries(
    [...fields].flatMap((name) => {
      const [first, second] = [before[name], page[name]];
      if (Array.isArray(first) || Array.isArray(second)) return [[name, [first ?? [], second ?? []].flat()]];
      if (isObject(first) && isObject(second)) return [[name, join(first, second)]];
      return first === second ? [[name, first]] : [];
    }),
  );
}

/** The lists of entries: those that the model names, or else all that stand outside of other lists. */
const listsIn = (record: Values, paths: readonly string[] | undefined): unknown[][] =>
  (paths?.map((path) => valueAt(record, path)) ?? Object.values(record)).filter(Array.isArray);

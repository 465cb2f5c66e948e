import * as z from 'zod';
import type { Page, PageStart, PageStep } from '../../tools/define-operation.js';
import { isObject, textAt, valueAt, withValueAt } from '../../util/objects.js';
import { say } from '../../util/safe-text.js';
import { hasTrait, type Member, type Model, type ModelOperation, readTrait, type Shape } from './model.js';

type Values = Readonly<Record<string, unknown>>;

/** The pages of an operation. Fields of records have the names of members in the model. */
export interface ModelPages {
  /** Members of the input that are no arguments: the size of pages, which the API chooses. */
  readonly hidden: readonly string[];
  /** Members of the input with the token of the first page to read. They are optional arguments, so that a later call can read on. */
  readonly inputTokens: readonly string[];
  /** Paths of the fields with the tokens of the next page. */
  readonly outputTokens: readonly string[];
  /** Last names of `outputTokens`. */
  readonly tokens: readonly string[];
  /** Path of the list with the entries of all pages, if the model names one. */
  readonly items: string | undefined;
  /** Returns for each token in the joined record its member of the input and its path. Empty if all pages were read. */
  readonly restOf: (record: Values) => readonly { readonly member: string; readonly path: string }[];
  /** Joins the records of the pages. The state is the joined record of the pages so far. */
  readonly reducer: {
    start(): Values;
    add(state: Values, page: Pick<Page<Values>, 'record' | 'number'>): PageStep<Values>;
    result(state: Values, input: Values, companion?: Values, rest?: PageStart): Values;
    count(record: Values): number;
  };
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
 * Returns how the pages of an operation are read. The answer with a page has a token, which the request for the next page sends. Undefined if
 * the model describes no pages, or describes them in a way that is not supported. A caller then sets the token by an argument.
 * @throws ModelError if the trait is invalid
 */
export function pagesOf(model: Model, operation: ModelOperation): ModelPages | undefined {
  const trait = pagesTraitOf(model, operation);
  if (trait === undefined) return undefined;
  // An optional page size is hidden, because the API chooses it. A caller has to give a required size.
  const isOptionalSize = ({ name, traits }: Member) =>
    name === trait.pageSize && !hasTrait(traits, 'smithy.api#required');
  const hiddenSizes = operation.input.members.filter(isOptionalSize).map(({ name }) => name);
  return {
    hidden: hiddenSizes,
    inputTokens: trait.inputTokens,
    outputTokens: trait.outputTokens,
    tokens: trait.outputTokens.map(lastName),
    items: trait.items?.[0],
    restOf: (record) =>
      trait.inputTokens.flatMap((member, index) => {
        const path = trait.outputTokens[index];
        return path === undefined || textAt(record, path) === undefined ? [] : [{ member, path }];
      }),
    reducer: createReducer(trait),
  };
}

/** The trait of an operation whose pages can be read: for each token, a member of the input and a path in the output. */
interface PagesTrait {
  readonly inputTokens: readonly string[];
  readonly outputTokens: readonly string[];
  /** Path of a field that says if more pages follow. */
  readonly moreResults?: string | undefined;
  /** Paths of the lists whose entries are counted. */
  readonly items?: readonly string[] | undefined;
  /** Member with the size of a page. */
  readonly pageSize?: string | undefined;
}

/** Returns the functions that join the records of pages with `joinRecords`: lists are appended, and other fields are kept if they are equal. */
const createReducer = ({ inputTokens, outputTokens, moreResults, items }: PagesTrait): ModelPages['reducer'] => ({
  start: () => ({}),
  add(state, { record, number: pageNumber }) {
    // The first page is not joined with the empty state, because joining would drop its fields that are no lists.
    const joined = pageNumber === 1 ? record : joinRecords(state, record);

    // `false` ends the pages even if the answer has a token.
    const saysMore: unknown = moreResults === undefined ? undefined : valueAt(record, moreResults);
    if (saysMore === false) return { kind: 'end', state: joined };

    const nextTokens = tokensAfter(record, inputTokens, outputTokens);
    if (nextTokens !== undefined) return { kind: 'next', state: joined, after: nextTokens };
    if (saysMore === true)
      return { kind: 'inconsistent', problem: say`page ${pageNumber} says that more follow, but not where` };
    return { kind: 'end', state: joined };
  },
  // The tokens of pages that were read are removed. If a limit stopped the reading, the tokens of the first unread page take their place.
  result: (state, _input, _companion, rest) =>
    outputTokens.reduce<Values>(
      (record, path, index) => withField(record, path, rest?.[inputTokens[index] ?? '']),
      state,
    ),
  count: (record) => listsIn(record, items).reduce((sum, list) => sum + list.length, 0),
});

/** Returns the trait, completed by the trait of the service. Undefined unless all tokens are texts, with plain paths in the output. */
function pagesTraitOf({ service, shape }: Model, { id, traits, input }: ModelOperation): PagesTrait | undefined {
  const ofOperation = readTrait(traits, 'smithy.api#paginated', pagesTrait, id);
  if (ofOperation === undefined) return undefined;
  const ofService = readTrait(service.traits, 'smithy.api#paginated', pagesTrait, service.id);
  const { inputToken: inputTokens = [], outputToken: outputTokens = [], ...others } = { ...ofService, ...ofOperation };
  const tokenMembers = input.members.filter(({ name }) => inputTokens.includes(name));
  const textTokens = tokenMembers.filter(({ target }) => isText(shape(target))).map(({ name }) => name);
  const isUsable =
    inputTokens.length > 0 &&
    inputTokens.length === outputTokens.length &&
    inputTokens.every((name) => textTokens.includes(name)) &&
    outputTokens.every((path) => plainPath.test(path));
  return isUsable ? { inputTokens, outputTokens, ...others } : undefined;
}

const isText = (shape: Shape): boolean => shape.kind === 'simple' && shape.type === 'string';

/** A path of member names with dots between them. Smithy also allows expressions there. */
const plainPath = /^\w+(?:\.\w+)*$/;
const lastName = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

/**
 * Returns the tokens for the next page: for each member of the input in `inputs`, the token at the path with the same index in `outputs`.
 * Undefined if the answer has no token, because its page is then the last.
 */
function tokensAfter(record: Values, inputs: readonly string[], outputs: readonly string[]): PageStart | undefined {
  const tokens: Record<string, string> = {};
  for (const [index, path] of outputs.entries()) {
    const input = inputs[index];
    const token = textAt(record, path);
    // Some APIs end the last page with an empty token.
    if (input !== undefined && token !== undefined && token !== '') tokens[input] = token;
  }
  return Object.keys(tokens).length === 0 ? undefined : tokens;
}

/** Returns the record with another value at a path, or without the field if the value is undefined. */
const withField = (record: Values, path: string, value: string | undefined): Values => {
  const changed = withValueAt(record, path, () => value);
  return isObject(changed) ? changed : record;
};

/** Joins lists, also inside of structures. Another field is kept only if both records have the same value: a name, but not a count. */
function joinRecords(earlier: Values, page: Values): Values {
  const fields = new Set([...Object.keys(earlier), ...Object.keys(page)]);
  return Object.fromEntries(
    [...fields].flatMap((name) => {
      const [before, after] = [earlier[name], page[name]];
      if (Array.isArray(before) || Array.isArray(after)) return [[name, [before ?? [], after ?? []].flat()]];
      if (isObject(before) && isObject(after)) return [[name, joinRecords(before, after)]];
      return before === after ? [[name, before]] : [];
    }),
  );
}

/** Returns the lists whose entries are counted: those that the model names, or else all lists that are fields of the record. */
const listsIn = (record: Values, paths: readonly string[] | undefined): unknown[][] =>
  (paths?.map((path) => valueAt(record, path)) ?? Object.values(record)).filter(Array.isArray);

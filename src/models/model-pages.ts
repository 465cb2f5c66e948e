import * as z from 'zod';
import type { Page, PageStart, PageStep } from '../tools/define-operation.js';
import { isObject, parseJson, valueAt, withValueAt } from '../util/objects.js';
import { say } from '../util/safe-text.js';
import { type Model, type ModelOperation, readTrait, type StructureShape } from './model.js';

type Values = Readonly<Record<string, unknown>>;

export interface PageToken {
  readonly member: string;
  /** Path of the token of the next page in the output. */
  readonly path: string;
  /** True for a map, which is JSON text between two pages. */
  readonly isMap: boolean;
}

const names = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());
const pagesTrait = z.object({
  inputToken: names.optional(),
  outputToken: names.optional(),
  items: names.optional(),
  moreResults: z.string().optional(),
});

/** For models that do not describe pages. The first pair that fits counts. */
const usualTokens: readonly (readonly [inputToken: string, outputToken: string])[] = [
  ['NextToken', 'NextToken'],
  ['Marker', 'NextMarker'],
  ['Marker', 'NextPageMarker'],
  ['Marker', 'Marker'],
  ['NextMarker', 'NextMarker'],
  ['PageToken', 'NextPageToken'],
  ['PageToken', 'PageToken'],
  ['NextPageToken', 'NextPageToken'],
  ['StartingToken', 'NextToken'],
  ['ContinuationToken', 'NextContinuationToken'],
  ['ContinuationToken', 'ContinuationToken'],
  ['PaginationToken', 'PaginationToken'],
  ['ExclusiveStartKey', 'LastEvaluatedKey'],
];

function usualPages({ input, output }: ModelOperation): z.output<typeof pagesTrait> | undefined {
  const named = ({ members }: StructureShape, wanted: string) =>
    members.map(({ name }) => name).filter((name) => name.toLowerCase() === wanted.toLowerCase());
  const pairs = usualTokens.map(([inputName, outputName]) => ({
    inputToken: named(input, inputName),
    outputToken: named(output, outputName),
  }));
  return pairs.find(({ inputToken, outputToken }) => inputToken.length === 1 && outputToken.length === 1);
}

/** @throws ModelError if the trait is invalid */
export function pagesOf({ service }: Model, operation: ModelOperation) {
  const { id, traits, input } = operation;
  const ofOperation = readTrait(traits, 'smithy.api#paginated', pagesTrait, id) ?? usualPages(operation);
  if (ofOperation === undefined) return undefined;
  const ofService = readTrait(service.traits, 'smithy.api#paginated', pagesTrait, service.id);
  const trait = { ...ofService, ...ofOperation };

  const { inputToken: tokenMembers = [], outputToken: tokenPaths = [], items } = trait;
  const kinds = new Map(input.members.map(({ name, shape }) => [name, shape.kind]));
  const tokens = tokenMembers.flatMap((member, index) => {
    const path = tokenPaths[index] ?? '';
    const kind = kinds.get(member);
    // Paths may be expressions.
    return (kind === 'text' || kind === 'map') && /^\w+(?:\.\w+)*$/.test(path)
      ? [{ member, path, isMap: kind === 'map' }]
      : [];
  });
  const areAllSupported = tokens.length === tokenMembers.length && tokens.length === tokenPaths.length;
  if (tokens.length === 0 || !areAllSupported) return undefined;

  return { tokens, items: items?.[0], reducer: createReducer(tokens, trait) };
}

const createReducer = (tokens: readonly PageToken[], { moreResults, items }: z.output<typeof pagesTrait>) => ({
  start: (): Values => ({}),
  add(state: Values, { record, number: pageNumber }: Pick<Page<Values>, 'record' | 'number'>): PageStep<Values> {
    // Joining the first page with the empty state would drop its fields that are no lists.
    const joined = pageNumber === 1 ? record : joinRecords(state, record);

    // `false` ends the pages even if the answer has a token.
    const saysMore: unknown = moreResults === undefined ? undefined : valueAt(record, moreResults);
    if (saysMore === false) return { kind: 'end', state: joined };

    const nextTokens = tokensAfter(record, tokens);
    if (nextTokens !== undefined) return { kind: 'next', state: joined, after: nextTokens };
    const doubt = saysMore === true ? say`page ${pageNumber} says that more follow, but not where` : undefined;
    return { kind: 'end', state: joined, doubt };
  },
  /** Only the tokens of `unread`, the start of the first page that was not read, are kept. */
  result: (state: Values, unread?: PageStart): Values =>
    tokens.reduce<Values>((record, { member, path, isMap }) => {
      const token = unread?.[member];
      const changed = withValueAt(record, path, () => (isMap && token !== undefined ? parseJson(token) : token));
      return isObject(changed) ? changed : record;
    }, state),
  count: (record: Values): number => {
    const values = items?.map((path) => valueAt(record, path)) ?? Object.values(record);
    return values.filter(Array.isArray).reduce((sum, list) => sum + list.length, 0);
  },
});

function tokensAfter(record: Values, tokens: readonly PageToken[]): PageStart | undefined {
  const entries = tokens.map(({ member, path, isMap }) => {
    const token = valueAt(record, path);
    const text = isMap ? JSON.stringify(token ?? {}) : token;
    return [member, typeof text === 'string' && text !== '{}' ? text : ''] as const;
  });
  // Some APIs send an empty token with the last page.
  const present = entries.filter(([, token]) => token !== '');
  return present.length === 0 ? undefined : Object.fromEntries(present);
}

/** Joins lists, also inside of structures, and adds up counts. Other fields are kept only if they are equal. */
function joinRecords(earlier: Values, page: Values): Values {
  const fields = new Set([...Object.keys(earlier), ...Object.keys(page)]);
  return Object.fromEntries(
    [...fields].flatMap((name) => {
      const [before, after] = [earlier[name], page[name]];
      if (Array.isArray(before) || Array.isArray(after)) return [[name, [before ?? [], after ?? []].flat()]];
      if (isObject(before) && isObject(after)) return [[name, joinRecords(before, after)]];
      if (/count$/i.test(name) && typeof before === 'number' && typeof after === 'number')
        return [[name, before + after]];
      return before === after ? [[name, before]] : [];
    }),
  );
}

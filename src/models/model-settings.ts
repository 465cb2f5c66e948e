import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import type { Follow } from '../tools/define-operation.js';
import { unknownName } from '../util/did-you-mean.js';
import { valueAt } from '../util/objects.js';

/** An object with these fields only. The message about another field suggests the nearest. */
export const onlyFields = <Shape extends z.core.$ZodLooseShape>(shape: Shape, message?: string) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownName(key, 'a field', Object.keys(shape))).join('; ')
        : message,
  });

const limitedText = (limit: number) =>
  z.string('must be text').min(1, 'must not be empty').max(limit, `must have at most ${limit} characters`);

const matching = (rule: RegExp, expected: string) => z.string('must be text').regex(rule, `must be ${expected}`);

const sourcePath = matching(/^(input|answer)\.[\w.[\]-]{1,200}$/, 'a path such as input.instanceId');

export const followSchema = onlyFields({
  read: limitedText(100),
  arguments: z.record(
    limitedText(100),
    z.union([sourcePath, z.tuple([sourcePath])], 'must be a path such as input.instanceId, or a list of one such path'),
  ),
  done: z.record(z.string(), limitedText(500)).optional(),
  failed: z.record(z.string(), z.array(limitedText(500)).max(50)).optional(),
  gone: z.boolean('must be true or false').optional(),
}) satisfies z.ZodType<Follow>;

const trueOrFalse = z.boolean('must be true or false');
const sentences = z.array(limitedText(500), 'must be a list of sentences').max(30, 'must have at most 30 sentences');
const names = z.array(limitedText(200), 'must be a list of names').max(200, 'must have at most 200 names');
export const operationSettings = onlyFields(
  {
    effect: z.enum(['read', 'create', 'alter', 'delete'], 'must be read, create, alter or delete'),
    effectIsSure: trueOrFalse.optional(),
    name: limitedText(64).optional(),
    description: limitedText(1000).optional(),
    costsMoney: trueOrFalse.optional(),
    irreversible: trueOrFalse.optional(),
    continues: trueOrFalse.optional(),
    consequences: sentences.optional(),
    notChecked: sentences.optional(),
    secretNames: names.default([]),
    notSecret: names.default([]),
    show: names.default([]),
    failures: z.union([limitedText(200), z.literal(false)], 'must be the path of a list, or false').optional(),
    follow: z.union([followSchema, z.literal(false)]).optional(),
    example: z.record(z.string(), z.unknown()).optional(),
  },
  'must be an object with effect',
);

export const modelSettings = onlyFields({
  api: matching(
    /^(?!constructor$)[a-z][a-z0-9-]{0,30}$/,
    'the name of the API in settings, such as devops: lowercase letters, digits and "-", at most 31',
  ),
  prefix: matching(/^[a-z][a-z0-9_]{0,30}$/, 'lowercase letters, digits and "_", beginning with a letter').optional(),
  region: matching(/^(?=.{1,32}$)[a-z0-9]+(-[a-z0-9]+)*$/, 'the name of a region').optional(),
  useHostPrefix: trueOrFalse.default(false),
  operations: z.record(z.string(), operationSettings, 'must be an object with an entry for each operation'),
});

const { api, region, useHostPrefix } = modelSettings.shape;

/** The settings of a service. Operations without an effect get the one that the model suggests. */
export const serviceSettings = onlyFields({
  model: limitedText(1000),
  api: api.optional(),
  region,
  useHostPrefix,
  operations: z
    .record(z.string(), onlyFields({ ...operationSettings.shape, effect: operationSettings.shape.effect.optional() }))
    .optional(),
});

export type ParsedSettings = z.output<typeof modelSettings>;
/** The settings of a service in a file of operations, except the model and the API. */
export type ServiceSettings = Omit<z.output<typeof serviceSettings>, 'model' | 'api'>;
export type OperationSettings = z.output<typeof operationSettings>;

/** Returns the problem in an issue of a schema, after the path of the field. */
function problemOf(value: unknown, { path, code, message }: z.core.$ZodIssue): string {
  const name = toDotPath(path);
  const problem = code === 'unrecognized_keys' || valueAt(value, name) !== undefined ? message : 'is missing';
  return name === '' ? problem : `${name}: ${problem}`;
}

/** The error for a file of operations, or a part of it, that cannot be used. Each problem is a sentence without a full stop. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
  readonly problems: readonly string[];

  constructor(...problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/** @throws UnusableFile with the problems, each of which begins with the path of a field */
export function parsed<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const { data, error } = schema.safeParse(value);
  if (data === undefined) throw new UnusableFile(...(error?.issues ?? []).map((issue) => problemOf(value, issue)));
  return data;
}

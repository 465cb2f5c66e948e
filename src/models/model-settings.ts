import * as z from 'zod';
import { followSchema, limitedText, matching, onlyFields } from './settings-schema.js';

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

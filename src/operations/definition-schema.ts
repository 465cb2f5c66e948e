import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { decideTool } from '../mcp/views/contract/apps.js';
import { builtInServices, type Change, type Operation } from '../tools/define-operation.js';
import { lazy } from '../util/objects.js';

/** The shape of an operation that comes from outside: every field, and how long its texts may be. */

const definition = lazy(() => {
  const text = (longest: number) =>
    z.string('must be text').min(1, 'must not be empty').max(longest, `must have at most ${longest} characters`);
  const sentences = z.array(text(500), 'must be a list of sentences').max(30);
  const callback = z.custom<(...given: never[]) => unknown>(
    (value) => typeof value === 'function',
    'must be a function',
  );
  const flag = z.boolean('must be true or false');
  const name = (rule: RegExp, called: string) => z.string('must be text').regex(rule, `must be ${called}`);
  const words = z.record(z.string(), text(500));
  const toolName = name(
    /^[a-z][a-z0-9_]{0,63}$/,
    'lowercase letters, digits and "_", at most 64, beginning with a letter',
  );
  const other = z.custom<Operation>(isNamed, 'must be an operation');

  const defaults = z.array(
    z.strictObject({ path: text(200), value: text(200), inRegion: z.record(z.string(), text(200)).optional() }),
  );

  const change = z.strictObject({
    costsMoney: flag,
    irreversible: flag.optional(),
    continues: flag,
    headline: callback,
    brief: callback.optional(),
    accept: callback,
    consequences: callback,
    warnings: callback,
    notChecked: sentences,
    named: z.array(text(200)),
    verificationHint: callback,
    ifTooLarge: text(300).optional(),
    contradictions: callback.optional(),
  } satisfies Record<keyof Change, z.ZodType>);

  const pages = z.strictObject({
    page: callback,
    start: callback,
    add: callback,
    result: callback,
    parts: callback.optional(),
    count: callback,
  } satisfies Record<keyof NonNullable<Operation['pages']>, z.ZodType>);

  return z.strictObject({
    name: toolName,
    api: text(100),
    title: text(100),
    // Some clients show models every description at once.
    description: text(1000),
    effect: z.enum(['read', 'create', 'alter', 'delete'], 'must be read, create, alter or delete'),
    service: name(/^[a-z][a-z0-9-]{0,30}$/, 'lowercase letters, digits and "-", at most 31, beginning with a letter'),
    signing: z
      .strictObject({
        service: name(/^[\w-]{1,64}$/, 'a service name'),
        headers: z.enum(['s3', 'api'], 'must be s3 or api'),
      })
      .optional(),
    method: z.enum(['GET', 'POST', 'PUT', 'DELETE'], 'must be GET, POST, PUT or DELETE'),
    answer: z.enum(['json', 'xml', 'none'], 'must be json, xml or none'),
    extension: z.literal('s3', 'must be s3').optional(),
    input: callback,
    example: z.record(z.string(), z.unknown(), 'must be an object'),
    secrets: z.array(text(200)).optional(),
    secretNames: words.optional(),
    defaults,
    unknownDefaults: z.array(text(200)).optional(),
    costDrivers: z.array(text(200)).optional(),
    regions: z.array(text(32)).optional(),
    undocumented: sentences,
    limitations: sentences,
    errors: words.optional(),
    exact: z.array(text(200)).optional(),
    tellIfMissing: words.optional(),
    instructions: z
      .array(z.strictObject({ text: text(300), unless: toolName.optional() }))
      .max(5)
      .optional(),
    output: callback,
    request: callback,
    extract: callback,
    change: change.optional(),
    pages: pages.optional(),
    probe: z.strictObject({ arguments: z.record(z.string(), z.unknown()), accepted: z.array(text(100)) }).optional(),
    preflight: z.strictObject({ operation: other, input: callback }).optional(),
    companionRead: z
      .strictObject({ operation: other, input: callback, maximumPages: z.int().min(1).max(100) })
      .optional(),
    repeatable: flag.optional(),
    summarize: callback,
    next: callback.optional(),
  } satisfies Record<Exclude<keyof Operation, 'schemas'>, z.ZodType>);
});

function isNamed(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'name' in value && 'request' in value;
}

/** The problems of an operation's fields, with the field first. Empty if it is one. */
export function definitionProblems(given: unknown): string[] {
  if (typeof given !== 'object' || given === null)
    return ['must be an operation: what kit.defineOperation answers with'];
  const { error } = definition().safeParse(given);
  if (error === undefined) return meaningProblems(given as Operation);
  return error.issues.flatMap((issue) => {
    const path = toDotPath(issue.path);
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => `${[path, key].filter(Boolean).join('.')}: is not a field`);
    const isMissing = valueAtPath(given, issue.path) === undefined;
    return [`${path}: ${isMissing ? 'is missing' : issue.message}`];
  });
}

const valueAtPath = (given: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((at, step) => (at === undefined || at === null ? undefined : Object(at)[step]), given);

/** Fields that are fine alone and not together. */
function meaningProblems(operation: Operation): string[] {
  const { name, effect, method, service, signing, change, pages, probe } = operation;
  const isBuiltIn = builtInServices.some((one) => one === service);
  const rules: readonly (readonly [boolean, string])[] = [
    [name in {} || name === decideTool, 'name: is taken'],
    [service in {}, 'service: is taken'],
    [isBuiltIn && signing !== undefined, `signing: must be left out for ${service}, which settings describe`],
    [
      !isBuiltIn && signing === undefined,
      `signing: is missing, which an API beside ${builtInServices.join(', ')} needs`,
    ],
    [effect === 'read' && change !== undefined, 'change: must be left out of a read'],
    [effect !== 'read' && change === undefined, 'change: is missing, which every operation that is not a read needs'],
    [effect !== 'read' && pages !== undefined, 'pages: must be left out of what is not a read'],
    [effect !== 'read' && probe !== undefined, 'probe: must be left out of what is not a read'],
    [effect === 'read' && (method === 'PUT' || method === 'DELETE'), `method: must not be ${method} for a read`],
  ];
  return rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));
}

import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import type { Operation } from '../tools/define-operation.js';
import { actions, actors } from '../tools/next.js';
import { OperationFault } from '../tools/operation-fault.js';
import type { RequestBody } from '../tools/request-body.js';
import { lazy } from '../util/objects.js';
import { quote } from '../util/quote.js';
import { defaultTimeLimits, Endless, watched } from './run-with-limit.js';

/** The most characters of a path: more than servers take. */
const longestPath = 16_384;

type AnyFunction = (...given: never[]) => unknown;

/** In place of `request` for what speaks S3: an object may be called "..". */
const requestOfStore = 'request of a store';

/** The answer that each function has to give, by its path. */
const answersByPath = lazy((): Readonly<Record<string, z.ZodType>> => {
  const text = z.string('must be text').min(1, 'must not be empty').max(4000, 'must have at most 4000 characters');
  const texts = z.array(text, 'must be a list of texts').max(100, 'must have at most 100 entries');
  const anything = z.unknown();
  const record = z.record(z.string(), z.unknown(), 'must be an object');
  const schema = z.custom<z.ZodObject>((value) => value instanceof z.ZodObject, 'must be an object schema of kit.z');

  const bodies = z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('json'), value: record, contentMd5: z.boolean().optional() }),
    z.strictObject({
      kind: z.literal('xml'),
      root: z.string(),
      namespace: z.string().optional(),
      value: record,
      contentMd5: z.boolean().optional(),
    }),
  ]);

  const path = z
    .string('must be text')
    .regex(/^\/[!-~]*$/, 'must begin with "/" and be percent-encoded')
    .regex(/^[^?#\\]*$/, 'must have no query')
    .max(longestPath, `must have at most ${longestPath} characters`);
  const request = z.strictObject({
    path: path.refine(
      (value) => !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(value),
      'must not hold ".." or ".", which addresses another resource: fields.pathName() refuses both',
    ),
    query: z
      .record(z.string(), z.union([z.string(), z.literal(true)], 'must be text, or true'), 'must be an object')
      .optional(),
    body: z
      .custom<RequestBody>((body) => bodies.safeParse(body).success, 'must be made by kit.json or kit.xml')
      .optional(),
    region: z
      .string('must be text')
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a region name')
      .max(32)
      .optional(),
  });

  const step = z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('end'), state: anything }),
    z.strictObject({ kind: z.literal('next'), state: anything, after: z.record(z.string(), z.string().max(4096)) }),
    z.strictObject({ kind: z.literal('inconsistent'), problem: text }),
  ]);

  return {
    input: schema,
    output: schema,
    request,
    [requestOfStore]: request.extend({ path }),
    extract: anything,
    summarize: text,
    next: z.strictObject({ who: z.enum(actors), action: z.enum(actions), text }).optional(),
    'change.headline': text,
    'change.brief': text,
    'change.accept': text,
    'change.consequences': texts,
    'change.warnings': texts,
    'change.verificationHint': text,
    'change.contradictions': texts,
    'pages.page': schema,
    'pages.start': anything,
    'pages.add': step,
    'pages.result': record,
    'pages.parts': z.array(anything).optional(),
    'pages.count': z.int('must be a whole number').min(0),
    'before.input': record,
    'beside.input': record.optional(),
  };
});

/** Takes a fault. What caused it is `Endless` for a function that did not end. */
type Report = (fault: OperationFault) => void;

export interface GuardOptions {
  /** Is told of each fault. */
  readonly report?: Report;
  /** Tells the texts that the kit made, in which names from outside are quoted. */
  readonly isShown?: (text: string) => boolean;
  /** See `TimeLimits`. */
  readonly callMs?: number;
}

/**
 * An operation whose functions cannot do harm by a mistake: each that throws, or answers with something else than it should, throws
 * an `OperationFault` that names it.
 */
export function guarded(
  operation: Operation,
  { report = () => undefined, isShown = () => true, callMs = defaultTimeLimits.callMs }: GuardOptions = {},
): Operation {
  const { name: operationName, service, signing } = operation;
  const isOfStore = service === 'storage' || signing?.headers === 's3';
  const guarding = { report, isShown, callMs, isOfStore };
  const guardAll = (fields: object, prefix: string): object =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => {
        const path = prefix + name;
        if (typeof value === 'function') return [name, guard(operationName, path, value, guarding)];
        return [name, holders.includes(path) && value !== undefined ? guardAll(value, `${path}.`) : value];
      }),
    );
  return guardAll(operation, '') as Operation;
}

/** Fields that hold functions. */
const holders: readonly string[] = ['change', 'pages', 'preflight', 'companionRead'];

/** Functions whose answer has a state, which may be anything: nothing but the operation looks at it. */
const statePaths: readonly string[] = ['pages.start', 'pages.add'];

/** A copy of what JSON can hold. @throws TypeError for what it cannot */
const asData = (answer: unknown): unknown =>
  answer === undefined ? undefined : JSON.parse(JSON.stringify(answer) ?? 'null');

/** Functions that answer with a schema. It is made once. */
const schemaMakers: readonly string[] = ['input', 'output', 'pages.page'];

interface Guarding extends Required<GuardOptions> {
  /** True if it speaks S3. */
  readonly isOfStore: boolean;
}

function guard(operation: string, path: string, callback: AnyFunction, guarding: Guarding): AnyFunction {
  const { isShown, isOfStore } = guarding;
  const expected = answersByPath()[path === 'request' && isOfStore ? requestOfStore : path] ?? z.unknown();
  const problem = (what: string, cause?: unknown) => {
    const fault = new OperationFault(`${operation}: ${path} ${what}`, { cause });
    guarding.report(fault);
    return fault;
  };
  const isData = !schemaMakers.includes(path) && !statePaths.includes(path);
  // Whatever an answer does when it is looked at, it does here: what is checked is what is used.
  const look = (answer: unknown) => {
    if (answer instanceof Promise) {
      // Nobody waits for it, and a rejection that nobody takes would end the process.
      answer.catch(() => undefined);
      throw problem('must not be asynchronous');
    }
    const { data, error } = expected.safeParse(isData ? asData(answer) : answer);
    if (error === undefined) {
      const plain = textsOf(path, data).find((one) => !isShown(one));
      if (plain === undefined) return data;
      throw problem(
        `must answer with what kit.say made, which quotes names: as docs/OPERATIONS.md shows. This is plain text: ${quote(plain, 100)}`,
      );
    }
    const [issue] = error.issues;
    const at = issue === undefined || issue.path.length === 0 ? '' : `${toDotPath(issue.path)} `;
    throw problem(`does not answer as it should: ${at}${issue?.message}`);
  };
  const checked: AnyFunction = (...given) => called(() => look(callback(...given)), problem, guarding);
  if (!schemaMakers.includes(path)) return checked;
  return lazy(() => guardedSchema(checked() as z.ZodObject, (parse) => called(parse, problem, guarding)));
}

/** The texts of an answer that people and models read. */
function textsOf(path: string, answer: unknown): string[] {
  const { text, problem }: { text?: unknown; problem?: unknown } = Object(answer);
  const found =
    path === 'next' ? text : path === 'pages.add' ? problem : sentencesAt.includes(path) ? answer : undefined;
  return [found].flat().filter((one) => typeof one === 'string');
}

const sentencesAt: readonly string[] = [
  'summarize',
  ...['headline', 'brief', 'accept', 'consequences', 'warnings', 'verificationHint', 'contradictions'].map(
    (name) => `change.${name}`,
  ),
];

/** A copy of a schema whose rules are guarded like the function that made it: they are functions too. */
function guardedSchema(schema: z.ZodObject, call: <Value>(parse: () => Value) => Value): z.ZodObject {
  const copy = schema.clone();
  copy.safeParse = (value, params) => call(() => schema.safeParse(value, params));
  return copy;
}

/** What a function from outside answers with. @throws OperationFault for whatever it throws, but for text that has no form in a path */
function called<Value>(
  run: () => Value,
  problem: (what: string, cause: unknown) => OperationFault,
  { report, callMs }: Guarding,
): Value {
  try {
    return watched(run, callMs);
  } catch (error) {
    // Half of a surrogate pair has no form in a path: that is refused, and no mistake.
    if (error instanceof URIError) throw error;
    if (error instanceof OperationFault) {
      // It is guarded twice.
      report(error);
      throw error;
    }
    if (error instanceof Endless) throw problem(error.message, error);
    throw problem(
      `threw ${quote(error instanceof Error ? error.message : 'something other than an error', 300)}`,
      error,
    );
  }
}

import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import type { RequestBody } from '../tools/body.js';
import type { Operation } from '../tools/define-operation.js';
import { OperationFault } from '../tools/fault.js';
import { actions, actors } from '../tools/next.js';
import { quote } from '../util/quote.js';

type AnyFunction = (...given: never[]) => unknown;

const text = z.string('must be text').max(4000, 'must have at most 4000 characters');
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

const request = z.strictObject({
  path: z
    .string('must be text')
    .regex(/^\/[!-~]*$/, 'must begin with "/" and be percent-encoded')
    .regex(/^[^?#\\]*$/, 'must have no query'),
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

/** The answer that each function has to give, by its path. */
const answers: Readonly<Record<string, z.ZodType>> = {
  input: schema,
  output: schema,
  request,
  extract: anything,
  summarize: text,
  next: z.strictObject({ who: z.enum(actors), action: z.enum(actions), text }).optional(),
  'change.headline': text,
  'change.accept': text,
  'change.consequences': texts,
  'change.warnings': texts,
  'change.lookFor': text,
  'change.contradictions': texts,
  'pages.page': schema,
  'pages.start': anything,
  'pages.add': step,
  'pages.result': record,
  'pages.parts': z.array(anything).optional(),
  'pages.count': z.int('must be a whole number').min(0),
  'before.input': record,
};

/**
 * An operation whose functions cannot do harm by a mistake: each that throws, or answers with something else than it should, throws
 * an `OperationFault` that names it.
 * @param report is told of each fault
 */
export function guarded(operation: Operation, report: (fault: string) => void = () => undefined): Operation {
  const guardAll = (fields: object, prefix: string): object =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => {
        const path = prefix + name;
        if (typeof value === 'function') return [name, guard(operation.name, path, value, report)];
        return [name, holders.includes(path) && value !== undefined ? guardAll(value, `${path}.`) : value];
      }),
    );
  return guardAll(operation, '') as Operation;
}

/** Fields that hold functions. */
const holders: readonly string[] = ['change', 'pages', 'before'];

function guard(operation: string, path: string, callback: AnyFunction, report: (fault: string) => void): AnyFunction {
  const expected = answers[path] ?? anything;
  return (...given) => {
    const problem = (what: string) => {
      const fault = `${operation}: ${path} ${what}`;
      report(fault);
      return new OperationFault(fault);
    };
    const answer = called(callback, given, problem, report);
    if (answer instanceof Promise) {
      // Nobody waits for it, and a rejection that nobody takes would end the process.
      answer.catch(() => undefined);
      throw problem('must not be asynchronous');
    }
    const { error } = expected.safeParse(answer);
    if (error === undefined) return answer;
    const [issue] = error.issues;
    const at = issue === undefined || issue.path.length === 0 ? '' : `${toDotPath(issue.path)} `;
    throw problem(`does not answer as it should: ${at}${issue?.message}`);
  };
}

/** The answer of a callback. @throws OperationFault for whatever it throws, but for text that has no form in a path */
function called(
  callback: AnyFunction,
  given: Parameters<AnyFunction>,
  problem: (what: string) => OperationFault,
  report: (fault: string) => void,
): unknown {
  try {
    return callback(...given);
  } catch (error) {
    // Half of a surrogate pair has no form in a path: that is refused, and no mistake.
    if (error instanceof URIError) throw error;
    if (error instanceof OperationFault) {
      // It is guarded twice.
      report(error.message);
      throw error;
    }
    throw problem(`threw ${quote(error instanceof Error ? error.message : 'something else than an error', 300)}`);
  }
}

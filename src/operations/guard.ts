import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { OperationFault } from '../tools/operation-fault.js';
import { errorName } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { quote } from '../util/quote.js';
import { withinTime } from './within-time.js';

/** Observes calls of an operation's functions. `name` consists of operation and field, such as `get_thing: change.headline`. */
export interface CallObserver {
  /** Called before each call of a function. */
  readonly calling?: (name: string) => void;
  /** Called after each fault. */
  readonly failed?: (fault: OperationFault) => void;
}

export type AnyFunction = (...args: never[]) => unknown;

/**
 * Wraps a function of an outside file. The wrapper throws an `OperationFault` that names the function if the function throws, returns
 * a promise, or returns a value that `result` refuses.
 */
export function guardFunction<Result>(
  name: string,
  callback: AnyFunction,
  result: z.ZodType<Result>,
  observer: CallObserver,
): (...args: never[]) => Result {
  return (...args) => attempt(name, () => checkResult(name, callback(...args), result), observer);
}

/** Time limit for a promise of a function (milliseconds). Without it, a promise that never resolves would keep a sent change unfinished. */
const promiseMs = 5_000;

/** Like `guardFunction`, for a function that may return a promise. The promise of the wrapper rejects after `timeLimitMs` at the latest. */
export function guardAsyncFunction<Result>(
  name: string,
  callback: AnyFunction,
  result: z.ZodType<Result>,
  observer: CallObserver,
  timeLimitMs = promiseMs,
): (...args: never[]) => Result | Promise<Result> {
  const check = (value: unknown) => attempt(name, () => checkResult(name, value, result), observer);
  return (...args) => {
    const returned = attempt(name, () => callback(...args), observer);
    if (!(returned instanceof Promise)) return check(returned);
    const late = new OperationFault(name, `took more than ${timeLimitMs / 1000} seconds`);
    return withinTime(returned, timeLimitMs, late).then(check, (error: unknown) => raise(name, error, observer));
  };
}

/** Wraps a function that makes a schema. The schema is made once. Its rules are code of the file, so they are guarded as well. */
export function guardSchema(name: string, make: AnyFunction, observer: CallObserver): () => z.ZodObject {
  const makeSchema = guardFunction(name, make, objectSchema, observer);
  return lazy(() => {
    const schema = makeSchema();
    const guarded = schema.clone();
    guarded.safeParse = (value, params) => {
      const where = () => [name, ...fieldThatThrows(schema, value)].join('.');
      return attempt(name, () => schema.safeParse(value, params), observer, where);
    };
    return guarded;
  });
}

/** Returns the name of the first field whose rules throw for an object, or an empty list if only a rule for the whole object throws. */
function fieldThatThrows({ shape }: z.ZodObject, value: unknown): string[] {
  const throwing = Object.entries(shape).find(([field, rules]) => {
    try {
      z.safeParse(rules, Object(value)[field]);
      return false;
    } catch {
      return true;
    }
  });
  return throwing === undefined ? [] : [throwing[0]];
}

const objectSchema = z.custom<z.ZodObject>(
  (value) => value instanceof z.ZodObject,
  'must be an object schema of kit.z',
);

/**
 * Runs a function of the operation. Its error becomes an `OperationFault`. The observer is told of the call and of the fault.
 * @param where finds a more exact name of the function that threw
 */
function attempt<Result>(name: string, run: () => Result, observer: CallObserver, where = () => name): Result {
  observer.calling?.(name);
  try {
    return run();
  } catch (error) {
    raise(where(), error, observer);
  }
}

/** Throws an error of the function `name` as an `OperationFault`, after telling the observer. */
function raise(name: string, error: unknown, { failed }: CallObserver): never {
  // `encodeSegment` throws a URIError for half of a surrogate pair. This is an error of the argument, and no fault of the operation.
  if (error instanceof URIError) throw error;
  const fault = error instanceof OperationFault ? error : faultOf(name, error);
  failed?.(fault);
  throw fault;
}

function faultOf(name: string, error: unknown): OperationFault {
  const reason = error instanceof Error ? error.message : 'something other than an error';
  return new OperationFault(name, `threw ${quote(reason, 300)}`, {
    cause: error,
    logProblem: `threw ${errorName(error)}`,
  });
}

/**
 * Returns the value as the schema parses it.
 * @throws OperationFault if the value is a promise, or the schema refuses it
 */
function checkResult<Result>(name: string, value: unknown, schema: z.ZodType<Result>): Result {
  if (value instanceof Promise) {
    // Nothing awaits the promise, and an unhandled rejection would end the process.
    value.catch(() => undefined);
    throw new OperationFault(name, 'must not be asynchronous');
  }
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [{ path, message } = { path: [], message: 'is not allowed' }] = error.issues;
  throw new OperationFault(name, `returned a wrong value: ${[toDotPath(path), message].filter(Boolean).join(' ')}`);
}

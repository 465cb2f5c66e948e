import * as z from 'zod';
import type { Operation } from '../tools/define-operation.js';
import { didYouMean, nearest } from '../util/did-you-mean.js';
import { dotted } from '../util/dotted.js';
import { isDeeperThan } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';

export type Validation =
  | { readonly ok: true; readonly input: Record<string, unknown> }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Checks a call's arguments. All problems are reported at once, one line each: path, value given, rule, way out. */
export function validate(operation: Operation, args: unknown): Validation {
  if (isDeeperThan(maximumDepth, args))
    return { ok: false, problems: [`arguments: must not be nested deeper than ${maximumDepth} levels`] };
  const parsed = operation.input.safeParse(args, { reportInput: true });
  if (parsed.success) return { ok: true, input: parsed.data };
  const lines = parsed.error.issues.flatMap((issue) => describe(issue, operation));
  return { ok: false, problems: [...new Set(lines)] };
}

const maximumDepth = 32;

type Issue = z.core.$ZodIssue;

/** More values than this are not listed; the nearest ones are. */
const listedValues = 8;

function describe(issue: Issue, operation: Operation): string[] {
  const path = dotted(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const known = argumentNames(operation.input, issue.path);
    return issue.keys.map((key) => unknownArgument(path === '' ? key : `${path}.${key}`, key, known));
  }
  if (issue.input === undefined) {
    const rule = issue.code === 'custom' ? issue.message : 'is required';
    return [`${path === '' ? 'arguments' : path}: ${rule}`];
  }
  const given = isSecret(path, operation.secrets) ? 'the value given (not shown)' : show(issue.input);
  return [`${path === '' ? 'arguments' : path}: ${given} ${rule(issue)}`];
}

function rule(issue: Issue): string {
  if (issue.code === 'invalid_type') return typeRule(issue);
  if (issue.code !== 'invalid_value') return issue.message;
  const values = issue.values.map(String);
  const named = typeof issue.input === 'string' || typeof issue.input === 'number';
  if (!named || values.length <= listedValues) return `must be ${alternatives(values)}`;
  return `is not offered; nearest: ${nearest(String(issue.input), values).join(', ')}`;
}

function typeRule(issue: z.core.$ZodIssueInvalidType): string {
  if (!issue.message.startsWith('Invalid input')) return issue.message;
  const expected: Record<string, string> = {
    string: 'must be text',
    object: typeof issue.input === 'string' ? 'must be an object, not a text that holds one' : 'must be an object',
    array: 'must be a list',
    boolean: 'must be true or false',
    number: 'must be a whole number',
  };
  return expected[issue.expected] ?? `must be of type ${issue.expected}`;
}

function unknownArgument(path: string, key: string, known: readonly string[]): string {
  const meant = didYouMean(key, known);
  const hint = meant === undefined ? `known here: ${known.join(', ')}` : `did you mean ${meant}?`;
  return `${quoteName(path)}: is not an argument; ${hint}`;
}

/** The argument names that the schema has at a path. */
function argumentNames(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  if (schema instanceof z.ZodOptional) return argumentNames(schema.unwrap(), path);
  const [step, ...rest] = path;
  if (schema instanceof z.ZodArray) return argumentNames(schema.element, rest);
  if (!(schema instanceof z.ZodObject)) return [];
  if (step === undefined) return Object.keys(schema.shape);
  const field = schema.shape[String(step)];
  return field === undefined ? [] : argumentNames(field, rest);
}

/** A secret, or something that holds or sits inside one. */
const isSecret = (path: string, secrets: readonly string[]) =>
  secrets.some((secret) => path === '' || `${secret}.`.startsWith(`${path}.`) || path.startsWith(`${secret}.`));

function show(value: unknown): string {
  if (/private.?key/i.test(JSON.stringify(value) ?? '')) return 'the value given (not shown)';
  if (typeof value === 'string') return quote(value, 60);
  if (value === null || typeof value !== 'object') return String(value);
  if (!Array.isArray(value)) return 'an object';
  return value.every((element) => typeof element === 'string') && value.length <= 5
    ? `[${value.map((element) => quote(element, 40)).join(', ')}]`
    : `a list of ${value.length}`;
}

const alternatives = (values: readonly string[]) =>
  values.length === 1 ? String(values[0]) : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;

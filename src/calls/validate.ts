import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import type { Operation } from '../tools/define-operation.js';
import { type Next, next } from '../tools/next.js';
import { consentArguments } from '../tools/schema/fields.js';
import { didYouMean, nearest } from '../util/did-you-mean.js';
import { schemaAt, unwrapped } from '../util/field-names.js';
import { listText as listedText, sentences } from '../util/human.js';
import { isDeeperThan, isObject, lazy, leavesOf, parseJson, withoutNulls } from '../util/objects.js';
import { isPlaceholder } from '../util/quote.js';
import { defined, distinct, forReader, join, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { Refusal } from './refusal.js';

const maximumDepth = 32;
const maximumValues = 5_000;

const listedProblems = 20;

/** Turns the name of an argument into the client's name for it. */
export type ArgumentName = (name: string) => string;

/** Checks a call's arguments and returns them parsed. @throws Refusal with all problems at once */
export function validate(
  operation: Operation,
  args: unknown,
  argumentName: ArgumentName = (name) => name,
): Record<string, unknown> {
  checkSize(args);
  const argsWithoutNulls = withoutNulls(args);
  const named = isObject(argsWithoutNulls) && operation.rename ? operation.rename(argsWithoutNulls) : argsWithoutNulls;
  // Arguments of models may be JSON text.
  if (operation.rename) checkSize(named);
  const parsed = parseWithTexts(operation.input(), named);
  if (parsed.success) {
    refusePlaceholders(parsed.data, argumentName);
    return parsed.data;
  }

  const { issues } = parsed.error;
  const needsUser = issues.some((issue) => isChoiceOfUser(issue, operation));
  throw new Refusal('InvalidArguments', problemsOf(issues, operation, argumentName), {
    ...(needsUser && { next: askWhichIsMeant }),
  });
}

/** Parses arguments, also those that some clients send as JSON text. */
export function parseWithTexts<Schema extends z.ZodObject>(schema: Schema, args: unknown) {
  let parsed = schema.safeParse(args, { reportInput: true });
  let read = args;
  // JSON text may itself contain JSON text.
  for (let round = 0; round < 4 && !parsed.success; round += 1) {
    const texts = parsed.error.issues.flatMap((issue) => wantedIn(issue));
    if (texts.length === 0) break;
    for (const { path, value } of texts) read = withValueIn(read, path, withoutNulls(value));
    checkSize(read);
    parsed = schema.safeParse(read, { reportInput: true });
  }
  return parsed;
}

/** Parses the arguments of a tool that is no operation. @throws Refusal with all problems at once */
export function parsedBy<Schema extends z.ZodObject>(schema: Schema, args: unknown): z.output<Schema> {
  const { data, error } = parseWithTexts(schema, args);
  if (data !== undefined) return data;
  throw new Refusal('InvalidArguments', problemsOf(error?.issues ?? [], { input: () => schema }));
}

/** The value that a text stands for, if its type is the wanted one. */
function wantedIn(issue: Issue): readonly { readonly path: readonly PropertyKey[]; readonly value: unknown }[] {
  const { code, input, path } = issue;
  if (code !== 'invalid_type' || typeof input !== 'string') return [];
  const value = parseJson(/^\s*(?:true|false)\s*$/i.test(input) ? input.toLowerCase() : input);
  const isWanted = { array: Array.isArray(value), object: isObject(value), boolean: typeof value === 'boolean' };
  return Object.entries(isWanted).some(([type, is]) => is && type === issue.expected) ? [{ path, value }] : [];
}

function withValueIn(value: unknown, [step, ...rest]: readonly PropertyKey[], inner: unknown): unknown {
  if (step === undefined) return inner;
  if (Array.isArray(value))
    return value.map((element, index) => (index === step ? withValueIn(element, rest, inner) : element));
  if (!isObject(value)) return value;
  return { ...value, [step]: withValueIn(value[String(step)], rest, inner) };
}

function checkSize(args: unknown): void {
  if (isDeeperThan(maximumDepth, args))
    throw new Refusal('InvalidArguments', [say`arguments: must not be nested deeper than ${maximumDepth} levels`]);
  let values = 0;
  for (const _ of leavesOf(args)) {
    values += 1;
    if (values > maximumValues)
      throw new Refusal('InvalidArguments', [say`arguments: must not hold more than ${maximumValues} values`]);
  }
}

/** Refuses what this server shows in place of a value, because it would overwrite the value itself. */
function refusePlaceholders(args: Readonly<Record<string, unknown>>, argumentName: ArgumentName): void {
  const problems = [...leavesOf(args)].flatMap(([path, value]) => {
    if (typeof value !== 'string' || !isPlaceholder(value)) return [];
    const shown = own(path.replace(/^[^.[]+/, argumentName));
    return say`${shown}: ${quoted(value, 60)} only stands in place of a value. Give the value itself, or leave it out`;
  });
  if (problems.length > 0) throw new Refusal('InvalidArguments', problems.slice(0, listedProblems));
}

/** The step if a wrong value names a thing, because an agent could correct it to the wrong thing. */
export const askWhichIsMeant: Next = next(
  'user',
  'ask',
  forReader({
    agent:
      'Ask the user which value is meant, and do not choose one yourself. Then correct all that is listed and call again.',
    person: 'Correct all that is listed and try again.',
  }),
);

/** Made at the first wrong call, because making schemas is slow. */
const controlArguments = lazy(() => consentArguments());

/** Optional arguments of reads only shape the answer, so the agent may correct them itself. */
function isChoiceOfUser(issue: Issue, operation: Operation): boolean {
  const { code, input, path } = issue;
  const [name = ''] = path;
  // A mistake in these formats is the agent's own.
  if (code === 'invalid_format' && ['json_string', 'base64'].includes(issue.format)) return false;
  if (code === 'invalid_type' || code === 'unrecognized_keys' || input === undefined) return false;
  if (Object.hasOwn(controlArguments(), name)) return false;
  return operation.effect !== 'read' || !(operation.input().shape[String(name)] instanceof z.ZodOptional);
}

/** Returns the problems of arguments in the words of this server. */
export function problemsOf(
  issues: readonly Issue[],
  operation: Arguments,
  argumentName: ArgumentName = (name) => name,
): SafeText[] {
  // Only the type is reported, because a wrong length or missing fields follow from the wrong type.
  const mistyped = issues.filter(({ code, input }) => code === 'invalid_type' && input !== undefined);
  const mistypedPaths = new Set(mistyped.map(({ path }) => toDotPath(path)));
  const shown = issues.filter(({ code, path }) => {
    const containers = path.map((_, length) => toDotPath(path.slice(0, length)));
    const isMistyped = code !== 'invalid_type' && mistypedPaths.has(toDotPath(path));
    return !isMistyped && !containers.some((container) => mistypedPaths.has(container));
  });
  const total = shown.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
  // Only listed problems are put into words, because each unknown name is compared with all known names.
  const problems: SafeText[] = [];
  for (const issue of shown) {
    if (problems.length === listedProblems) break;
    problems.push(...problemsOfIssue(issue, operation, argumentName, listedProblems - problems.length));
  }
  return sentences(...distinct(problems), total > listedProblems && say`${total - listedProblems} more problems`);
}

type Issue = z.core.$ZodIssue;
type Arguments = Pick<Operation, 'input' | 'secrets' | 'secretNames'>;

/** An issue about unknown names has a problem for each name. */
function problemsOfIssue(issue: Issue, operation: Arguments, argumentName: ArgumentName, limit: number): SafeText[] {
  const [first, ...rest] = issue.path;
  const path = first === undefined ? '' : toDotPath([...argumentName(String(first)).split('.'), ...rest]);
  if (issue.code !== 'unrecognized_keys') return [describe(issue, path, operation)];

  const schema = operation.input();
  const isTopLevel = path === '';
  // Some clients have their own names for top-level arguments.
  const clientName = isTopLevel ? argumentName : (name: string) => name;
  const object = unwrapped(schemaAt(schema, issue.path) ?? z.never());
  const knownNames = Object.keys(object instanceof z.ZodObject ? object.shape : {}).map(clientName);
  const unknown = issue.keys.slice(0, limit).map((key) => {
    const name = clientName(key);
    const similar = didYouMean(lastStep(name), knownNames.map(lastStep));
    const suggestion = knownNames.find((known) => lastStep(known) === similar);
    return { shownName: own(isTopLevel ? name : `${path}.${name}`), suggestion };
  });
  const listedAt = unknown.findIndex(({ suggestion }) => suggestion === undefined);
  return unknown.map(({ shownName, suggestion }, index) => {
    // The account was taken out already if there are several.
    if (isTopLevel && issue.keys[index] === 'account')
      return say`account: must be left out, because this server has only one account`;
    if (suggestion !== undefined) return say`${shownName}: is not an argument; did you mean ${defined(suggestion)}?`;
    if (index !== listedAt) return say`${shownName}: is not an argument`;
    return say`${shownName}: is not an argument; expected one of: ${defined(knownNames.join(', '))}`;
  });
}

const lastStep = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

function describe(issue: Issue, path: string, { secrets = [], secretNames = {} }: Arguments): SafeText {
  const subject = own(path === '' ? 'arguments' : path);
  if (issue.input === undefined) return say`${subject}: ${defined(ruleOf(issue))}`;
  const place = stepsText(toDotPath(issue.path));
  // A value may contain a secret, or be inside one. An agent may give a secret in place of its name.
  const isSecret = [...secrets, ...Object.keys(secretNames)]
    .map(stepsText)
    .some((secret) => secret.startsWith(place) || place.startsWith(secret));
  return say`${subject}: ${isSecret ? notShown : show(issue.input)} ${defined(ruleOf(issue))}`;
}

function ruleOf(issue: Issue): string {
  if (issue.input === undefined) return issue.code === 'custom' ? issue.message : 'is required';
  if (issue.code === 'invalid_type') return typeRule(issue);
  if (issue.code !== 'invalid_value') return issue.message;
  const values = issue.values.map(String);
  const isComparable = typeof issue.input === 'string' || typeof issue.input === 'number';
  if (!isComparable || values.length <= 8) return `must be ${listedText(values, 'or')}`;
  return `is not allowed; nearest: ${nearest(String(issue.input), values).join(', ')}`;
}

function typeRule(issue: z.core.$ZodIssueInvalidType): string {
  if (!issue.message.startsWith('Invalid input')) return issue.message;
  const expected: Record<string, string> = {
    string: typeof issue.input === 'number' ? 'must be a string, in quotation marks' : 'must be a string',
    object: typeof issue.input === 'string' ? 'must be an object, not a string' : 'must be an object',
    array: 'must be a list',
  };
  return expected[issue.expected] ?? `must be of type ${issue.expected}`;
}

/** `[]` stands for any element of a list. */
const stepsText = (path: string) => (path === '' ? '' : `${path.replace(/\[\d*\]/g, '.[]')}.`);

const notShown = words('the value given (not shown)');

/** Does not show long lists, objects or private keys. */
function show(value: unknown): SafeText {
  if (typeof value === 'string') return looksSecret(value) ? notShown : quoted(value, 60);
  if (value === null || typeof value !== 'object') return own(String(value));
  if (!Array.isArray(value)) return words('an object');
  const texts = value.filter((element) => typeof element === 'string' && !looksSecret(element));
  if (value.length > 5 || texts.length < value.length) return say`a list of ${value.length}`;
  const shownTexts = texts.map((text) => quoted(String(text), 40));
  return say`[${join(shownTexts, ', ')}]`;
}

/** A private key may stand in the wrong argument by mistake. */
const looksSecret = (value: string) => /private.?key/i.test(value);

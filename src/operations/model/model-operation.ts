import * as z from 'zod';
import { builtInServices, type Follow, type Operation, type Signing } from '../../tools/define-operation.js';
import { consentArguments, planArguments } from '../../tools/schema/fields.js';
import { lazy } from '../../util/objects.js';
import { answerRecord, answerSchema } from './answer-record.js';
import { answerSummary } from './answer-summary.js';
import { isNamed, pathWith } from './argument-paths.js';
import { argumentShape, type Detail } from './argument-schema.js';
import { type Argument, argumentsOf, structureOf } from './arguments.js';
import { changeTexts } from './change-texts.js';
import { hostPrefixOf } from './check-supported.js';
import { type ChosenOperation, type ModelContext, toolNameOf } from './chosen-operation.js';
import { exampleArguments, modelExamples, toArgumentNames } from './example-arguments.js';
import type { Listing } from './fit-listings.js';
import { type FoldedArguments, unfolded, withFolded } from './folded-arguments.js';
import { memberValues } from './member-values.js';
import { hasTrait, isIdempotencyToken, type Model, ModelError, type ModelOperation, type Protocol } from './model.js';
import { secretPaths } from './secret-members.js';
import { uncheckedPatterns } from './unchecked-patterns.js';

/**
 * Makes the operation of a model, with the schema that models read.
 * @throws ModelError if it cannot be offered
 */
export function modelOperation(context: ModelContext, chosen: ChosenOperation, listing: Listing): Operation {
  const { model, codec, settings: all } = context;
  const { operation, settings, texts, fields, isSecret } = chosen;
  const { description, detail, folded, input } = listing;
  const schema = lazy(() => inputSchema(chosen, folded, detail));
  const { hidden: _, tokens = [], ...pages } = chosen.pages ?? {};
  const answerFields = structureOf(model, operation.output).fields;
  const shown = [...settings.show, ...tokens];
  const isHiddenInAnswer = (field: Argument) => isSecret(field) && !isNamed(shown, field);
  const output = lazy(() => answerSchema(answerFields(), isHiddenInAnswer));
  return {
    ...texts,
    description,
    api: operation.name,
    effect: settings.effect,
    service: all.api,
    ...signingOf(context),
    ...hostOf(context, operation),
    method: methodOf(operation),
    input: schema,
    schemas: { input },
    example: exampleFor(chosen, schema),
    secrets: secretPaths(fields, detail, isSecret),
    request: (given, after, token) =>
      codec.encode(operation, { ...memberValues(fields, unfolded(given, folded)), ...after }, token),
    answer: answerFormat(model, operation),
    extract: async (body, _input, headers, status) => {
      // An answer that the protocol cannot read has no record, which is no fault of the operation.
      const values = await codec.decode(operation, { text: String(body), headers, status }).catch(() => undefined);
      return values && answerRecord(answerFields(), values, isHiddenInAnswer);
    },
    output,
    ...('add' in pages && { pages: { page: output, ...pages } }),
    isAnswerOpen: true,
    summarize: (record) => answerSummary(operation.name, record),
    undocumented: [],
    limitations: uncheckedPatterns(fields),
    defaults: [],
    ...(settings.errors !== undefined && { errors: settings.errors }),
    ...(settings.effect !== 'read' && changeFields(context, chosen, answerFields)),
  };
}

/** The fields of an operation that only changes have. */
function changeFields(
  context: ModelContext,
  { operation, settings, fields, isSecret }: ChosenOperation,
  answerFields: () => readonly Argument[],
): Partial<Operation> {
  const { prefix, api } = context.settings;
  const { repeatable, failures, follow } = settings;
  return {
    change: changeTexts({
      api: operation.name,
      apiName: prefix ?? api,
      fields: fields.filter((field) => !isSecret(field)),
      settings,
    }),
    takesToken: operation.input.members.some(isIdempotencyToken),
    ...(repeatable !== undefined && { repeatable }),
    ...(failures !== undefined && { failures: pathWith('member', answerFields(), failures) }),
    ...(follow !== undefined && { follow: followOf(context, fields, answerFields(), follow) }),
  };
}

/** The rules for the arguments. */
function inputSchema(
  { fields, settings: { effect, repeatable } }: ChosenOperation,
  folded: FoldedArguments | undefined,
  detail: Detail,
): z.ZodObject {
  const control = effect === 'read' ? {} : repeatable === true ? planArguments() : consentArguments();
  const rules = { ...argumentShape(fields, detail), ...control };
  return folded === undefined ? z.strictObject(rules) : withFolded(rules, folded, detail);
}

/**
 * The example in the file, or else a function that returns the first valid example of the model, or else made-up arguments. It is a
 * function because making the examples takes as long as loading the rest of the operations.
 * @throws ModelError if the example in the file breaks a rule
 */
function exampleFor({ fields, settings, operation }: ChosenOperation, schema: () => z.ZodObject): Operation['example'] {
  if (settings.example === undefined)
    return () =>
      modelExamples(fields, operation.traits).find((values) => schema().safeParse(values, once).success) ??
      exampleArguments(fields);
  const example = toArgumentNames(fields, settings.example);
  const [issue] = schema().safeParse(example).error?.issues ?? [];
  if (issue === undefined) return example;
  throw new ModelError(`example: breaks its own rules: ${issue.path.map(String).join('.')} ${issue.message}`);
}

/** Option for a schema that is used once. Otherwise, zod compiles the schema, which takes longer than using it. */
const once = { jitless: true };

/**
 * Replaces the names in the file by the names of arguments and of fields of answers. The read may be another operation of this model.
 * @param input arguments of the change
 * @param answer fields of its answer
 */
function followOf(
  { model, settings }: ModelContext,
  input: readonly Argument[],
  answer: readonly Argument[],
  follow: Follow,
): Follow {
  const isRead = (api: string) => api === follow.read || toolNameOf(settings, api) === follow.read;
  const api = Object.keys(settings.operations).find(isRead);
  const read = api === undefined ? undefined : model.operation(api);
  const readInput = read === undefined ? [] : argumentsOf(model, read.input, () => false);
  const readAnswer = read === undefined ? [] : structureOf(model, read.output).fields();

  const readArguments: Record<string, string> = {};
  for (const [name, source] of Object.entries(follow.arguments))
    readArguments[pathWith('name', readInput, name)] = sourcePath(source, input, answer);
  if (follow.done === undefined) return { read: follow.read, arguments: readArguments };

  const done: Record<string, string> = {};
  for (const [path, value] of Object.entries(follow.done)) done[pathWith('member', readAnswer, path)] = value;
  return { read: follow.read, arguments: readArguments, done };
}

/** Replaces the names in a path such as `input.InstanceId` or `answer.Instance.Id`. */
function sourcePath(path: string, input: readonly Argument[], answer: readonly Argument[]): string {
  const [source, ...names] = path.split('.');
  const rest = names.join('.');
  return source === 'input' ? `input.${pathWith('name', input, rest)}` : `answer.${pathWith('member', answer, rest)}`;
}

/** An answer of the XML protocols is XML, unless one member that is no structure is the whole body. */
function answerFormat({ service, shape }: Model, { output }: ModelOperation): Operation['answer'] {
  const payload = output.members.find(({ traits }) => hasTrait(traits, 'smithy.api#httpPayload'));
  const isXml = payload === undefined || ['structure', 'union'].includes(shape(payload.target).kind);
  return isXml && xmlProtocols.includes(service.protocol) ? 'xmlText' : 'text';
}

const xmlProtocols: readonly Protocol[] = ['restXml', 'awsQuery', 'ec2Query'];

/** The signature, unless the API is built in, because then settings describe the signature. */
function signingOf({ model, settings }: ModelContext): { readonly signing?: Signing } {
  const { api, region } = settings;
  if (builtInServices.some((service) => service === api)) return {};
  const { signingName } = model.service;
  const headers = signingName === 's3' ? 's3' : 'api';
  return { signing: { service: signingName, headers, ...(region !== undefined && { region }) } };
}

/** The prefix of the host in the model, if the file enables host prefixes. */
function hostOf({ settings }: ModelContext, operation: ModelOperation): { readonly hostPrefix?: string } {
  const hostPrefix = settings.useHostPrefix ? hostPrefixOf(operation) : undefined;
  return hostPrefix === undefined ? {} : { hostPrefix };
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** @throws ModelError */
function methodOf({ http }: ModelOperation): (typeof methods)[number] {
  const method = methods.find((one) => one === http.method);
  if (method === undefined) throw new ModelError(`its method ${http.method} is not one of ${methods.join(', ')}`);
  return method;
}

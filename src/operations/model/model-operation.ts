import * as z from 'zod';
import { builtInServices, type Follow, type Operation, type Signing } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { consentArguments, planArguments } from '../../tools/schema/fields.js';
import { sentenceCase } from '../../util/human.js';
import { lazy } from '../../util/objects.js';
import { answerRecord, answerSchema } from './answer-record.js';
import { answerSummary } from './answer-summary.js';
import { isNamed, pathWith } from './argument-paths.js';
import { argumentShape, type Detail } from './argument-schema.js';
import { type Argument, argumentsOf, structureOf } from './arguments.js';
import { changeTexts } from './change-texts.js';
import type { Codec } from './codec.js';
import { exampleArguments, modelExamples, withArgumentNames } from './example-arguments.js';
import { memberValues } from './member-values.js';
import {
  hasTrait,
  isIdempotencyToken,
  type Member,
  type Model,
  ModelError,
  type ModelOperation,
  type Protocol,
  textTrait,
} from './model.js';
import type { OperationSettings, ReadSettings } from './model-settings.js';
import { pagesOf } from './pages.js';
import { plainText, shortenText } from './plain-text.js';
import { isSecretIn, secretPaths } from './secret-members.js';
import { checkSupported, hostPrefixOf, isSetByServer } from './supported.js';

/** Returns the characters of JSON that hosts are shown for a schema of arguments. */
export type SchemaSize = (schema: z.ZodObject) => number;

/** Levels of detail of a schema, the most detailed first. */
const details: readonly Detail[] = [
  { levels: 2, description: 36, values: 8 },
  { levels: 2, description: 24, values: 4 },
  { levels: 1, description: 0, values: 0 },
];
const maximumSchema = 5000;
const longestDescription = 90;

/** Everything that the operations of a model share. */
export interface ModelContext {
  readonly model: Model;
  readonly codec: Codec;
  readonly settings: ReadSettings;
  readonly sizeOf: SchemaSize;
}

/**
 * Makes the operation of a model that `name` names.
 * @throws ModelError if it cannot be offered
 */
export function modelOperation(context: ModelContext, name: string, settings: OperationSettings): Operation {
  const { model, codec } = context;
  const operation = model.operation(name);
  checkSupported(model, operation);
  const isRead = settings.effect === 'read';
  const title = settings.title ?? sentenceCase(nameInWords(name));
  const { hidden = [], tokens = [], ...pages } = (isRead ? pagesOf(model, operation) : undefined) ?? {};
  const isHidden = (member: Member) => isSetByServer(operation, member) || hidden.includes(member.name);
  const fields = chosenArguments(argumentsOf(model, operation.input, isHidden), settings);
  const answerFields = structureOf(model, operation.output).fields;
  const { schema, detail } = inputSchema(fields, settings, context.sizeOf);
  const isSecret = isSecretIn(settings.secretNames);
  const shown = [...settings.show, ...tokens];
  const isHiddenInAnswer = (field: Argument) => isSecret(field) && !isNamed(shown, field);
  const output = lazy(() => answerSchema(answerFields(), isHiddenInAnswer));
  const example =
    (settings.example && withArgumentNames(fields, settings.example)) ??
    modelExamples(fields, operation.traits).find((values) => schema.safeParse(values).success) ??
    exampleArguments(fields);
  if (example === undefined)
    throw new ModelError('no value that is tried matches a pattern of its arguments: give an example');
  return {
    name: toolNameOf(context.settings, name),
    api: name,
    title,
    description: settings.description ?? descriptionOf(operation, title),
    effect: settings.effect,
    service: context.settings.api,
    ...signingOf(context),
    ...hostOf(context, operation),
    method: methodOf(operation),
    input: () => schema,
    example,
    secrets: secretPaths(fields, detail, isSecret),
    request: (input, after, token) => codec.encode(operation, { ...memberValues(fields, input), ...after }, token),
    answer: answerFormat(model, operation),
    extract: async (body, _input, headers, status) => {
      // An answer that the protocol cannot read has no record, which is no fault of the operation.
      const values = await codec.decode(operation, { text: String(body), headers, status }).catch(() => undefined);
      return values && answerRecord(answerFields(), values, isHiddenInAnswer);
    },
    output,
    ...('add' in pages && { pages: { page: output, ...pages } }),
    isAnswerOpen: true,
    summarize: (record) => answerSummary(name, record),
    undocumented: [],
    limitations: [],
    defaults: [],
    ...(settings.errors !== undefined && { errors: settings.errors }),
    ...(!isRead && {
      change: changeTexts({
        api: name,
        apiName: context.settings.prefix ?? context.settings.api,
        fields: fields.filter((field) => !isSecret(field)),
        settings,
      }),
      takesToken: operation.input.members.some(isIdempotencyToken),
      ...(settings.repeatable !== undefined && { repeatable: settings.repeatable }),
      ...(settings.failures !== undefined && { failures: pathWith('member', answerFields(), settings.failures) }),
      ...(settings.follow !== undefined && { follow: followOf(context, fields, answerFields(), settings.follow) }),
    }),
  };
}

/** The read that shows the progress, with the names of arguments and of fields of answers. Its read may be of this model. */
function followOf(
  { model, settings }: ModelContext,
  input: readonly Argument[],
  answer: readonly Argument[],
  follow: Follow,
): Follow {
  const api = Object.keys(settings.operations).find((name) => [name, toolNameOf(settings, name)].includes(follow.read));
  const read = api === undefined ? undefined : model.operation(api);
  const readInput = read === undefined ? [] : argumentsOf(model, read.input, () => false);
  const readAnswer = read === undefined ? [] : structureOf(model, read.output).fields();
  const sourceOf = (path: string) =>
    path.startsWith('input.')
      ? `input.${pathWith('name', input, path.slice('input.'.length))}`
      : `answer.${pathWith('member', answer, path.slice('answer.'.length))}`;
  const rewritten = <Value>(values: Readonly<Record<string, Value>>, name: (name: string) => string) =>
    Object.entries(values).map(([given, value]) => [name(given), value] as const);
  return {
    read: follow.read,
    arguments: Object.fromEntries(
      rewritten(follow.arguments, (name) => pathWith('name', readInput, name)).map(([name, path]) => [
        name,
        sourceOf(path),
      ]),
    ),
    ...(follow.done !== undefined && {
      done: Object.fromEntries(rewritten(follow.done, (path) => pathWith('member', readAnswer, path))),
    }),
  };
}

/** An answer of the XML protocols is XML, unless one member that is no structure is the whole body. */
function answerFormat({ service, shape }: Model, { output }: ModelOperation): Operation['answer'] {
  const payload = output.members.find(({ traits }) => hasTrait(traits, 'smithy.api#httpPayload'));
  const isXml = payload === undefined || ['structure', 'union'].includes(shape(payload.target).kind);
  return isXml && xmlProtocols.includes(service.protocol) ? 'xmlText' : 'text';
}

const xmlProtocols: readonly Protocol[] = ['restXml', 'awsQuery', 'ec2Query'];

/** The name that the file gives the tool, or one such as `devops_list_backups`. */
const toolNameOf = ({ prefix, operations }: ReadSettings, api: string): string =>
  operations[api]?.name ??
  [prefix, ...nameInWords(api).toLowerCase().split(/\W+/)].filter((part) => part !== undefined).join('_');

const descriptionOf = ({ traits }: ModelOperation, title: string): string =>
  shortenText(plainText(textTrait(traits, 'smithy.api#documentation') ?? ''), longestDescription) || `${title}.`;

/**
 * The arguments that the settings choose.
 * @throws ModelError for a name that is no argument, and if a required argument is left out
 */
function chosenArguments(fields: readonly Argument[], { only, omit }: OperationSettings): readonly Argument[] {
  const unknown = [...(only ?? []), ...omit].filter((name) => !fields.some((field) => isNamed([name], field)));
  if (unknown.length > 0)
    throw new ModelError(`${unknown.join(', ')}: is no argument, so only and omit cannot name it`);
  const chosen = fields.filter((field) => (only === undefined || isNamed(only, field)) && !isNamed(omit, field));
  const missing = fields.filter((field) => field.isRequired && !chosen.includes(field)).map(({ name }) => name);
  if (missing.length > 0) throw new ModelError(`${missing.join(', ')}: is required, so it cannot be left out`);
  return chosen;
}

/** The rules for the arguments, with as much detail as fits. */
function inputSchema(fields: readonly Argument[], { effect, repeatable }: OperationSettings, sizeOf: SchemaSize) {
  const control = effect === 'read' ? {} : repeatable === true ? planArguments() : consentArguments();
  for (const detail of details) {
    const schema = z.strictObject({ ...argumentShape(fields, detail), ...control });
    if (sizeOf(schema) <= maximumSchema) return { schema, detail };
  }
  throw new ModelError(
    `its arguments need a schema of more than ${maximumSchema} characters: choose arguments with only, or leave some out with omit`,
  );
}

/** Settings describe the signature of a built-in API. */
function signingOf({ model, settings }: ModelContext): { readonly signing?: Signing } {
  const { api, region } = settings;
  if (builtInServices.some((service) => service === api)) return {};
  const { signingName } = model.service;
  const headers = signingName === 's3' ? 's3' : 'api';
  return { signing: { service: signingName, headers, ...(region !== undefined && { region }) } };
}

/** The model's beginning of the host, if the file says that it is used. */
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

import * as z from 'zod';
import {
  type ExampleInput,
  type HttpMethod,
  isBuiltInService,
  type Operation,
  OperationFault,
  type PageStart,
} from '../tools/define-operation.js';
import { callAgain, type Next, next } from '../tools/next.js';
import { withConditions } from '../tools/schema/fields.js';
import { errorName } from '../util/log.js';
import { lazy, parseJson, textAt, valueAt, withValueAt } from '../util/objects.js';
import { shownOnce } from '../util/quote.js';
import { listed, own, say } from '../util/safe-text.js';
import { answerSummary, nextPageFields } from './answer-summary.js';
import { fieldsAtAnyDepth, isNamed, translatePath, withListedNames } from './argument-names.js';
import { outlineOf } from './argument-outline.js';
import { argumentShape } from './argument-schema.js';
import { changeTexts } from './change-texts.js';
import { hostPrefixOf } from './check-supported.js';
import type { ChosenOperation, ModelContext } from './chosen-operation.js';
import type { ProtocolAnswer } from './codec.js';
import { answerRecord, memberValues } from './convert-values.js';
import { documentationText, shortenText } from './documentation-text.js';
import { exampleArguments, modelExamples } from './example-arguments.js';
import { listTool, withoutOthers } from './fit-listings.js';
import { isChangeByName } from './guess-effect.js';
import {
  bodyMemberOf,
  hasTrait,
  isIdempotencyToken,
  isXml,
  type Member,
  type Model,
  ModelError,
  type ModelOperation,
  shapeName,
  textTrait,
} from './model.js';
import { followOf } from './model-follow.js';
import { uncheckedPatterns } from './read-pattern.js';
import { mayHoldPrivate, type NamedSecret } from './secret-members.js';

/** @throws ModelError if the operation cannot be offered */
export function modelOperation(context: ModelContext, operationName: string): Operation {
  const { model, file, loadCodec } = context;
  const chosen = context.choose(operationName);
  const { operation, settings, name, toolArguments, takes, answerFields, pages } = chosen;
  const { isSecret, isPrivate, isMasked, secretArguments } = chosen;
  const isRead = settings.effect === 'read';
  // Made at the first use, because most operations are never called.
  const input = lazy(() => inputSchema(chosen));
  const isAnswerPrivate = lazy(() => [fieldsAtAnyDepth(answerFields).some(isPrivate)]);
  const isProvedRead = isRead && hasTrait(operation.traits, 'smithy.api#readonly') && !isChangeByName(operation.name);
  const decode = async (answer: ProtocolAnswer) => {
    const values = await (await loadCodec()).decode(operation, answer);
    return values && answerRecord(answerFields, values, isMasked);
  };
  return {
    name,
    title: chosen.title,
    ...listingOf(context, chosen),
    api: operation.name,
    effect: settings.effect,
    ...((settings.effectIsSure ?? isProvedRead) && { effectIsSure: true }),
    service: file.api,
    ...sendingOf(context, operation),
    rename: (args) => withListedNames(takes.fields, withoutOthers(takes.fields, args)),
    // `input` validates calls with all rules. Hosts see `schemas.input`, which is shorter.
    input,
    ...(chosen.fieldsArgument !== undefined && { fieldsArgument: chosen.fieldsArgument }),
    outline: (path) => ({
      ...outlineOf(takes.fields, path),
      hidden: fieldsAtAnyDepth(answerFields)
        .filter(isMasked)
        .map((field) => field.name),
    }),
    example: exampleFor(chosen, input),
    secrets: secretArguments,
    ...(takes.secrets.length > 0 && {
      secretNames: Object.fromEntries(takes.secrets.map(({ path, namePath }) => [namePath, path])),
      blobSecrets: takes.secrets.flatMap(({ path, isBlob }) => (isBlob ? [path] : [])),
    }),
    isPrivate: (args) => isAnswerPrivate().includes(true) || mayHoldPrivate(toolArguments, args, isPrivate),
    request: async (args, pageStart, idempotencyToken) => {
      const given = pageStart === undefined ? args : { ...args, ...pageArguments(chosen, pageStart) };
      try {
        const codec = await loadCodec();
        return await codec.encode(operation, memberValues(toolArguments, given), idempotencyToken);
      } catch (error) {
        // The arguments are valid, so the fault is in the model. The message is not logged, because it may quote a secret.
        throw new OperationFault(`${name}: request`, `threw ${errorName(error)}`, { cause: error });
      }
    },
    ...answerFormat(model, operation),
    extract: (body, _input, headers, status) => decode({ text: String(body), headers, status }),
    errorDetails: (code, error) => {
      const fields = model.errorShape(operation, code)?.members ?? [];
      // Every failure shows code and message.
      const names = fields.map(({ memberName }) => memberName).filter((field) => !/^(?:code|message)$/i.test(field));
      const details = names.flatMap((field) => (Object.hasOwn(error, field) ? [[field, error[field]]] : []));
      return answerRecord(fields, Object.fromEntries(details), (field) => isSecret(field) || isPrivate(field));
    },
    output: anyAnswer,
    // Hosts get no output schema, because most are too long for the list of tools.
    isAnswerOpen: true,
    ...(pages !== undefined && {
      pages: {
        page: anyAnswer,
        endsWithBudget: true,
        ...pages.reducer,
        // A secret token is sent, but not shown.
        result: (state: Readonly<Record<string, unknown>>, _input, { unread }) =>
          pages.reducer.result(state, chosen.areTokensShown() ? unread : undefined),
      },
    }),
    summarize: (record) => answerSummary(operation.name, record, { isChange: !isRead, items: pages?.items }),
    undocumented: [],
    limitations: uncheckedPatterns(toolArguments),
    defaults: [],
    ...(isRead ? { next: (record) => stepToReadOn(chosen, record) } : changeFields(context, chosen, decode)),
  };
}

const anyAnswer = () => z.looseObject({});

function listingOf(
  { names, rules }: ModelContext,
  { operation, settings, title, toolArguments, takes, controlArguments }: ChosenOperation,
): Pick<Operation, 'description' | 'schemas'> {
  const documented = documentationText(textTrait(operation.traits, 'smithy.api#documentation') ?? '');
  if (rules.inputSchema === undefined)
    return { description: settings.description ?? (shortenText(documented, 300) || `${title}.`) };
  const tool = {
    title,
    description: settings.description ?? { documented },
    fields: rules.listsSecretNames ? takes.fields : toolArguments,
    control: controlArguments.listing,
  };
  const { description, input } = listTool(tool, names.length);
  return { description, schemas: { input } };
}

/** A token that is a map is JSON text. */
const pageArguments = ({ toolArguments, pages }: ChosenOperation, pageStart: PageStart) =>
  Object.fromEntries(
    toolArguments
      .filter(({ memberName }) => pages?.tokens.some(({ member }) => member === memberName))
      .map(({ name, memberName, shape }) => {
        const token = pageStart[memberName];
        return [name, shape.kind === 'map' && token !== undefined ? parseJson(token) : token];
      }),
  );

function stepToReadOn(
  { pages, toolArguments }: ChosenOperation,
  record: Readonly<Record<string, unknown>>,
): Next | undefined {
  const tokensToGive = (pages?.tokens ?? []).flatMap(({ member, path }) => {
    const argument = toolArguments.find(({ memberName }) => memberName === member);
    // If all pages were read, the record has no token.
    const hasToken = valueAt(record, path) !== undefined;
    return argument !== undefined && hasToken ? [say`${own(argument.name)} as ${own(path)}`] : [];
  });
  if (tokensToGive.length > 0)
    return next(
      'agent',
      'call',
      say`To read on, ${callAgain} with the same arguments and ${listed(tokensToGive)} in the answer.`,
    );

  // Fields such as `NextMarker` may remain, but the model does not say which arguments take them.
  const fields = nextPageFields(record).map((path) => own(path));
  return fields.length === 0 ? undefined : next('agent', 'call', say`To read on, see ${listed(fields)} in the answer.`);
}

function changeFields(
  context: ModelContext,
  chosen: ChosenOperation,
  decode: (answer: ProtocolAnswer) => Promise<Readonly<Record<string, unknown>> | undefined>,
): Partial<Operation> {
  const { prefix, api } = context.file;
  const { operation, settings, answerFields, isSecret } = chosen;
  const { failures, show } = settings;
  const isShownSecret = (field: Member) => isSecret(field) && isNamed(show, field);
  return {
    // People see the prefix, because several models may share an `api`.
    change: changeTexts(chosen, prefix ?? api),
    takesToken: operation.input.members.some(isIdempotencyToken),
    ...(show.length > 0 && {
      withoutShown: (record) => answerRecord(answerFields, record, isShownSecret, shownOnce),
    }),
    ...(failures === undefined && failuresOf(operation)),
    ...(typeof failures === 'string' && {
      failures: translatePath(failures, answerFields, { setting: 'failures', structure: 'the answer' }),
    }),
    // The answer of `Invoke` has the error of a function. Other names of errors may be about work that was done.
    ...(answerFields.some(({ name }) => name === 'FunctionError') && {
      errorOf: async ({ body, ...answer }) => {
        const code = textAt(await decode({ ...answer, text: String(body ?? '') }), 'FunctionError');
        return code === undefined || code === '' ? undefined : { code };
      },
    }),
    ...followOf(context, chosen),
  };
}

/** Matches names such as `Errors`, `FailedEntries`, `UnprocessedItems` and `InvalidParameters`. */
const namesFailures = /error|fail|unprocessed|unsuccess|^invalid/i;

function failuresOf({ output }: ModelOperation): Pick<Operation, 'failures' | 'failureField'> | undefined {
  const collections = output.members.flatMap(({ name, shape }) =>
    shape.kind === 'list' || shape.kind === 'map'
      ? [{ name, isList: shape.kind === 'list', entry: shape.element.shape }]
      : [],
  );
  // Other maps, such as a map of messages, are not counted.
  const named = collections.find(
    ({ name, isList, entry }) => namesFailures.test(name) && (isList || ['list', 'structure'].includes(entry.kind)),
  );
  if (named !== undefined) return { failures: named.name };
  const [ofEntries] = collections.flatMap(({ name, isList, entry }) => {
    const members = isList && entry.kind === 'structure' ? entry.members : [];
    const field = members.find((each) => /^error(?:code)?$/i.test(each.name));
    return field === undefined ? [] : [{ failures: name, failureField: field.name }];
  });
  return ofEntries;
}

function inputSchema({ controlArguments, takes }: ChosenOperation): z.ZodObject {
  const schema = z.strictObject({ ...argumentShape(takes.fields), ...controlArguments.schemas });
  return takes.secrets.length === 0
    ? schema
    : withConditions(schema, (args, report) => {
        for (const secret of takes.secrets) reportSecret(secret, args, report);
      });
}

function reportSecret(
  { path, namePath, isRequired }: NamedSecret,
  args: unknown,
  report: (path: string, message: string) => void,
): void {
  const hasName = valueAt(args, namePath) !== undefined;
  const hasValue = valueAt(args, path) !== undefined;
  const holder = path.includes('.') ? valueAt(args, path.slice(0, path.lastIndexOf('.'))) : args;
  if (hasName && hasValue) report(namePath, `must be left out if ${path} is given`);
  else if (isRequired && !hasName && !hasValue && holder !== undefined) report(path, `is required, or ${namePath}`);
}

/** Returns the example in the file, or a function, because making all examples at the start would double the time that loading takes. */
function exampleFor(
  { toolArguments, takes, settings, operation, secretArguments }: ChosenOperation,
  schema: () => z.ZodObject,
): Operation['example'] {
  if (settings.example !== undefined) {
    const example = withListedNames(takes.fields, settings.example);
    const [issue] = schema().safeParse(example).error?.issues ?? [];
    if (issue === undefined) return example;
    throw new ModelError(`example: breaks its own rules: ${issue.path.map(String).join('.')} ${issue.message}`);
  }
  const secrets = takes.secrets.filter(({ path }) => secretArguments.includes(path));
  const withSecretByName = (example: ExampleInput, { path, namePath }: NamedSecret): ExampleInput => {
    if (valueAt(example, path) === undefined) return example;
    const withoutSecret = withValueAt(example, path, () => undefined);
    return { ...Object(withValueAt(withoutSecret, namePath, () => 'example-secret')) };
  };
  return () => {
    const examples = [...modelExamples(toolArguments, operation.traits), exampleArguments(toolArguments)];
    // For a schema that is used once, compiling takes longer than using it.
    const example = examples.find((each) => schema().safeParse(each, { jitless: true }).success);
    return example && secrets.reduce(withSecretByName, example);
  };
}

/** Returns the format of an answer, and the fields and the root that are expected in its body. */
function answerFormat({ service }: Model, { name, output }: ModelOperation): Pick<Operation, 'answer' | 'answerBody'> {
  const bodyMember = bodyMemberOf(output);
  const bodyShape = bodyMember?.shape;
  if (bodyShape !== undefined && bodyShape.kind !== 'structure') return { answer: 'text' };

  const isOutsideBody = ({ ownTraits }: Member) =>
    ['httpHeader', 'httpPrefixHeaders', 'httpResponseCode'].some((trait) => hasTrait(ownTraits, `smithy.api#${trait}`));
  const fields =
    bodyShape?.members.map((member) => `${bodyMember?.name}.${member.name}`) ??
    output.members.filter((member) => !isOutsideBody(member)).map((member) => member.name);
  if (!isXml(service)) return { answer: 'jsonText', answerBody: { fields } };

  // All other protocols with XML name the root after the operation.
  if (service.protocol !== 'restXml') return { answer: 'xmlText', answerBody: { fields, root: `${name}Response` } };

  const { id } = bodyShape ?? output;
  const { traits } = bodyMember ?? output;
  const rootOfBody = textTrait(traits, 'smithy.api#xmlName') ?? shapeName(id);
  // Some services send a body even if it has no fields.
  const root = fields.length === 0 ? undefined : rootOfBody;
  return { answer: 'xmlText', answerBody: { fields, root } };
}

const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const satisfies readonly HttpMethod[];

/** @throws ModelError for another method */
function sendingOf(
  { model, file: { api, region, useHostPrefix } }: ModelContext,
  operation: ModelOperation,
): Pick<Operation, 'method' | 'hostPrefix' | 'signing'> {
  const { signature, signingName: service } = model.service;
  const method = httpMethods.find((supported) => supported === operation.http.method);
  if (method === undefined)
    throw new ModelError(`its method ${operation.http.method} is not one of ${httpMethods.join(', ')}`);
  const version4 = service === 's3' ? 's3' : 'api';
  const variant = signature === 'v4' ? version4 : signature;
  const hostPrefix = useHostPrefix ? hostPrefixOf(operation) : undefined;
  return {
    method,
    ...(hostPrefix !== undefined && { hostPrefix }),
    // The server's own settings say how to sign requests to a built-in API.
    ...(!isBuiltInService(api) && { signing: { service, variant, ...(region !== undefined && { region }) } }),
  };
}

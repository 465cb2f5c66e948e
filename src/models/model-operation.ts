import * as z from 'zod';
import {
  type ExampleInput,
  type HttpMethod,
  isBuiltInService,
  type Operation,
  OperationFault,
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
import { failuresOf } from './model-failures.js';
import { followOf } from './model-follow.js';
import type { ModelPages } from './model-pages.js';
import { uncheckedPatterns } from './read-pattern.js';
import { mayHoldPrivate, type NamedSecret, secretPaths } from './secret-members.js';

/** @throws ModelError if the operation cannot be offered */
export function modelOperation(context: ModelContext, chosen: ChosenOperation): Operation {
  const { file } = context;
  const { operation, settings, name, title, toolArguments, takes, answerFields } = chosen;

  // Made at the first use, because most operations are never called.
  const input = lazy(() => inputSchema(chosen));
  const secrecy = secrecyOf(chosen);
  const isEffectSure =
    settings.effectIsSure ??
    (settings.effect === 'read' &&
      hasTrait(operation.traits, 'smithy.api#readonly') &&
      !isChangeByName(operation.name));
  const isAnswerPrivate = lazy(() => [fieldsAtAnyDepth(answerFields).some(chosen.isPrivate)]);
  const { description, ...schemas } = listingOf(context, chosen);

  return {
    name,
    title,
    description,
    api: operation.name,
    effect: settings.effect,
    ...(isEffectSure && { effectIsSure: true }),
    service: file.api,
    ...sendingOf(context, operation),
    rename: (args) => withListedNames(takes.fields, withoutOthers(takes.fields, args)),
    // `input` validates calls with all rules. Hosts see `schemas.input`, which is shorter.
    input,
    ...(chosen.fieldsArgument !== undefined && { fieldsArgument: chosen.fieldsArgument }),
    ...schemas,
    outline: (path) => ({
      ...outlineOf(takes.fields, path),
      hidden: fieldsAtAnyDepth(answerFields)
        .filter(secrecy.isMasked)
        .map((field) => field.name),
    }),
    example: exampleFor(chosen, input, secrecy.secretArguments),
    secrets: secrecy.secretArguments,
    ...(takes.secrets.length > 0 && {
      secretNames: Object.fromEntries(takes.secrets.map(({ path, namePath }) => [namePath, path])),
      blobSecrets: takes.secrets.flatMap(({ path, isBlob }) => (isBlob ? [path] : [])),
    }),
    isPrivate: (args) => isAnswerPrivate().includes(true) || mayHoldPrivate(toolArguments, args, chosen.isPrivate),
    request: requestOf(context, chosen),
    ...fieldsAboutAnswer(context, chosen, secrecy),
    undocumented: [],
    limitations: uncheckedPatterns(toolArguments),
    defaults: [],
    ...(settings.effect !== 'read' && changeFields(context, chosen)),
  };
}

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

function requestOf(
  { loadCodec }: ModelContext,
  { operation, name, toolArguments, pages }: ChosenOperation,
): Operation['request'] {
  const tokens = toolArguments.filter(({ memberName }) => pages?.tokens.some(({ member }) => member === memberName));
  return async (args, pageStart, idempotencyToken) => {
    // A token that is a map is JSON text.
    const ofPage = tokens.map(({ name, memberName, shape }) => {
      const token = pageStart?.[memberName];
      return [name, shape.kind === 'map' && token !== undefined ? parseJson(token) : token] as const;
    });
    const given = pageStart === undefined ? args : { ...args, ...Object.fromEntries(ofPage) };
    try {
      const codec = await loadCodec();
      return await codec.encode(operation, memberValues(toolArguments, given), idempotencyToken);
    } catch (error) {
      // The arguments are valid, so the fault is in the model. The message is not logged, because it may quote a secret.
      throw new OperationFault(`${name}: request`, `threw ${errorName(error)}`, { cause: error });
    }
  };
}

const anyAnswer = () => z.looseObject({});

function fieldsAboutAnswer(
  { model, loadCodec }: ModelContext,
  { operation, settings, toolArguments, answerFields, pages, isSecret, isPrivate }: ChosenOperation,
  { isMasked, areTokensShown }: Secrecy,
) {
  const { effect } = settings;
  const decode = async (answer: ProtocolAnswer) => {
    const codec = await loadCodec();
    const values = await codec.decode(operation, answer);
    return values === undefined ? undefined : answerRecord(answerFields, values, isMasked);
  };
  return {
    ...answerFormat(model, operation),
    extract: (body, _input, headers, status) => decode({ text: String(body), headers, status }),
    errorDetails: (code, error) => {
      const fields = model.errorShape(operation, code)?.members ?? [];
      const details = fields.flatMap(({ memberName }) =>
        // Every failure shows code and message.
        /^(?:code|message)$/i.test(memberName) || !Object.hasOwn(error, memberName)
          ? []
          : [[memberName, error[memberName]]],
      );
      return answerRecord(fields, Object.fromEntries(details), (field) => isSecret(field) || isPrivate(field));
    },
    // The answer of `Invoke` has the error of a function. Other names of errors may be about work that was done.
    ...(effect !== 'read' &&
      operation.output.members.some(({ name }) => name === 'FunctionError') && {
        errorOf: async ({ body, ...answer }: Parameters<NonNullable<Operation['errorOf']>>[0]) => {
          const code = textAt(await decode({ ...answer, text: String(body ?? '') }), 'FunctionError');
          return code === undefined || code === '' ? undefined : { code };
        },
      }),
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
          pages.reducer.result(state, areTokensShown() ? unread : undefined),
      },
    }),
    ...(effect === 'read' && { next: (record) => stepToReadOn(pages, toolArguments, record) }),
    summarize: (record) => answerSummary(operation.name, record, { isChange: effect !== 'read', items: pages?.items }),
  } satisfies Partial<Operation>;
}

interface Secrecy {
  readonly secretArguments: readonly string[];
  readonly isMasked: (field: Member) => boolean;
  /** False if a token of the next page is secret. */
  readonly areTokensShown: () => boolean;
}

/** The token of a page may be named like a secret, but is a secret only if the file says so. */
function secrecyOf({ settings, toolArguments, answerFields, isSecret, pages }: ChosenOperation): Secrecy {
  const tokens = pages?.tokens ?? [];
  const isTokenArgument = ({ memberName }: Member) => tokens.some(({ member }) => member === memberName);
  // A field with the same name at another path is no token of a page.
  const getTokenFields = lazy(() => tokens.flatMap(({ path }) => fieldAt(answerFields, path)));

  const isShown = (field: Member) => isNamed(settings.show, field);
  // `isSecret` is also true for a member that is only named like a secret.
  const isDeclaredSecret = (field: Member) => isNamed(settings.secretNames, field) && !isShown(field);
  const mayBeSecret = (argument: Member) => !isTokenArgument(argument) || isDeclaredSecret(argument);
  return {
    secretArguments: secretPaths(toolArguments.filter(mayBeSecret), isSecret),
    // Tokens are never masked, because the next request sends them. `areTokensShown` keeps secret tokens out of the result.
    isMasked: (field) => isSecret(field) && !isShown(field) && !getTokenFields().includes(field),
    areTokensShown: () => ![...toolArguments.filter(isTokenArgument), ...getTokenFields()].some(isDeclaredSecret),
  };
}

function fieldAt(fields: readonly Member[], path: string): readonly Member[] {
  const [name, ...rest] = path.split('.');
  const field = fields.find(({ memberName }) => memberName === name);
  if (field === undefined || rest.length === 0) return field === undefined ? [] : [field];
  return field.shape.kind === 'structure' ? fieldAt(field.shape.members, rest.join('.')) : [];
}

function stepToReadOn(
  pages: ModelPages | undefined,
  toolArguments: readonly Member[],
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

function changeFields(context: ModelContext, chosen: ChosenOperation): Partial<Operation> {
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
    ...followOf(context, chosen),
  };
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
  { toolArguments, takes, settings, operation }: ChosenOperation,
  schema: () => z.ZodObject,
  secretArguments: readonly string[],
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

import { type Operation, readOfFollow } from '../tools/define-operation.js';
import { plainText } from '../tools/request-body.js';
import { createRedactor } from '../transport/redact.js';
import { encodeRequest, type WireRequest } from '../transport/request.js';
import type { SignedClientOptions } from '../transport/signed-client.js';
import { textsAt } from '../util/objects.js';
import { type SafeText, say } from '../util/safe-text.js';
import type { Account, AccountResolution } from './account.js';
import { budgetOf } from './call-budget.js';
import type { CallContext, CallDependencies } from './context.js';
import { type Cloud, regionSourceOf, resolveEndpoint, wireRequest } from './endpoint.js';
import { withoutSecrets } from './hide-secrets.js';
import { insertSecrets } from './insert-secrets.js';
import { checkPolicy, checkRegions, isAllowed } from './policy.js';
import { Refusal } from './refusal.js';
import type { ResolvedCall, ResolvedChange } from './resolved-call.js';
import { type ArgumentName, askWhichIsMeant, validate } from './validate.js';

/**
 * Checks the account, the policy and the arguments of a call, and encodes its request. Nothing is sent.
 * @throws Refusal if the call may not or cannot be sent
 */
export async function resolveCall(
  requestedOperation: Operation,
  resolution: AccountResolution,
  { principal, argumentName }: CallContext,
  { operations, secretFiles }: CallDependencies,
): Promise<ResolvedCall> {
  if (resolution.kind === 'none') throw new Refusal('NotAllowed', [say`the token names no account of this server`]);
  if (resolution.kind === 'unclear')
    throw unclearAccountRefusal(resolution.problem, requestedOperation, resolution.args, argumentName);
  const { account, name: accountName, isDefault, args } = resolution;
  checkPolicy(account.policy, requestedOperation, principal, accountName);

  const cloud = await account.cloud();
  const operation = operationForCloud(requestedOperation, cloud);
  // The validated arguments name secret files. `input` has the contents of these files instead, and no control arguments.
  const validArgs = validate(operation, args, cloud.region, argumentName);
  const withSecrets = await insertSecrets(operation, validArgs, secretFiles, cloud.region);
  const { nameBySecretPath } = withSecrets;
  const { control, fields, input } = splitControlArguments(withSecrets.input, operation);

  const { endpoint, request, regionSource } = await resolveRequest(operation, input, cloud, account, accountName);
  const isOffered = (tool: string) =>
    operations.some((other) => other.name === tool && isAllowed(account.policy, other, principal));
  const resolved = { operation, account, accountName, endpoint, input, request, isOffered };

  const { change } = operation;
  if (change === undefined) return { kind: 'read', ...resolved, fields };
  const { accessKeyId: keyId } = await endpoint.keys.current();
  return {
    kind: 'change',
    ...resolved,
    change,
    verificationHint: change.verificationHint(input, endpoint.region),
    isDefaultAccount: isDefault,
    ...(await partsToShow({ operation, input, request, endpoint, nameBySecretPath })),
    keyId,
    args: repeatableArguments(validArgs, accountName),
    nameBySecretPath,
    regionSource,
    budget: budgetOf(cloud, account.budget, principal?.name),
    followTool: followToolOf(operation, operations, isOffered),
    control,
  };
}

/** Makes the request of a call, and the endpoint that it goes to. @throws Refusal if the policy forbids a region, or the request cannot be encoded */
async function resolveRequest(
  operation: Operation,
  input: ResolvedCall['input'],
  cloud: Cloud,
  { policy }: Account,
  accountName: string | undefined,
) {
  const apiRequest = await operation.request(input);
  // A global API has one fixed region, in `signing`. For another API, the arguments may request a region, or else the configured one is used.
  const fixedOrRequestedRegion = operation.signing?.region ?? apiRequest.region;
  const region = fixedOrRequestedRegion ?? cloud.region;
  checkRegions(policy, region, input, accountName);
  const endpoint = resolveEndpoint(cloud, operation, region, apiRequest.path);
  const request = wireRequest(operation, apiRequest, endpoint);
  return { endpoint, request, regionSource: regionSourceOf(cloud, fixedOrRequestedRegion) };
}

/** Separates the control arguments, which are for this server, from the `input` of the operation. */
function splitControlArguments(
  args: Readonly<Record<string, unknown>>,
  { fieldsArgument = '' }: Pick<Operation, 'fieldsArgument'>,
) {
  const { planOnly, allowRepeat, replaces, [fieldsArgument]: fields, ...input } = args;
  const control = {
    planOnly: planOnly === true,
    allowRepeat: allowRepeat === true,
    replaces: typeof replaces === 'string' ? replaces : undefined,
  };
  return { control, fields: Array.isArray(fields) ? fields.map(String) : undefined, input };
}

/** The name of the read that shows the progress of a change, if it is offered. */
function followToolOf(
  operation: Operation,
  operations: readonly Operation[],
  isOffered: (tool: string) => boolean,
): string | undefined {
  const read = operation.follow && readOfFollow(operation, operation.follow, operations);
  return read !== undefined && isOffered(read.name) ? read.name : undefined;
}

/** Leaves out the regions of the API reference if the storage is another product (S3 headers, `amz`), to which they do not apply. */
function operationForCloud(operation: Operation, { storageHeaders }: Cloud): Operation {
  if (operation.service !== 'storage' || storageHeaders !== 'amz') return operation;
  const { regions: _, ...withoutRegions } = operation;
  return withoutRegions;
}

/** Stands for the idempotency token in the request of a plan. It has only characters that no format escapes. */
const shownToken = 'added-when-sent';

type UnsentChange = Pick<ResolvedChange, 'operation' | 'input' | 'request' | 'endpoint' | 'nameBySecretPath'>;

/** Makes the arguments and the request to show, with words in place of the secrets. */
export async function partsToShow(call: UnsentChange): Promise<Pick<ResolvedChange, 'shownInput' | 'shownRequest'>> {
  const shownInput = withoutSecrets(call, call.input);
  return { shownInput, shownRequest: await requestToShow(call, shownInput) };
}

/** Makes the request to show, without secrets and with `shownToken`. A call with neither secrets nor a token shows the request itself. */
async function requestToShow(
  { operation, input, request, endpoint }: UnsentChange,
  shownInput: UnsentChange['input'],
): Promise<WireRequest> {
  // Without secrets, `withoutSecrets` has returned the input itself.
  const hasSecrets = shownInput !== input;
  const token = operation.takesToken === true ? shownToken : undefined;
  if (!hasSecrets && token === undefined) return request;
  const firstPage = undefined;
  try {
    return wireRequest(operation, await operation.request(shownInput, firstPage, token), endpoint);
  } catch {
    // The operation may refuse `shownToken`, or the words in place of a secret, for example because it expects base64.
    if (!hasSecrets) return request;
    // Neither the body nor the query is shown, because both may hold the secret. The path is shown unless it holds the secret.
    const body = plainText('This request is not shown, because it holds a secret.');
    const pathHasSecret = createRedactor(secretsIn({ operation, input })).finds(request.path);
    const path = pathHasSecret ? '/' : request.path;
    // The path of `request` has the endpoint's prefix already.
    return encodeRequest(operation.method, { path, body }, { pathPrefix: '' });
  }
}

/** The refusal of a call whose account is unclear. It also reports the problems of the other arguments. */
function unclearAccountRefusal(
  problem: SafeText,
  operation: Operation,
  args: unknown,
  argumentName: ArgumentName | undefined,
): Refusal {
  let otherProblems: readonly SafeText[] = [];
  try {
    validate(operation, args, '', argumentName);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    otherProblems = error.problems;
  }
  return new Refusal('InvalidArguments', [problem, ...otherProblems], { next: askWhichIsMeant });
}

/**
 * The arguments with which the same change can be called again, for example after a person has agreed on the page.
 * @param validArgs the arguments before `insertSecrets`, which name secret files but do not hold their contents
 */
function repeatableArguments(validArgs: Readonly<Record<string, unknown>>, account: string | undefined) {
  const { planOnly: _, replaces: __, ...kept } = validArgs;
  return account === undefined ? kept : { ...kept, account };
}

/** The values of the call's secret arguments. */
export const secretsIn = ({ operation, input }: Pick<ResolvedCall, 'operation' | 'input'>): readonly string[] =>
  (operation.secrets ?? []).flatMap((path) => textsAt(input, path));

/** The options of the client that sends the requests of a call. */
export const clientOptions = (
  { operation, input }: ResolvedCall,
  { span, onRetry }: Pick<CallContext, 'span' | 'onRetry'>,
  signal: AbortSignal,
): SignedClientOptions => ({
  repeatable: operation.effect === 'read',
  secretArguments: secretsIn({ operation, input }),
  signal,
  span,
  onRetry,
});

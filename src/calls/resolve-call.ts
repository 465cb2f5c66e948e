import { findOperation } from '../models/service-catalog.js';
import { type Operation, readOfFollow } from '../tools/define-operation.js';
import { plainText } from '../tools/request-body.js';
import { createRedactor } from '../transport/redact.js';
import { encodeRequest, type WireRequest } from '../transport/request.js';
import type { SignedClientOptions } from '../transport/signed-client.js';
import { digestOf } from '../util/digest.js';
import { textsAt } from '../util/objects.js';
import { type SafeText, say } from '../util/safe-text.js';
import type { Account, AccountResolution } from './account.js';
import { insertSecrets, withoutSecrets } from './call-secrets.js';
import type { CallDependencies, CallRun } from './context.js';
import { type Cloud, regionSourceOf, resolveEndpoint, wireRequest } from './endpoint.js';
import { checkPolicy, checkRegions, isAllowed } from './policy.js';
import { Refusal } from './refusal.js';
import type { ResolvedCall, ResolvedChange } from './resolved-call.js';
import { type ArgumentName, askWhichIsMeant, validate } from './validate.js';

/** Checks the account, the policy and the arguments of a call, and encodes its request. Nothing is sent. @throws Refusal */
export async function resolveCall(
  requestedOperation: Operation,
  resolution: AccountResolution,
  { principal, client: { argumentName }, operations, services, secretFiles }: CallRun,
): Promise<ResolvedCall> {
  if (resolution.kind === 'none') throw new Refusal('NotAllowed', [say`the token names no account of this server`]);
  if (resolution.kind === 'unclear')
    throw unclearAccountRefusal(resolution.problem, requestedOperation, resolution.args, argumentName);
  const { account, name: accountName, isDefault, args } = resolution;
  checkPolicy(account.policy, requestedOperation, principal, accountName);

  const cloud = await account.cloud();
  // `input` has the contents of the secret files that `validArgs` names.
  const validArgs = validate(requestedOperation, args, argumentName);
  const withSecrets = await insertSecrets(requestedOperation, validArgs, secretFiles);
  const { operation, nameBySecretPath } = withSecrets;
  const { control, fields, input } = splitControlArguments(withSecrets.input, operation);

  const { endpoint, request, regionSource } = await resolveRequest(operation, input, cloud, resolution);
  const isOffered = (tool: string) =>
    operations.some((other) => other.name === tool && isAllowed(account.policy, other, principal));
  const resolved = { operation, account, accountName, endpoint, input, request, isOffered };

  const { change } = operation;
  if (change === undefined) return { kind: 'read', ...resolved, fields };
  const { accessKeyId: keyId } = await endpoint.keys.current();
  const { planOnly: _, replaces: __, ...kept } = validArgs;
  const read = await readToFollow(operation, { operations, services });
  return {
    kind: 'change',
    ...resolved,
    change,
    verificationHint: change.verificationHint(input, endpoint.region),
    isDefaultAccount: isDefault,
    ...(await partsToShow({ operation, input, request, endpoint, nameBySecretPath })),
    keyId,
    args: accountName === undefined ? kept : { ...kept, account: accountName },
    nameBySecretPath,
    regionSource,
    budget: {
      // Callers that are not authenticated share one budget.
      key: digestOf([cloud.account, cloud.endpoints, endpoint.keys.id, principal?.name ?? null]),
      limit: account.budget,
    },
    followTool: read !== undefined && isAllowed(account.policy, read, principal) ? read.name : undefined,
    control,
  };
}

/** Checks the regions of a request, and encodes it for its endpoint. @throws Refusal */
export async function resolveRequest(
  operation: Operation,
  input: ResolvedCall['input'],
  cloud: Cloud,
  { account, name }: { readonly account: Pick<Account, 'policy'>; readonly name?: string | undefined },
  usualRegion: string = cloud.region,
) {
  const apiRequest = await operation.request(input);
  // A global API has one fixed region, in `signing`.
  const fixedOrRequestedRegion = operation.signing?.region ?? apiRequest.region;
  const region = fixedOrRequestedRegion ?? usualRegion;
  checkRegions(account.policy, region, input, name);
  const endpoint = resolveEndpoint(cloud, operation, region, apiRequest.path);
  const request = wireRequest(operation, apiRequest, endpoint);
  return { endpoint, request, regionSource: regionSourceOf(cloud, fixedOrRequestedRegion) };
}

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

const readToFollow = async (operation: Operation, all: Pick<CallDependencies, 'operations' | 'services'>) =>
  operation.follow &&
  (readOfFollow(operation, operation.follow, all.operations) ?? (await findOperation(operation.follow.read, all)));

type UnsentChange = Pick<ResolvedChange, 'operation' | 'input' | 'request' | 'endpoint' | 'nameBySecretPath'>;

/** Makes the arguments and the request to show, with words in place of the secrets. */
export async function partsToShow(call: UnsentChange): Promise<Pick<ResolvedChange, 'shownInput' | 'shownRequest'>> {
  const shownInput = withoutSecrets(call, call.input);
  return { shownInput, shownRequest: await requestToShow(call, shownInput) };
}

async function requestToShow(
  { operation, input, request, endpoint }: UnsentChange,
  shownInput: UnsentChange['input'],
): Promise<WireRequest> {
  // Without secrets, `withoutSecrets` has returned the input itself.
  const hasSecrets = shownInput !== input;
  // Has only characters that no format escapes.
  const token = operation.takesToken === true ? 'added-when-sent' : undefined;
  if (!hasSecrets && token === undefined) return request;
  const firstPage = undefined;
  try {
    return wireRequest(operation, await operation.request(shownInput, firstPage, token), endpoint);
  } catch {
    // The operation may refuse the token, or the words in place of a secret.
    if (!hasSecrets) return request;
    // Neither the body nor the query is shown, because both may hold the secret.
    const body = plainText('This request is not shown, because it holds a secret.');
    const pathHasSecret = createRedactor(secretsIn({ operation, input })).finds(request.path);
    const path = pathHasSecret ? '/' : request.path;
    // The path of `request` has the endpoint's prefix already.
    return encodeRequest(operation.method, { path, body }, { pathPrefix: '' });
  }
}

/** Also reports the problems of the other arguments. */
function unclearAccountRefusal(
  problem: SafeText,
  operation: Operation,
  args: unknown,
  argumentName: ArgumentName | undefined,
): Refusal {
  let otherProblems: readonly SafeText[] = [];
  try {
    validate(operation, args, argumentName);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    otherProblems = error.problems;
  }
  return new Refusal('InvalidArguments', [problem, ...otherProblems], { next: askWhichIsMeant });
}

export const secretsIn = ({ operation, input }: Pick<ResolvedCall, 'operation' | 'input'>): readonly string[] =>
  (operation.secrets ?? []).flatMap((path) => textsAt(input, path));

export const clientOptions = ({ operation, input }: ResolvedCall, { signal, watch }: CallRun): SignedClientOptions => ({
  repeatable: operation.effect === 'read',
  secretArguments: secretsIn({ operation, input }),
  isPrivate: operation.isPrivate?.(input) === true,
  signal,
  span: watch?.span,
  onRetry: watch?.onRetry,
});

import type { Account } from '../calls/account.js';
import { type Cloud, missingSettings, resolveEndpoint, wireRequest } from '../calls/endpoint.js';
import { isAllowed } from '../calls/policy.js';
import { Refusal } from '../calls/refusal.js';
import type { Runtime } from '../runtime.js';
import { KeysUnavailable } from '../signing/keys.js';
import { sign } from '../signing/sign.js';
import { type ApiRequest, isBuiltInService, type Operation, type Service } from '../tools/define-operation.js';
import { parseBody } from '../transport/parse-body.js';
import { readServiceError } from '../transport/service-error.js';
import { shownReason } from '../util/log.js';
import { join, namesOf, own, type SafeText, say, textFor, words } from '../util/safe-text.js';
import { type CheckOptions, checkEndpoint } from './check-endpoint.js';
import { type Finding, notChecked, ok, problem } from './finding.js';

interface CheckContext {
  readonly runtime: Runtime;
  /** Replaces the bucket in probe calls that read one. */
  readonly bucket: string | undefined;
  readonly options: CheckOptions;
}

/** Checks the keys of every account, and every API that an account may call. */
export async function checkAccounts(context: CheckContext): Promise<Finding[]> {
  const { all, areNamed } = context.runtime.accounts;
  const findings = await Promise.all(
    all.map(async (account) => {
      const ofAccount = await checkAccount(account, context);
      if (!areNamed) return ofAccount;
      return ofAccount.map((finding) => ({ ...finding, check: `${account.name} ${finding.check}` }));
    }),
  );
  return findings.flat();
}

async function checkAccount(account: Account, context: CheckContext): Promise<Finding[]> {
  const keyProblem = await checkKeys(account);
  // Without keys, each API would report the same problem again.
  if (keyProblem !== undefined) return [keyProblem];
  const services = [...new Set(context.runtime.server.operations.map(({ service }) => service))];
  const findings = await Promise.all(services.map((service) => checkApi(service, account, context)));
  return findings.flat();
}

async function checkKeys(account: Account): Promise<Finding | undefined> {
  try {
    const { keys } = await account.cloud();
    if (!('missing' in keys)) await keys.current();
    return undefined;
  } catch (error) {
    const reason = error instanceof Refusal ? join(error.problems, '; ') : say`${shownReason(error)}`;
    const remedy = error instanceof KeysUnavailable ? error.remedy : words('Give the account keys of its own.');
    return problem('keys', reason, say`${remedy} Until then, calls are refused.`);
  }
}

/** Checks an API, if the account may call any of its operations. */
async function checkApi(service: Service, account: Account, context: CheckContext): Promise<Finding[]> {
  const { runtime, options } = context;
  const allowed = runtime.server.operations.filter(
    (operation) => operation.service === service && isAllowed(account.policy, operation),
  );
  const [anyOperation] = allowed;
  if (anyOperation === undefined) return [];

  const cloud = await account.cloud();
  const missing = missingSettings(cloud, service);
  if (missing.length > 0) return [missingSettingsFinding(service, missing, cloud, allowed)];

  const endpoint = resolveEndpoint(cloud, anyOperation);
  const { answers, findings: endpointFindings } = await checkEndpoint(service, endpoint, options);
  if (!answers) return endpointFindings;

  const operationWithProbe = allowed.find(hasProbe);
  const signature =
    operationWithProbe === undefined
      ? noProbeFinding(service, allowed)
      : await checkSignature(operationWithProbe, account, context);
  return [...endpointFindings, signature];
}

function missingSettingsFinding(
  service: Service,
  missing: readonly string[],
  cloud: Cloud,
  operations: readonly Operation[],
): Finding {
  if (cloud.isSandbox === true) {
    const remedy = say`Unset CLOUDOPS_SANDBOX to call ${toolNames(operations)}.`;
    return notChecked(service, 'the built-in sandbox does not have this API', remedy);
  }
  const detail = say`not set: ${namesOf(missing)}`;
  const orSandbox = words(isBuiltInService(service) ? ', or try with --sandbox' : '');
  const remedy = say`Set ${words(missing.length === 1 ? 'it' : 'them')} to call ${toolNames(operations)}${orSandbox}.`;
  // An API without an endpoint is probably not in use.
  const isUnused = cloud.endpoints[service] === undefined;
  return isUnused ? notChecked(service, detail, remedy) : problem(service, detail, remedy);
}

interface OperationWithProbe extends Operation {
  readonly probe: NonNullable<Operation['probe']>;
}

const hasProbe = (operation: Operation): operation is OperationWithProbe => operation.probe !== undefined;

function noProbeFinding(service: Service, operations: readonly Operation[]): Finding {
  const reads = operations.filter(({ effect }) => effect === 'read');
  const detail =
    reads.length > 0
      ? 'no operation of this API has a call to try (probe)'
      : 'no tool of this API can be tried without changing something';
  const remedy = say`The first call shows it: ${toolNames(reads.length > 0 ? reads : operations)}.`;
  return notChecked(`${service} signature`, detail, remedy);
}

const toolNames = (operations: readonly Operation[]): SafeText =>
  namesOf(
    operations.map(({ name }) => name),
    ' or ',
  );

async function checkSignature(
  operation: OperationWithProbe,
  account: Account,
  { runtime, bucket, options }: CheckContext,
): Promise<Finding> {
  const { probe } = operation;
  const check = `${operation.service} signature`;
  const { call, server } = runtime;
  const takesBucket = 'bucket' in probe.arguments;
  const usesGivenBucket = takesBucket && bucket !== undefined;
  const probeInput = usesGivenBucket ? { ...probe.arguments, bucket } : probe.arguments;
  const args = server.accounts.areNamed ? { ...probeInput, account: account.name } : probeInput;
  const outcome = await call(operation, args, { signal: new AbortController().signal, client: 'doctor' });
  if (outcome.kind !== 'failed') return ok(check, 'accepted');

  const { code, status, summary, problems, next } = outcome.failure;
  const remedy = textFor('operator', next.text);
  // Services check the signature before they look for the bucket.
  if (code === 'NoSuchBucket' && usesGivenBucket)
    return problem(check, say`accepted, but there is no bucket ${bucket} here`, remedy);
  // A probe usually asks for a thing that does not exist. The sentence fits `list_parts`, the only built-in operation with a probe.
  if (probe.accepted.includes(code))
    return ok(check, say`accepted (${own(code)}, as expected: doctor asks for an upload that does not exist)`);

  const hasAnswered = status !== undefined;
  if (operation.service === 'storage' && hasAnswered) {
    const sentOperation = { ...operation, probe: { ...probe, arguments: probeInput } };
    const wrongVariant = await checkOtherVariants(sentOperation, account, options);
    if (wrongVariant !== undefined) return wrongVariant;
  }

  const canNameBucket = takesBucket && !usesGivenBucket;
  return problem(
    check,
    join([summary, ...problems], ' '),
    join([remedy, ...hintsAfterProbe(code, canNameBucket)], ' '),
  );
}

function hintsAfterProbe(code: string, canNameBucket: boolean): SafeText[] {
  const nameBucket = canNameBucket ? [words('Or name a bucket that you can read with --bucket.')] : [];
  // Ceph with STS sends AccessDenied for an unknown access key, too.
  if (code === 'AccessDenied')
    return [words('Some stores answer so to an unknown access key or a wrong secret, too: check both.'), ...nameBucket];
  // In the style `virtual`, the host of a bucket that does not exist may not exist either.
  return code === 'NameNotResolved' ? nameBucket : [];
}

/** Tries the other kind of signed headers and the other style, because with the wrong ones, stores refuse even a valid key. */
async function checkOtherVariants(
  operation: OperationWithProbe,
  account: Account,
  options: CheckOptions,
): Promise<Finding | undefined> {
  const cloud = await account.cloud();
  const { storageHeaders: headers, storageStyle: style = 'path' } = cloud;
  const otherHeaders = headers === 'amz' ? 'ext' : 'amz';
  const otherStyle = style === 'path' ? 'virtual' : 'path';
  const variants = [
    { change: { storageHeaders: otherHeaders }, setting: 'HEADERS', now: headers, other: otherHeaders },
    { change: { storageStyle: otherStyle }, setting: 'STYLE', now: style, other: otherStyle },
  ] as const;
  for (const { change, setting, now, other } of variants) {
    if (!(await isProbeAccepted(operation, { ...cloud, ...change }, options))) continue;
    const kind = words(setting === 'HEADERS' ? 'headers' : 'style');
    return problem(
      `${operation.service} signature`,
      say`refused with ${own(now)} ${kind}, accepted with ${own(other)} ${kind}`,
      say`Set ${own(`CLOUDOPS_STORAGE_${setting}`)}=${own(other)}.`,
    );
  }
  return undefined;
}

/** Tries a probe call signed for `cloud`. Does not use the runtime, because that always signs the configured kind of headers. */
async function isProbeAccepted(
  operation: OperationWithProbe,
  cloud: Cloud,
  { httpClient, now }: CheckOptions,
): Promise<boolean> {
  const { probe } = operation;
  const apiRequest = await operation.request(operation.input().parse(probe.arguments));
  const target = targetOf(operation, cloud, apiRequest);
  if (target === undefined) return false;
  const { endpoint, request } = target;

  const { method } = operation;
  const { origin } = endpoint;
  const credentials = await endpoint.keys.current();
  const { headers } = await sign({ ...request, host: new URL(origin).host }, { ...endpoint, credentials, date: now() });

  // A kept-alive connection will do for a read, even if the connection may be closing.
  const message = { method, origin, path: request.target, headers, newConnection: false };
  const response = await httpClient.send(message, new AbortController().signal);
  if (response.kind === 'failure') return false;
  const { code = '' } = readServiceError(parseBody(response.body), response.headers);
  // Services check the signature first, so an expected error shows a valid signature.
  return response.status === 200 || probe.accepted.includes(code);
}

/** Undefined if the bucket cannot stand before the endpoint's host. */
function targetOf(operation: Operation, cloud: Cloud, apiRequest: ApiRequest) {
  try {
    const endpoint = resolveEndpoint(cloud, operation, undefined, apiRequest.path);
    return { endpoint, request: wireRequest(operation, apiRequest, endpoint) };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

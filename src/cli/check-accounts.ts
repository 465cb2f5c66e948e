import type { Account } from '../calls/account.js';
import { type Cloud, endpointSetting, missingSettings, resolveEndpoint } from '../calls/endpoint.js';
import type { Failure } from '../calls/outcome.js';
import { isAllowed } from '../calls/policy.js';
import { Refusal } from '../calls/refusal.js';
import { httpFailureText, stepAfterFailure } from '../calls/remedies.js';
import type { Config } from '../config/load-config.js';
import { variableName } from '../config/settings.js';
import type { Runtime } from '../runtime.js';
import { KeysUnavailable } from '../signing/keys.js';
import { isBuiltInService, type Operation, type Service } from '../tools/define-operation.js';
import { type Proxies, proxyFor } from '../transport/connections.js';
import type { HttpClient } from '../transport/http-client.js';
import type { Endpoint } from '../transport/request.js';
import { shownReason } from '../util/log.js';
import {
  defined,
  exact,
  join,
  namesOf,
  own,
  type SafeText,
  say,
  textFor,
  type Wording,
  words,
} from '../util/safe-text.js';

/** The result of one check of `doctor`. Every finding that is not `ok` has a remedy. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'not checked' | 'warning' | 'problem';
  readonly detail: SafeText;
  readonly remedy?: SafeText;
}

export const ok = <const Detail extends string>(check: string, detail: Wording<Detail>): Finding => ({
  check,
  status: 'ok',
  detail: words(detail),
});

const finding =
  (status: Exclude<Finding['status'], 'ok'>) =>
  <const Detail extends string, const Remedy extends string>(
    check: string,
    detail: Wording<Detail>,
    remedy: Wording<Remedy>,
  ): Finding => ({ check, status, detail: words(detail), remedy: words(remedy) });

export const notChecked = finding('not checked');
export const warning = finding('warning');
export const problem = finding('problem');

export interface CheckContext extends Pick<Config, 'origins'> {
  readonly runtime: Runtime;
  /** Starts a runtime with other settings of every account's cloud. */
  readonly startWith: (change: Pick<Cloud, 'storageStyle'> | Pick<Cloud, 'storageHeaders'>) => Promise<Runtime>;
  /** Replaces the bucket in probe calls that read one. */
  readonly bucket: string | undefined;
  readonly httpClient: HttpClient;
  readonly proxies: Proxies;
  readonly now: () => Date;
}

/** Checks the keys of every account, and every API that an account may call. */
export async function checkAccounts(context: CheckContext): Promise<Finding[]> {
  const { all, areNamed } = context.runtime.server.accounts;
  const findings = await Promise.all(
    all.map(async (account) => {
      const ofAccount = await checkAccount(account, context);
      return areNamed ? ofAccount.map((each) => ({ ...each, check: `${account.name} ${each.check}` })) : ofAccount;
    }),
  );
  return findings.flat();
}

async function checkAccount(account: Account, context: CheckContext): Promise<Finding[]> {
  const keyProblem = await checkKeys(account);
  // Without keys, each API would report the same problem again.
  if (keyProblem !== undefined) return [keyProblem];
  const { operations, services: catalog } = context.runtime.server;
  const services = [...new Set(operations.map(({ service }) => service))];
  const cloud = await account.cloud();
  const hasEndpoint = (service: Service) => cloud.endpoints[service] !== undefined;
  // Who uses one built-in API need not read about the others. An API of a file was added on purpose.
  const whole = (catalog?.services ?? []).filter(({ api }) => hasEndpoint(api) && !services.includes(api));
  const usesAny = whole.length > 0 || services.some(hasEndpoint);
  const shown = services.filter((service) => !usesAny || hasEndpoint(service) || !isBuiltInService(service));
  const findings = await Promise.all([
    ...shown.map((service) => checkApi(service, account, cloud, context)),
    ...whole.map(({ name }) => checkService(name, cloud, context)),
  ]);
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

/** Checks the model and the endpoint of a whole service. */
async function checkService(name: string, cloud: Cloud, context: CheckContext): Promise<Finding[]> {
  try {
    const operation = (await context.runtime.server.services?.open(name))?.anyOperation();
    if (operation === undefined) throw new Error('no operation can be called');
    return (await checkEndpoint(name, operation.service, resolveEndpoint(cloud, operation), context)).findings;
  } catch (error) {
    const remedy = 'Correct CLOUDOPS_MODELS, or the services in CLOUDOPS_OPERATIONS.';
    return [problem(name, say`its model cannot be used: ${shownReason(error)}`, remedy)];
  }
}

/** Checks an API, if the account may call any of its operations. */
async function checkApi(
  service: Service,
  account: Account,
  cloud: Cloud,
  context: CheckContext,
): Promise<readonly Finding[]> {
  const allowed = context.runtime.server.operations.filter(
    (operation) => operation.service === service && isAllowed(account.policy, operation),
  );
  const [anyOperation] = allowed;
  if (anyOperation === undefined) return [];
  const tools = namesOf(
    allowed.map(({ name }) => name),
    ' or ',
  );
  const missing = missingSettings(cloud, service);
  if (missing.length > 0) return [missingSettingsFinding(service, missing, cloud, tools)];

  const { answers, findings } = await checkEndpoint(service, service, resolveEndpoint(cloud, anyOperation), context);
  if (!answers) return findings;
  const withProbe = allowed.find(hasProbe);
  if (withProbe !== undefined) return [...findings, await checkSignature(withProbe, account, context)];
  const detail = 'no tool of this API can be tried without a change or made-up names';
  return [...findings, notChecked(`${service} signature`, detail, say`The first call shows it: ${tools}.`)];
}

function missingSettingsFinding(
  service: Service,
  missing: readonly string[],
  { isSandbox, endpoints }: Cloud,
  tools: SafeText,
): Finding {
  if (isSandbox === true) {
    const detail = 'the built-in sandbox does not have this API';
    return notChecked(service, detail, say`Unset CLOUDOPS_SANDBOX to call ${tools}.`);
  }
  const orSandbox = words(isBuiltInService(service) ? ', or try with --sandbox' : '');
  const remedy = say`Set ${words(missing.length === 1 ? 'it' : 'them')} to call ${tools}${orSandbox}.`;
  // An API without an endpoint is probably not in use.
  const isUnused = endpoints[service] === undefined;
  return (isUnused ? notChecked : problem)(service, say`not set: ${namesOf(missing)}`, remedy);
}

interface OperationWithProbe extends Operation {
  readonly probe: NonNullable<Operation['probe']>;
}

const hasProbe = (operation: Operation): operation is OperationWithProbe => operation.probe !== undefined;

async function checkSignature(operation: OperationWithProbe, account: Account, context: CheckContext) {
  const { runtime, bucket } = context;
  const check = `${operation.service} signature`;
  const takesBucket = 'bucket' in operation.probe.arguments;
  const failure = await probe(operation, account, runtime, bucket);
  if (failure === undefined) return ok(check, 'accepted');

  const { code, status, summary, problems, next } = failure;
  const remedy = withUsedSettings(textFor('operator', next.text), operation.service, context);
  // Services check the signature before they look for the bucket.
  if (code === 'NoSuchBucket' && takesBucket && bucket !== undefined)
    return problem(check, say`accepted, but there is no bucket ${bucket} here`, remedy);
  // A probe usually asks for a thing that does not exist. The sentence fits `list_parts`, the only built-in operation with a probe.
  if (operation.probe.accepted.includes(code))
    return ok(check, say`accepted (${own(code)}, as expected: doctor asks for an upload that does not exist)`);

  const wrongVariant =
    operation.service === 'storage' && status !== undefined
      ? await checkOtherVariants(operation, account, context)
      : undefined;
  if (wrongVariant !== undefined) return wrongVariant;
  const hints = hintsAfterProbe(code, takesBucket && bucket === undefined);
  return problem(check, join([summary, ...problems], ' '), join([remedy, ...hints], ' '));
}

/** Makes the probe call of an operation. Undefined if it succeeds. */
async function probe(
  operation: OperationWithProbe,
  { name }: Account,
  { server: { call, accounts } }: Runtime,
  bucket: string | undefined,
): Promise<Failure | undefined> {
  const { arguments: given } = operation.probe;
  const args = {
    ...given,
    ...('bucket' in given && bucket !== undefined && { bucket }),
    ...(accounts.areNamed && { account: name }),
  };
  const outcome = await call(operation, args, { signal: new AbortController().signal, client: 'doctor' });
  return outcome.kind === 'failed' ? outcome.failure : undefined;
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
  { startWith, bucket }: CheckContext,
): Promise<Finding | undefined> {
  const { storageHeaders: headers, storageStyle: style = 'path' } = await account.cloud();
  const otherHeaders = headers === 'amz' ? 'ext' : 'amz';
  const otherStyle = style === 'path' ? 'virtual' : 'path';
  const variants = [
    { change: { storageHeaders: otherHeaders }, kind: 'headers', now: headers, other: otherHeaders },
    { change: { storageStyle: otherStyle }, kind: 'style', now: style, other: otherStyle },
  ] as const;
  for (const { change, kind, now, other } of variants) {
    const runtime = await startWith(change);
    const failure = await probe(operation, account, runtime, bucket).finally(() => runtime.close(0));
    // Services check the signature first, so an expected error shows a valid signature.
    if (failure === undefined || operation.probe.accepted.includes(failure.code))
      return problem(
        `${operation.service} signature`,
        say`refused with ${own(now)} ${words(kind)}, accepted with ${own(other)} ${words(kind)}`,
        say`Set ${own(`CLOUDOPS_STORAGE_${kind.toUpperCase()}`)}=${own(other)}.`,
      );
  }
  return undefined;
}

const keySources = ['PROFILE', 'CREDENTIAL_PROCESS', 'CREDENTIAL_SOURCE'].map(variableName);

/** Names settings as they are used here: `CLOUDOPS_STORAGE_URL` for `CLOUDOPS_…_URL`, and the setting that has the keys. */
function withUsedSettings(text: SafeText, service: Service, { origins }: Pick<Config, 'origins'>): SafeText {
  const isSet = (name: string) => origins.some((origin) => origin.name === name);
  const url = variableName(endpointSetting(service));
  const signingName = isBuiltInService(service) ? url.replace(/_URL$/, '_SERVICE') : 'the signing name of the service';
  const source = keySources.find(isSet);
  const keys = /CLOUDOPS_ACCESS_KEY_ID(, CLOUDOPS_SECRET_ACCESS_KEY)?/g;
  const named = text.text.replaceAll('CLOUDOPS_…_URL', url).replaceAll('CLOUDOPS_…_SERVICE', signingName);
  return defined(
    (source === undefined ? named : named.replace(keys, source)).replace(/CLOUDOPS_[A-Z_]+/g, (name) =>
      isSet(`${name}_FILE`) ? `${name}_FILE` : name,
    ),
  );
}

/** Checks that an endpoint answers an unsigned request, even with an error, and compares its clock. */
async function checkEndpoint(
  check: string,
  service: Service,
  { origin, pathPrefix }: Endpoint,
  { httpClient, proxies, now, origins }: CheckContext,
): Promise<{ readonly answers: boolean; readonly findings: Finding[] }> {
  // Without its user name and password.
  const proxy = proxyFor(new URL(origin), proxies)?.host;
  const throughProxy = proxy === undefined ? words('') : say` through the proxy ${exact(proxy)}`;

  const request = { method: 'GET', origin, path: `${pathPrefix}/`, headers: {}, newConnection: false } as const;
  const sentAt = now().getTime();
  const response = await httpClient.send(request, new AbortController().signal);
  // The endpoint read its clock between the request and the answer.
  const machineTime = (sentAt + now().getTime()) / 2;

  if (response.kind === 'failure') {
    const detail = say`A request${throughProxy} failed: ${httpFailureText(response, origin)}.`;
    const remedy = textFor('operator', stepAfterFailure(response.code).text);
    return { answers: false, findings: [problem(check, detail, withUsedSettings(remedy, service, { origins }))] };
  }

  // NaN without a Date header.
  const endpointTime = Date.parse(response.headers.date ?? '');
  const clock = clockFinding(`${check} clock`, endpointTime, machineTime);
  return { answers: true, findings: [ok(check, say`${exact(origin)} answers${throughProxy}`), clock] };
}

/** Compares the endpoint's time with the time of this machine (both in milliseconds). */
function clockFinding(check: string, endpointTime: number, machineTime: number): Finding {
  const remedy = 'Synchronize the clock of this machine (NTP): signatures are refused when it is off by 15 minutes.';
  if (Number.isNaN(endpointTime)) return warning(check, 'the endpoint sends no Date header', remedy);
  const seconds = Math.round((machineTime - endpointTime) / 1000);
  const difference = Math.abs(seconds);
  // One second may come from rounding, because the Date header has whole seconds.
  if (difference <= 1) return ok(check, 'in step with this machine');
  const span = difference < 120 ? say`${difference} s` : say`${Math.round(difference / 60)} min`;
  const detail = say`this machine is ${span} ${words(seconds > 0 ? 'ahead' : 'behind')}`;
  if (difference <= 60) return ok(check, detail);
  return difference <= 15 * 60 ? warning(check, detail, remedy) : problem(check, detail, remedy);
}

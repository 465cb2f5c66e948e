import type { Account } from '../calls/account.js';
import { type Cloud, endpointSetting, missingSettings, resolveEndpoint } from '../calls/endpoint.js';
import type { Failure } from '../calls/outcome.js';
import { isAllowed } from '../calls/policy.js';
import { Refusal } from '../calls/refusal.js';
import { httpFailureText, stepAfterFailure } from '../calls/remedies.js';
import type { Config } from '../config/load-config.js';
import type { SettingValues } from '../config/read-settings.js';
import { variableName } from '../config/settings.js';
import type { Runtime } from '../runtime.js';
import { KeysUnavailable } from '../signing/keys.js';
import { isBuiltInService, type Operation, type Service } from '../tools/define-operation.js';
import { proxyFor } from '../transport/connections.js';
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

/** `doctor` checks the keys of every account, and every API that an account may call. */

/** The result of one check of `doctor`. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'not checked' | 'warning' | 'problem';
  readonly detail: SafeText;
  /** Undefined if all is well. */
  readonly remedy?: SafeText;
}

export const ok = <const Detail extends string>(check: string, detail: Wording<Detail>): Finding => ({
  check,
  status: 'ok',
  detail: words(detail),
});

export const finding = <const Detail extends string, const Remedy extends string>(
  status: Exclude<Finding['status'], 'ok'>,
  check: string,
  detail: Wording<Detail>,
  remedy: Wording<Remedy>,
): Finding => ({ check, status, detail: words(detail), remedy: words(remedy) });

interface CheckContext extends Pick<Config, 'origins' | 'proxies'> {
  readonly runtime: Runtime;
  /** Starts a runtime with other settings of every account. */
  readonly startWith: (change: Partial<Pick<SettingValues, 'STORAGE_HEADERS' | 'STORAGE_STYLE'>>) => Promise<Runtime>;
  /** Replaces the bucket in probe calls that read one. */
  readonly bucket: string | undefined;
  readonly httpClient: HttpClient;
  readonly now: () => Date;
}

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
  let cloud: Cloud;
  try {
    cloud = await account.cloud();
    if (!('missing' in cloud.keys)) await cloud.keys.current();
  } catch (error) {
    const reason = error instanceof Refusal ? join(error.problems, '; ') : say`${shownReason(error)}`;
    const remedy = error instanceof KeysUnavailable ? error.remedy : words('Give the account keys of its own.');
    // Without keys, each API would report the same problem again.
    return [finding('problem', 'keys', reason, say`${remedy} Until then, calls are refused.`)];
  }
  const { operations, services: catalog } = context.runtime.server;
  const services = [...new Set(operations.map(({ service }) => service))];
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

/** Checks the model and the endpoint of a whole service. */
async function checkService(name: string, cloud: Cloud, context: CheckContext): Promise<Finding[]> {
  try {
    const operation = (await context.runtime.server.services?.open(name))?.anyOperation();
    if (operation === undefined) throw new Error('no operation can be called');
    return await checkEndpoint(name, operation.service, resolveEndpoint(cloud, operation), context);
  } catch (error) {
    const remedy = 'Correct CLOUDOPS_MODELS, or the services in CLOUDOPS_OPERATIONS.';
    return [finding('problem', name, say`its model cannot be used: ${shownReason(error)}`, remedy)];
  }
}

/** Checks an API, if the account may call any of its operations. */
async function checkApi(service: Service, account: Account, cloud: Cloud, context: CheckContext): Promise<Finding[]> {
  const allowed = context.runtime.server.operations.filter(
    (operation) => operation.service === service && isAllowed(account.policy, operation),
  );
  const [anyOperation] = allowed;
  if (anyOperation === undefined) return [];
  const names = allowed.map(({ name }) => name);
  const tools = namesOf(names, ' or ');
  const missing = missingSettings(cloud, service);
  if (missing.length > 0 && cloud.isSandbox) {
    const detail = 'the built-in sandbox does not have this API';
    return [finding('not checked', service, detail, say`Unset CLOUDOPS_SANDBOX to call ${tools}.`)];
  }
  if (missing.length > 0) {
    // An API without an endpoint is probably not in use.
    const status = cloud.endpoints[service] === undefined ? 'not checked' : 'problem';
    return [finding(status, service, say`not set: ${namesOf(missing)}`, say`Set what is missing to call ${tools}.`)];
  }

  const findings = await checkEndpoint(service, service, resolveEndpoint(cloud, anyOperation), context);
  if (findings[0]?.status === 'problem') return findings;
  const withProbe = allowed.find(hasProbe);
  if (withProbe !== undefined) return [...findings, await checkSignature(withProbe, account, context)];
  const detail = 'no tool of this API can be tried without a change or made-up names';
  return [...findings, finding('not checked', `${service} signature`, detail, say`The first call shows it: ${tools}.`)];
}

type OperationWithProbe = Operation & Required<Pick<Operation, 'probe'>>;

const hasProbe = (operation: Operation): operation is OperationWithProbe => operation.probe !== undefined;

async function checkSignature(operation: OperationWithProbe, account: Account, context: CheckContext) {
  const { runtime, bucket } = context;
  const check = `${operation.service} signature`;
  const failure = await probe(operation, account, runtime, bucket);
  if (failure === undefined) return ok(check, 'accepted');

  const { code, status, summary, problems, next } = failure;
  const remedy = withUsedSettings(textFor('operator', next.text), operation.service, context);
  const takesBucket = 'bucket' in operation.probe.arguments;
  // Services check the signature before they look for the bucket.
  if (code === 'NoSuchBucket' && takesBucket && bucket !== undefined)
    return finding('problem', check, say`accepted, but there is no bucket ${bucket} here`, remedy);
  // A probe usually asks for a thing that does not exist. The sentence fits `list_parts`, the only built-in operation with a probe.
  if (operation.probe.accepted.includes(code))
    return ok(check, say`accepted (${own(code)}, as expected: doctor asks for an upload that does not exist)`);

  const usesStorage = operation.service === 'storage' && status !== undefined;
  const wrongVariant = usesStorage ? await checkOtherVariants(operation, account, context) : undefined;
  if (wrongVariant !== undefined) return wrongVariant;
  // A key may be for one bucket only. In the style `virtual`, the host of a bucket that does not exist may not exist either.
  const mayNameBucket = takesBucket && bucket === undefined && ['AccessDenied', 'NameNotResolved'].includes(code);
  const hint = mayNameBucket ? [words('Or name a bucket that you can read with --bucket.')] : [];
  return finding('problem', check, join([summary, ...problems], ' '), join([remedy, ...hint], ' '));
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
  const outcome = await call(operation, args, { signal: new AbortController().signal, client: { name: 'doctor' } });
  return outcome.kind === 'failed' ? outcome.failure : undefined;
}

/** Tries the other kind of signed headers and the other style, because with the wrong ones, stores refuse even a valid key. */
async function checkOtherVariants(
  operation: OperationWithProbe,
  account: Account,
  { startWith, bucket }: CheckContext,
): Promise<Finding | undefined> {
  const { storageHeaders, storageStyle } = await account.cloud();
  const headers = storageHeaders === 'amz' ? 'ext' : 'amz';
  const style = storageStyle === 'virtual' ? 'path' : 'virtual';
  const variants = [
    ['STORAGE_HEADERS', headers],
    ['STORAGE_STYLE', style],
  ] as const;
  for (const [setting, value] of variants) {
    const runtime = await startWith({ [setting]: value });
    const failure = await probe(operation, account, runtime, bucket).finally(() => runtime.close(0));
    // Services check the signature first, so an expected error shows a valid signature.
    if (failure !== undefined && !operation.probe.accepted.includes(failure.code)) continue;
    const right = say`${own(variableName(setting))}=${own(value)}`;
    return finding(
      'problem',
      `${operation.service} signature`,
      say`refused; accepted with ${right}`,
      say`Set ${right}.`,
    );
  }
  return undefined;
}

/** Names the settings of this API, and the source that has the keys. */
function withUsedSettings(text: SafeText, service: Service, { origins }: Pick<Config, 'origins'>): SafeText {
  const url = variableName(endpointSetting(service));
  const signingName = isBuiltInService(service) ? url.replace(/_URL$/, '_SERVICE') : 'the signing name of the service';
  const source = ['PROFILE', 'CREDENTIAL_PROCESS', 'CREDENTIAL_SOURCE']
    .map(variableName)
    .find((name) => origins.some((origin) => origin.name === name));
  const keys = /CLOUDOPS_ACCESS_KEY_ID(, CLOUDOPS_SECRET_ACCESS_KEY)?/g;
  const named = text.text.replaceAll('CLOUDOPS_…_URL', url).replaceAll('CLOUDOPS_…_SERVICE', signingName);
  return defined(source === undefined ? named : named.replace(keys, source));
}

/** Checks that an endpoint answers an unsigned request, even with an error, and compares its clock. */
async function checkEndpoint(
  check: string,
  service: Service,
  { origin, pathPrefix }: Endpoint,
  { httpClient, proxies, now, origins }: CheckContext,
): Promise<Finding[]> {
  // Without its user name and password.
  const proxy = proxyFor(new URL(origin), proxies)?.host;
  const throughProxy = proxy === undefined ? words('') : say` through the proxy ${exact(proxy)}`;

  const request = { method: 'GET', origin, path: `${pathPrefix}/`, headers: {}, newConnection: false } as const;
  const sentAt = now().getTime();
  const response = await httpClient.send(request, new AbortController().signal);
  // The endpoint read its clock between the request and the answer.
  const machineTime = (sentAt + now().getTime()) / 2;
  if (response.kind === 'failure') {
    const remedy = withUsedSettings(textFor('operator', stepAfterFailure(response.code).text), service, { origins });
    return [
      finding('problem', check, say`A request${throughProxy} failed: ${httpFailureText(response, origin)}.`, remedy),
    ];
  }
  // NaN without a Date header.
  const clock = clockFinding(`${check} clock`, machineTime - Date.parse(response.headers.date ?? ''));
  return [ok(check, say`${exact(origin)} answers${throughProxy}`), clock];
}

function clockFinding(check: string, aheadMs: number): Finding {
  const remedy = 'Synchronize the clock of this machine (NTP): signatures are refused when it is off by 15 minutes.';
  if (Number.isNaN(aheadMs)) return finding('warning', check, 'the endpoint sends no Date header', remedy);
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  // One second may come from rounding, because the Date header has whole seconds.
  if (seconds <= 1) return ok(check, 'in step with this machine');
  const span = seconds < 120 ? say`${seconds} s` : say`${Math.round(seconds / 60)} min`;
  const detail = say`this machine is ${span} ${words(aheadMs > 0 ? 'ahead' : 'behind')}`;
  return seconds <= 60 ? ok(check, detail) : finding(seconds <= 15 * 60 ? 'warning' : 'problem', check, detail, remedy);
}

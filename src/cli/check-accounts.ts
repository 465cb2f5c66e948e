import type { Account } from '../calls/account.js';
import { type Cloud, missingSettings, resolveEndpoint } from '../calls/endpoint.js';
import { isAllowed } from '../calls/policy.js';
import { Refusal } from '../consent/refusal.js';
import { createConsentTokens } from '../consent/tokens.js';
import type { Runtime } from '../runtime.js';
import { KeysUnavailable } from '../signing/keys.js';
import { sign } from '../signing/sign.js';
import type { Operation, Probe, Service } from '../tools/define-operation.js';
import { parseBody } from '../transport/parse-body.js';
import { encodeRequest } from '../transport/request.js';
import { readServiceError } from '../transport/service-error.js';
import { shownReason } from '../util/log.js';
import { join, namesOf, own, type SafeText, say, textFor, words } from '../util/safe-text.js';
import { type CheckOptions, checkEndpoint } from './check-endpoint.js';
import { type Finding, notChecked, ok, problem } from './finding.js';

interface CheckContext {
  readonly runtime: Runtime;
  /** The bucket that `--bucket` names. It replaces the bucket in probe calls that read one. */
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
  // Without keys, the check of each API would report the same problem again.
  if (keyProblem !== undefined) return [keyProblem];
  const services = [...new Set(context.runtime.server.operations.map(({ service }) => service))];
  const findings = await Promise.all(services.map((service) => checkApi(service, account, context)));
  return findings.flat();
}

/** Reads the keys of an account. Returns the problem if they cannot be read. */
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

/** Checks the settings, the endpoint and the signature of an API. Returns no findings if the account may call none of its operations. */
async function checkApi(service: Service, account: Account, context: CheckContext): Promise<Finding[]> {
  const { runtime, options } = context;
  const allowed = runtime.server.operations.filter(
    (operation) => operation.service === service && isAllowed(account.policy, operation),
  );
  const [anyOperation] = allowed;
  if (anyOperation === undefined) return [];

  const cloud = await account.cloud();
  const missing = missingSettings(cloud, service);
  if (missing.length > 0) {
    const detail = say`not set: ${namesOf(missing)}`;
    const remedy = say`Set ${words(missing.length === 1 ? 'it' : 'them')} to call ${toolNames(allowed)}, or try with --sandbox.`;
    // An API without an endpoint is probably not in use. With an endpoint, missing settings are a mistake.
    const isUnused = cloud.endpoints[service] === undefined;
    return [isUnused ? notChecked(service, detail, remedy) : problem(service, detail, remedy)];
  }

  // The endpoint of any of the operations shows whether the API answers.
  const endpoint = resolveEndpoint(cloud, anyOperation);
  const { answers, findings: endpointFindings } = await checkEndpoint(service, endpoint, options);
  if (!answers) return endpointFindings;

  const checkName = `${service} signature`;
  const operation = allowed.find(({ probe }) => probe !== undefined);
  if (operation?.probe === undefined) return [...endpointFindings, noProbeFinding(checkName, allowed)];
  const { probe } = operation;
  const signatureCheck = { ...context, checkName, operation, probe, accountName: account.name, cloud };
  return [...endpointFindings, await checkSignature(signatureCheck)];
}

/** The finding for an API whose signature cannot be checked, because none of the operations has a probe call. */
function noProbeFinding(checkName: string, operations: readonly Operation[]): Finding {
  const reads = operations.filter(({ effect }) => effect === 'read');
  if (reads.length > 0) {
    const remedy = say`The first call shows it: ${toolNames(reads)}.`;
    return notChecked(checkName, 'no operation of this API has a call to try (probe)', remedy);
  }
  const remedy = say`The first call shows it: ${toolNames(operations)}.`;
  return notChecked(checkName, 'no tool of this API can be tried without changing something', remedy);
}

const toolNames = (operations: readonly Operation[]): SafeText =>
  namesOf(
    operations.map(({ name }) => name),
    ' or ',
  );

/** The operation whose probe call checks the signature, the account that makes the call, and the name of the finding (`checkName`). */
interface SignatureCheck extends CheckContext {
  readonly checkName: string;
  readonly operation: Operation;
  readonly probe: Probe<Readonly<Record<string, unknown>>>;
  readonly accountName: string;
  readonly cloud: Cloud;
}

/** Checks the signature with the probe call of an operation, and explains the service's answer. */
async function checkSignature(signatureCheck: SignatureCheck): Promise<Finding> {
  const { checkName, operation, probe, runtime, bucket, accountName } = signatureCheck;
  const { call, server } = runtime;
  // The bucket that the user names with `--bucket` takes the place of the probe's own, which usually does not exist.
  const bucketToRead = 'bucket' in probe.arguments ? bucket : undefined;
  const bucketArgument = bucketToRead === undefined ? {} : { bucket: bucketToRead };
  const accountArgument = server.accounts.areNamed ? { account: accountName } : {};
  const args = { ...probe.arguments, ...bucketArgument, ...accountArgument };
  const noCaller = '';
  const tokens = createConsentTokens(server.stateKeys, noCaller, server.now);
  const outcome = await call(operation, args, { signal: new AbortController().signal, tokens, client: 'doctor' });
  if (outcome.kind !== 'failed') return ok(checkName, 'accepted');

  const { code, summary, problems, next } = outcome.failure;
  const remedy = textFor('operator', next.text);
  // Services check the signature before they look for the bucket, so the signature is valid. But the bucket of `--bucket` should exist.
  if (code === 'NoSuchBucket' && bucketToRead !== undefined)
    return problem(checkName, say`accepted, but there is no bucket ${bucketToRead} here`, remedy);
  // The probe names errors that show a valid signature, too, because it usually asks for a thing that does not exist. The text is written
  // for `list_parts`, the only built-in operation with a probe.
  const expectedErrors = probe.accepted;
  if (expectedErrors.includes(code))
    return ok(checkName, say`accepted (${own(code)}, as expected: doctor asks for an upload that does not exist)`);

  // After any other error of storage, the wrong kind of signed headers may be the cause, because stores refuse even a valid key with it.
  // Only storage has a setting for this kind (CLOUDOPS_STORAGE_HEADERS).
  const headersProblem = operation.service === 'storage' ? await checkOtherHeaders(signatureCheck) : undefined;
  if (headersProblem !== undefined) return headersProblem;

  const detail = join([summary, ...problems], ' ');
  if (code !== 'AccessDenied') return problem(checkName, detail, remedy);
  // AccessDenied usually means that the account lacks a right. But Ceph with STS sends it for an unknown access key, too.
  return problem(
    checkName,
    detail,
    say`${remedy} Some stores answer so to an unknown access key or a wrong secret, too: check both. Or name a bucket that you can read with --bucket.`,
  );
}

/**
 * Sends the failed probe call again, with the other kind of signed headers (`amz` or `ext`), because many stores answer the wrong kind
 * with `AccessDenied`. Returns a problem if the store accepts the other kind. Otherwise, the cause is not known, and it returns undefined.
 */
async function checkOtherHeaders(signatureCheck: SignatureCheck): Promise<Finding | undefined> {
  const { checkName, operation, probe, cloud, options } = signatureCheck;
  const { method } = operation;
  const otherHeaders = cloud.storageHeaders === 'amz' ? 'ext' : 'amz';
  const endpoint = resolveEndpoint({ ...cloud, storageHeaders: otherHeaders }, operation);
  const { origin } = endpoint;

  // The bucket of `--bucket` is not needed: with the probe's own, the expected error `NoSuchBucket` shows that the headers are accepted.
  const input = operation.input().parse(probe.arguments);
  const request = encodeRequest(method, await operation.request(input), endpoint);

  // The request is signed and sent here, because a call through the runtime would use the kind of headers (`amz` or `ext`) that is configured.
  const credentials = await endpoint.keys.current();
  const date = options.now();
  const { headers } = await sign({ ...request, host: new URL(origin).host }, { ...endpoint, credentials, date });

  // An open connection may be used again. If it is just closing, the request fails without harm, because it only reads.
  const message = { method, origin, path: request.target, headers, newConnection: false };
  const response = await options.httpClient.send(message, new AbortController().signal);
  if (response.kind === 'failure') return undefined;

  const { code = '' } = readServiceError(parseBody(response.body), response.headers);
  // Services check the signature first, so the errors that the probe expects show that it is valid.
  const expectedErrors = probe.accepted;
  const isAccepted = response.status === 200 || expectedErrors.includes(code);
  if (!isAccepted) return undefined;

  const detail = say`refused with ${own(cloud.storageHeaders)} headers, accepted with ${own(otherHeaders)} headers`;
  return problem(checkName, detail, say`Set CLOUDOPS_STORAGE_HEADERS=${own(otherHeaders)}.`);
}

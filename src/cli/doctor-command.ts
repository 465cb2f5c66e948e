import { devNull } from 'node:os';
import type { Account } from '../calls/account.js';
import { missingSettings, resolveEndpoint } from '../calls/endpoint.js';
import { isAllowed } from '../calls/policy.js';
import { hiddenBySandbox } from '../config/describe.js';
import type { Config } from '../config/load-config.js';
import { Refusal } from '../consent/refusal.js';
import type { ConsentMode } from '../consent/required-consent.js';
import { createConsentTokens } from '../consent/tokens.js';
import { documentBytes, findKeys } from '../http/issuer-keys.js';
import { type Runtime, startRuntime } from '../runtime.js';
import type { Operation, Probe, Service } from '../tools/define-operation.js';
import { textForOperator } from '../tools/next.js';
import { createHttpClient, defaultLimits } from '../transport/http-client.js';
import { shownReason } from '../util/log.js';
import { defined, exact, join, namesOf, own, quoted, said, say, words } from '../util/safe-text.js';
import { type Command, pageOf, type Terminal } from './command.js';
import { authorityFinding, journalFinding, secretsFinding, stateKeyFinding } from './doctor-files.js';
import { remedyOfKeys, remedyOfSetting } from './doctor-remedies.js';
import { doctorReport } from './doctor-report.js';
import { type Finding, notChecked, ok, type ProbeOptions, probe, problem, warning } from './probe.js';
import { insecureTlsWarning } from './run-until-signal.js';

/** `cloudops-mcp doctor`: checks what a call depends on, and says how to fix it. It changes nothing in the cloud. */
export const doctorCommand: Command = {
  usage: '[--bucket <name>] [--json]',
  about:
    'check configuration, endpoints, clocks, signature and files; exit code 0 all is well, 1 there is a problem, 3 no API could be checked',
  options: { json: 'switch', bucket: 'value' },
  run: async ({ options, config, terminal }) => {
    // Not by the signal itself: programs that are asked for keys end with a process that exits.
    terminal.interrupted(() => process.exit(interrupted));
    const rest = config.ok
      ? await examine(config.config, options.bucket, terminal)
      : {
          findings: config.problems.map((text) => problem('configuration', text, remedyOfSetting(text))),
          apisChecked: undefined,
        };
    const findings = [nodeFinding(process.versions.node), ...rest.findings];
    const page = pageOf(terminal, 'stdout');
    if (options.json === undefined) terminal.stdout.write(doctorReport(findings, rest.apisChecked, page));
    else terminal.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
    if (findings.some(({ status }) => status === 'problem')) return 1;
    return rest.apisChecked === 0 ? nothingChecked : 0;
  },
};

/** The exit code of what Ctrl-C ends, as shells have it. */
const interrupted = 130;

/** The exit code if no API is set up: nothing was found wrong because nothing was tried. */
const nothingChecked = 3;

function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const recent = major > 20 || (major === 20 && minor >= 19);
  return recent
    ? ok('Node.js', say`${own(version)}`)
    : problem('Node.js', say`${own(version)}`, 'Install 20.19 or later.');
}

interface Examined {
  readonly findings: readonly Finding[];
  /** The number of APIs that a request was sent to; undefined if the configuration did not allow any check. */
  readonly apisChecked: number | undefined;
}

async function examine(config: Config, bucket: string | undefined, terminal: Terminal): Promise<Examined> {
  const { now, env, version, platform } = terminal;
  // It leaves the journal alone, so that the next server reports the changes that an earlier process left open.
  const unrecorded = { ...config, journal: devNull, telemetry: false };
  const runtime = await startRuntime(unrecorded, version, () => undefined, now);
  const httpClient = createHttpClient(config.proxies, { ...defaultLimits, headersMs: 10_000 });
  const probing = { httpClient, proxies: config.proxies, now };
  try {
    const ofAccounts = await accountFindings(runtime, bucket, probing);
    const findings = [
      ...settingFindings(config),
      ...tlsFindings(config),
      ...(await authorityFinding(env.NODE_EXTRA_CA_CERTS)),
      ...ofAccounts,
      ...(await journalFinding(config, now)),
      ...(await issuerFinding(config)),
      await secretsFinding(config.secretsDir, platform),
      ...config.accounts.all.map(({ name, confirm }) => consentFinding(config.accounts.areNamed ? name : '', confirm)),
      stateKeyFinding(config, now),
    ];
    return { findings, apisChecked: ofAccounts.filter(({ status }) => status !== 'not checked').length };
  } finally {
    await httpClient.close();
    await runtime.close(0);
  }
}

function settingFindings({ origins, sandbox }: Config): Finding[] {
  const set = origins.map(({ name, value, secret, from }) =>
    ok('configuration', say`${own(name)}: ${secret ? exact(value) : quoted(value, 200)}, from ${defined(from)}`),
  );
  const unused = hiddenBySandbox({ sandbox, origins });
  if (unused.length > 0) {
    const remedy = 'For a real account, unset CLOUDOPS_SANDBOX; for the sandbox, unset these.';
    return [...set, warning('configuration', say`the sandbox is in use; ignored: ${said(join(unused, ', '))}`, remedy)];
  }
  if (sandbox) return [...set, ok('configuration', 'the sandbox has endpoints and credentials of its own')];
  return set.length > 0 ? set : [ok('configuration', 'nothing is set')];
}

function tlsFindings({ insecureTls }: Config): Finding[] {
  if (!insecureTls) return [];
  const remedy = 'Unset it, and name the authority of the endpoint in NODE_EXTRA_CA_CERTS.';
  return [warning('TLS', insecureTlsWarning, remedy)];
}

/** Every API of every account. */
async function accountFindings(
  runtime: Runtime,
  bucket: string | undefined,
  probing: ProbeOptions,
): Promise<Finding[]> {
  const { all, areNamed } = runtime.accounts;
  const services = [...new Set(runtime.server.operations.map(({ service }) => service))];
  const ofAccounts = all.map(async (account) => {
    const found = await keysProblem(account).catch((error: unknown) => {
      const reason = error instanceof Refusal ? join(error.problems, '; ') : say`${shownReason(error)}`;
      return [problem('keys', reason, remedyOfKeys(reason))];
    });
    // Without keys, every API would have the same problem.
    const apis = found.length > 0 ? [] : services;
    const ofApis = apis.map((service) => apiFindings(service, account, runtime, bucket, probing));
    const findings = [...found, ...(await Promise.all(ofApis)).flat()];
    return areNamed ? findings.map((finding) => ({ ...finding, check: `${account.name} ${finding.check}` })) : findings;
  });
  return (await Promise.all(ofAccounts)).flat();
}

/** Looks once for keys that are elsewhere, so that a problem with them is said once. */
async function keysProblem(account: Account): Promise<Finding[]> {
  const { keys } = await account.cloud();
  if (!('missing' in keys)) await keys.current();
  return [];
}

async function apiFindings(
  service: Service,
  { name, policy, cloud: open }: Account,
  runtime: Runtime,
  bucket: string | undefined,
  probing: ProbeOptions,
): Promise<Finding[]> {
  const { operations } = runtime.server;
  const tools = operations.filter((operation) => operation.service === service && isAllowed(policy, operation));
  const [first] = tools;
  if (first === undefined) return [];
  const cloud = await open();
  const missing = missingSettings(cloud, service);
  if (missing.length > 0) {
    const detail = say`not set: ${namesOf(missing)}`;
    const remedy = say`Set them to call ${namesOf(
      tools.map(({ name }) => name),
      ' or ',
    )}, or try with --sandbox.`;
    const isUnused = cloud.endpoints[service] === undefined;
    return [isUnused ? notChecked(service, detail, remedy) : problem(service, detail, remedy)];
  }
  const found = await probe(service, resolveEndpoint(cloud, first), probing);
  const check = `${service} signature`;
  if (found.length === 1) return found;
  const tried = tools.find(({ probe }) => probe !== undefined);
  if (tried?.probe !== undefined)
    return [...found, await trialFinding(check, tried, tried.probe, runtime, bucket, name)];
  const remedy = say`The first call shows it: ${namesOf(
    tools.map(({ name }) => name),
    ' or ',
  )}.`;
  return [...found, notChecked(check, 'no tool of this API can be tried without changing something', remedy)];
}

/** Makes the call with which an operation has its service tried. */
async function trialFinding(
  check: string,
  operation: Operation,
  { arguments: given, accepted }: Probe<Readonly<Record<string, unknown>>>,
  { call, server }: Pick<Runtime, 'call' | 'server'>,
  bucket: string | undefined,
  account: string,
): Promise<Finding> {
  const named = 'bucket' in given ? bucket : undefined;
  const args = {
    ...given,
    ...(named !== undefined && { bucket: named }),
    ...(server.accounts.areNamed && { account }),
  };
  const tokens = createConsentTokens(server.stateKeys, '', server.now);
  const outcome = await call(operation, args, { signal: new AbortController().signal, tokens, client: 'doctor' });
  if (outcome.kind !== 'failed') return ok(check, 'accepted');
  const { code, summary, problems, next } = outcome.failure;
  if (code === 'NoSuchBucket' && named !== undefined)
    return problem(check, say`accepted, but there is no bucket ${named} here`, textForOperator(next.text));
  if (accepted.includes(code))
    return ok(check, say`accepted (${own(code)}, as expected: doctor asks for an upload that does not exist)`);
  const remedy =
    code === 'AccessDenied'
      ? say`${said(textForOperator(next.text))} Or name a bucket that you can read with --bucket.`
      : textForOperator(next.text);
  return problem(check, join([summary, ...problems], ' '), remedy);
}

/** Fetches the issuer's keys as a server does, if tokens of an issuer are accepted. */
async function issuerFinding({ http: { issuer }, proxies }: Config): Promise<Finding[]> {
  if (issuer === undefined) return [];
  const httpClient = createHttpClient(proxies, { ...defaultLimits, bodyBytes: documentBytes });
  try {
    await findKeys(issuer, httpClient);
    return [ok('issuer', say`${exact(issuer)} answers with metadata and keys`)];
  } catch (error) {
    const remedy = 'Until it answers, nobody can log in whose token is signed with a key that is not known yet.';
    return [problem('issuer', say`${exact(issuer)}: ${shownReason(error)}`, remedy)];
  } finally {
    await httpClient.close();
  }
}

const consentMeanings = {
  ask: 'clients that can ask their user do so; for others, a first call returns a plan, and a second call with its planId carries it out',
  human: 'a person decides, in the client or on a page; where neither is possible, nothing is changed',
  approval: 'somebody other than the caller decides, on the page for decisions',
  plan: 'a first call returns a plan, and a second call with its planId carries it out',
  off: 'changes are sent without consent',
} as const satisfies Record<ConsentMode, string>;

function consentFinding(account: string, mode: ConsentMode): Finding {
  const check = `${account} consent`.trim();
  const detail = say`${own(mode)}: ${said(words(consentMeanings[mode]))}`;
  if (mode !== 'off') return ok(check, detail);
  return warning(check, detail, 'Unset CLOUDOPS_CONFIRM where a person can be asked.');
}

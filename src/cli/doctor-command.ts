import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { devNull } from 'node:os';
import type { Account } from '../calls/account.js';
import { type Cloud, missingSettings, resolveEndpoint } from '../calls/endpoint.js';
import { isAllowed } from '../calls/policy.js';
import { hiddenBySandbox } from '../config/describe.js';
import type { Config } from '../config/load-config.js';
import { planKeyProblem } from '../consent/plan-key.js';
import { Refusal } from '../consent/refusal.js';
import type { ConsentMode } from '../consent/required-consent.js';
import { createConsentTokens } from '../consent/tokens.js';
import { documentBytes, findKeys } from '../http/issuer-keys.js';
import { OtherVersion } from '../journal/conflict.js';
import type { Journal } from '../journal/journal.js';
import { countMissingIntents } from '../journal/missing-intents.js';
import { openStore, type Store } from '../journal/open-store.js';
import { planKeyPath, type Runtime, startRuntime } from '../runtime.js';
import { KeysUnavailable } from '../signing/keys.js';
import { sign } from '../signing/sign.js';
import type { Operation, Probe, Service } from '../tools/define-operation.js';
import { createHttpClient, defaultLimits } from '../transport/http-client.js';
import { parseBody } from '../transport/parse-body.js';
import { encodeRequest } from '../transport/request.js';
import { readServiceError } from '../transport/service-error.js';
import { shownReason } from '../util/log.js';
import { textAt } from '../util/objects.js';
import {
  counted,
  defined,
  exact,
  join,
  namesOf,
  own,
  quoted,
  type SafeText,
  say,
  textFor,
  words,
} from '../util/safe-text.js';
import { type Command, pageOf, type Terminal } from './command.js';
import { type HelpPage, padded, widthOf, wrapped } from './layout.js';
import { type Finding, notChecked, ok, type ProbeOptions, probe, problem, warning } from './probe.js';
import { insecureTlsWarning } from './run-until-signal.js';

/** `cloudops-mcp doctor` checks everything that calls depend on, and says how to fix problems. It changes nothing in the cloud. */
export const doctorCommand: Command = {
  usage: '[--bucket <name>] [--json]',
  about: 'check configuration, endpoints, clocks, signature and files',
  details: 'Exit code 0 all is well, 1 there is a problem, 3 no API could be checked.',
  options: { json: 'switch', bucket: 'value' },
  run: async ({ options, config, terminal }) => {
    // An explicit exit also ends programs that were started to print keys. A signal would not.
    terminal.interrupted(() => process.exit(interrupted));
    const rest = config.ok
      ? await examine(config.config, options.bucket, terminal)
      : {
          findings: config.problems.map((text) =>
            problem('configuration', text, 'Change or unset it, then run doctor again for the other checks.'),
          ),
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

/** The exit code after Ctrl-C, as in shells. */
const interrupted = 130;

/** The exit code if no API is set up, so that no API was checked. */
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
  /** Number of APIs that were checked. Undefined if the configuration is invalid. */
  readonly apisChecked: number | undefined;
}

async function examine(config: Config, bucket: string | undefined, terminal: Terminal): Promise<Examined> {
  const { now, env, version, platform } = terminal;
  // Opening the journal would report unfinished changes, which is left to the next server.
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
  const set = origins.map(({ name, shown, secret, from }) =>
    ok('configuration', say`${own(name)}: ${secret ? exact(shown) : quoted(shown, 200)}, from ${defined(from)}`),
  );
  const unused = hiddenBySandbox({ sandbox, origins });
  if (unused.length > 0) {
    const remedy = 'For a real account, unset CLOUDOPS_SANDBOX; for the sandbox, unset these.';
    return [...set, warning('configuration', say`the sandbox is in use; ignored: ${join(unused, ', ')}`, remedy)];
  }
  if (sandbox) return [...set, ok('configuration', 'the sandbox has endpoints and credentials of its own')];
  return set.length > 0 ? set : [ok('configuration', 'nothing is set')];
}

function tlsFindings({ insecureTls }: Config): Finding[] {
  if (!insecureTls) return [];
  const remedy = 'Unset it, and name the authority of the endpoint in NODE_EXTRA_CA_CERTS.';
  return [warning('TLS', insecureTlsWarning, remedy)];
}

/** Checks every API of every account. */
async function accountFindings(
  runtime: Runtime,
  bucket: string | undefined,
  probing: ProbeOptions,
): Promise<Finding[]> {
  const { all, areNamed } = runtime.accounts;
  const services = [...new Set(runtime.server.operations.map(({ service }) => service))];
  const ofAccounts = all.map(async (account) => {
    const keysFinding = await checkKeys(account);
    // Without keys, every API would have the same problem.
    const servicesToCheck = keysFinding === undefined ? services : [];
    const ofApis = servicesToCheck.map((service) => apiFindings(service, account, runtime, bucket, probing));
    const findings = [...(keysFinding === undefined ? [] : [keysFinding]), ...(await Promise.all(ofApis)).flat()];
    return areNamed ? findings.map((finding) => ({ ...finding, check: `${account.name} ${finding.check}` })) : findings;
  });
  return (await Promise.all(ofAccounts)).flat();
}

/** The problem with the keys of an account, if there is any. */
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

async function apiFindings(
  service: Service,
  { name, policy, cloud: open }: Account,
  runtime: Runtime,
  bucket: string | undefined,
  probing: ProbeOptions,
): Promise<Finding[]> {
  const { operations } = runtime.server;
  const allowed = operations.filter((operation) => operation.service === service && isAllowed(policy, operation));
  const [first] = allowed;
  if (first === undefined) return [];
  const tools = namesOf(
    allowed.map((operation) => operation.name),
    ' or ',
  );
  const cloud = await open();
  const missing = missingSettings(cloud, service);
  if (missing.length > 0) {
    const detail = say`not set: ${namesOf(missing)}`;
    const remedy = say`Set them to call ${tools}, or try with --sandbox.`;
    const isUnused = cloud.endpoints[service] === undefined;
    return [isUnused ? notChecked(service, detail, remedy) : problem(service, detail, remedy)];
  }
  const endpointFindings = await probe(service, resolveEndpoint(cloud, first), probing);
  const check = `${service} signature`;
  // A single finding says that the endpoint cannot be reached.
  if (endpointFindings.length === 1) return endpointFindings;
  const probeOperation = allowed.find((operation) => operation.probe !== undefined);
  const signatureFinding =
    probeOperation?.probe === undefined
      ? notChecked(
          check,
          'no tool of this API can be tried without changing something',
          say`The first call shows it: ${tools}.`,
        )
      : await probeFinding({
          check,
          operation: probeOperation,
          trial: probeOperation.probe,
          runtime,
          bucket,
          account: name,
          cloud,
          probing,
        });
  return [...endpointFindings, signatureFinding];
}

/** A call that checks a signature. */
interface SignatureTrial {
  readonly check: string;
  readonly operation: Operation;
  readonly trial: Probe<Readonly<Record<string, unknown>>>;
  readonly runtime: Runtime;
  /** The bucket of `--bucket`. */
  readonly bucket: string | undefined;
  /** Name of the account. */
  readonly account: string;
  readonly cloud: Cloud;
  readonly probing: ProbeOptions;
}

/** Makes the probe call of an operation, to check the signature. */
async function probeFinding(signatureTrial: SignatureTrial): Promise<Finding> {
  const { check, operation, trial, runtime, bucket, account } = signatureTrial;
  const { call, server } = runtime;
  const bucketToRead = 'bucket' in trial.arguments ? bucket : undefined;
  const args = {
    ...trial.arguments,
    ...(bucketToRead !== undefined && { bucket: bucketToRead }),
    ...(server.accounts.areNamed && { account }),
  };
  const tokens = createConsentTokens(server.stateKeys, '', server.now);
  const outcome = await call(operation, args, { signal: new AbortController().signal, tokens, client: 'doctor' });
  if (outcome.kind !== 'failed') return ok(check, 'accepted');
  const { code, summary, problems, next } = outcome.failure;
  if (code === 'NoSuchBucket' && bucketToRead !== undefined)
    return problem(check, say`accepted, but there is no bucket ${bucketToRead} here`, textFor('operator', next.text));
  if (trial.accepted.includes(code))
    return ok(check, say`accepted (${own(code)}, as expected: doctor asks for an upload that does not exist)`);
  const otherHeaders = operation.service === 'storage' ? await otherHeadersFinding(signatureTrial) : undefined;
  if (otherHeaders !== undefined) return otherHeaders;
  const remedy =
    code === 'AccessDenied'
      ? say`${textFor('operator', next.text)} Or name a bucket that you can read with --bucket.`
      : textFor('operator', next.text);
  return problem(check, join([summary, ...problems], ' '), remedy);
}

/** Tries the other kind of signed headers, because many stores answer the wrong kind with `AccessDenied`. */
async function otherHeadersFinding(signatureTrial: SignatureTrial): Promise<Finding | undefined> {
  const { check, operation, trial, cloud, probing } = signatureTrial;
  const storageHeaders = cloud.storageHeaders === 'amz' ? 'ext' : 'amz';
  const { method } = operation;
  const endpoint = resolveEndpoint({ ...cloud, storageHeaders }, operation);
  const { origin } = endpoint;
  const request = encodeRequest(method, await operation.request(operation.input().parse(trial.arguments)), endpoint);
  const credentials = await endpoint.keys.current();
  const date = probing.now();
  const { headers } = await sign({ ...request, host: new URL(origin).host }, { ...endpoint, credentials, date });
  const message = { method, origin, path: request.target, headers, newConnection: false };
  const response = await probing.httpClient.send(message, new AbortController().signal);
  if (response.kind === 'failure') return undefined;
  const { code = '' } = readServiceError(parseBody(response.body), response.headers);
  if (response.status !== 200 && !trial.accepted.includes(code)) return undefined;
  const detail = say`refused with ${own(cloud.storageHeaders)} headers, accepted with ${own(storageHeaders)} headers`;
  return problem(check, detail, say`Set CLOUDOPS_STORAGE_HEADERS=${own(storageHeaders)}.`);
}

/** Fetches the issuer's keys as a server does, if an issuer is set. */
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
  const detail = say`${own(mode)}: ${words(consentMeanings[mode])}`;
  if (mode !== 'off') return ok(check, detail);
  return warning(check, detail, 'Unset CLOUDOPS_CONFIRM where a person can be asked.');
}

/** Checks the file of extra certificates. Node reads it at the start and goes on without it if it cannot be read. */
async function authorityFinding(path: string | undefined): Promise<Finding[]> {
  if (!path) return [];
  const check = 'NODE_EXTRA_CA_CERTS';
  try {
    await access(path, constants.R_OK);
    return [ok(check, say`${path}`)];
  } catch (error) {
    return [problem(check, say`${path} cannot be read (${shownReason(error)})`, 'Name a PEM file that can be read.')];
  }
}

/** Counts all changes, those without a known outcome, and those that a server wrote again from its memory. */
async function countChanges(journal: Journal): Promise<{ changes: number; open: number; restored: number }> {
  const open = new Set<string>();
  let changes = 0;
  let restored = 0;
  for await (const change of journal.read({})) {
    // A change whose outcome was unknown comes again with the known one.
    if (!open.delete(change.id)) {
      changes += 1;
      restored += change.restored === undefined ? 0 : 1;
    }
    if (change.ending === undefined || change.ending.outcome === 'unknown') open.add(change.id);
  }
  return { changes, open: open.size, restored };
}

/** Opens the journal and counts changes without a known outcome. */
async function journalFinding(config: Config, now: () => Date): Promise<Finding[]> {
  const check = 'journal';
  const { name, path, openJournal } = openStore(config.journal, now);
  const journal = await openJournal();
  try {
    const warnings = await journal.healthCheck();
    const { changes, open, restored } = await countChanges(journal);
    const missing = path === undefined || path === devNull ? 0 : await countMissingIntents(path);
    const detail = say`${name}: ${counted(changes, 'change')}, ${open} without a known outcome`;
    const remedy = 'List them with cloudops-mcp journal, and check in the console whether they happened.';
    return [
      open === 0 ? ok(check, detail) : warning(check, detail, remedy),
      ...(restored === 0
        ? []
        : [
            warning(
              check,
              say`${counted(restored, 'change')} in it were written again by a running server, because the file was removed, emptied or replaced; older changes may be missing`,
              'Do not use logrotate or delete the file: see the runbook, docs/OPERATE.md.',
            ),
          ]),
      ...(missing === 0
        ? []
        : [
            warning(
              check,
              say`the changes of ${counted(missing, 'outcome')} in it are missing: the file was truncated, or an older one moved away`,
              'Look in the console for changes that the journal lacks: see the runbook, docs/OPERATE.md.',
            ),
          ]),
      ...warnings.map((text) => warning(check, text, 'See the runbook, docs/OPERATE.md.')),
    ];
  } catch (error) {
    const remedy = say`${journalRemedy(error, path === undefined)} Without a journal, changes are refused.`;
    return [problem(check, say`${name} cannot be used (${shownReason(error)})`, remedy)];
  } finally {
    await journal.close();
  }
}

/** Checks that only this user can open the folder of secrets. */
async function secretsFinding(folder: string | undefined, platform: NodeJS.Platform): Promise<Finding> {
  const check = 'secrets';
  if (folder === undefined) return ok(check, 'no folder: CLOUDOPS_SECRETS_DIR is not set');
  try {
    const { mode } = await stat(folder);
    const names = (await readdir(folder)).filter((name) => !name.startsWith('.'));
    const detail = say`${folder}: ${names.length} names`;
    if (platform === 'win32' || (mode & 0o077) === 0) return ok(check, detail);
    return warning(check, say`${detail}; others on this machine may open it`, 'Set its mode to 700.');
  } catch (error) {
    const remedy = 'Make the folder, or correct CLOUDOPS_SECRETS_DIR.';
    return problem(check, say`${folder} cannot be read (${shownReason(error)})`, remedy);
  }
}

/** Says in which processes a planId is valid. */
function stateKeyFinding(config: Config, now: () => Date): Finding {
  const check = 'state key';
  const store = openStore(config.journal, now);
  const path = planKeyPath(config, store);
  const reason = path && planKeyProblem(path);
  if (!reason) return ok(check, stateKeyMeaning(config, store));
  const detail = say`not set, and ${path} cannot be used (${reason}): a planId is valid only in the process that made it`;
  return warning(check, detail, 'Delete that file: the next plan makes another one. Or set CLOUDOPS_STATE_KEY.');
}

const stateKeyMeaning = ({ stateKeys: keys }: Config, { path }: Store): SafeText => {
  if (keys === undefined)
    return path === undefined
      ? words('not set: a planId is valid only in the process that made it')
      : words('not set: a planId is valid for every process with this journal, and everything else for one process');
  const set = words('set: a planId is valid in every process with the same key');
  return keys.length === 1 ? set : say`${set}; the first of ${keys.length} signs`;
};

const networkCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ECONNRESET'];

/** Remedies by the class of an SQLSTATE code, which is its first two characters. */
const remediesByClass: Readonly<Record<string, SafeText>> = {
  28: words('Check the user and the password in CLOUDOPS_JOURNAL.'),
  53: words('The database has no connection or no space left: see its own log.'),
  57: words('The database is starting or going down: try again, and see its own log if that stays so.'),
};

/** The remedy for a journal that cannot be used. */
function journalRemedy(error: unknown, inDatabase: boolean): SafeText {
  if (error instanceof OtherVersion) return words('Stop all servers of the other version, and wait until then.');
  if (!inDatabase) return words('Make it writable, or name another in CLOUDOPS_JOURNAL.');
  const code = textAt(error, 'code') ?? '';
  if (networkCodes.includes(code) || code === '')
    return words('Check that the database runs, its host and port in CLOUDOPS_JOURNAL, and the network.');
  return (
    remediesByClass[code.slice(0, 2)] ??
    words('Check the name of the database in CLOUDOPS_JOURNAL, and the rights of its user.')
  );
}

const colours = { ok: 'green', 'not checked': 'cyan', warning: 'yellow', problem: 'red' } as const;
const statusColumns = Math.max(...Object.keys(colours).map((status) => status.length)) + 2;
/** If the details have fewer columns than this, they stand below the name of the check. */
const narrowestText = 40;

/** Formats the findings for people. */
function doctorReport(
  findings: readonly Finding[],
  apisChecked: number | undefined,
  { width, paint }: HelpPage,
): string {
  const checkColumns = Math.max(...findings.map(({ check }) => widthOf(check))) + 2;
  const beside = statusColumns + checkColumns;
  const isBeside = width - beside >= narrowestText;
  const lines = findings.flatMap(({ check, status, detail, remedy }) => {
    const state = paint(colours[status], padded(status, statusColumns));
    const indent = isBeside ? beside : statusColumns;
    const [first = '', ...others] = wrapped(detail, width, indent);
    return [
      ...(isBeside
        ? [state + padded(check, checkColumns) + first.slice(beside)]
        : [state + paint('bold', check), first]),
      ...others,
      ...(remedy === undefined ? [] : wrapped(say`→ ${remedy}`, width, indent, indent + 2)),
    ];
  });
  const count = (wanted: Finding['status']) => findings.filter(({ status }) => status === wanted).length;
  const summary = [
    say`problems: ${count('problem')}, warnings: ${count('warning')}, not checked: ${count('not checked')}`,
    ...(apisChecked === 0
      ? [say`No API was checked, because none is set up. CLOUDOPS_SANDBOX=1 needs no account.`]
      : []),
  ];
  return `${[...lines, '', ...summary.flatMap((line) => wrapped(line, width))].join('\n')}\n`;
}

import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { devNull } from 'node:os';
import { openStore } from '../changes/open-store.js';
import { JournalFault } from '../changes/sql.js';
import type { Changes } from '../changes/store.js';
import { storePlace } from '../changes/store-place.js';
import { type Config, hiddenBySandbox } from '../config/load-config.js';
import { documentBytes, findIssuer } from '../http/find-issuer.js';
import { startRuntime } from '../runtime.js';
import { createHttpClient, defaultLimits } from '../transport/http-client.js';
import { shownReason } from '../util/log.js';
import { counted, exact, join, own, quoted, say } from '../util/safe-text.js';
import { type CheckContext, checkAccounts, type Finding, notChecked, ok, problem, warning } from './check-accounts.js';
import { type Command, defaultAddress, type Terminal, UsageError } from './command.js';
import { accessOf } from './http-command.js';
import { journalRemedy } from './journal-remedy.js';
import { columnsOf, wrapped } from './layout.js';
import { insecureTlsWarning } from './run-until-signal.js';

/** `cloudops-mcp doctor` checks everything that calls depend on. It changes nothing in the cloud. */
export const doctorCommand: Command = {
  usage: '[--bucket <name>] [--json]',
  about: 'check configuration, endpoints, clocks, signature and files',
  example: 'doctor --bucket photos',
  exitCodes: { 0: 'all is well', 1: 'there is a problem', 2: 'wrong usage', 3: 'no API could be checked' },
  options: { json: 'switch', bucket: 'value' },
  run: async ({ options, config, terminal }) => {
    // Programs that print keys have their own process groups, so Ctrl-C does not end them, but exit listeners of this process do.
    terminal.abortOnSignal(() => process.exit(interruptedCode));
    const { findings, hasNoApi } = config.ok
      ? await examine(config.config, options.bucket, terminal)
      : { findings: config.problems.map((text) => problem('configuration', text, unsetIt)), hasNoApi: false };
    const { stdout } = terminal;
    if (options.json === undefined) stdout.write(doctorReport(findings, hasNoApi, columnsOf(stdout)));
    else stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
    if (findings.some(({ status }) => status === 'problem')) return 1;
    return hasNoApi ? noApiCheckedCode : 0;
  },
};

const unsetIt = 'Change or unset it, then run doctor again for the other checks.';

const interruptedCode = 130;

const noApiCheckedCode = 3;

/** Time limit for an answer to a check (milliseconds). */
const longestWaitMs = 10_000;

async function examine(config: Config, bucket: string | undefined, terminal: Terminal) {
  const { now, env, version, platform } = terminal;

  // With a journal, this runtime would report unfinished changes, and then no server would report them.
  const values = { ...config.values, JOURNAL: devNull };
  const start = (accounts: Config['accounts']) =>
    startRuntime({ ...config, values, telemetry: false, accounts }, version, () => undefined, now);
  const startWith: CheckContext['startWith'] = (change) => {
    const [first, ...others] = config.accounts.all;
    const changed = (account: typeof first) => ({ ...account, cloud: { ...account.cloud, ...change } });
    return start({ ...config.accounts, all: [changed(first), ...others.map(changed)] });
  };
  const runtime = await start(config.accounts);
  const httpClient = createHttpClient(config.proxies, { ...defaultLimits, headersMs: longestWaitMs });
  try {
    const accountFindings = await checkAccounts({ ...config, runtime, startWith, bucket, httpClient, now });
    const findings = [
      ...listSettings(config),
      ...checkTls(config),
      ...(await checkCertificates(env.NODE_EXTRA_CA_CERTS)),
      ...accountFindings,
      ...(await checkJournal(config, now)),
      ...(await checkHttpAccess(config, now)),
      ...(await checkIssuer(config)),
      await checkSecretsFolder(config.values.SECRETS_DIR, platform),
    ];
    // An API that is set up always has a finding with another status.
    const hasNoApi = accountFindings.every(({ status }) => status === 'not checked');
    return { findings, hasNoApi };
  } finally {
    await httpClient.close();
    await runtime.close(0);
  }
}

const statusWidth = 'not checked'.length + 2;

function doctorReport(findings: readonly Finding[], hasNoApi: boolean, width: number): string {
  const checkWidth = Math.max(...findings.map(({ check }) => check.length)) + 2;
  const lines = findings.flatMap(({ check, status, detail, remedy }) => [
    ...wrapped(detail, width, {
      start: exact(status.padEnd(statusWidth) + check.padEnd(checkWidth)),
      indent: statusWidth,
    }),
    ...(remedy === undefined ? [] : wrapped(say`→ ${remedy}`, width, { start: statusWidth, indent: statusWidth + 2 })),
  ]);
  const count = (wanted: Finding['status']) => findings.filter(({ status }) => status === wanted).length;
  const counts = say`problems: ${count('problem')}, warnings: ${count('warning')}, not checked: ${count('not checked')}`;
  const noApi = hasNoApi ? [say`No API was checked, because none is set up. CLOUDOPS_SANDBOX=1 needs no account.`] : [];
  return `${[...lines, '', ...[counts, ...noApi].flatMap((line) => wrapped(line, width))].join('\n')}\n`;
}

/** Lists the settings that are set, and warns about settings that the sandbox ignores. */
function listSettings(config: Config): Finding[] {
  const { values, origins } = config;
  const set = origins.map(({ name, shown, secret }) =>
    ok('configuration', say`${own(name)}: ${secret ? exact(shown) : quoted(shown, 200)}`),
  );
  const unused = hiddenBySandbox(config);
  if (unused.length > 0) {
    const remedy = 'For a real account, unset CLOUDOPS_SANDBOX; for the sandbox, unset these.';
    return [...set, warning('configuration', say`the sandbox is in use; ignored: ${join(unused, ', ')}`, remedy)];
  }
  if (values.SANDBOX) return [...set, ok('configuration', 'the sandbox has endpoints and credentials of its own')];
  if (set.length > 0) return set;
  const remedy = 'Set the address of an API and a key, or try cloudops-mcp doctor --sandbox, which needs no account.';
  return [notChecked('configuration', 'nothing is configured', remedy)];
}

function checkTls({ insecureTls }: Config): Finding[] {
  if (!insecureTls) return [];
  const remedy = 'Unset it, and name the authority of the endpoint in NODE_EXTRA_CA_CERTS.';
  return [warning('TLS', insecureTlsWarning, remedy)];
}

/** Checks the file of extra certificates, because Node silently ignores a file that it cannot read. */
async function checkCertificates(path: string | undefined): Promise<Finding[]> {
  if (!path) return [];
  const check = 'NODE_EXTRA_CA_CERTS';
  try {
    await access(path, constants.R_OK);
    return [ok(check, say`${path}`)];
  } catch (error) {
    return [problem(check, say`${path} cannot be read (${shownReason(error)})`, 'Name a PEM file that can be read.')];
  }
}

/** Fetches the OAuth issuer's keys, and warns if people could not be recognised in another client. */
async function checkIssuer({ values, proxies }: Config): Promise<Finding[]> {
  const { HTTP_ISSUER: issuer, HTTP_PERSON_CLAIM: personClaim = 'sub' } = values;
  if (issuer === undefined) return [];
  const httpClient = createHttpClient(proxies, { ...defaultLimits, bodyBytes: documentBytes });
  try {
    const { isPairwise } = await findIssuer(issuer, httpClient);
    if (isPairwise && personClaim === 'sub') return [warning('issuer', pairwiseSubjects(issuer), namePersonClaim)];
    return [ok('issuer', say`${exact(issuer)} answers with metadata and keys`)];
  } catch (error) {
    const remedy = 'Until it answers, nobody can log in whose token is signed with a key that is not known yet.';
    return [problem('issuer', say`${exact(issuer)}: ${shownReason(error)}`, remedy)];
  } finally {
    await httpClient.close();
  }
}

const pairwiseSubjects = (issuer: string) =>
  say`${exact(issuer)} names the same person differently in each client (pairwise subjects), so people at /decisions are not recognised as the callers of their own changes`;
const namePersonClaim = 'Name a claim that is the same in all clients in CLOUDOPS_HTTP_PERSON_CLAIM.';

/** Checks the settings for access, as `cloudops-mcp http` does before it starts. */
async function checkHttpAccess(config: Config, now: () => Date): Promise<Finding[]> {
  const check = 'HTTP server';
  try {
    await accessOf(defaultAddress.host, config, now);
    return config.values.HTTP_TOKENS_FILE === undefined ? [] : [ok(check, 'the tokens file can be used')];
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.problems.map((text) =>
      problem(check, text, 'cloudops-mcp http does not start until this is corrected.'),
    );
  }
}

/** Checks that only this user can open the folder of secrets. */
async function checkSecretsFolder(folder: string | undefined, platform: NodeJS.Platform): Promise<Finding> {
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

const check = 'journal';
const listThem = 'List them with cloudops-mcp journal, and check in the console whether they happened.';

/** Reports whether the journal can be used, its own warnings, and changes without a known outcome. */
async function checkJournal(config: Config, now: () => Date): Promise<Finding[]> {
  const { JOURNAL } = config.values;
  const isDatabase = storePlace(JOURNAL).path === undefined;
  let store: Changes | undefined;
  try {
    const place = openStore(JOURNAL, now, { createsTables: false });
    store = await place.openChanges();
    const warnings = await store.healthCheck();
    const { changes, unresolved } = await store.count();
    const counts = say`${place.name}: ${counted(changes, 'change')}, ${unresolved} without a known outcome`;
    return [
      unresolved === 0 ? ok(check, counts) : warning(check, counts, listThem),
      ...warnings.map((text) => warning(check, text, 'See the runbook, docs/OPERATE.md.')),
    ];
  } catch (error) {
    const remedy = journalRemedy(error, isDatabase);
    // The first server creates the tables when it starts.
    if (error instanceof JournalFault && error.kind === 'no tables yet')
      return [warning(check, say`${storePlace(JOURNAL).name}: ${error.shown}`, remedy)];
    const detail = say`${storePlace(JOURNAL).name} cannot be used (${shownReason(error)})`;
    return [problem(check, detail, say`${remedy} Without a journal, changes are refused.`)];
  } finally {
    await store?.close();
  }
}

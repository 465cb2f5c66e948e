import { readdir, stat } from 'node:fs/promises';
import { devNull } from 'node:os';
import { openStore } from '../changes/open-store.js';
import { JournalFault } from '../changes/sql.js';
import type { Changes } from '../changes/store.js';
import { storePlace } from '../changes/store-place.js';
import { type Config, hiddenBySandbox } from '../config/load-config.js';
import { documentBytes, findIssuer } from '../http/issuer-keys.js';
import { startRuntime } from '../runtime.js';
import { createHttpClient, defaultLimits } from '../transport/http-client.js';
import { shownReason } from '../util/log.js';
import { counted, exact, join, own, quoted, say } from '../util/safe-text.js';
import { checkAccounts, type Finding, finding, ok } from './check-accounts.js';
import { asUsed, type Command, defaultAddress, type Terminal, UsageError } from './command.js';
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
    terminal.abortOnSignal(() => process.exit(130));
    const remedy = 'Change or unset it, then run doctor again for the other checks.';
    const { findings, hasNoApi } = config.ok
      ? await examine(config.config, options.bucket, terminal)
      : { findings: config.problems.map((text) => finding('problem', 'configuration', text, remedy)), hasNoApi: false };
    const { stdout } = terminal;
    if (options.json === undefined) stdout.write(doctorReport(findings, hasNoApi, columnsOf(stdout)));
    else stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
    if (findings.some(({ status }) => status === 'problem')) return 1;
    return hasNoApi ? 3 : 0;
  },
};

async function examine(config: Config, bucket: string | undefined, terminal: Terminal) {
  const { now, version, platform } = terminal;
  // With a journal, this runtime would report unfinished changes, and then no server would report them.
  const values = { ...config.values, JOURNAL: devNull };
  const start = (accounts: Config['accounts']) =>
    startRuntime({ ...config, values, telemetry: false, accounts }, version, () => undefined, now);
  const startWith: Parameters<typeof checkAccounts>[0]['startWith'] = (change) => {
    const all = config.accounts.all.map((account) => ({ ...account, values: { ...account.values, ...change } }));
    return start({ ...config.accounts, all });
  };
  const runtime = await start(config.accounts);
  const httpClient = createHttpClient(config.proxies, { ...defaultLimits, headersMs: 10_000 });
  try {
    const ofAccounts = await checkAccounts({ ...config, runtime, startWith, bucket, httpClient, now });
    const tlsRemedy = 'Unset it, and name the authority of the endpoint in NODE_EXTRA_CA_CERTS.';
    const findings = [
      ...listSettings(config),
      ...(config.insecureTls ? [finding('warning', 'TLS', insecureTlsWarning, tlsRemedy)] : []),
      ...ofAccounts,
      ...(await checkJournal(config, now)),
      ...(await checkHttpAccess(config, now)),
      ...(await checkIssuer(config)),
      ...(await checkSecretsFolder(config.values.SECRETS_DIR, platform)),
    ];
    return {
      findings: findings.map((each) => (each.remedy ? { ...each, remedy: asUsed(each.remedy, config) } : each)),
      // An API that is set up always has a finding with another status.
      hasNoApi: ofAccounts.every(({ status }) => status === 'not checked'),
    };
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
  const set = config.origins.map(({ name, shown, secret }) =>
    ok('configuration', say`${own(name)}: ${secret ? exact(shown) : quoted(shown, 200)}`),
  );
  const unused = hiddenBySandbox(config);
  if (unused.length > 0) {
    const remedy = 'For a real account, unset CLOUDOPS_SANDBOX; for the sandbox, unset these.';
    const detail = say`the sandbox is in use; ignored: ${join(unused, ', ')}`;
    return [...set, finding('warning', 'configuration', detail, remedy)];
  }
  if (config.values.SANDBOX)
    return [...set, ok('configuration', 'the sandbox has endpoints and credentials of its own')];
  if (set.length > 0) return set;
  const remedy = 'Set the address of an API and a key, or try cloudops-mcp doctor --sandbox, which needs no account.';
  return [finding('not checked', 'configuration', 'nothing is configured', remedy)];
}

/** Fetches the OAuth issuer's keys, and warns if people could not be recognised in another client. */
async function checkIssuer({ values, proxies }: Config): Promise<Finding[]> {
  const { HTTP_ISSUER: issuer, HTTP_PERSON_CLAIM: personClaim = 'sub' } = values;
  if (issuer === undefined) return [];
  const httpClient = createHttpClient(proxies, { ...defaultLimits, bodyBytes: documentBytes });
  try {
    const { isPairwise } = await findIssuer(issuer, httpClient);
    if (!isPairwise || personClaim !== 'sub')
      return [ok('issuer', say`${exact(issuer)} answers with metadata and keys`)];
    const detail = say`${exact(issuer)} names the same person differently in each client (pairwise subjects), so people at /decisions are not recognised as the callers of their own changes`;
    const remedy = 'Name a claim that is the same in all clients in CLOUDOPS_HTTP_PERSON_CLAIM.';
    return [finding('warning', 'issuer', detail, remedy)];
  } catch (error) {
    const remedy = 'Until it answers, nobody can log in whose token is signed with a key that is not known yet.';
    return [finding('problem', 'issuer', say`${exact(issuer)}: ${shownReason(error)}`, remedy)];
  } finally {
    await httpClient.close();
  }
}

/** Checks the settings for access, as `cloudops-mcp http` does before it starts. */
async function checkHttpAccess(config: Config, now: () => Date): Promise<Finding[]> {
  const check = 'HTTP server';
  try {
    await accessOf(defaultAddress.host, config, now);
    return config.values.HTTP_TOKENS_FILE === undefined ? [] : [ok(check, 'the tokens file can be used')];
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const remedy = 'cloudops-mcp http does not start until this is corrected.';
    return error.problems.map((text) => finding('problem', check, text, remedy));
  }
}

/** Checks that only this user can open the folder of secrets. */
async function checkSecretsFolder(folder: string | undefined, platform: NodeJS.Platform): Promise<Finding[]> {
  const check = 'secrets';
  if (folder === undefined) return [];
  try {
    const { mode } = await stat(folder);
    const names = (await readdir(folder)).filter((name) => !name.startsWith('.'));
    const detail = say`${folder}: ${names.length} names`;
    if (platform === 'win32' || (mode & 0o077) === 0) return [ok(check, detail)];
    return [finding('warning', check, say`${detail}; others on this machine may open it`, 'Set its mode to 700.')];
  } catch (error) {
    const remedy = 'Make the folder, or correct CLOUDOPS_SECRETS_DIR.';
    return [finding('problem', check, say`${folder} cannot be read (${shownReason(error)})`, remedy)];
  }
}

/** Reports whether the journal can be used, its own warnings, and changes without a known outcome. */
async function checkJournal({ values: { JOURNAL: journal } }: Config, now: () => Date): Promise<Finding[]> {
  const check = 'journal';
  const { name, path } = storePlace(journal);
  let store: Changes | undefined;
  try {
    store = await openStore(journal, now, { createsTables: false }).openChanges();
    const warnings = await store.healthCheck();
    const { changes, unresolved } = await store.count();
    const counts = say`${name}: ${counted(changes, 'change')}, ${unresolved} without a known outcome`;
    const remedy = 'List them with cloudops-mcp journal, and check in the console whether they happened.';
    return [
      unresolved === 0 ? ok(check, counts) : finding('warning', check, counts, remedy),
      ...warnings.map((text) => finding('warning', check, text, 'See the runbook, docs/OPERATE.md.')),
    ];
  } catch (error) {
    const remedy = journalRemedy(error, path === undefined);
    // The first server creates the tables when it starts.
    if (error instanceof JournalFault && error.kind === 'no tables yet')
      return [finding('warning', check, say`${name}: ${error.shown}`, remedy)];
    const detail = say`${name} cannot be used (${shownReason(error)})`;
    return [finding('problem', check, detail, say`${remedy} Without a journal, changes are refused.`)];
  } finally {
    await store?.close();
  }
}

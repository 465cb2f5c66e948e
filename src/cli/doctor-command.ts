import { devNull } from 'node:os';
import type { Config } from '../config/load-config.js';
import { startRuntime } from '../runtime.js';
import { createHttpClient, defaultLimits } from '../transport/http-client.js';
import { exact, say } from '../util/safe-text.js';
import { type CheckContext, checkAccounts } from './check-accounts.js';
import {
  checkCertificates,
  checkHttpAccess,
  checkIssuer,
  checkJournal,
  checkSecretsFolder,
  checkTls,
  listSettings,
} from './check-settings.js';
import type { Command, Terminal } from './command.js';
import { type Finding, problem } from './finding.js';
import { columnsOf, wrapped } from './layout.js';

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

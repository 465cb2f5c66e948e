import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { devNull } from 'node:os';
import { dirname } from 'node:path';
import { isAllowed } from '../calls/call-tool.js';
import { resolveEndpoint } from '../calls/endpoint.js';
import type { Config } from '../config/config.js';
import type { ConsentMode } from '../consent/decision.js';
import { consentCodec, consentTokens } from '../consent/elicitation.js';
import { databaseName, isDatabaseUrl } from '../journal/database-url.js';
import { openJournal, type Runtime, startRuntime } from '../runtime.js';
import type { Service } from '../tools/define-operation.js';
import { operations } from '../tools/index.js';
import { listParts } from '../tools/list-parts.js';
import { createHttpClient, defaultLimits } from '../transport/http-client.js';
import { quote, spellOut } from '../util/quote.js';
import type { Command, Terminal } from './command.js';
import { amiss, type Finding, fine, type ProbeOptions, probe } from './probe.js';
import { codeOf, painter } from './text.js';

/** `cloudops-mcp doctor`: what is right and wrong here, with what to do about it. It changes nothing in the cloud. */
export const doctorCommand: Command = {
  usage: '[--bucket <name>] [--json]',
  about: 'check configuration, endpoints, clocks, signature and files',
  options: { json: 'switch', bucket: 'value' },
  run: async ({ options, config, terminal }) => {
    const rest = config.ok ? await examine(config.config, options.bucket, terminal) : config.problems.map(unsound);
    const findings = [nodeFinding(process.versions.node), ...rest];
    if (options.json === undefined) terminal.print(report(findings, painter(terminal)));
    else terminal.print(`${JSON.stringify(findings, null, 2)}\n`);
    return findings.some(({ status }) => status === 'problem') ? 1 : 0;
  },
};

function report(findings: readonly Finding[], paint: ReturnType<typeof painter>): string {
  const colours = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, status, detail, remedy }) => [
    `${paint(colours[status], status.padEnd(7))}  ${check.padEnd(width)}  ${detail}`,
    ...(remedy === undefined ? [] : [`${' '.repeat(width + 11)}→ ${remedy}`]),
  ]);
  const count = (wanted: Finding['status']) => findings.filter(({ status }) => status === wanted).length;
  return `${lines.join('\n')}\n\nproblems: ${count('problem')}, warnings: ${count('warning')}\n`;
}

const unsound = (problem: string) =>
  amiss('problem', 'configuration', problem, 'Correct it, then run doctor again for all the rest.');

function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const recent = major > 20 || (major === 20 && minor >= 19);
  return recent ? fine('Node.js', version) : amiss('problem', 'Node.js', version, 'Install 20.19 or later.');
}

const services: readonly Service[] = ['storage', 'catalog', 'devops'];

async function examine(config: Config, bucket: string | undefined, terminal: Terminal): Promise<Finding[]> {
  const { now, env, version, platform } = terminal;
  // Not on the journal: what an earlier process left open there is for the next server to settle and to tell.
  const apart = { ...config, journal: devNull, telemetry: false };
  const runtime = await startRuntime(apart, version, () => undefined, now);
  const httpClient = createHttpClient(config.proxies, { ...defaultLimits, headersMs: 10_000 });
  const probing = { httpClient, proxies: config.proxies, now };
  try {
    const apis = services.map((service) => apiFindings(service, config, runtime, bucket, probing));
    return [
      ...settingFindings(config),
      ...(await authorityFinding(env.NODE_EXTRA_CA_CERTS)),
      ...(await Promise.all(apis)).flat(),
      await journalFinding(config, now),
      await secretsFinding(config.secretsDir, platform),
      consentFinding(config.confirm),
      fine('state key', stateKeyMeaning(config.stateKey)),
    ];
  } finally {
    await httpClient.close();
    await runtime.close(0);
  }
}

function settingFindings({ origins, sandbox }: Config): Finding[] {
  const set = origins.map(({ name, value, secret, from }) =>
    fine('configuration', `${name}: ${secret ? spellOut(value) : quote(value, 200)}, from ${from}`),
  );
  const unused = origins.filter(({ name }) => /_URL$|ACCESS_KEY|SESSION_TOKEN/.test(name)).map(({ name }) => name);
  if (sandbox && unused.length > 0) {
    const remedy = 'For a real account, take CLOUDOPS_SANDBOX away; for the sandbox, take these away.';
    return [...set, amiss('warning', 'configuration', `the sandbox is in use, and not ${unused.join(', ')}`, remedy)];
  }
  if (sandbox) return [...set, fine('configuration', 'the sandbox has endpoints and credentials of its own')];
  return set.length > 0 ? set : [fine('configuration', 'nothing is set')];
}

/** Node reads the file when it starts, and goes on without it if it cannot. */
async function authorityFinding(path: string | undefined): Promise<Finding[]> {
  if (!path) return [];
  const check = 'NODE_EXTRA_CA_CERTS';
  const found = access(path, constants.R_OK).then(
    () => fine(check, quote(path)),
    (error) => amiss('problem', check, `${quote(path)} cannot be read (${codeOf(error)})`, 'Name a PEM file that can.'),
  );
  return [await found];
}

async function apiFindings(
  service: Service,
  { policy }: Config,
  { cloud, call, server }: Runtime,
  bucket: string | undefined,
  probing: ProbeOptions,
): Promise<Finding[]> {
  const offered = operations.filter((operation) => operation.service === service && isAllowed(policy, operation));
  if (offered.length === 0) return [];
  const resolved = resolveEndpoint(cloud, service);
  if (!resolved.ok) {
    const remedy = `${offered.map(({ name }) => name).join(' and ')} cannot be called without. Or try with --sandbox.`;
    const status = cloud.endpoints[service] === undefined ? 'warning' : 'problem';
    return [amiss(status, service, `not set: ${resolved.missing.join(', ')}`, remedy)];
  }
  const found = await probe(service, resolved.target, probing);
  const check = `${service} signature`;
  if (found.length === 1) return found;
  if (service === 'storage') return [...found, await readFinding(check, { call, server }, bucket)];
  return [...found, fine(check, 'not checked: this API has no operation that only reads')];
}

/** These are said only to those whose signature holds. */
const accepted = ['NoSuchUpload', 'NoSuchBucket', 'NoSuchKey'];

/** Asks for the parts of an upload that does not exist. */
async function readFinding(
  check: string,
  { call, server }: Pick<Runtime, 'call' | 'server'>,
  named: string | undefined,
): Promise<Finding> {
  const args = {
    bucket: named ?? 'cloudops-doctor',
    object: 'cloudops-doctor',
    uploadId: 'cloudops-doctor',
    maxParts: 1,
  };
  const tokens = consentTokens(consentCodec(server.stateKey), null);
  const result = await call(listParts, args, { signal: new AbortController().signal, tokens, client: 'doctor' });
  if (result.ok !== false) return fine(check, 'accepted');
  const { code, summary, details = [], next } = result.failure;
  if (code === 'NoSuchBucket' && named !== undefined)
    return amiss('problem', check, `accepted, but there is no bucket ${quote(named)} here`, next);
  if (accepted.includes(code)) return fine(check, `accepted (${code}, as is to be expected of a made-up upload)`);
  const remedy = code === 'AccessDenied' ? `${next} With --bucket, name a bucket that you may read.` : next;
  return amiss('problem', check, [summary, ...details].join(' '), remedy);
}

async function journalFinding(config: Config, now: () => Date): Promise<Finding> {
  const check = 'journal';
  const inDatabase = isDatabaseUrl(config.journal);
  const name = quote(inDatabase ? databaseName(config.journal) : config.journal);
  try {
    if (!inDatabase) await access(await existing(config.journal), constants.W_OK);
    const journal = await openJournal(config, now);
    const mutations = await journal.list({ limit: 10_000 }).finally(() => journal.close());
    const open = mutations.filter(({ ending }) => ending === undefined || ending.outcome === 'unknown');
    const detail = `${name}: ${mutations.length} changes, ${open.length} of them without a known outcome`;
    if (open.length === 0) return fine(check, detail);
    return amiss(
      'warning',
      check,
      detail,
      'cloudops-mcp journal lists them; look in the console whether they happened.',
    );
  } catch (error) {
    const remedy = 'Make it writable, or name another in CLOUDOPS_JOURNAL: without it nothing is changed.';
    return amiss('problem', check, `${name} cannot be used (${codeOf(error)})`, remedy);
  }
}

/** The path itself or, if it is not there yet, the folder that it would be made in. */
async function existing(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    (error) => codeOf(error) !== 'ENOENT',
  );
  return isThere || dirname(path) === path ? path : existing(dirname(path));
}

async function secretsFinding(folder: string | undefined, platform: NodeJS.Platform): Promise<Finding> {
  const check = 'secrets';
  if (folder === undefined) return fine(check, 'no folder: CLOUDOPS_SECRETS_DIR is not set');
  try {
    const { mode } = await stat(folder);
    const names = (await readdir(folder)).filter((name) => !name.startsWith('.'));
    const detail = `${quote(folder)}: ${names.length} names`;
    if (platform === 'win32' || (mode & 0o077) === 0) return fine(check, detail);
    return amiss('warning', check, `${detail}; others on this machine may open it`, 'Set its permissions to 700.');
  } catch (error) {
    const remedy = 'Make the folder, or correct CLOUDOPS_SECRETS_DIR.';
    return amiss('problem', check, `${quote(folder)} cannot be read (${codeOf(error)})`, remedy);
  }
}

const stateKeyMeaning = (key: string | undefined) =>
  key === undefined
    ? 'random: a planId holds only for the process that made it'
    : 'set: a planId holds for every process with the same key';

const consentMeanings: Record<ConsentMode, string> = {
  ask: 'a client that can ask its user does; any other shows a plan first, and acts when it brings the planId back',
  human: 'only where the client can ask its user; elsewhere nothing is changed',
  plan: 'every client shows a plan first, and acts when it brings the planId back',
  off: 'nobody is asked, every call acts at once',
};

function consentFinding(mode: ConsentMode): Finding {
  const detail = `${mode}: ${consentMeanings[mode]}`;
  if (mode !== 'off') return fine('consent', detail);
  return amiss('warning', 'consent', detail, 'Unset CLOUDOPS_CONFIRM wherever a person can be asked.');
}

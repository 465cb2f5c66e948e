import { randomUUID } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { isIPv6 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { allowChanges } from '../calls/account.js';
import type { Principal } from '../calls/policy.js';
import { describeConfig } from '../config/describe.js';
import type { Config } from '../config/load-config.js';
import type { Authenticate } from '../http/auth.js';
import type { DecisionsOptions } from '../http/decisions.js';
import { authenticateByIssuer, type IssuerOptions } from '../http/issuer.js';
import { createIssuerKeys, documentBytes } from '../http/issuer-keys.js';
import { defaultHttpLimits } from '../http/limits.js';
import { serveHttp } from '../http/serve.js';
import { type SignIn, signInByToken } from '../http/sign-in.js';
import { authenticateByTokensFile, parseTokens, readTokensFile } from '../http/tokens-file.js';
import { watchJournal } from '../journal/health-check.js';
import { openSharedMessages, type Runtime } from '../runtime.js';
import { createHttpClient, defaultLimits, type HttpClient, type Proxies } from '../transport/http-client.js';
import { sentences } from '../util/human.js';
import { type Log, shownReason } from '../util/log.js';
import { exact, own, say, words } from '../util/safe-text.js';
import { isLoopback } from '../util/uri.js';
import {
  addressOptions,
  type Command,
  defaultAddress,
  portOf,
  type Terminal,
  UsageError,
  validConfig,
} from './command.js';
import { printLine } from './layout.js';
import { runUntilSignal } from './run-until-signal.js';

/** Time limit for running calls after a termination signal. */
const graceMs = 30_000;

/** `cloudops-mcp http` serves many clients over HTTP. */
export const httpCommand: Command = {
  usage: '[--host 127.0.0.1] [--port 8080]',
  about: 'serve MCP over HTTP at /mcp',
  serves: true,
  options: addressOptions,
  run: async (invocation) => {
    const { terminal } = invocation;
    const { host, port } = { ...defaultAddress, ...invocation.options };
    const config = validConfig(invocation);
    const listen = { host, port: portOf(port) };
    const access = await accessOf(host, config, terminal.now);
    return runUntilSignal(config, terminal, (runtime, log, stop) =>
      serve({ config, terminal, listen, access, runtime, log, stop }),
    );
  },
};

interface Serving {
  readonly config: Config;
  readonly terminal: Terminal;
  readonly listen: { readonly host: string; readonly port: number };
  readonly access: Awaited<ReturnType<typeof accessOf>>;
  readonly runtime: Runtime;
  readonly log: Log;
  /** Aborts when the server is to end. */
  readonly stop: AbortSignal;
}

/** Serves until `stop` aborts. Resolves with the exit code. */
async function serve({ config, terminal, listen, access, runtime, log, stop }: Serving): Promise<number> {
  const { server, inFlight, journal, questions, plans } = runtime;
  const { now, stderr } = terminal;
  if (access.identify !== undefined && config.stateKeys === undefined)
    log('warn', 'state key', { message: noStateKey });
  // Each running read adds a listener, and Node would warn from the eleventh on.
  setMaxListeners(0, stop);
  // A change continues after its connection is lost, and its outcome is recorded.
  inFlight.detach();
  const shared = await openSharedMessages(runtime.store);
  const watch = allowChanges(server.accounts, server.operations) ? watchJournal(journal, log) : undefined;
  const identity = access.identify?.(log);
  const decisions = await decisionsOf(config, runtime, identity, log, now);
  const http = await serveHttp({
    listen,
    metricsAt: config.http.metrics,
    rate: config.http.rate,
    log,
    now,
    server: { ...server, stop, configuration: (names) => describeConfig(config, 'caller', names) },
    shared,
    newId: randomUUID,
    hosts: access.hosts,
    resource: access.resource,
    authenticate: identity?.authenticate,
    decisions,
    limits: defaultHttpLimits,
    timeoutMs: config.timeoutMs,
    isReady: watch?.isReady ?? (() => true),
    journalNotes: () => {
      const { problem, warnings = [] } = watch?.lastCheck() ?? {};
      // Warnings about a database name its roles. Anybody can read the answers of probes, so these warnings are left out.
      return [...(problem === undefined ? [] : [problem]), ...(runtime.store.path === undefined ? [] : warnings)];
    },
    state: {
      journalReachable: watch?.reachable,
      unwrittenOutcomes: journal.unwritten,
      issuerReachable: identity?.reachable,
      waitingQuestions: questions.callers,
      waitingPlans: decisions && plans.countWaiting,
    },
  });
  const decideAt = decisions && `${decisions.publicUrl}/decisions`;
  const { port, metricsPort } = http;
  log('info', 'listening', { host: listen.host, port, metricsPort, decisions: decideAt });
  if (stderr.isTTY) printAddresses(stderr, { host: listen.host, port }, decideAt);
  if (!stop.aborted) await once(stop, 'abort');
  await http.stop(graceMs);
  await shared?.close();
  watch?.stop();
  await identity?.close?.();
  return 0;
}

/** Prints where clients connect and people decide, for the person who started the server. */
function printAddresses(stderr: Terminal['stderr'], { host, port }: Serving['listen'], decideAt: string | undefined) {
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${port}/mcp`;
  printLine(stderr, say`Clients connect to ${exact(url)}`);
  if (decideAt !== undefined) printLine(stderr, say`People decide on changes at ${exact(decideAt)}`);
  printLine(stderr, 'Ctrl-C ends it.');
}

const noStateKey = words(
  'CLOUDOPS_STATE_KEY is not set: other replicas, and this one after a restart, refuse the plans and answers of this process.',
);

/** The page for decisions, if people can sign in to one. */
async function decisionsOf(
  { http, publicUrl }: Config,
  { plans, server: { accounts, operations, call, stateKeys } }: Runtime,
  identity: Identity | undefined,
  log: Log,
  now: () => Date,
): Promise<DecisionsOptions | undefined> {
  if (publicUrl === undefined || identity === undefined) return undefined;
  const { principalNamed } = identity;
  const signIn = await signInOf(http, publicUrl, identity, now);
  // An issuer cannot be asked for the current scopes of a caller, so the scopes of its token at the time of the call count.
  const callerOf: DecisionsOptions['callerOf'] = async ({ caller, scopes = [] }) => {
    if (caller === undefined) return undefined;
    return principalNamed === undefined ? { name: caller, scopes } : principalNamed(caller);
  };
  return { publicUrl, signIn, plans, accounts, operations, call, stateKeys, callerOf, now, log };
}

/** How people sign in to the page for decisions. */
async function signInOf(
  { issuer, audience, clientId, clientSecret }: Config['http'],
  publicUrl: string,
  { authenticate, httpClient }: Identity,
  now: () => Date,
): Promise<SignIn> {
  if (issuer === undefined || audience === undefined || clientId === undefined || httpClient === undefined)
    return signInByToken(authenticate, now);
  const { signInAtIssuer } = await import('../http/sign-in-at-issuer.js');
  return signInAtIssuer({ issuer, audience, clientId, clientSecret, publicUrl, httpClient, authenticate, now });
}

/**
 * The host names of the server, and how it authenticates callers.
 * @throws UsageError
 */
async function accessOf(host: string, { http, proxies, publicUrl }: Config, now: () => Date) {
  const { tokensFile, issuer, audience, scopeClaim } = http;
  const publicHost = hostOf(audience) ?? hostOf(publicUrl);
  const { hosts, stranger } = hostsOf(host, http.allowedHosts, publicHost);
  const tokens = tokensFile === undefined ? undefined : await tokensAtStart(tokensFile);
  const isOpen = tokensFile === undefined && issuer === undefined;
  const problems = [...(isOpen ? problemsWithoutAuthentication(stranger, publicUrl) : []), ...(tokens?.problems ?? [])];
  if (publicUrl !== undefined && issuer !== undefined && http.clientId === undefined)
    problems.push(say`CLOUDOPS_HTTP_CLIENT_ID must be set, so that people can sign in to /decisions with the issuer.`);
  if (hosts.length === 0)
    problems.push(say`CLOUDOPS_HTTP_ALLOWED_HOSTS must name the hosts that clients use to reach the server.`);
  if (problems.length > 0) throw new UsageError(...problems);
  if (issuer !== undefined && audience !== undefined)
    return {
      hosts,
      resource: { url: publicHost === undefined ? `https://${hosts[0]}/mcp` : audience, issuer },
      identify: (log: Log) => openIssuer({ issuer, audience, scopeClaim, now, log }, proxies),
    };
  return {
    hosts,
    resource: undefined,
    identify: tokens && ((log: Log): Identity => openTokensFile({ ...tokens, now, log })),
  };
}

/** @param stranger an address that other machines can reach */
const problemsWithoutAuthentication = (stranger: string | undefined, publicUrl: string | undefined) =>
  sentences(
    stranger !== undefined &&
      say`${own(stranger)} is not loopback: set CLOUDOPS_HTTP_TOKENS_FILE, or CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_AUDIENCE, to authenticate callers.`,
    publicUrl !== undefined &&
      say`CLOUDOPS_HTTP_PUBLIC_URL is set, but nobody could sign in to /decisions: set CLOUDOPS_HTTP_TOKENS_FILE, or CLOUDOPS_HTTP_ISSUER.`,
  );

/** Authenticates callers. */
interface Identity {
  readonly authenticate: Authenticate;
  /** Looks up a caller of the tokens file with its current scopes. Absent for an issuer. */
  readonly principalNamed?: (name: string) => Promise<Principal | undefined>;
  /** The client for requests to the issuer. Absent for a tokens file. */
  readonly httpClient?: HttpClient;
  /** True if the issuer answered the last request. Absent for a tokens file. */
  readonly reachable?: () => boolean;
  close?(): Promise<void>;
}

function openTokensFile(options: Parameters<typeof authenticateByTokensFile>[0]): Identity {
  const authenticate = authenticateByTokensFile(options);
  return { authenticate, principalNamed: authenticate.principalNamed };
}

/** Fetches the issuer's keys at the start. A wrong address then shows in the log, and the first caller does not wait. */
function openIssuer(options: Omit<IssuerOptions, 'keys'>, proxies: Proxies): Identity {
  const httpClient = createHttpClient(proxies, { ...defaultLimits, bodyBytes: documentBytes });
  const sleep = (milliseconds: number) => delay(milliseconds);
  const keys = createIssuerKeys({ ...options, httpClient, sleep });
  void keys.fetch();
  return {
    authenticate: authenticateByIssuer({ ...options, keys }),
    reachable: keys.reachable,
    httpClient,
    close: httpClient.close,
  };
}

/** The host names of a server that listens on `host`. `stranger` is an address that other machines can reach, if there is any. */
function hostsOf(host: string, allowed: readonly string[], publicHost: string | undefined) {
  const named = allowed.length === 0 && publicHost !== undefined ? [publicHost] : allowed;
  if (!isLoopback(host === '::1' ? '[::1]' : host)) return { hosts: named, stranger: host };
  const stranger = named.every(isLoopback) ? undefined : named.join(', ');
  return { hosts: [...named, 'localhost', '127.0.0.1', '[::1]'], stranger };
}

/** The host name of a URL. Undefined for other text, because the audience of tokens may be any text. */
function hostOf(text: string | undefined): string | undefined {
  const isUrl = text !== undefined && /^https?:/i.test(text) && URL.canParse(text);
  return isUrl ? new URL(text).hostname : undefined;
}

/** Reads the tokens file at the start, when a problem in it prevents the start. */
async function tokensAtStart(path: string) {
  const read = () => readTokensFile(path);
  try {
    const text = await read();
    return { text, read, problems: parseTokens(text).problems };
  } catch (error) {
    const problem = say`The file that CLOUDOPS_HTTP_TOKENS_FILE names cannot be read (${shownReason(error)}).`;
    return { text: '', read, problems: [problem] };
  }
}

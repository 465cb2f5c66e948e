import { randomUUID } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { isIPv6 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { allowChanges } from '../calls/account.js';
import type { Principal } from '../calls/policy.js';
import { describeConfig } from '../config/describe.js';
import type { Config } from '../config/load-config.js';
import type { Authenticate, ProtectedResource } from '../http/auth.js';
import type { DecisionsOptions } from '../http/decisions.js';
import type { Address } from '../http/http-helpers.js';
import { authenticateByIssuer, type IssuerOptions } from '../http/issuer.js';
import { createIssuerKeys, documentBytes } from '../http/issuer-keys.js';
import { defaultHttpLimits } from '../http/limits.js';
import { serveHttp } from '../http/serve.js';
import { type SignIn, signInByToken } from '../http/sign-in.js';
import { authenticateByTokensFile, parseTokens, readTokensFile } from '../http/tokens-file.js';
import { watchJournal } from '../journal/health-check.js';
import type { Store } from '../journal/open-store.js';
import { openSharedMessages, type Runtime } from '../runtime.js';
import { createHttpClient, defaultLimits, type HttpClient, type Proxies } from '../transport/http-client.js';
import { sentences } from '../util/human.js';
import { type Log, shownReason } from '../util/log.js';
import { exact, own, type SafeText, say, words } from '../util/safe-text.js';
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

/** Time limit for running calls after a termination signal (milliseconds). */
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
    const address = { host, port: portOf(port) };
    const access = await accessOf(host, config, terminal.now);
    return runUntilSignal(config, terminal, (runtime, log, stop) =>
      serve({ config, terminal, address, access }, runtime, log, stop),
    );
  },
};

/** The settings of the server. They have been checked, so that a wrong setting is reported before the runtime starts. */
interface HttpSetup {
  readonly config: Config;
  readonly terminal: Terminal;
  readonly address: Address;
  readonly access: Access;
}

/** Serves until `stop` aborts, and then shuts down in order. Resolves with the exit code. */
async function serve(
  { config, terminal, address, access }: HttpSetup,
  runtime: Runtime,
  log: Log,
  stop: AbortSignal,
): Promise<number> {
  const { server, inFlight, journal, questions, plans, store } = runtime;
  const { now, stderr } = terminal;
  // Without CLOUDOPS_STATE_KEY, the plans of this process are refused by other replicas, and after a restart. A server without
  // authentication gets no warning, because only this machine can reach it, and so it has no replicas.
  if (access.openIdentity !== undefined && config.stateKeys === undefined)
    log('warn', 'state key', { message: noStateKey });
  // Each running read listens to `stop`. Without this, Node would warn of a leak at the eleventh listener.
  setMaxListeners(0, stop);
  // This detaches changes from their clients: a change goes on if its connection is lost, so that its outcome is known and recorded.
  inFlight.detach();

  // For messages between replicas. Undefined if they share no database.
  const sharedMessages = await openSharedMessages(store);
  // Only changes are recorded in the journal, so a server that allows none is ready without it.
  const changesAreAllowed = allowChanges(server.accounts, server.operations);
  const journalWatch = changesAreAllowed ? watchJournal(journal, log) : undefined;
  const identity = access.openIdentity?.(log);
  const decisions = await decisionsOf(config, runtime, identity, log, now);
  const stateForMetrics = {
    journalReachable: journalWatch?.lastCheckSucceeded,
    unwrittenOutcomes: journal.unwritten,
    issuerReachable: identity?.reachable,
    waitingQuestions: questions.callers,
    waitingPlans: decisions && plans.countWaiting,
  };

  const httpServer = await serveHttp({
    listen: address,
    metricsAt: config.http.metrics,
    rate: config.http.rate,
    log,
    now,
    server: { ...server, stop, configuration: (names) => describeConfig(config, 'caller', names) },
    shared: sharedMessages,
    newId: randomUUID,
    hosts: access.hosts,
    resource: access.resource,
    authenticate: identity?.authenticate,
    decisions,
    limits: defaultHttpLimits,
    timeoutMs: config.timeoutMs,
    isReady: journalWatch?.isReady ?? (() => true),
    journalNotes: () => (journalWatch === undefined ? [] : notesForReadyz(journalWatch.lastCheck(), store)),
    state: stateForMetrics,
  });

  const { port, metricsPort } = httpServer;
  const decideAt = decisions && `${decisions.publicUrl}/decisions`;
  log('info', 'listening', { host: address.host, port, metricsPort, decisions: decideAt });
  if (stderr.isTTY) printAddresses(stderr, { host: address.host, port }, decideAt);

  if (!stop.aborted) await once(stop, 'abort');
  // The HTTP server stops first, because its last calls still use the others.
  await httpServer.stop(graceMs);
  await sharedMessages?.close();
  journalWatch?.stop();
  await identity?.close?.();
  return 0;
}

type JournalCheck = ReturnType<ReturnType<typeof watchJournal>['lastCheck']>;

/** The notes about the journal for `/readyz`. Anybody can read them, so warnings about a database are left out: they name its roles. */
function notesForReadyz({ problem, warnings }: JournalCheck, { path }: Store): readonly SafeText[] {
  const shownWarnings = path === undefined ? [] : warnings;
  return problem === undefined ? shownWarnings : [problem, ...shownWarnings];
}

/** Prints the addresses for clients and for people who decide, for the person who started the server at a terminal. */
function printAddresses(stderr: Terminal['stderr'], { host, port }: Address, decideAt: string | undefined) {
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${port}/mcp`;
  printLine(stderr, say`Clients connect to ${exact(url)}`);
  if (decideAt !== undefined) printLine(stderr, say`People decide on changes at ${exact(decideAt)}`);
  printLine(stderr, 'Ctrl-C ends it.');
}

const noStateKey = words(
  'CLOUDOPS_STATE_KEY is not set: other replicas, and this one after a restart, refuse the plans and answers of this process.',
);

/** The options of the page for decisions. Undefined without a public URL, or without authentication, which signing in needs. */
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
  const callerOf: DecisionsOptions['callerOf'] = async (plan) => {
    const { caller, scopes = [] } = plan;
    if (caller === undefined) return undefined;
    // The tokens file has the caller's current scopes. With an issuer, the caller keeps the scopes of the call that made the plan.
    return principalNamed === undefined ? { name: caller, scopes } : principalNamed(caller);
  };
  return { publicUrl, signIn, plans, accounts, operations, call, stateKeys, callerOf, now, log };
}

/** How people sign in to the page for decisions: at the OAuth issuer, or with a token of the tokens file. */
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

/** Who can reach the server, and how it authenticates them. */
interface Access {
  /** The host names by which clients reach this server. Requests for other hosts are refused. */
  readonly hosts: readonly string[];
  /** The metadata for OAuth clients. Undefined if no issuer is set. */
  readonly resource: ProtectedResource | undefined;
  /** Starts the authentication. Undefined if callers are not authenticated. */
  readonly openIdentity: ((log: Log) => Identity) | undefined;
}

/** Checks the settings for access, and reads the tokens file. @throws UsageError with every problem */
async function accessOf(host: string, { http, proxies, publicUrl }: Config, now: () => Date): Promise<Access> {
  const { tokensFile, issuer, audience, scopeClaim, clientId } = http;
  // The audience of an issuer's tokens is usually the URL of this server. If it is no URL, the public URL has the host.
  const publicHost = hostOf(audience) ?? hostOf(publicUrl);
  // `exposedAs` is the host by which other machines reach this server, or a list of hosts. Undefined if only this machine can.
  const { hosts, exposedAs } = hostsOf(host, http.allowedHosts, publicHost);
  const tokens = tokensFile === undefined ? undefined : await tokensAtStart(tokensFile);

  const isOpenToAll = tokensFile === undefined && issuer === undefined;
  // With a public URL, people sign in to the page for decisions, and an issuer lets them only with a client ID.
  const needsClientId = publicUrl !== undefined && issuer !== undefined;
  const problems = sentences(
    isOpenToAll &&
      exposedAs !== undefined &&
      say`${own(exposedAs)} is not loopback: set CLOUDOPS_HTTP_TOKENS_FILE, or CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_AUDIENCE, to authenticate callers.`,
    isOpenToAll &&
      publicUrl !== undefined &&
      say`CLOUDOPS_HTTP_PUBLIC_URL is set, but nobody could sign in to /decisions: set CLOUDOPS_HTTP_TOKENS_FILE, or CLOUDOPS_HTTP_ISSUER.`,
    ...(tokens?.problems ?? []),
    needsClientId &&
      clientId === undefined &&
      say`CLOUDOPS_HTTP_CLIENT_ID must be set, so that people can sign in to /decisions with the issuer.`,
    hosts.length === 0 && say`CLOUDOPS_HTTP_ALLOWED_HOSTS must name the hosts that clients use to reach the server.`,
  );
  if (problems.length > 0) throw new UsageError(...problems);

  // `Config` is valid: an issuer always has an audience, and excludes a tokens file.
  if (issuer !== undefined && audience !== undefined) {
    const url = resourceUrl(audience, publicUrl, hosts);
    const openIdentity = (log: Log) => openIssuer({ issuer, audience, scopeClaim, now, log }, proxies);
    return { hosts, resource: { url, issuer }, openIdentity };
  }
  // Without a tokens file, callers are not authenticated. The problems above allow that only on loopback.
  const openIdentity = tokens && ((log: Log) => openTokensFile({ ...tokens, now, log }));
  return { hosts, resource: undefined, openIdentity };
}

/** The authentication of callers, by a tokens file or by an OAuth issuer. */
interface Identity {
  readonly authenticate: Authenticate;
  /** Looks up a caller of the tokens file with its current scopes. Absent for an issuer. */
  readonly principalNamed?: (name: string) => Promise<Principal | undefined>;
  /** The HTTP client for requests to the issuer. Absent for a tokens file. */
  readonly httpClient?: HttpClient;
  /** True if the issuer answered the last request. Absent for a tokens file. */
  readonly reachable?: () => boolean;
  close?(): Promise<void>;
}

function openTokensFile(options: Parameters<typeof authenticateByTokensFile>[0]): Identity {
  const authenticate = authenticateByTokensFile(options);
  return { authenticate, principalNamed: authenticate.principalNamed };
}

/** Authenticates by an issuer. Fetches its keys at once, so that a wrong address is logged now and the first caller need not wait. */
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

/** The names of a server that listens on `host`. `exposedAs` is how other machines reach the server, and undefined if they cannot. */
function hostsOf(host: string, allowedHosts: readonly string[], publicHost: string | undefined) {
  const namedHosts = allowedHosts.length === 0 && publicHost !== undefined ? [publicHost] : allowedHosts;
  if (!isLoopback(host === '::1' ? '[::1]' : host)) return { hosts: namedHosts, exposedAs: host };
  // Even on loopback, other machines can reach the server if a proxy on this machine passes on their requests for a named host.
  const exposedAs = namedHosts.every(isLoopback) ? undefined : namedHosts.join(', ');
  return { hosts: [...namedHosts, 'localhost', '127.0.0.1', '[::1]'], exposedAs };
}

/** The URL of this server for OAuth clients: the audience of tokens, if it is a URL. */
function resourceUrl(audience: string, publicUrl: string | undefined, [host]: readonly string[]): string {
  if (hostOf(audience) !== undefined) return audience;
  const origin = publicUrl ?? `https://${host}`;
  return `${origin}/mcp`;
}

/** The host name of an http or https URL. Undefined for any other text, because the audience of tokens need not be a URL. */
function hostOf(text: string | undefined): string | undefined {
  const isUrl = text !== undefined && /^https?:/i.test(text) && URL.canParse(text);
  return isUrl ? new URL(text).hostname : undefined;
}

/** Reads the tokens file and returns its problems. With a problem, the server does not start. */
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

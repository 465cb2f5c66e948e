import { once, setMaxListeners } from 'node:events';
import { isIPv6 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Change } from '../changes/change.js';
import { awaitOutcomes, watchStore } from '../changes/watch-store.js';
import { describeConfig } from '../config/describe.js';
import type { Config } from '../config/load-config.js';
import type { Authenticate, Authentication } from '../http/auth.js';
import { authenticateByIssuer, type IssuerOptions } from '../http/issuer.js';
import { createIssuerKeys, documentBytes } from '../http/issuer-keys.js';
import { defaultHttpLimits } from '../http/limits.js';
import { type NeededPart, serveHttp } from '../http/serve.js';
import { type SignIn, signInByToken } from '../http/sign-in.js';
import { authenticateByTokensFile, parseTokens, readTokensFile } from '../http/tokens-file.js';
import { createHttpClient, defaultLimits } from '../transport/http-client.js';
import { sentences } from '../util/human.js';
import { type Log, shownReason } from '../util/log.js';
import { exact, own, say } from '../util/safe-text.js';
import { isLoopback } from '../util/uri.js';
import {
  addressOptions,
  type Command,
  defaultAddress,
  type Invocation,
  portOf,
  UsageError,
  validConfig,
} from './command.js';
import { printLine } from './layout.js';
import { runUntilSignal, type Serving } from './run-until-signal.js';

/** Time limit for running calls and unwritten outcomes (milliseconds). */
const graceMs = 30_000;

/** `cloudops-mcp http` serves many clients over HTTP. */
export const httpCommand: Command = {
  usage: '[--host 127.0.0.1] [--port 8080]',
  about: 'serve MCP over HTTP at /mcp',
  example: 'http --port 8080',
  serves: true,
  options: addressOptions,
  run: async (invocation) => {
    const { terminal } = invocation;
    const { host, port } = { ...defaultAddress, ...invocation.options };
    const config = validConfig(invocation);
    const address = { host, port: portOf(port) };
    // A wrong setting is reported before the runtime starts.
    const access = await accessOf(host, config, terminal.now);
    const run = (serving: Serving) => serve(config, terminal, address, access, serving);
    return runUntilSignal(config, terminal, run, access.openIdentity ? undefined : { printsLink: true });
  },
};

async function serve(
  config: Config,
  { now, stderr }: Invocation['terminal'],
  address: { readonly host: string; readonly port: number },
  access: Access,
  { runtime, log, stop, allowsChanges }: Serving,
): Promise<void> {
  const { server, store } = runtime;
  const { values } = config;
  const { HTTP_PUBLIC_URL: publicUrl } = values;
  // Only this machine can reach a server without authentication, so it has no replicas.
  if (access.openIdentity !== undefined && values.STATE_KEY === undefined)
    log('warn', 'state key', {
      message: say`CLOUDOPS_STATE_KEY is not set: other replicas, and this one after a restart, refuse the sessions of this process, and its plans with secrets or private values.`,
    });
  // Many running calls may listen to `stop`, and Node warns at the eleventh listener.
  setMaxListeners(0, stop);
  // A change goes on without its client, so that its outcome is recorded.
  runtime.inFlight.detach();

  // Only changes are recorded in the journal, so a server that allows none is ready without it.
  const journalWatch = allowsChanges ? watchStore(store, log) : undefined;
  const identity = access.openIdentity?.(log);
  // Without authentication, nobody can sign in.
  const decisions =
    identity !== undefined && publicUrl !== undefined
      ? {
          publicUrl,
          isSandbox: values.SANDBOX,
          language: values.LANGUAGE,
          signIn: await identity.signIn(publicUrl),
          store,
          // A change without a caller is from a server that authenticates no callers, such as one on stdio, so no scopes limit it.
          callerOf: async ({ caller, scopes = [] }: Change) =>
            caller === undefined ? undefined : identity.callerNamed(caller, scopes),
          log,
        }
      : undefined;
  // If `serveHttp` fails, the process ends, so nothing has to be closed here.
  const httpServer = await serveHttp({
    listen: address,
    metricsAt: values.HTTP_METRICS_PORT,
    hosts: access.hosts,
    resource: access.resource,
    authenticate: identity?.authenticate,
    server: { ...server, stop, configuration: (names) => describeConfig(config, 'caller', names) },
    stateKeys: runtime.stateKeys,
    decisions,
    checkJournal: journalWatch?.checkNow,
    rate: values.HTTP_RATE,
    limits: defaultHttpLimits,
    timeoutMs: values.TIMEOUT_MS,
    missingPart: () => (journalWatch?.isReady() === false ? 'the journal' : identity?.missingPart()),
    state: {
      journalReachable: journalWatch?.lastCheckSucceeded,
      unwrittenOutcomes: store.unwritten,
      interruptedChanges: runtime.interruptedChanges,
      issuerReachable: identity?.reachable,
      authenticationReady: identity && (() => identity.missingPart() === undefined),
      // Each caller is asked one question at a time.
      waitingQuestions: runtime.questions.callers,
      waitingPlans: decisions && (async () => (await store.waiting({})).length),
    },
    log,
    now,
  });

  const { port, metricsPort } = httpServer;
  const decideAt = decisions && `${publicUrl}/decisions`;
  log('info', 'listening', { host: address.host, port, metricsPort, decisions: decideAt });
  if (stderr.isTTY) {
    const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
    printLine(stderr, say`Clients connect to http://${exact(host)}:${port}/mcp`);
    if (decideAt !== undefined) printLine(stderr, say`People decide on changes at ${exact(decideAt)}`);
    printLine(stderr, 'Ctrl-C ends it.');
  }
  if (!stop.aborted) await once(stop, 'abort');

  // The last calls still use the journal and the authentication.
  const stoppedAt = now().getTime();
  await httpServer.stop(graceMs);
  // Outcomes that are not written would end as unknown.
  await awaitOutcomes(store, graceMs - Math.max(0, now().getTime() - stoppedAt));
  journalWatch?.stop();
  await identity?.close?.();
}

type Access = Awaited<ReturnType<typeof accessOf>>;

/** Checks the settings for access, and reads the tokens file. @throws UsageError */
export async function accessOf(listenHost: string, config: Config, now: () => Date) {
  const { HTTP_TOKENS_FILE: tokensFile, HTTP_ISSUER: issuer, HTTP_AUDIENCE: audience, ...values } = config.values;
  const { hosts, exposedHosts } = reachOf(listenHost, config);
  const tokens = tokensFile === undefined ? undefined : await tokensAtStart(tokensFile);
  const isOpen = tokens === undefined && issuer === undefined;
  const { HTTP_PUBLIC_URL: publicUrl, HTTP_CLIENT_ID: clientId } = values;
  const hasPage = publicUrl !== undefined;
  const audienceHost = hostOf(audience);
  const problems = sentences(
    isOpen &&
      exposedHosts.length > 0 &&
      say`${own(exposedHosts.join(', '))} is not loopback: set CLOUDOPS_HTTP_TOKENS_FILE, or CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_AUDIENCE, to authenticate callers.`,
    isOpen &&
      hasPage &&
      say`CLOUDOPS_HTTP_PUBLIC_URL is set, but nobody could sign in to /decisions: set CLOUDOPS_HTTP_TOKENS_FILE, or CLOUDOPS_HTTP_ISSUER.`,
    ...(tokens?.problems ?? []),
    audience !== undefined &&
      audienceHost === undefined &&
      !hasPage &&
      say`CLOUDOPS_HTTP_AUDIENCE is no URL, so clients would not learn the address of this server: set CLOUDOPS_HTTP_PUBLIC_URL.`,
    hasPage &&
      issuer !== undefined &&
      clientId === undefined &&
      say`CLOUDOPS_HTTP_CLIENT_ID must be set, so that people can sign in to /decisions with the issuer.`,
    hosts.length === 0 && say`CLOUDOPS_HTTP_ALLOWED_HOSTS must name the hosts that clients use to reach the server.`,
  );
  if (problems.length > 0) throw new UsageError(...problems);

  // `Config` is valid, so an issuer has an audience and excludes a tokens file.
  if (issuer === undefined || audience === undefined) {
    // Only this machine can reach the server.
    if (tokens === undefined) return { hosts, resource: undefined, openIdentity: undefined };
    const openIdentity = (log: Log): Identity => {
      const authenticate = authenticateByTokensFile({ ...tokens, now, log });
      return {
        authenticate,
        // If the file no longer has the caller, the change is refused.
        callerNamed: authenticate.callerNamed,
        signIn: async () => signInByToken(authenticate, now),
        missingPart: () => (authenticate.isReadable() ? undefined : 'the tokens file'),
      };
    };
    return { hosts, resource: undefined, openIdentity };
  }
  const scopePrefix = values.HTTP_SCOPE_PREFIX ?? usualPrefix(audience);
  const resource = { url: audienceHost === undefined ? `${publicUrl}/mcp` : audience, issuer, scopePrefix };
  const claims = { scopeClaim: values.HTTP_SCOPE_CLAIM, scopePrefix, personClaim: values.HTTP_PERSON_CLAIM };
  const openIdentity = (log: Log) => openIssuer({ issuer, audience, ...claims, now, log }, config);
  return { hosts, resource, openIdentity };
}

/** Entra ID names an API `api://…`, and its scopes after it. */
const usualPrefix = (audience: string): string => (audience.startsWith('api://') ? audience.replace(/\/?$/, '/') : '');

interface Identity {
  readonly authenticate: Authenticate;
  /** Finds a caller with its current scopes, or with `scopesAtPlan` if they are unknown. `invalid` if it may no longer make calls. */
  callerNamed(name: string, scopesAtPlan: readonly string[]): Promise<Authentication>;
  signIn(publicUrl: string): Promise<SignIn>;
  /** True if the issuer answered the last request. Absent for a tokens file. */
  readonly reachable?: () => boolean;
  /** The missing part without which no caller can be authenticated. */
  missingPart(): NeededPart | undefined;
  close?(): Promise<void>;
}

/** Fetches the issuer's keys at once, so that a wrong address is logged now. */
function openIssuer(options: Omit<IssuerOptions, 'keys'>, { values, proxies }: Config): Identity {
  const { HTTP_CLIENT_ID: clientId, HTTP_CLIENT_SECRET: clientSecret } = values;
  const httpClient = createHttpClient(proxies, { ...defaultLimits, bodyBytes: documentBytes });
  const keys = createIssuerKeys({ ...options, httpClient, sleep: delay });
  void keys.metadata().catch(() => undefined);
  const authenticate = authenticateByIssuer({ ...options, keys });
  return {
    authenticate,
    // An issuer names scopes only in a token, so the caller keeps the scopes of the plan.
    callerNamed: async (name, scopesAtPlan) => ({ kind: 'authenticated', principal: { name, scopes: scopesAtPlan } }),
    signIn: async (publicUrl) => {
      if (clientId === undefined) throw new Error('accessOf refuses a page for decisions without a client ID.');
      const { signInAtIssuer } = await import('../http/sign-in-at-issuer.js');
      return signInAtIssuer({ ...options, keys, clientId, clientSecret, publicUrl, httpClient, authenticate });
    },
    reachable: keys.reachable,
    missingPart: () => (keys.areGood() ? undefined : 'the keys of the issuer'),
    close: httpClient.close,
  };
}

/** The accepted host names, and the hosts by which other machines may reach the server. */
function reachOf(listenHost: string, { values }: Config) {
  // The audience is usually the URL of this server.
  const clientHosts = values.HTTP_ALLOWED_HOSTS ?? [hostOf(values.HTTP_AUDIENCE)];
  // The page for decisions must be reachable at its own address.
  const namedHosts = [...new Set([...clientHosts, hostOf(values.HTTP_PUBLIC_URL)])].filter(
    (name) => name !== undefined,
  );

  const listensOnLoopback = isLoopback(listenHost === '::1' ? '[::1]' : listenHost);
  if (!listensOnLoopback) return { hosts: namedHosts, exposedHosts: [listenHost] };
  // Even on loopback, a proxy on this machine can pass on requests for a named host.
  const exposedHosts = namedHosts.every(isLoopback) ? [] : namedHosts;
  return { hosts: [...namedHosts, 'localhost', '127.0.0.1', '[::1]'], exposedHosts };
}

/** Undefined for other text, because an audience need not be a URL. */
function hostOf(text: string | undefined): string | undefined {
  const isUrl = text !== undefined && /^https?:/i.test(text) && URL.canParse(text);
  return isUrl ? new URL(text).hostname : undefined;
}

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

import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CallingDependencies, CallStack, CallStackOptions, CallTool } from './call-stack.js';
import { Refusal, refusalFailure } from './calls/refusal.js';
import { type ChangeDependencies, createInFlightCalls, createQuestionQueue } from './changes/change-run.js';
import { journalText } from './changes/journal-text.js';
import { openStore } from './changes/open-store.js';
import type { DecisionPage } from './changes/required-consent.js';
import { createNotices } from './changes/watch-store.js';
import type { Config } from './config/load-config.js';
import { openAccounts } from './config/open-accounts.js';
import { questionLimits } from './mcp/client-quirks.js';
import { createReadTasks } from './mcp/read-tasks.js';
import { createServiceCatalog, type ServiceCatalog } from './models/service-catalog.js';
import type { ServerDependencies } from './server.js';
import type { Operation } from './tools/define-operation.js';
import { privateCacheFolder } from './util/cache-folder.js';
import { translatorFor } from './util/language.js';
import { type Log, reasonOf } from './util/log.js';
import { lazy } from './util/objects.js';
import { words } from './util/safe-text.js';
import type { KeyRing, SealingKeys } from './util/seal.js';

/** Everything needed to run calls, built from the configuration. */
export type Runtime = Awaited<ReturnType<typeof startRuntime>>;

/** The page at the public URL, on which people sign in to decide. */
async function signInPage({ values, proxies }: Config, now: () => Date, log: Log): Promise<DecisionPage> {
  const { createAnnouncer } = await import('./changes/announcement.js');
  const { HTTP_PUBLIC_URL, DECISIONS_WEBHOOK: url, DECISIONS_WEBHOOK_KEY: key } = values;
  const webhook = url === undefined ? undefined : { url, key };
  const addressOf = (id: string) => `${HTTP_PUBLIC_URL}/decisions/${id}/`;
  const openClient = async () => (await import('./transport/http-client.js')).createHttpClient(proxies);
  return { kind: 'signIn', addressOf, announce: createAnnouncer({ webhook, openClient, now, log }) };
}

/**
 * Builds the runtime of a configuration.
 * @param localPage the page for decisions in the browser of this machine
 */
export async function startRuntime(
  config: Config,
  version: string,
  log: Log,
  now: () => Date,
  localPage?: DecisionPage,
) {
  const { proxies, values, journalFile: addressFile } = config;
  const { SECRETS_DIR: secretsDir, TIMEOUT_MS: timeoutMs, MAX_ATTEMPTS: maximumAttempts } = values;

  const sandbox = values.SANDBOX ? await openSandbox(config, now, log) : undefined;
  /** Ends the programs that print access keys. */
  const keyPrograms = new AbortController();
  const accounts = openAccounts(config.accounts, {
    env: config.otherVariables,
    now,
    log,
    stop: keyPrograms.signal,
    sandbox: sandbox?.cloud,
  });

  const place = openStore(values.JOURNAL, now, { log, addressFile, stateKeys: values.STATE_KEY });
  const store = await place.openChanges();
  const page = values.HTTP_PUBLIC_URL === undefined ? localPage : await signInPage(config, now, log);

  const telemetry = config.telemetry
    ? (await import('./observe/telemetry.js')).startTelemetry(version, log)
    : undefined;
  const wired = wireCalls(config.operations, {
    stateKeys: values.STATE_KEY,
    version,
    log,
    now,
    accounts,
    store,
    page,
    planLifetimeMs: values.PLAN_HOURS * 3_600_000,
    pendingNotes: (caller) => notices.take(caller),
    services: openServices(config, version, log),
    openCallStack: (callDependencies) =>
      openLazily({
        ...callDependencies,
        proxies,
        secretsDir,
        timeoutMs,
        maximumAttempts,
        random: Math.random,
        // Resolves early, without an error, if the signal aborts.
        sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
      }),
    // For the operator. Callers over HTTP get another text.
    configuration: async (names) => (await import('./config/describe.js')).describeConfig(config, 'operator', names),
    sandbox: sandbox?.describe,
    traced: telemetry?.traced,
  });

  const notices = createNotices(store, log, wired.server.changes.resume);
  // Erases expired plans, and ends changes of processes that are gone.
  const upkeepTimer = setInterval(() => {
    void notices.recover();
    void store.erase().catch(() => undefined);
  }, 60_000).unref();
  return {
    ...wired,
    server: {
      ...wired.server,
      viewsForAll: values.VIEWS === 'on',
      translator: await translatorFor(values.LANGUAGE),
    },
    store,
    /** Number of changes of gone processes, by tool, that this process has ended as `unknown`. */
    interruptedChanges: () => notices.endedByTool,
    /** Waits at most `graceMs` for the changes under way. */
    close: async (graceMs: number): Promise<void> => {
      // Changes under way need everything else.
      await wired.inFlight.finish(graceMs);

      keyPrograms.abort();
      clearInterval(upkeepTimer);

      // The recovery still writes to the store.
      await notices.settled();
      await store.close();

      // No change uses the connections any more.
      await wired.closeCallStack();
      await sandbox?.close();
      await telemetry?.close();
    },
  };
}

/** Creates the catalog of whole services, if there are any. */
export function openServices(
  { services, operations, values, otherVariables }: Config,
  version: string,
  log: Log,
): ServiceCatalog | undefined {
  if (services.size === 0) return undefined;
  const { platform, getuid } = process;
  const cacheFolder = () => privateCacheFolder({ env: otherVariables, platform, ...(getuid && { getuid }) });
  return createServiceCatalog(services, operations, {
    listsSecretNames: values.SECRETS_DIR !== undefined,
    version,
    log,
    cacheFolder,
  });
}

/** The parts that `wireCalls` connects. Tests replace some. */
interface RuntimeParts
  extends Pick<ChangeDependencies, 'accounts' | 'store' | 'planLifetimeMs' | 'pendingNotes' | 'log' | 'now'>,
    Partial<Pick<ChangeDependencies, 'services' | 'page' | 'statusWaitMs'>>,
    Pick<ServerDependencies, 'version' | 'configuration' | 'sandbox'> {
  /** The first key seals, and all keys open. Undefined if the process makes its own key. */
  readonly stateKeys?: KeyRing | undefined;
  readonly openCallStack: (callDependencies: CallingDependencies) => CallStack;
  /** Undefined if calls are not traced. */
  readonly traced?: ((callTool: CallTool) => CallTool) | undefined;
}

/** How long a call waits for a decision (milliseconds). Clients give up after 30 to 60 seconds. */
const defaultWaitMs = 25_000;

export function wireCalls(operations: readonly Operation[], parts: RuntimeParts) {
  const { accounts, store, log } = parts;
  // With a random key, digests of requests with secrets are valid only in this process.
  const stateKeys: SealingKeys = lazy((): KeyRing => parts.stateKeys ?? [randomBytes(32)]);
  const questions = createQuestionQueue();
  const inFlight = createInFlightCalls();
  let isUnknownNoted = false;
  const newId = () => randomBytes(16).toString('base64url');
  const callStack = parts.openCallStack({
    ...parts,
    operations,
    keys: stateKeys,
    newId,
    questions,
    questionLimits,
    inFlight,
    statusWaitMs: parts.statusWaitMs ?? defaultWaitMs,
  });
  return {
    inFlight,
    questions,
    stateKeys,
    closeCallStack: callStack.close,
    server: {
      version: parts.version,
      operations,
      services: parts.services,
      accounts,
      call: parts.traced?.(callStack.call) ?? callStack.call,
      changes: callStack.changes,
      reads: createReadTasks(parts.now),
      noteUnknownClient: () => {
        const message = words(
          'A client sends a session that is missing or not of this server, perhaps after a restart. Its changes may be refused until it reconnects; CLOUDOPS_STATE_KEY keeps sessions valid.',
        );
        if (!isUnknownNoted) log('warn', 'refused', { reason: 'session', message });
        isUnknownNoted = true;
      },
      configuration: parts.configuration,
      journal: (caller: string | undefined, ofAccounts: readonly string[] | undefined) =>
        journalText(store, caller, ofAccounts),
      sandbox: parts.sandbox,
    },
  };
}

/** Loads at the first call, because many clients start a server only for the list of tools. */
function openLazily(options: CallStackOptions): CallStack {
  const load = async () => (await import('./call-stack.js')).createCallStack(options);
  const { start, close } = startLazily(load, options.log);
  const withStack = async <Result>(use: (stack: CallStack) => Promise<Result>) => {
    const stack = await start();
    return stack instanceof Refusal ? stack : use(stack);
  };
  const outcomeOf = async <Outcome>(tool: string, use: (stack: CallStack) => Promise<Outcome>, isChange = true) => {
    const outcome = await withStack(use);
    if (!(outcome instanceof Refusal)) return outcome;
    return { kind: 'failed', failure: refusalFailure(tool, outcome, { isChange }) } as const;
  };
  return {
    call: (operation, ...given) =>
      outcomeOf(operation.name, (stack) => stack.call(operation, ...given), operation.effect !== 'read'),
    changes: {
      get: (...given) => outcomeOf('get_change', ({ changes }) => changes.get(...given)),
      withdraw: (...given) => outcomeOf('withdraw_change', ({ changes }) => changes.withdraw(...given)),
      confirm: (...given) => outcomeOf('confirm_change', ({ changes }) => changes.confirm(...given)),
      click: (...given) => withStack(({ changes }) => changes.click(...given)),
      resume: (change) => outcomeOf(change.tool, ({ changes }) => changes.resume(change)),
      findByProof: (...given) => withStack(({ changes }) => changes.findByProof(...given)),
      look: (...given) => withStack(({ changes }) => changes.look(...given)),
      state: (change, ...given) => outcomeOf(change.tool, ({ changes }) => changes.state(change, ...given)),
    },
    close,
  };
}

/** All callers share one start. If it fails, usually because an update has removed files of this server, the next caller tries again. */
function startLazily<Started extends Pick<CallStack, 'close'>>(make: () => Promise<Started>, log: Log) {
  let starting: Promise<Started | Refusal> | undefined;
  return {
    start: (): Promise<Started | Refusal> => {
      starting ??= make().catch((error: unknown) => {
        starting = undefined;
        log('error', 'unavailable', { error: reasonOf(error) });
        return new Refusal('SenderUnavailable');
      });
      return starting;
    },
    close: async () => {
      const started = await starting;
      if (started !== undefined && !(started instanceof Refusal)) await started.close();
    },
  };
}

/** Starts the sandbox when it is first needed, or at once if an option is set, so that wrong options are reported. */
async function openSandbox({ values }: Config, now: () => Date, log: Log) {
  const sandboxOptions = { stateFile: values.SANDBOX_STATE, seed: values.SANDBOX_SEED, fault: values.SANDBOX_FAULT };
  const make = async () => (await import('../sandbox/sandbox.js')).startSandbox({ now, ...sandboxOptions });
  const hasOptions = Object.values(sandboxOptions).some((option) => option !== undefined);
  const made = hasOptions ? await make() : undefined;
  const { start, close } = startLazily(async () => made ?? make(), log);
  if (made !== undefined) await start();
  const started = async () => {
    const sandbox = await start();
    // Calls convert the refusal to a result.
    if (sandbox instanceof Refusal) throw sandbox;
    return sandbox;
  };
  return { cloud: async () => (await started()).cloud, describe: async () => (await started()).describe(), close };
}

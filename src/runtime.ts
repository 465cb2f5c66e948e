import { randomBytes, randomUUID } from 'node:crypto';
import { devNull, hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Accounts } from './calls/account.js';
import type { CallingDependencies, CallStack, CallStackOptions } from './call-stack.js';
import type { CallDependencies, CallTool } from './calls/context.js';
import { createInFlightCalls, type InFlightCalls } from './changes/in-flight.js';
import type { Config } from './config/load-config.js';
import { openAccounts } from './config/open-accounts.js';
import type { DecisionPage } from './changes/decision-page.js';
import { keptPlanKey } from './consent/plan-key.js';
import { createPlans, type Plans } from './consent/plans.js';
import { createQuestionQueue, type QuestionQueue } from './changes/question-queue.js';
import { Refusal, refusalFailure } from './calls/refusal.js';
import { createRefusals } from './consent/refusals.js';
import { newNonce, tokenLifetimeMs } from './consent/tokens.js';
import type { SharedMessages } from './http/replica-messages.js';
import { type Journal, journalText } from './journal/journal.js';
import { openStore, type Store } from './journal/open-store.js';
import { createMemoryPlanStore } from './journal/plan-store.js';
import { createNotices, type RecoveryOptions, recoverInterrupted } from './journal/recovery.js';
import { questionLimits } from './mcp/client-quirks.js';
import type { ServerDependencies } from './server.js';
import { type Log, reasonOf } from './util/log.js';
import { lazy } from './util/objects.js';
import { say } from './util/safe-text.js';
import type { KeyRing, SealingKeys } from './util/seal.js';

/** Everything needed to run calls, built from the configuration. */
export interface Runtime {
  readonly call: CallTool;
  readonly accounts: Accounts;
  readonly inFlight: InFlightCalls;
  readonly questions: QuestionQueue;
  readonly store: Store;
  readonly journal: Journal;
  /** Plans that wait for a person. */
  readonly plans: Plans;
  /** Number of changes, by tool, that this process has ended as `unknown` because their own processes are gone. */
  interruptedChanges(): ReadonlyMap<string, number>;
  /** For `createServer`, which makes one MCP server per connection. */
  readonly server: ServerDependencies;
  /** Waits at most `graceMs` for the changes under way, and closes everything. */
  close(graceMs: number): Promise<void>;
}

/** The table for messages between replicas. Undefined if the store cannot be shared by processes on several machines. */
export async function openSharedMessages({ openDatabase }: Store): Promise<SharedMessages | undefined> {
  if (openDatabase === undefined) return undefined;
  return (await import('./http/replica-messages.js')).createPostgresMessages(await openDatabase());
}

/**
 * Opens the page on which people decide on plans, if there is one. With a public URL, also opens the stored plans. Otherwise, `wireCalls` keeps
 * plans in memory for the returned `planLifetimeMs`.
 * @param localPage the page in the browser of this machine, if there is one. Never given together with a public URL
 */
async function openPageAndPlans(
  config: Config,
  store: Store,
  now: () => Date,
  log: Log,
  localPage: DecisionPage | undefined,
): Promise<Pick<RuntimeParts, 'page' | 'plans' | 'planLifetimeMs'>> {
  const { publicUrl, stateKeys, planLifetimeMs } = config;
  // With a public URL, people sign in on the page. A configuration with a public URL always has state keys, but the compiler does not know this.
  if (publicUrl !== undefined && stateKeys !== undefined) {
    const keys = () => stateKeys;
    const plans = createPlans({ store: await store.openPlans(), keys, now, lifetimeMs: planLifetimeMs, log });
    return { plans, page: await signInPage(config, now, log) };
  }
  if (localPage !== undefined) return { page: localPage, planLifetimeMs };
  // Without any page, `wireCalls` keeps plans only as long as a planId, the token that names a plan, is valid.
  return {};
}

/** Interval (milliseconds) at which expired plans are erased. Adding or listing plans also erases them. */
const eraseMs = 10 * 60_000;
/** Interval (milliseconds) at which the journal is searched for changes of processes that are gone. */
const recoveryMs = 60_000;

/** The page on which people sign in to decide on plans, at the public URL of this server. */
async function signInPage({ publicUrl, webhook, proxies }: Config, now: () => Date, log: Log): Promise<DecisionPage> {
  const { createAnnouncer } = await import('./changes/announcement.js');
  const addressOf = (nonce: string) => `${publicUrl}/decisions/${nonce}/`;
  const openClient = async () => (await import('./transport/http-client.js')).createHttpClient(proxies);
  return { kind: 'signIn', addressOf, announce: createAnnouncer({ webhook, openClient, now, log }) };
}

/**
 * Builds the runtime of a configuration: opens the sandbox, accounts, journal and plans, and connects them. `close` closes all of them.
 * @param localPage the page in the browser of this machine on which people decide on plans, if there is one
 */
export async function startRuntime(
  config: Config,
  version: string,
  log: Log,
  now: () => Date,
  localPage?: DecisionPage,
): Promise<Runtime> {
  const { proxies, secretsDir, timeoutMs, maximumAttempts } = config;

  const sandbox = config.sandbox ? await openSandbox(config, now, log) : undefined;
  /** Aborts to end the programs that print access keys. */
  const keyPrograms = new AbortController();
  const accounts = openAccounts(config.accounts, {
    env: config.otherVariables,
    now,
    log,
    stop: keyPrograms.signal,
    sandbox: sandbox?.cloud,
  });

  const store = openStore(config.journal, now, { log, addressFile: config.journalFile });
  const journal = await store.openJournal();
  const pageAndPlans = await openPageAndPlans(config, store, now, log, localPage);

  const thisProcess = { pid: process.pid, host: hostname() };
  const { notices, recoveryTimer } = startRecovery({ journal, process: thisProcess, now, timeoutMs, log });

  const telemetry = config.telemetry
    ? (await import('./observe/telemetry.js')).startTelemetry(version, log)
    : undefined;
  const wired = wireCalls(config, {
    version,
    log,
    now,
    accounts,
    journal,
    process: thisProcess,
    pendingNotes: notices.take,
    ...pageAndPlans,
    openCallStack: (callDependencies) =>
      openLazily({ ...callDependencies, proxies, secretsDir, timeoutMs, maximumAttempts, sleep, random: Math.random }),
    // This text is for the operator. A server for callers over HTTP has another text.
    configuration: async (names) => (await import('./config/describe.js')).describeConfig(config, 'operator', names),
    sandbox: sandbox?.describe,
    traced: telemetry?.traced,
  });
  // Expired plans are erased even if no call comes.
  const eraseTimer = setInterval(() => void wired.plans.erase().catch(() => undefined), eraseMs).unref();

  const planKeys = planKeysOf(config, store, wired.server.stateKeys, log);
  return {
    ...wired,
    server: { ...wired.server, viewsForAll: config.viewsForAll, planKeys },
    accounts,
    store,
    journal,
    interruptedChanges: () => notices.endedByTool,
    close: async (graceMs) => {
      // Changes under way end first, because they need everything else.
      await wired.inFlight.finish(graceMs);

      keyPrograms.abort();
      clearInterval(eraseTimer);
      clearInterval(recoveryTimer);

      // The journal closes after the recovery and `refusals`, because both still write to it.
      await notices.settled();
      await wired.refusals.close();
      await wired.plans.close();
      await journal.close();

      // No change uses the connections any more.
      await wired.closeCallStack();
      await sandbox?.close();
      await telemetry?.close();
    },
  };
}

/**
 * Starts the recovery in the background: in the journal, it ends the unfinished changes of processes that are gone. `notices.take` waits for the
 * recovery, and returns the notices about those changes for one caller.
 */
function startRecovery(options: Pick<RecoveryOptions, 'journal' | 'process' | 'now' | 'timeoutMs' | 'log'>) {
  const monotonicStart = performance.now();
  const uptimeMs = () => performance.now() - monotonicStart;
  // A change before `started` is of an earlier process, even if the process ID is the same.
  const started = options.now();
  const notices = createNotices((errorLevel) => recoverInterrupted({ ...options, started, uptimeMs, errorLevel }));
  // A process on another host counts as gone only minutes after its change. No call may come by then, so a timer looks again.
  const recoveryTimer = setInterval(notices.recoverIfIdle, recoveryMs).unref();
  return { notices, recoveryTimer };
}

/** Waits. Resolves early, without an error, if the signal aborts. */
const sleep = (milliseconds: number, signal: AbortSignal) =>
  delay(milliseconds, undefined, { signal }).catch(() => undefined);

/** The path of the file with the key for planIds. Undefined if a state key is configured, or if the journal is not a file. */
export const planKeyPath = ({ stateKeys }: Config, { path }: Store): string | undefined =>
  stateKeys !== undefined || path === undefined || path === devNull ? undefined : `${path}.plan-key`;

/**
 * The keys of planIds from their file, or the keys of this process if the file cannot be used. A planId is a token that names a plan. Undefined
 * if planIds have the same keys as other tokens.
 */
function planKeysOf(config: Config, store: Store, processKeys: SealingKeys, log: Log): SealingKeys | undefined {
  const path = planKeyPath(config, store);
  if (path === undefined) return undefined;
  const fileKeys = keptPlanKey(path, (problem) =>
    log('warn', 'state key', {
      message: say`${path} cannot be used (${problem}): a planId is valid only in this process`,
    }),
  );
  return () => fileKeys() ?? processKeys();
}

/** The parts that `wireCalls` connects. Tests replace the parts that lead out of the process. */
interface RuntimeParts
  extends Pick<CallDependencies, 'accounts' | 'journal' | 'process' | 'pendingNotes' | 'log' | 'now'>,
    Partial<Pick<CallDependencies, 'page' | 'statusWaitMs'>>,
    Pick<ServerDependencies, 'version' | 'configuration' | 'sandbox'> {
  /** Plans that wait for a person. If absent, plans are kept in memory for `planLifetimeMs`. */
  readonly plans?: Plans | undefined;
  /** How long plans in memory are kept (milliseconds). Default: the lifetime of a planId. */
  readonly planLifetimeMs?: number;
  readonly openCallStack: (callDependencies: CallingDependencies) => CallStack;
  /** Wraps the function that carries out calls. Undefined if calls are not traced. */
  readonly traced?: ((callTool: CallTool) => CallTool) | undefined;
}

/** The longest time that a status call waits for the decision on a plan (milliseconds). Clients give up after 30 to 60 seconds. */
const defaultWaitMs = 25_000;

/** Creates everything that runs calls. The field `server` has the dependencies of `createServer`. */
export function wireCalls(config: Pick<Config, 'stateKeys' | 'operations'>, parts: RuntimeParts) {
  const { operations } = config;
  const { accounts, journal, log, now } = parts;
  const { planLifetimeMs = tokenLifetimeMs, statusWaitMs = defaultWaitMs } = parts;

  // Without configured keys, the first token makes a random key, and tokens are valid only in this process.
  const stateKeys: SealingKeys = lazy((): KeyRing => config.stateKeys ?? [randomBytes(32)]);
  const plans =
    parts.plans ?? createPlans({ store: createMemoryPlanStore(), keys: stateKeys, now, lifetimeMs: planLifetimeMs });
  const questions = createQuestionQueue();
  const refusals = createRefusals(journal, plans, now, randomUUID, log);
  const inFlight = createInFlightCalls();

  const madeHere = { operations, newId: randomUUID, newNonce, questions, questionLimits, refusals, inFlight };
  // `plans` and `statusWaitMs` come last, because `parts` may have them as undefined.
  const callStack = parts.openCallStack({ ...parts, ...madeHere, plans, statusWaitMs });
  const call = parts.traced?.(callStack.call) ?? callStack.call;
  return {
    call,
    inFlight,
    refusals,
    questions,
    plans,
    closeCallStack: callStack.close,
    server: {
      version: parts.version,
      now,
      operations,
      accounts,
      call,
      stateKeys,
      configuration: parts.configuration,
      journal: (caller: string | undefined, ofAccounts: readonly string[] | undefined) =>
        journalText(journal, caller, ofAccounts),
      sandbox: parts.sandbox,
    },
  };
}

/** Returns a call stack that is loaded at the first call, because many clients start a server only for the list of tools. */
function openLazily(options: CallStackOptions): CallStack {
  const { start, close } = startLazily(async () => (await import('./call-stack.js')).createCallStack(options));
  return {
    call: async (operation, args, context) => {
      let callStack: CallStack;
      try {
        callStack = await start();
      } catch (error) {
        // Usually, an update has removed files of this running server, so the refusal tells people to start the server again.
        const { name, effect } = operation;
        options.log('error', 'unavailable', { tool: name, error: reasonOf(error) });
        const isChange = effect !== 'read';
        return { kind: 'failed', failure: refusalFailure(name, partUnavailable(), { isChange }) };
      }
      return callStack.call(operation, args, context);
    },
    close,
  };
}

/** Starts something when it is first needed. All callers share one start. After a failure, the next caller tries again. */
function startLazily<Started extends Pick<CallStack, 'close'>>(make: () => Promise<Started>) {
  let starting: Promise<Started> | undefined;
  return {
    start: (): Promise<Started> => {
      starting ??= make().catch((error) => {
        starting = undefined;
        throw error;
      });
      return starting;
    },
    close: async () => (await starting?.catch(() => undefined))?.close(),
  };
}

/** The refusal of a call if a part of this server cannot be loaded. It lists no problems, because the code is enough. */
const partUnavailable = () => new Refusal('SenderUnavailable');

/** Returns a sandbox that starts when it is first needed, or at once if an option is set, so that wrong options are reported. */
async function openSandbox({ sandboxOptions }: Config, now: () => Date, log: Log) {
  const { start, close } = startLazily(async () => {
    const { startSandbox } = await import('../sandbox/sandbox.js');
    return startSandbox({ now, ...sandboxOptions });
  });
  if (Object.values(sandboxOptions).some((option) => option !== undefined)) await start();
  return {
    // Calls convert the refusal to a result that tells the agent the next step.
    cloud: async () => {
      try {
        return (await start()).cloud;
      } catch (error) {
        log('error', 'unavailable', { error: reasonOf(error) });
        throw partUnavailable();
      }
    },
    // The reader of a resource gets the error itself, because only calls convert refusals.
    describe: async () => (await start()).describe(),
    close,
  };
}

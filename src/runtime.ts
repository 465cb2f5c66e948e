import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, createCaller } from './calls/call-tool.js';
import type { Cloud } from './calls/endpoint.js';
import { createInFlightCalls, type InFlightCalls } from './calls/in-flight.js';
import { createSecretFiles } from './calls/secrets.js';
import { withTracing } from './calls/traced.js';
import type { Config } from './config/config.js';
import { describeConfig } from './config/describe.js';
import { isDatabaseUrl } from './journal/database-url.js';
import { createFileJournal } from './journal/file.js';
import { type Journal, journalText } from './journal/journal.js';
import { interruptedText, recoverInterrupted } from './journal/recovery.js';
import type { ServerDependencies } from './server.js';
import { operations } from './tools/index.js';
import { createLazySender } from './transport/lazy.js';
import type { Log } from './util/log.js';

/** What carries out calls, put together from a configuration, for whatever serves or makes them. */
export interface Runtime {
  readonly call: Caller;
  readonly cloud: Cloud;
  readonly inFlight: InFlightCalls;
  /** What `createServer` needs. */
  readonly server: ServerDependencies;
  /** Lets mutations under way end, for some milliseconds, and closes everything. */
  close(graceMs: number): Promise<void>;
}

/** The journal that a configuration names. PostgreSQL's library is loaded only for a journal that is there. */
export async function openJournal({ journal }: Config, now: () => Date): Promise<Journal> {
  if (!isDatabaseUrl(journal)) return createFileJournal(journal, now);
  return (await import('./journal/postgres.js')).createPostgresJournal(journal, now);
}

/** Starts what a configuration asks for, the sandbox included. */
export async function startRuntime(config: Config, version: string, log: Log, now: () => Date): Promise<Runtime> {
  const started = now();
  const sandbox = config.sandbox
    ? await (await import('../sandbox/sandbox.js')).startSandbox({ now, ...config.sandboxOptions })
    : undefined;
  const cloud: Cloud = sandbox === undefined ? config.cloud : { ...config.cloud, ...sandbox.cloud };
  const journal = await openJournal(config, now);
  const inFlight = createInFlightCalls();
  const { policy, confirm, timeoutMs, maximumAttempts } = config;
  const own = { pid: process.pid, host: hostname() };
  const settle = () => recoverInterrupted({ journal, process: own, started, now, timeoutMs, log });
  let unresolved = settle();
  const { send, close: closeSender } = createLazySender(config.proxies, {
    now,
    sleep: (milliseconds, signal) => delay(milliseconds, undefined, { signal }).catch(() => undefined),
    random: Math.random,
    log,
    timeoutMs,
    maximumAttempts,
  });
  const telemetry = config.telemetry
    ? (await import('./serving/telemetry.js')).startTelemetry(version, log)
    : undefined;
  const untraced = createCaller({
    cloud,
    policy,
    confirm,
    newNonce: randomUUID,
    journal,
    inFlight,
    secretFiles: createSecretFiles(config.secretsDir),
    now,
    process: own,
    takeReports: async () => {
      const reports = await unresolved;
      unresolved = settle();
      return reports.map(interruptedText);
    },
    send,
    log,
  });
  const call = telemetry === undefined ? untraced : withTracing(untraced, telemetry.tracer);
  return {
    call,
    cloud,
    inFlight,
    server: {
      version,
      operations,
      policy,
      call,
      stateKey: config.stateKey ?? randomBytes(32),
      configuration: () => describeConfig(config, 'operator'),
      journal: (caller) => journalText(journal, caller),
      sandbox: sandbox?.describe,
    },
    close: async (graceMs) => {
      await inFlight.finish(graceMs);
      await unresolved;
      await journal.close();
      await closeSender();
      await sandbox?.close();
      await telemetry?.close();
    },
  };
}

import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, createCaller } from './call/call.js';
import { isDatabaseUrl } from './call/database-url.js';
import { createDrain, type Drain } from './call/drain.js';
import { type Journal, journalText } from './call/journal.js';
import { createFileJournal } from './call/journal-file.js';
import { createSecretFiles } from './call/secret-files.js';
import { settleOrphans } from './call/settle.js';
import type { Cloud } from './call/target.js';
import { traced } from './call/traced.js';
import { type Config, describeConfig } from './config.js';
import type { Log } from './log.js';
import type { ServerDependencies } from './server.js';
import { catalogue } from './tools/catalogue.js';
import { createLazySender } from './transport/lazy.js';

/** What carries out calls, put together from a configuration, for whatever serves or makes them. */
export interface Runtime {
  readonly call: Caller;
  readonly cloud: Cloud;
  readonly drain: Drain;
  /** What `createServer` needs. */
  readonly server: ServerDependencies;
  /** Lets mutations under way end, for some milliseconds, and closes everything. */
  close(graceMs: number): Promise<void>;
}

/** The journal that a configuration names. PostgreSQL's library is loaded only for a journal that is there. */
export async function openJournal({ journal }: Config, now: () => Date): Promise<Journal> {
  if (!isDatabaseUrl(journal)) return createFileJournal(journal, now);
  return (await import('./call/journal-postgres.js')).createPostgresJournal(journal, now);
}

/** Starts what a configuration asks for, the sandbox included. */
export async function startRuntime(config: Config, version: string, log: Log, now: () => Date): Promise<Runtime> {
  const started = now();
  const sandbox = config.sandbox
    ? await (await import('./sandbox/sandbox.js')).startSandbox({ now, ...config.sandboxOptions })
    : undefined;
  const cloud: Cloud = sandbox === undefined ? config.cloud : { ...config.cloud, ...sandbox.cloud };
  const journal = await openJournal(config, now);
  const drain = createDrain();
  const { policy, confirm, timeoutMs, maximumAttempts } = config;
  const own = { pid: process.pid, host: hostname() };
  const settle = () => settleOrphans({ journal, process: own, started, now, timeoutMs, log });
  let unresolved = settle();
  const { send, close: closeSender } = createLazySender(config.proxies, {
    now,
    sleep: (milliseconds, signal) => delay(milliseconds, undefined, { signal }).catch(() => undefined),
    random: Math.random,
    log,
    timeoutMs,
    maximumAttempts,
  });
  const telemetry = config.telemetry ? (await import('./telemetry.js')).startTelemetry(version, log) : undefined;
  const untraced = createCaller({
    cloud,
    policy,
    confirm,
    newNonce: randomUUID,
    journal,
    drain,
    secretFiles: createSecretFiles(config.secretsDir),
    now,
    process: own,
    takeReports: async () => {
      const reports = await unresolved;
      unresolved = settle();
      return reports;
    },
    send,
    log,
  });
  const call = telemetry === undefined ? untraced : traced(untraced, telemetry.tracer);
  return {
    call,
    cloud,
    drain,
    server: {
      version,
      operations: catalogue,
      policy,
      call,
      stateKey: config.stateKey ?? randomBytes(32),
      configuration: () => describeConfig(config),
      journal: () => journalText(journal),
      sandbox: sandbox?.describe,
    },
    close: async (graceMs) => {
      await drain.finish(graceMs);
      await unresolved;
      await journal.close();
      await closeSender();
      await sandbox?.close();
      await telemetry?.close();
    },
  };
}

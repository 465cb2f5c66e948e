import { devNull } from 'node:os';
import { type CallTool, type ChangeTools, createCalls } from '../../src/call-stack.js';
import type { Account, Accounts, Budget, ConsentMode } from '../../src/calls/account.js';
import { type AnsweredCall, withinBudget } from '../../src/calls/answer-budget.js';
import { createSecretFiles } from '../../src/calls/call-secrets.js';
import type { CallClient, CallContext } from '../../src/calls/context.js';
import { type Cloud, missingSettings } from '../../src/calls/endpoint.js';
import type { EndedOutcome, Failure, Success } from '../../src/calls/outcome.js';
import type { Policy } from '../../src/calls/policy.js';
import { resultText } from '../../src/calls/result-text.js';
import type { ChangeDependencies } from '../../src/changes/change-run.js';
import type { DecisionPage } from '../../src/changes/required-consent.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { type Changes, createChanges } from '../../src/changes/store.js';
import type { ServiceCatalog } from '../../src/models/service-catalog.js';
import { wireCalls } from '../../src/runtime.js';
import { fixedKeys } from '../../src/signing/keys.js';
import type { Credentials } from '../../src/signing/sign.js';
import type { Operation, Service } from '../../src/tools/define-operation.js';
import { operations } from '../../src/tools/index.js';
import { createHttpClient, defaultLimits, type HttpClient } from '../../src/transport/http-client.js';
import { defaultAccount } from '../../src/transport/request.js';
import { createSignedClients, type OpenClient } from '../../src/transport/signed-client.js';
import type { Log } from '../../src/util/log.js';
import type { SafeText } from '../../src/util/safe-text.js';
import { processOn, wallClock } from './changes.js';

/** Test keys, which sign requests to servers that the tests start themselves. */
export const testKeys = { accessKeyId: 'AKIDTEST', secretAccessKey: 'test/secret+key' };

const testStateKey = 'k'.repeat(32);

export interface TestCallerOptions {
  /** The cloud of the only account. Its keys may be given directly. */
  readonly cloud?: Partial<Cloud> & { readonly credentials?: Credentials };
  /** In place of the one account. */
  readonly accounts?: Accounts;
  readonly budget?: Budget;
  readonly policy?: Policy;
  /** Operations of the server; by default all built-in ones. */
  readonly operations?: readonly Operation[];
  /** The services all of whose operations can be called. */
  readonly services?: ServiceCatalog;
  readonly limits?: Partial<typeof defaultLimits>;
  readonly now?: () => Date;
  readonly timeoutMs?: number;
  readonly maximumAttempts?: number;
  readonly confirm?: ConsentMode;
  /** In place of a table in memory. */
  readonly store?: Changes;
  /** In place of HTTP. */
  readonly httpClient?: HttpClient;
  /** In place of the client that sends to the origin. */
  readonly openClient?: OpenClient;
  readonly secretsDir?: string | undefined;
  readonly stateKey?: string;
  readonly reports?: SafeText[];
  readonly page?: DecisionPage;
  readonly statusWaitMs?: number;
  /** How long a plan waits on the page (milliseconds). */
  readonly planLifetimeMs?: number | undefined;
  /** In place of those reports. */
  readonly pendingNotes?: ChangeDependencies['pendingNotes'];
  /** Gets each log event, which is also kept. */
  readonly log?: Log;
  /** True if a change continues after its client has disconnected. */
  readonly outlivesClients?: boolean;
}

/**
 * The calls of a real server against one origin, transport included, and the dependencies of a server. Pauses between attempts take no time, but are recorded.
 */
export function testCaller(origin: string, options: TestCallerOptions = {}) {
  const waits: number[] = [];
  const logged: { level: string; event: string; fields: unknown }[] = [];
  const log: Log = (level, event, fields = {}) => {
    logged.push({ level, event, fields });
    options.log?.(level, event, fields);
  };
  const httpClient = options.httpClient ?? createHttpClient({}, { ...defaultLimits, ...options.limits });
  const now = options.now ?? (() => new Date());
  const createSignedClient = createSignedClients({
    httpClient,
    now,
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
    },
    random: () => 0.5,
    log,
    timeoutMs: options.timeoutMs ?? 20_000,
    maximumAttempts: options.maximumAttempts ?? 4,
  });
  const { credentials = testKeys, ...given } = options.cloud ?? {};
  const cloud = {
    account: defaultAccount,
    region: 'jp-east-1',
    keys: fixedKeys(credentials),
    endpoints: { storage: origin, catalog: `${origin}/catalog`, devops: `${origin}/devops` },
    signingServices: { storage: 's3', catalog: 'catalog', devops: 'devops' },
    storageHeaders: 'ext' as const,
    ...given,
  };
  const account = {
    name: defaultAccount,
    cloud: async () => cloud,
    missingFor: (service: Service) => missingSettings(cloud, service),
    policy: options.policy ?? { readOnly: false, tools: undefined },
    confirm: options.confirm ?? 'off',
    budget: options.budget,
  };
  const store = options.store ?? memoryStore(now);
  const served = [...(options.operations ?? operations)];
  const wired = wireCalls(served, {
    stateKeys: [options.stateKey ?? testStateKey],
    version: '0',
    log,
    now,
    accounts: options.accounts ?? { all: [account], byDefault: account, areNamed: false },
    store,
    services: options.services,
    pendingNotes: options.pendingNotes ?? (async () => options.reports?.splice(0) ?? []),
    openCallStack: (calling) => ({
      ...createCalls({
        ...calling,
        openClient: options.openClient ?? createSignedClient,
        secretFiles: createSecretFiles(options.secretsDir),
      }),
      close: () => httpClient.close(),
    }),
    statusWaitMs: options.statusWaitMs ?? 0,
    page: options.page,
    planLifetimeMs: options.planLifetimeMs ?? 10 * 60_000,
    configuration: () => '# Configuration\n',
  });
  if (options.outlivesClients === true) wired.inFlight.detach();
  /** Calls an operation, which the server has from then on. */
  const carryOut: CallTool = (operation, args, context) => {
    if (!served.includes(operation)) served.unshift(operation);
    return wired.server.call(operation, args, context);
  };
  return {
    /** Without anybody to ask, unless the test says otherwise. */
    call: async (operation: Operation, args: unknown, given: TestContext = {}): Promise<Ended> => {
      const outcome = await carryOut(operation, args, contextOf(given));
      if (outcome.kind === 'inputRequired') throw new Error('the call ended as a question');
      return endedOf(outcome, { operation, args });
    },
    carryOut,
    changes: wired.server.changes,
    get: async (changeId: string, given: TestContext = {}) =>
      endedOf(await wired.server.changes.get(changeId, contextOf(given))),
    withdraw: async (changeId: string, given: TestContext = {}) =>
      endedOf(await wired.server.changes.withdraw(changeId, contextOf(given))),
    confirm: async (changeId: string, thing: string, given: TestContext = {}) =>
      endedOf(await wired.server.changes.confirm({ id: changeId, thing }, contextOf(given))),
    server: wired.server,
    stateKeys: wired.stateKeys,
    inFlight: wired.inFlight,
    store,
    waits,
    logged,
    close: async () => {
      await store.close();
      await httpClient.close();
    },
  };
}

/** A table of changes that is gone with the test. */
export const memoryStore = (now: () => Date = () => new Date()): Changes =>
  createChanges(createSqlite(devNull, { clock: wallClock(now) }), { process: processOn('test') });

/** The result as an agent gets it. */
function endedOf(outcome: EndedOutcome, call?: AnsweredCall): Ended {
  if (outcome.kind === 'failed') return { ok: false, failure: outcome.failure, text: resultText(outcome.failure) };
  const success = withinBudget(outcome.success, call);
  return { ok: true, structured: success, text: resultText(success) };
}

/** The result of a call, as data and as text. */
export type Ended =
  | { readonly ok: true; readonly structured: Success; readonly text: string }
  | { readonly ok: false; readonly failure: Failure; readonly text: string };

/** The circumstances of a call, of which a test gives what matters to it. */
export type TestContext = Partial<Omit<CallContext, 'client'>> & { readonly client?: Partial<CallClient> };

export const contextOf = (given: TestContext = {}): CallContext => ({
  signal: never,
  ...given,
  client: { name: 'test 1', ...given.client },
});

export const never = new AbortController().signal;

/** One account without a name, for code that needs the account's policy only. */
export function accountsWith(policy: Policy, confirm: ConsentMode = 'ask'): Accounts {
  const cloud = () => Promise.reject(new Error('nothing is called'));
  const account: Account = { name: defaultAccount, cloud, missingFor: () => [], policy, confirm };
  return { all: [account], byDefault: account, areNamed: false };
}

/** Tools of changes for tests that use none. */
export const unusedChanges: ChangeTools = {
  get: () => Promise.reject(new Error('unused')),
  withdraw: () => Promise.reject(new Error('unused')),
  confirm: () => Promise.reject(new Error('unused')),
  click: () => Promise.reject(new Error('unused')),
  findByProof: () => Promise.reject(new Error('unused')),
  look: () => Promise.reject(new Error('unused')),
  resume: () => Promise.reject(new Error('unused')),
  state: () => Promise.reject(new Error('unused')),
};

import { randomUUID } from 'node:crypto';
import {
  type Caller,
  type CallOptions,
  type CallResult,
  createCaller,
  type Policy,
} from '../../src/calls/call-tool.js';
import type { Cloud } from '../../src/calls/endpoint.js';
import { createInFlightCalls } from '../../src/calls/in-flight.js';
import { createSecretFiles } from '../../src/calls/secrets.js';
import type { ConsentClaims, ConsentMode, ConsentTokens } from '../../src/consent/decision.js';
import { addEntry, findConflict, findDuplicate, isNonceSpent, type Mutations } from '../../src/journal/conflict.js';
import type { Ending, Journal } from '../../src/journal/journal.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { createHttpClient, defaultLimits, type Limits } from '../../src/transport/http-client.js';
import { createSender, type Sender } from '../../src/transport/signed-client.js';

/** Keys of nothing: they sign requests to servers that the tests start themselves. */
export const testKeys = { accessKeyId: 'AKIDTEST', secretAccessKey: 'test/secret+key' };

export interface TestCallerOptions {
  readonly cloud?: Partial<Cloud>;
  readonly policy?: Policy;
  readonly limits?: Partial<Limits>;
  readonly now?: () => Date;
  readonly timeoutMs?: number;
  readonly maximumAttempts?: number;
  readonly confirm?: ConsentMode;
  readonly journal?: Journal;
  /** In place of the one that sends to the origin. */
  readonly send?: Sender;
  readonly secretsDir?: string;
  readonly reports?: string[];
  /** Whether a change goes on when its client has gone. */
  readonly outlivesClients?: boolean;
}

/** The real pipeline, transport included, against one origin. Waits between attempts take no time but are noted. */
export function testCaller(origin: string, options: TestCallerOptions = {}) {
  const waits: number[] = [];
  const logged: { event: string; fields: unknown }[] = [];
  const log = (_level: string, event: string, fields: unknown = {}) => {
    logged.push({ event, fields });
  };
  const httpClient = createHttpClient({}, { ...defaultLimits, ...options.limits });
  const inFlight = createInFlightCalls();
  if (options.outlivesClients === true) inFlight.begin();
  const carryOut: Caller = createCaller({
    confirm: options.confirm ?? 'off',
    newNonce: randomUUID,
    journal: options.journal ?? createMemoryJournal(),
    inFlight,
    secretFiles: createSecretFiles(options.secretsDir),
    now: options.now ?? (() => new Date()),
    process: { pid: process.pid, host: 'test' },
    takeReports: async () => options.reports?.splice(0) ?? [],
    cloud: {
      region: 'jp-east-1',
      credentials: testKeys,
      endpoints: { storage: origin, catalog: `${origin}/catalog`, devops: `${origin}/devops` },
      signingServices: { storage: 's3', catalog: 'catalog', devops: 'devops' },
      storageHeaders: 'ext',
      ...options.cloud,
    },
    policy: options.policy ?? { readOnly: false, tools: undefined },
    send:
      options.send ??
      createSender({
        httpClient,
        now: options.now ?? (() => new Date()),
        sleep: async (milliseconds) => {
          waits.push(milliseconds);
        },
        random: () => 0.5,
        log,
        timeoutMs: options.timeoutMs ?? 20_000,
        maximumAttempts: options.maximumAttempts ?? 4,
      }),
    log,
  });
  /** Without anybody to ask, unless the test says otherwise. */
  const call = async (
    operation: Operation,
    args: unknown,
    given: Partial<CallOptions> & { signal: AbortSignal },
  ): Promise<Ended> => {
    const result = await carryOut(operation, args, { tokens: unsignedTokens, client: 'test 1', ...given });
    if (result.ok === 'asked') throw new Error('the call waits for an answer');
    return result;
  };
  return { call, carryOut, waits, logged, close: () => httpClient.close() };
}

/** A journal that is gone with the test. */
export function createMemoryJournal(): Journal {
  const mutations: Mutations = new Map();
  const all = () => [...mutations.values()];
  const end = (ending: Ending) => addEntry(mutations, { ending });
  return {
    findDuplicate: async (digest) => findDuplicate(all(), digest, Date.now()),
    begin: async (intent, { allowRepeat }) => {
      const result = findConflict(all(), intent, allowRepeat);
      addEntry(mutations, { intent });
      if (result.kind !== 'begun') end({ id: intent.id, time: intent.time, outcome: 'not sent', code: result.kind });
      return result;
    },
    end: async (ending) => end(ending),
    decline: async (intent) => {
      const isSpent = isNonceSpent(all(), intent.nonce);
      addEntry(mutations, { intent });
      end({ id: intent.id, time: intent.time, outcome: isSpent ? 'not sent' : 'declined' });
      return !isSpent;
    },
    countDeclined: async (since, caller) =>
      all().filter(
        (each) =>
          each.ending?.outcome === 'declined' && each.caller === caller && Date.parse(each.ending.time) >= since,
      ).length,
    list: async ({ caller }) => all().filter((each) => caller === undefined || each.caller === caller),
    listOpen: async () => all().filter(({ ending }) => ending === undefined),
    close: async () => undefined,
  };
}

export type Ended = Exclude<CallResult, { ok: 'asked' }>;

/** Signs nothing: for tests that are not about tokens. */
export const unsignedTokens: ConsentTokens = {
  issue: async (grant) => JSON.stringify(grant),
  verify: async (token) => JSON.parse(token) as ConsentClaims,
};

export const never = new AbortController().signal;

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Cloud, openCloud } from './cloud.js';
import { answer, findOperation, type Route, refusal } from './dispatch.js';
import { createFaults, type FaultRules, loadFaults } from './faults.js';
import {
  type Answer,
  type ApiRequest,
  collect,
  documentAnswer,
  isLoopback,
  prefixes,
  requestOf,
  splitOnce,
} from './http.js';
import { describeCloud, type Logged } from './inspect.js';
import { seedsOf } from './seeds.js';
import { checkSignature, chunkSignatures, type Keys, signingServices } from './signature.js';
import { derive, openState, SandboxProblem, type State, temporaryState } from './state.js';

export { seededEmptyUpload, seededLargeUpload, seededUpload } from './seeds.js';

/** A running cloud on this machine's loopback interface, for trials, demonstrations and tests. */
export type Sandbox = Awaited<ReturnType<typeof serveState>>;

export interface SandboxOptions {
  readonly now: () => Date;
  /** Access keys; derived from the seed by default. */
  readonly keys?: Keys;
  /** Port to listen on. 0, the default, chooses a free port. */
  readonly port?: number;
  /** Keys and IDs are derived from the seed; random by default. */
  readonly seed?: string | undefined;
  /** File that keeps the state. Without it, the state ends with the process. */
  readonly stateFile?: string | undefined;
  /** Faults such as `list_parts=503*3`, or `@` and the name of a file with faults. */
  readonly fault?: string | undefined;
}

const statePath = '/_sandbox/state';
const maximumBody = 32 * 1024 * 1024;
const keptRequests = 50;

/** Starts a sandbox. Throws a `SandboxProblem` if it cannot. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { stateFile, seed, fault = '' } = options;
  const rules = loadFaults(fault);
  const now = () => new Date(options.now().getTime() + rules.skewSeconds * 1000);
  const origin = { seed: seed ?? randomBytes(16).toString('hex'), started: now().toISOString() };
  const state = stateFile === undefined ? temporaryState(origin) : await openState(stateFile, origin, seed);
  return serveState(state, rules, { ...options, now }).catch(async (error) => {
    await state.close();
    throw error;
  });
}

/** Starts the server of a sandbox on a state, with the records that every sandbox has. */
async function serveState(state: State, rules: FaultRules, options: SandboxOptions) {
  const { now, port = 0, keys = derivedKeys(state) } = options;
  const cloud = openCloud(now, state, seedsOf(state));
  if (state.durable) await cloud.storage.tidy();
  const requestLog = createRequestLog(now);
  const faults = createFaults(rules, seededRandom(state));

  const server = createServer(async (incoming, outgoing) => {
    try {
      if (splitOnce(incoming.url ?? '', '?')[0] === statePath) await respond(incoming, outgoing, showState(incoming));
      else await answerRequest({ cloud, keys, faults, requestLog }, incoming, outgoing);
    } catch {
      outgoing.destroy();
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch(({ code }) => {
    throw new SandboxProblem(`The sandbox cannot listen on port ${port} of 127.0.0.1 (${code}).`);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoints = { storage: url, catalog: url + prefixes.catalog, devops: url + prefixes.devops };
  const describe = () => describeCloud(cloud, endpoints, requestLog.entries);

  function showState(incoming: IncomingMessage): Answer {
    const text = (status: number, body: string) => documentAnswer(status, 'text/markdown', body);
    // Refuses other hosts because a page of another site could read the state through DNS rebinding.
    if (!isLoopback(incoming.headers.host)) return text(403, 'Ask for it at 127.0.0.1 or localhost.\n');
    return incoming.method === 'GET' ? text(200, describe()) : text(405, 'This can only be read.\n');
  }

  return {
    cloud: { credentials: keys, endpoints, signingServices },
    /** Lets tests add records. */
    storage: cloud.storage,
    describe,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      await state.close();
    },
  };
}

/** Returns a function that gives numbers from 0 to below 1. The same seed gives the same numbers. */
function seededRandom(state: State): () => number {
  let draws = 0;
  return () => {
    draws += 1;
    return derive(state, 'chance', draws).readUInt32BE() / 2 ** 32;
  };
}

/** The last requests of a sandbox, oldest first. */
type RequestLog = ReturnType<typeof createRequestLog>;

function createRequestLog(now: () => Date) {
  const entries: Logged[] = [];
  let count = 0;
  return {
    entries,
    /** The ID of the next request, which its answer repeats. */
    nextId: () => {
      count += 1;
      return `sandbox-${String(count).padStart(6, '0')}`;
    },
    /** Adds a request that has no status yet. */
    add: ({ id, method, url }: ApiRequest, operation: string): Logged => {
      const entry = { time: now().toISOString(), id, operation, method, url: withoutSecrets(url), status: 0 };
      entries.push(entry);
      if (entries.length > keptRequests) entries.shift();
      return entry;
    },
  };
}

/** The parts of a sandbox that answer a request. */
interface RequestHandling {
  readonly cloud: Cloud;
  readonly keys: Keys;
  readonly faults: ReturnType<typeof createFaults>;
  readonly requestLog: RequestLog;
}

/** Answers a request of an API, or lets it fail by the rules for faults. */
async function answerRequest(
  { cloud, keys, faults, requestLog }: RequestHandling,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const request = requestOf(incoming, requestLog.nextId());
  const route = findOperation(request);
  const operation = route?.operation.name ?? 'unknown';
  const logEntry = requestLog.add(request, operation);
  const sentHeaders = { ...requestIds(request), date: cloud.now().toUTCString() };
  let content: Readable | undefined;
  const act = async () => {
    const answer = await answerSigned(route, request, keys, cloud);
    content = answer.content;
    logEntry.status = answer.status;
    return answer;
  };
  try {
    const answer = await faults.answer({ operation, incoming, act });
    if (answer === undefined) return;
    logEntry.status = answer.status;
    await respond(incoming, outgoing, { ...answer, headers: { ...answer.headers, ...sentHeaders } });
  } finally {
    // A fault may have kept the answer from being sent.
    content?.destroy();
  }
}

/** Answers a request if its signature is valid, and refuses it otherwise. */
async function answerSigned(route: Route | undefined, unread: ApiRequest, keys: Keys, cloud: Cloud): Promise<Answer> {
  // The signature of a storage request covers a hash of the body and not the body.
  const isStorage = unread.service === 'storage';
  const request = isStorage ? unread : { ...unread, body: await collect(unread.stream, maximumBody) };
  const problem = checkSignature(request, keys, cloud.now());
  if (problem !== undefined) return refusal(request, problem);
  return answer(route, { ...request, checkNext: chunkSignatures(request, keys) }, cloud);
}

const derivedKeys = (state: State): Keys => ({
  accessKeyId: `SANDBOX${derive(state, 'access key').toString('hex', 0, 6).toUpperCase()}`,
  secretAccessKey: derive(state, 'secret').toString('base64url'),
});

async function respond(incoming: IncomingMessage, outgoing: ServerResponse, answer: Answer): Promise<void> {
  const { status, headers, body, content } = answer;
  outgoing.writeHead(status, { ...(status !== 204 && { 'content-length': Buffer.byteLength(body) }), ...headers });
  if (content === undefined) outgoing.end(incoming.method === 'HEAD' ? undefined : body);
  else await pipeline(content, outgoing);
}

/** Returns the request ID headers (docs/API.md: Request IDs), with `x-amz-` names if the client used them. */
function requestIds({ id, headers }: ApiRequest): Record<string, string> {
  if ('x-amz-date' in headers) return { 'x-amz-request-id': id, 'x-amz-id-2': `${id}-b` };
  return {
    'x-ext-request-id': id,
    'x-ext-id-2': `${id}-b`,
    'x-store-sg-trace-id': `${id}-c`,
    'x-gw-endpoint-request': '1',
  };
}

/** Removes signatures and session tokens from a URL. */
const withoutSecrets = (url: string) =>
  url.replace(/((?:x-(?:ext|amz)-)?(?:security-token|signature)=)[^&\s]*/gi, '$1(not shown)');

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
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

/** A running sandbox: a small imitation of the cloud at 127.0.0.1, for trials, demonstrations and tests. */
export type Sandbox = Awaited<ReturnType<typeof serveState>>;

export interface SandboxOptions {
  readonly now: () => Date;
  /** The access key that clients have to use. By default, it is derived from the seed. */
  readonly keys?: Keys;
  /** The port to listen on. With 0, the default, the system chooses a free port. */
  readonly port?: number;
  /** The text from which access keys and IDs are derived, so that they can be repeated. Random by default. */
  readonly seed?: string | undefined;
  /** A file that keeps the records for later starts. Without it, they are lost when the process ends. */
  readonly stateFile?: string | undefined;
  /** Faults such as `list_parts=503*3`, or `@` followed by the name of a file with faults. */
  readonly fault?: string | undefined;
}

/** The path of the page that shows the records of the sandbox, in Markdown. */
const statePagePath = '/_sandbox/state';
const maximumBody = 32 * 1024 * 1024;
const keptRequests = 50;

/** Starts a sandbox. Throws a `SandboxProblem` if the options, the state file or the port cannot be used. */
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

/** Starts the HTTP server of a sandbox whose records are kept in `state`. */
async function serveState(state: State, rules: FaultRules, options: SandboxOptions) {
  const { now, port = 0, keys = derivedKeys(state) } = options;
  const simulatedCloud = openCloud(now, state, seedsOf(state));
  // Only a durable state can have files that a killed process left, because the folder of any other state is new.
  if (state.durable) await simulatedCloud.storage.tidy();
  const requestLog = createRequestLog(now);
  const faults = createFaults(rules, seededRandom(state));

  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch(({ code }) => {
    throw new SandboxProblem(`The sandbox cannot listen on port ${port} of 127.0.0.1 (${code}).`);
  });

  const endpoints = endpointsAt(server);
  const describe = () => describeCloud(simulatedCloud, endpoints, requestLog.entries);
  // No request can come before this line, because nothing is awaited after the server has begun to listen.
  server.on('request', async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    try {
      const [path] = splitOnce(incoming.url ?? '', '?');
      if (path === statePagePath) await respond(incoming, outgoing, statePage(incoming, describe));
      else await answerRequest({ simulatedCloud, keys, faults, requestLog }, incoming, outgoing);
    } catch {
      // An answer is no longer possible, for example because the client closed the connection.
      outgoing.destroy();
    }
  });

  return {
    /** The settings with which a client reaches this sandbox: access key, URLs, and names for signing. A client calls them `cloud` too. */
    cloud: { credentials: keys, endpoints, signingServices },
    /** The records of object storage, to which tests add their own. */
    storage: simulatedCloud.storage,
    describe,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      await state.close();
    },
  };
}

/** The URLs of the three APIs on a server that listens. */
function endpointsAt(server: Server) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { storage: url, catalog: url + prefixes.catalog, devops: url + prefixes.devops };
}

/** Answers a request for the page with the state of the sandbox. */
function statePage({ method, headers }: IncomingMessage, describe: () => string): Answer {
  const markdown = (status: number, body: string) => documentAnswer(status, 'text/markdown', body);
  // Only under a local name, because a website could let its own host name point to 127.0.0.1, and read the state (DNS rebinding).
  if (!isLoopback(headers.host)) return markdown(403, 'Ask for it at 127.0.0.1 or localhost.\n');
  return method === 'GET' ? markdown(200, describe()) : markdown(405, 'This can only be read.\n');
}

/** Creates a random number generator from 0 to below 1. The same seed gives the same sequence of numbers. */
function seededRandom(state: State): () => number {
  let draws = 0;
  return () => {
    draws += 1;
    return derive(state, 'chance', draws).readUInt32BE() / 2 ** 32;
  };
}

type RequestLog = ReturnType<typeof createRequestLog>;

/** Keeps the last `keptRequests` requests for `describeCloud`, and numbers all requests. */
function createRequestLog(now: () => Date) {
  const entries: Logged[] = [];
  let count = 0;
  return {
    /** The last requests, oldest first. */
    entries,
    /** Creates the ID of a new request. The answer to the request has the same ID. */
    nextId: () => {
      count += 1;
      return `sandbox-${String(count).padStart(6, '0')}`;
    },
    /** Adds a request, and returns its entry. The caller sets the status when there is an answer. */
    add: ({ id, method, url }: ApiRequest, operation: string): Logged => {
      const entry = { time: now().toISOString(), id, operation, method, url: withoutSecrets(url), status: 0 };
      entries.push(entry);
      if (entries.length > keptRequests) entries.shift();
      return entry;
    },
  };
}

/** The parts of a sandbox that `answerRequest` needs. */
interface RequestHandling {
  readonly simulatedCloud: Cloud;
  readonly keys: Keys;
  readonly faults: ReturnType<typeof createFaults>;
  readonly requestLog: RequestLog;
}

/** Answers a request to one of the three APIs. A fault that is due may change or drop the normal answer. */
async function answerRequest(
  { simulatedCloud, keys, faults, requestLog }: RequestHandling,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const request = requestOf(incoming, requestLog.nextId());
  const route = findOperation(request);
  const operationName = route?.operation.name ?? 'unknown';
  const logEntry = requestLog.add(request, operationName);
  const extraHeaders = { ...requestIdHeaders(request), date: simulatedCloud.now().toUTCString() };

  let contentToClose: Readable | undefined;
  const answerNormally = async () => {
    const normalAnswer = await checkAndAnswer(route, request, keys, simulatedCloud);
    contentToClose = normalAnswer.content;
    // If a fault drops this answer, its status stays in the log. Otherwise, the status of the answer that is sent replaces it.
    logEntry.status = normalAnswer.status;
    return normalAnswer;
  };

  try {
    const answerToSend = await faults.answer({ operationName, incoming, answerNormally });
    // A fault has reset the connection, or lets the client wait forever.
    if (answerToSend === undefined) return;
    logEntry.status = answerToSend.status;
    await respond(incoming, outgoing, { ...answerToSend, headers: { ...answerToSend.headers, ...extraHeaders } });
  } finally {
    // Ends the read of an object whose normal answer was dropped by a fault or cut off by the client.
    contentToClose?.destroy();
  }
}

/** Answers a request if its signature is valid, and refuses it otherwise. */
async function checkAndAnswer(route: Route | undefined, unread: ApiRequest, keys: Keys, cloud: Cloud): Promise<Answer> {
  // The signature of a storage request covers only a hash of the body. The body, which may be large, is read later.
  const isStorage = unread.service === 'storage';
  const request = isStorage ? unread : { ...unread, body: await collect(unread.stream, maximumBody) };
  const problem = checkSignature(request, keys, cloud.now());
  if (problem !== undefined) return refusal(request, problem);
  return answer(route, { ...request, checkNextSignature: chunkSignatures(request, keys) }, cloud);
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

/** Returns the headers with the request ID (docs/API.md: Request IDs). Their names begin with `x-amz-` if the client signed with such names. */
function requestIdHeaders({ id, headers }: ApiRequest): Record<string, string> {
  if ('x-amz-date' in headers) return { 'x-amz-request-id': id, 'x-amz-id-2': `${id}-b` };
  return {
    'x-ext-request-id': id,
    'x-ext-id-2': `${id}-b`,
    'x-store-sg-trace-id': `${id}-c`,
    'x-gw-endpoint-request': '1',
  };
}

/** Replaces signatures and session tokens in a URL by "(not shown)". */
const withoutSecrets = (url: string) =>
  url.replace(/((?:x-(?:ext|amz)-)?(?:security-token|signature)=)[^&\s]*/gi, '$1(not shown)');

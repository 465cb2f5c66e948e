import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { openCloud } from './cloud.js';
import { answer, findOperation, type Route, refusal } from './dispatch.js';
import { createFaults, type FaultRules, loadFaults } from './faults.js';
import { type Answer, type ApiRequest, collect, document, isLoopback, prefixes, requestOf, splitOnce } from './http.js';
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

async function serveState(state: State, rules: FaultRules, options: SandboxOptions) {
  const { now, port = 0, keys = derivedKeys(state) } = options;
  let draws = 0;
  const random = () => {
    draws += 1;
    return derive(state, 'chance', draws).readUInt32BE() / 2 ** 32;
  };
  const faults = createFaults(rules, random);
  const cloud = openCloud(now, state, seedsOf(state));
  if (state.durable) await cloud.storage.tidy();

  const requests: Logged[] = [];
  let count = 0;
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (splitOnce(incoming.url ?? '', '?')[0] === statePath) return respond(incoming, outgoing, showState(incoming));
    count += 1;
    const id = `sandbox-${String(count).padStart(6, '0')}`;
    const request = requestOf(incoming, id);
    const route = findOperation(request);
    const operation = route?.operation.name ?? 'unknown';
    const url = withoutSecrets(request.url);
    const logged: Logged = { time: now().toISOString(), id, operation, method: request.method, url, status: 0 };
    requests.push(logged);
    if (requests.length > keptRequests) requests.shift();
    const ids = { ...requestIds(id, 'x-amz-date' in request.headers), date: now().toUTCString() };
    let content: Readable | undefined;
    const act = async () => {
      const answer = await authenticated(route, request);
      content = answer.content;
      logged.status = answer.status;
      return answer;
    };
    try {
      const answer = await faults.answer({ operation, incoming, act });
      if (answer === undefined) return;
      logged.status = answer.status;
      await respond(incoming, outgoing, { ...answer, headers: { ...answer.headers, ...ids } });
    } finally {
      content?.destroy();
    }
  }

  async function authenticated(route: Route | undefined, unread: ApiRequest): Promise<Answer> {
    const isStorage = unread.service === 'storage';
    const request = isStorage ? unread : { ...unread, body: await collect(unread.stream, maximumBody) };
    const problem = checkSignature(request, keys, now());
    if (problem !== undefined) return refusal(request, problem);
    return answer(route, { ...request, checkNext: chunkSignatures(request, keys) }, cloud);
  }

  function showState(incoming: IncomingMessage): Answer {
    const text = (status: number, body: string) => document(status, 'text/markdown', body);
    // Refuses other hosts because a page of another site could read the state through DNS rebinding.
    if (!isLoopback(incoming.headers.host)) return text(403, 'Ask for it at 127.0.0.1 or localhost.\n');
    return incoming.method === 'GET' ? text(200, describe()) : text(405, 'This can only be read.\n');
  }

  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch(({ code }) => {
    throw new SandboxProblem(`The sandbox cannot listen on port ${port} of 127.0.0.1 (${code}).`);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoints = { storage: url, catalog: url + prefixes.catalog, devops: url + prefixes.devops };
  const describe = () => describeCloud(cloud, endpoints, requests);
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
function requestIds(id: string, amz: boolean): Record<string, string> {
  if (amz) return { 'x-amz-request-id': id, 'x-amz-id-2': `${id}-b` };
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

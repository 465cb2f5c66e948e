import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createCatalog } from './catalog.js';
import { createDevops } from './devops.js';
import { createFaults, loadFaults } from './faults.js';
import { type Api, type ApiResponse, isObject, json, jsonError } from './http.js';
import { describeSandbox, type Logged, withoutSecrets } from './inspect.js';
import { invented } from './invented.js';
import { checkSignature, type Keys, type Refusal } from './signature.js';
import { openState, SandboxProblem, type State, temporaryState } from './state.js';
import { createStorage, type Storage, type StorageRequest, storageOperation } from './storage.js';

export { seededEmptyUpload, seededLargeUpload, seededUpload } from './seeds.js';

/** A cloud on this machine's loopback interface, for trying, demonstrations and tests. */
export interface Sandbox {
  /** What a client needs to reach it. */
  readonly cloud: {
    readonly credentials: Keys;
    readonly endpoints: { readonly storage: string; readonly catalog: string; readonly devops: string };
    readonly signingServices: { readonly storage: string; readonly catalog: string; readonly devops: string };
  };
  readonly storage: Storage;
  /** What it holds and was asked, as Markdown. No secret is in it. */
  describe(): Promise<string>;
  close(): Promise<void>;
}

export interface SandboxOptions {
  readonly now: () => Date;
  /** Derived from the seed if not given. */
  readonly keys?: Keys;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Keys and IDs follow from it; random if not given. */
  readonly seed?: string | undefined;
  /** Keeps what the sandbox holds; gone with the process if not given. */
  readonly stateFile?: string | undefined;
  /** How it is to fail: `list_parts=503*3`, or `@` and a file. */
  readonly fault?: string | undefined;
  /** How long groups, clusters and servers take until they are ready; 20 if not given. */
  readonly secondsToSettle?: number;
  /** Of parts that are not the last, in bytes; 5 MiB, as on S3, if not given. */
  readonly minimumPartSize?: number;
}

/** No bucket can have these names, so that the APIs share one port with object storage. */
const prefixes = { catalog: '/_catalog', devops: '/_devops' };
const statePath = '/_sandbox/state';

const maximumBody = 32 * 1024 * 1024;
const keptRequests = 200;

/** Starts a sandbox. Throws a `SandboxProblem` if it cannot. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { port = 0, secondsToSettle = 20, minimumPartSize = 5 * 1024 * 1024 } = options;
  const planned = loadFaults(options.fault ?? '');
  if ('problem' in planned) throw new SandboxProblem(planned.problem);
  const now = () => new Date(options.now().getTime() + planned.rules.skewSeconds * 1000);
  const state = await open({ ...options, now });
  const { seed, started } = origin(state);
  let draws = 0;
  const random = () => {
    draws += 1;
    return derived(seed, 'chance', draws).readUInt32BE() / 2 ** 32;
  };
  const faults = createFaults(planned.rules, { random });
  const keys = options.keys ?? derivedKeys(seed);
  const saved = (name: string) =>
    state.records.flatMap((record) => (isObject(record) && name in record ? [record[name]] : []));
  const storage = createStorage({
    now,
    started,
    uploadId: (count) => derived(seed, 'upload', count).toString('base64url'),
    folder: state.folder,
    durable: state.durable,
    saved: saved('storage'),
    record: (change) => state.append({ storage: change }),
    minimumPartSize,
  });
  const catalog = createCatalog({ now, secondsToSettle, saved: saved('catalog').at(-1) });
  const devops = createDevops({ now, secondsToSettle, saved: saved('devops').at(-1) });
  if (state.durable) await storage.tidy();

  const requests: Logged[] = [];
  let count = 0;
  /** The catalogs' state as it was last written down. */
  const written = new Map([catalog, devops].map((api) => [api, JSON.stringify(api.snapshot())]));

  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy());
  });

  /** Takes one request: reads it, answers it, and writes it into the log. */
  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (pathOf(incoming) === statePath) return respond(incoming, outgoing, showState(incoming));
    const request = requestOf(incoming);
    const target = route(pathOf(incoming));
    count += 1;
    const id = `sandbox-${String(count).padStart(6, '0')}`;
    const entry = { time: now().toISOString(), id, operation: operationOf(target, request), method: request.method };
    const logged: Logged = { ...entry, url: withoutSecrets(request.url), status: 0 };
    const log = (changes: Partial<Logged>) => Object.assign(logged, changes);
    requests.push(logged);
    if (requests.length > keptRequests) requests.shift();
    const ids = { ...requestIds(id, 'x-amz-date' in request.headers), date: now().toUTCString() };
    const act = async () => {
      const { response, canonicalRequest = '' } = await answer(target, request);
      log({ status: response.status, canonicalRequest: withoutSecrets(canonicalRequest) });
      return response;
    };
    const send = (response: ApiResponse) => {
      log({ status: response.status });
      return respond(incoming, outgoing, { ...response, headers: { ...response.headers, ...ids } });
    };
    await faults.answer({ operation: entry.operation, incoming, outgoing, ids, act, send });
  }

  function route(path: string): Target {
    for (const [service, api] of [
      ['catalog', catalog],
      ['devops', devops],
    ] as const)
      if (path.startsWith(`${prefixes[service]}/`)) return { api, service, path: path.slice(prefixes[service].length) };
    return { api: storage, service: 's3', path };
  }

  async function answer({ api, service, path }: Target, unread: Unread) {
    const isStorage = api === storage;
    const request = { ...unread, path, body: isStorage ? Buffer.alloc(0) : await readBody(unread.stream) };
    const { refusal, canonicalRequest } = checkSignature(request, { service, storage: isStorage, keys, now: now() });
    if (refusal !== undefined) return { response: refuse(api, isStorage, refusal), canonicalRequest };
    try {
      const response = await (isStorage ? storage : api).handle(request);
      await keep(service, api);
      return { response, canonicalRequest };
    } catch (error) {
      if (unread.stream.errored) throw error;
      const code = isStorage ? 'InternalError' : 'Server.InternalError';
      const response = api.error(500, code, 'What the sandbox holds could not be written down.');
      return { response: invented(response, 'error'), canonicalRequest };
    }
  }

  /** Resolves once everything that an answer may tell is on disk. */
  async function keep(service: string, api: Api): Promise<void> {
    const known = written.get(api);
    const snapshot = known === undefined ? undefined : api.snapshot();
    const text = JSON.stringify(snapshot);
    if (text === known) return state.flushed();
    written.set(api, text);
    return state.append({ [service]: snapshot });
  }

  function showState(incoming: IncomingMessage): ApiResponse {
    // A page of another site whose name was made to lead here must not read it.
    if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(incoming.headers.host ?? ''))
      return jsonError(403, 'Forbidden', 'Ask for it at 127.0.0.1 or localhost.');
    if (incoming.method !== 'GET') return jsonError(405, 'MethodNotAllowed', 'This can only be read.');
    const snapshots = { storage: storage.snapshot(), catalog: catalog.snapshot(), devops: devops.snapshot() };
    return json(200, { endpoints, ...snapshots, requests });
  }

  await listen(server, port).catch(async (error) => {
    await state.close();
    throw error;
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoints = { storage: url, catalog: url + prefixes.catalog, devops: url + prefixes.devops };
  return {
    cloud: {
      credentials: keys,
      endpoints,
      signingServices: { storage: 's3', catalog: 'catalog', devops: 'devops' },
    },
    storage,
    describe: () => describeSandbox({ endpoints, storage, catalog, devops, requests }),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await state.close();
    },
  };
}

interface Target {
  readonly api: Api;
  /** As signatures name it. */
  readonly service: string;
  /** Without the API's own prefix. */
  readonly path: string;
}

const stateVersion = 1;

async function open({ stateFile, seed, now }: SandboxOptions): Promise<State> {
  const first = { sandbox: stateVersion, seed: seed ?? randomBytes(16).toString('hex'), started: now().toISOString() };
  if (stateFile === undefined) return temporaryState(first);
  const state = await openState(stateFile, first);
  if (seed === undefined || seed === origin(state).seed) return state;
  await state.close();
  throw new SandboxProblem(
    `The state ${stateFile} was begun with another seed; leave the seed out, or name another file.`,
  );
}

/** What a sandbox began with. */
function origin({ records: [first] }: State): { seed: string; started: Date } {
  const { seed, started } = isObject(first) ? first : {};
  return { seed: String(seed), started: new Date(String(started)) };
}

const derived = (seed: string, ...names: readonly (string | number)[]) =>
  createHash('sha256')
    .update(JSON.stringify([seed, ...names]))
    .digest();

const derivedKeys = (seed: string): Keys => ({
  accessKeyId: `SANDBOX${derived(seed, 'access key').toString('hex', 0, 6).toUpperCase()}`,
  secretAccessKey: derived(seed, 'secret').toString('base64url'),
});

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) =>
      reject(new SandboxProblem(`The sandbox cannot listen on port ${port} of 127.0.0.1 (${code}).`)),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
}

const pathOf = (incoming: IncomingMessage) => (incoming.url ?? '/').split('?', 1)[0] ?? '';

interface Unread extends Omit<StorageRequest, 'path' | 'body'> {
  readonly url: string;
}

/** A request whose body has still to be read. */
function requestOf(incoming: IncomingMessage): Unread {
  const { method = 'GET', url = '/' } = incoming;
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, [value ?? ''].flat().join(',')]);
  return { method, url, query: parseQuery(url), headers: Object.fromEntries(headers), stream: incoming };
}

async function readBody(incoming: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size > maximumBody) throw new Error('body too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The tool that a request would come from. */
function operationOf({ service, path }: Target, request: Unread): string {
  if (service === 's3') return storageOperation({ ...request, path });
  if (request.method !== 'POST') return 'unknown';
  if (service === 'devops') return path === '/v1/instances:restore' ? 'restore_instance' : 'unknown';
  if (path.endsWith('/kube:provision')) return 'provision_kube_resource_group';
  return path.endsWith(':upgrade') ? 'upgrade_kube_version' : 'unknown';
}

async function respond(incoming: IncomingMessage, outgoing: ServerResponse, response: ApiResponse): Promise<void> {
  const { status, headers, body, content } = response;
  outgoing.writeHead(status, { ...(status !== 204 && { 'content-length': Buffer.byteLength(body) }), ...headers });
  if (content === undefined) outgoing.end(incoming.method === 'HEAD' ? undefined : body);
  else await pipeline(content, outgoing);
}

/** Headers that name a request (reference, section 4.1), as each dialect spells them. */
function requestIds(id: string, amz: boolean): Record<string, string> {
  if (amz) return { 'x-amz-request-id': id, 'x-amz-id-2': `${id}-b` };
  return {
    'x-ext-request-id': id,
    'x-ext-id-2': `${id}-b`,
    'x-store-sg-trace-id': `${id}-c`,
    'x-gw-endpoint-request': '1',
  };
}

/** A refused signature in the words of the API that was called. */
function refuse(api: Api, storage: boolean, { status, code, message, details }: Refusal): ApiResponse {
  if (storage) return api.error(status, code === 'Malformed' ? 'AuthorizationHeaderMalformed' : code, message, details);
  const refused = (status: number, code: string) => invented(api.error(status, code, message, details), 'error');
  if (code === 'RequestTimeTooSkewed') return refused(status, code);
  if (code === 'Malformed') return refused(400, 'Client.InvalidParameterIllegalInput.Authorization');
  return refused(401, `Client.AuthFailure.${code}`);
}

function parseQuery(url: string): Map<string, string> {
  const at = url.indexOf('?');
  // A plus sign is a plus sign: only forms write spaces so.
  return new Map(new URLSearchParams(at < 0 ? '' : url.slice(at + 1).replaceAll('+', '%2B')));
}

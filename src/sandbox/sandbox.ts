import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCatalog } from './catalog.js';
import { createDevops } from './devops.js';
import type { Api, ApiRequest, ApiResponse } from './http.js';
import { checkSignature, type Keys, type Refusal } from './signature.js';
import { createStorage, type Part, type Storage } from './storage.js';

/** A cloud on this machine's loopback interface, for trying, demonstrations and tests. */
export interface Sandbox {
  /** What a client needs to reach it. */
  readonly cloud: {
    readonly credentials: Keys;
    readonly endpoints: { readonly storage: string; readonly catalog: string; readonly devops: string };
    readonly signingServices: { readonly storage: string; readonly catalog: string; readonly devops: string };
  };
  readonly storage: Storage;
  close(): Promise<void>;
}

export interface SandboxOptions {
  readonly now: () => Date;
  /** Generated if not given. */
  readonly keys?: Keys;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** How long groups, clusters and servers take until they are ready; 20 if not given. */
  readonly secondsToSettle?: number;
}

/** A multipart upload that is there from the start, with gaps in its parts. */
export const seededUpload = {
  bucket: 'demo-bucket',
  key: 'backups/2026/database.dump',
  uploadId: 'demo-upload-in-progress',
};

/** No bucket can have these names, so that the APIs share one port with object storage. */
const prefixes = { catalog: '/_catalog', devops: '/_devops' };

const maximumBody = 32 * 1024 * 1024;

/** Starts a sandbox. Its state lives as long as it runs. */
export async function startSandbox({
  now,
  port = 0,
  keys = generatedKeys(),
  secondsToSettle = 20,
}: SandboxOptions): Promise<Sandbox> {
  const storage = createStorage();
  storage.addUpload({ ...seededUpload, parts: seededParts(now()) });
  const catalog = createCatalog({ now, secondsToSettle });
  const devops = createDevops({ now, secondsToSettle });
  let requests = 0;

  const answer = async (request: Incoming): Promise<ApiResponse> => {
    const { api, service, path } = route(request.url);
    const refusal = checkSignature(request, { service, storage: api === storage, keys, now: now() });
    if (refusal !== undefined) return refuse(api, api === storage, refusal);
    return api.handle({ ...request, path, query: parseQuery(request.url) });
  };
  const route = (url: string): { api: Api; service: string; path: string } => {
    const path = url.split('?', 1)[0] ?? '';
    if (path.startsWith(`${prefixes.catalog}/`))
      return { api: catalog, service: 'catalog', path: path.slice(prefixes.catalog.length) };
    if (path.startsWith(`${prefixes.devops}/`))
      return { api: devops, service: 'devops', path: path.slice(prefixes.devops.length) };
    return { api: storage, service: 's3', path };
  };

  const server = createServer((incoming, outgoing) => {
    requests += 1;
    const ids = {
      ...requestIds(requests, incoming.headers['x-amz-date'] !== undefined),
      date: now().toUTCString(),
    };
    readRequest(incoming)
      .then(async (request) => respond(outgoing, await answer(request), ids))
      .catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    cloud: {
      credentials: keys,
      endpoints: { storage: origin, catalog: origin + prefixes.catalog, devops: origin + prefixes.devops },
      signingServices: { storage: 's3', catalog: 'catalog', devops: 'devops' },
    },
    storage,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Incoming = Omit<ApiRequest, 'path' | 'query'> & { readonly url: string };

async function readRequest(incoming: IncomingMessage): Promise<Incoming> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size > maximumBody) throw new Error('body too large');
    chunks.push(chunk);
  }
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, [value ?? ''].flat().join(',')]);
  return {
    method: incoming.method ?? 'GET',
    url: incoming.url ?? '/',
    headers: Object.fromEntries(headers),
    body: Buffer.concat(chunks),
  };
}

function respond(outgoing: ServerResponse, { status, headers, body }: ApiResponse, ids: Record<string, string>): void {
  outgoing.writeHead(status, { ...headers, ...ids, 'content-length': Buffer.byteLength(body) });
  outgoing.end(body);
}

/** Headers that name a request (reference, section 4.1), as each dialect spells them. */
function requestIds(count: number, amz: boolean): Record<string, string> {
  const id = `sandbox-${String(count).padStart(6, '0')}`;
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
  if (storage) {
    const names = { Malformed: 'AuthorizationHeaderMalformed', ContentMismatch: 'XAmzContentSHA256Mismatch' };
    return api.error(status, code === 'Malformed' || code === 'ContentMismatch' ? names[code] : code, message, details);
  }
  if (code === 'RequestTimeTooSkewed') return api.error(status, code, message, details);
  if (code === 'Malformed')
    return api.error(400, 'Client.InvalidParameterIllegalInput.Authorization', message, details);
  return api.error(401, `Client.AuthFailure.${code}`, message, details);
}

function parseQuery(url: string): Map<string, string> {
  const at = url.indexOf('?');
  // A plus sign is a plus sign: only forms write spaces so.
  return new Map(new URLSearchParams(at < 0 ? '' : url.slice(at + 1).replaceAll('+', '%2B')));
}

const generatedKeys = (): Keys => ({
  accessKeyId: `SANDBOX${randomBytes(6).toString('hex').toUpperCase()}`,
  secretAccessKey: randomBytes(24).toString('base64url'),
});

/** Sixteen parts of 8 MiB, one every 40 seconds, of which three failed and one is still to come. */
function seededParts(now: Date): Part[] {
  const size = 8 * 1024 * 1024;
  const missing = [5, 11, 12];
  return Array.from({ length: 15 }, (_, index) => index + 1)
    .filter((partNumber) => !missing.includes(partNumber))
    .map((partNumber) => ({
      partNumber,
      size,
      etag: createHash('md5').update(`part ${partNumber}`).digest('hex'),
      lastModified: new Date(now.getTime() - (16 - partNumber) * 40_000),
    }));
}

import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction, type Socket } from 'node:net';
import { Agent, buildConnector, Pool, ProxyAgent } from 'undici';
import { isLoopback } from '../util/uri.js';

export interface Proxies {
  /** Without `httpsProxy`, also for `https:`. */
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** Names that end with `.localhost` are this machine's (RFC 6761, section 6.3), but many resolvers do not know them. */
const loopbackName = (host: string): string => (host.endsWith('.localhost') ? 'localhost' : host);

export function proxyFor(url: URL, { httpProxy, httpsProxy, noProxy = '' }: Proxies): URL | undefined {
  const proxy = url.protocol === 'https:' ? httpsProxy || httpProxy : httpProxy;
  if (!proxy || isLoopback(loopbackName(url.hostname))) return undefined;
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const entries = noProxy.toLowerCase().split(/[,\s]+/);
  return entries.some((entry) => isNamed(host, port, entry)) ? undefined : new URL(proxy);
}

/** An entry is a domain, a pattern such as `10.0.*`, an IP address or a block. A port may follow. */
function isNamed(host: string, port: string, entry: string): boolean {
  const [, beforePort = entry, entryPort = port] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
  const pattern = beforePort.replace(/[[\]]/g, '');
  if (pattern === '' || entryPort !== port) return false;

  const [address = '', prefixLength] = pattern.split('/');
  if (isIP(address) !== 0) return isInBlock(host, address, prefixLength);
  if (pattern.includes('*', pattern.startsWith('*.') ? 2 : 0)) return matchesStars(host, pattern);
  const domain = pattern.replace(/^\*?\./, '').replace(/\.$/, '');
  // An IP address has no parent domain.
  return host === domain || (isIP(host) === 0 && host.endsWith(`.${domain}`));
}

function isInBlock(host: string, address: string, prefixLength: string | undefined): boolean {
  const hostVersion = isIP(host);
  const bits = isIP(address) === 4 ? 32 : 128;
  const length = Number(prefixLength ?? bits);
  const isReadable = prefixLength === undefined || (/^\d{1,3}$/.test(prefixLength) && length <= bits);
  if (hostVersion === 0 || !isReadable) return false;
  const block = new BlockList();
  block.addSubnet(address, length, bits === 32 ? 'ipv4' : 'ipv6');
  return block.check(host, hostVersion === 4 ? 'ipv4' : 'ipv6');
}

function matchesStars(host: string, pattern: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[^a-z0-9]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(host);
}

/** In milliseconds and bytes. */
export interface ExchangeLimits {
  readonly connectMs: number;
  /** From the last byte of the request to the headers of the response. */
  readonly headersMs: number;
  /** Between two pieces of the body. */
  readonly bodyMs: number;
  readonly headerBytes: number;
  readonly bodyBytes: number;
}

interface Addressed {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function createConnections(proxies: Proxies, limits: ExchangeLimits, pipelining: 0 | 1) {
  const { connectMs, headersMs, bodyMs, headerBytes } = limits;
  const options = { pipelining, headersTimeout: headersMs, bodyTimeout: bodyMs, maxHeaderSize: headerBytes };
  const lookupHost: LookupFunction = (host, ...rest) => lookup(loopbackName(host), ...rest);
  const connect = skippingInterim(buildConnector({ timeout: connectMs, lookup: lookupHost }), headerBytes);
  const direct = new Agent({ ...options, connect });
  const tunnels = new Map<string, ProxyAgent>();

  const createPool = (origin: string | URL, { connect: connector, ...poolOptions }: Pool.Options): Pool => {
    const skipping = typeof connector === 'function' && { connect: skippingInterim(connector, headerBytes) };
    return new Pool(origin, { ...poolOptions, ...skipping });
  };
  const createTunnels = (proxy: URL) =>
    new ProxyAgent({
      ...options,
      uri: proxy.href,
      proxyTls: { timeout: connectMs },
      requestTls: { timeout: connectMs },
      // A tunnel is a part of connecting, so the proxy must answer within `connectMs`.
      clientFactory: (origin, poolOptions) => createPool(origin, { ...poolOptions, headersTimeout: connectMs }),
      factory: createPool,
    });

  return {
    /** The agent for a request, and the form in which the request is sent there. */
    routeOf: ({ origin, path, headers }: Addressed) => {
      const url = new URL(origin);
      const proxy = proxyFor(url, proxies);
      if (proxy === undefined) return { origin, path, headers, agent: direct, hasProxy: false };
      if (url.protocol !== 'http:' || !proxy.protocol.startsWith('http')) {
        const agent = tunnels.get(proxy.href) ?? createTunnels(proxy);
        tunnels.set(proxy.href, agent);
        return { origin, path, headers, agent, hasProxy: true };
      }
      // Plain HTTP in absolute form (RFC 9112, section 3.2.2), because many proxies open tunnels only to port 443. undici's
      // `proxyTunnel: false` would drop all limits.
      const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
      const authorization = proxy.username !== '' && {
        'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}`,
      };
      const address = { origin: proxy.origin, path: origin + path, headers: { ...headers, ...authorization } };
      return { ...address, agent: direct, hasProxy: true };
    },
    destroy: () => Promise.all([direct, ...tunnels.values()].map((agent) => agent.destroy())),
  };
}

/**
 * Skips interim responses (1xx) before undici reads them. Clients must accept them (RFC 9110, section 15.2), but undici closes the
 * connection at `100 Continue`.
 */
const skippingInterim =
  (connect: buildConnector.connector, headBytes: number): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...result) => {
      // After an error, undici's connector leaves the socket out.
      const [, socket = null] = result;
      if (socket !== null) skipInterim(socket, headBytes);
      callback(...result);
    });

function skipInterim(socket: Socket, headBytes: number): void {
  const { read, write } = socket;
  /** The first bytes of a response. Undefined while no response is about to begin. */
  let held: Buffer | undefined;
  const readFinal = (...size: [number?]): Buffer | null => {
    const chunk: Buffer | null = read.apply(socket, size);
    if (chunk === null || held === undefined) return chunk;
    held = Buffer.concat([held, chunk]);
    let end = interimEnd(held, headBytes);
    while (end !== undefined && end > 0) {
      held = held.subarray(end);
      end = interimEnd(held, headBytes);
    }
    // undici waits after null, although more may have arrived.
    if (end === undefined) return readFinal(...size);
    const final = held;
    held = undefined;
    return final;
  };
  Object.assign(socket, {
    read: readFinal,
    // A response can begin only after a request was written.
    write: (...content: unknown[]) => {
      held ??= Buffer.alloc(0);
      return Reflect.apply(write, socket, content);
    },
  });
}

/** Returns 0 if there is no interim response (101 is final), and undefined if more bytes are needed. */
function interimEnd(bytes: Buffer, headBytes: number): number | undefined {
  const start = bytes.toString('latin1', 0, 'HTTP/1.1 100'.length);
  const mayBeInterim = 'HTTP/1.1 1'.startsWith(start.slice(0, 10).replace('/1.0', '/1.1'));
  if (!mayBeInterim || start.endsWith(' 101')) return 0;
  const end = bytes.indexOf('\r\n\r\n');
  if (end >= 0) return end + 4;
  return bytes.length > headBytes ? 0 : undefined;
}

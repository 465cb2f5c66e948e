import { BlockList, isIP } from 'node:net';
import { isLoopback } from '../util/uri.js';

/** Decides through which proxy a request goes. */

export interface Proxies {
  /** For `http:` and, without `httpsProxy`, for `https:`. */
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** Names that end with `.localhost` are this machine's (RFC 6761, section 6.3). */
export const loopbackName = (host: string): string => (host.endsWith('.localhost') ? 'localhost' : host);

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
  // A block that cannot be read names no host.
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

import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { explainExchange } from '../results/failure.js';
import { type HttpClient, isFailure, type Proxies } from '../transport/http-client.js';
import type { Endpoint } from '../transport/signed-client.js';
import { isLoopback } from '../util/loopback.js';

/** Something that was looked at, and what to do where it is not as it should be. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem';
  readonly detail: string;
  readonly remedy?: string;
}

export const fine = (check: string, detail: string): Finding => ({ check, status: 'ok', detail });
export const amiss = (status: 'warning' | 'problem', check: string, detail: string, remedy: string): Finding => ({
  check,
  status,
  detail,
  remedy,
});

export interface ProbeOptions {
  readonly httpClient: HttpClient;
  readonly proxies: Proxies;
  readonly now: () => Date;
}

/** Sends one request without a signature. Resolves with the endpoint's problem, or with how it was reached and its clock. */
export async function probe(
  check: string,
  { origin, pathPrefix }: Endpoint,
  { httpClient, proxies, now }: ProbeOptions,
): Promise<Finding[]> {
  const url = new URL(origin);
  const proxy = proxyOf(url, proxies);
  const through = proxy === undefined ? '' : ` through the proxy ${proxy}`;
  const request = { method: 'GET', origin, path: `${pathPrefix}/`, headers: {} } as const;
  const sentAt = now().getTime();
  const response = await httpClient.exchange(request, new AbortController().signal);
  const halfway = (sentAt + now().getTime()) / 2;
  if (isFailure(response)) {
    const asked = { name: `A request${through}`, effect: 'read' } as const;
    const { summary, next } = explainExchange(asked, response, {}, [], origin);
    return [amiss('problem', check, summary, next)];
  }
  const clock = clockFinding(`${check} clock`, Date.parse(response.headers.date ?? ''), halfway);
  // What lies behind a proxy is the proxy's to look up and to reach.
  if (proxy !== undefined) return [fine(check, `${origin} answers${through}`), clock];
  return [await addressFinding(check, url, halfway), clock];
}

const dayMs = 24 * 60 * 60 * 1000;

async function addressFinding(check: string, { origin, hostname, port, protocol }: URL, now: number): Promise<Finding> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) ? [] : await lookup(host, { all: true }).catch(() => []);
  const known = addresses.length === 0 ? '' : ` (${addresses.map(({ address }) => address).join(', ')})`;
  const end = protocol === 'https:' ? await certificateEnd(host, Number(port || 443)) : undefined;
  if (end === undefined) return fine(check, `${origin}${known} answers`);
  const days = Math.floor((end - now) / dayMs);
  const detail = `${origin}${known} answers; its certificate ends in ${days} days`;
  return days >= 14 ? fine(check, detail) : amiss('warning', check, detail, 'Its operator has to renew it soon.');
}

function clockFinding(check: string, theirs: number, ours: number): Finding {
  const remedy = 'Set the clock of this machine right (NTP): a signature is refused if it is 15 minutes off.';
  if (Number.isNaN(theirs)) return amiss('warning', check, 'the endpoint does not tell its time', remedy);
  const seconds = Math.round((ours - theirs) / 1000);
  const apart = Math.abs(seconds);
  // The service's time has no fractions of a second.
  if (apart <= 1) return fine(check, 'the same time as here');
  const span = apart < 120 ? `${apart} s` : `${Math.round(apart / 60)} min`;
  const detail = `this machine is ${span} ${seconds > 0 ? 'ahead' : 'behind'}`;
  return apart <= 60 ? fine(check, detail) : amiss(apart <= 15 * 60 ? 'warning' : 'problem', check, detail, remedy);
}

/** Host and port of the proxy that requests to an origin take; never its password. */
function proxyOf(
  { protocol, hostname, port }: URL,
  { httpProxy, httpsProxy, noProxy = '' }: Proxies,
): string | undefined {
  const proxy = protocol === 'https:' ? (httpsProxy ?? httpProxy) : httpProxy;
  if (proxy === undefined || isLoopback(hostname)) return undefined;
  const spared = noProxy
    .toLowerCase()
    .split(/[,\s]+/)
    .some((entry) => {
      const [, name = '', only] = /^(?:\*?\.)?(.+?)(?::(\d+))?$/.exec(entry) ?? [];
      const isItsPort = only === undefined || only === (port || (protocol === 'https:' ? '443' : '80'));
      return entry === '*' || (name !== '' && isItsPort && `.${hostname}`.endsWith(`.${name}`));
    });
  return spared ? undefined : new URL(proxy).host;
}

/** When the certificate ends (milliseconds), if one can be had. Whether it is trusted shows when a request is sent. */
const certificateEnd = (host: string, port: number): Promise<number | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, ...(isIP(host) === 0 && { servername: host }) }, () => {
      resolve(Date.parse(socket.getPeerCertificate().valid_to));
      socket.end();
    });
    const giveUp = () => {
      resolve(undefined);
      socket.destroy();
    };
    socket.on('error', giveUp).setTimeout(10_000, giveUp);
  });

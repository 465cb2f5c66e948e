import type { IncomingMessage, Server } from 'node:http';
import { isIPv4 } from 'node:net';
import type { Log, LogEvent } from '../util/log.js';
import type { OnFailedLogin } from './auth.js';
import { busy } from './http-helpers.js';
import { createCounter, createRateLimiter, type HttpLimits } from './limits.js';

/** The network of a client: its IPv4 address, or the /64 of its IPv6 address, because one customer usually has a whole /64. */
export function networkOf(address: string): string {
  // If the server also listens on IPv6, Node writes an IPv4 address as `::ffff:1.2.3.4`.
  const [, ipv4 = address] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (isIPv4(ipv4)) return ipv4;

  // `::` stands for the groups of zeros that are missing from eight groups.
  const withoutZone = address.replace(/%.*$/, '');
  const [groupsBefore = [], groupsAfter] = withoutZone
    .split('::')
    .map((side) => side.split(':').filter((group) => group !== ''));
  const zeroCount = groupsAfter === undefined ? 0 : Math.max(0, 8 - groupsBefore.length - groupsAfter.length);
  const groups = [...groupsBefore, ...Array<string>(zeroCount).fill('0'), ...(groupsAfter ?? [])];
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}

/** Closes a new connection at once if its network has `connectionsOfAddress` connections already. */
export function limitConnectionsByNetwork(server: Server, limits: HttpLimits, onRefused: () => void): void {
  const enter = createCounter(limits.connectionsOfAddress);
  server.on('connection', (socket) => {
    const leave = enter(networkOf(socket.remoteAddress ?? ''));
    if (leave !== undefined) return void socket.once('close', leave);
    socket.destroy();
    onRefused();
  });
}

/**
 * Limits the concurrent requests of a network. A limit on connections is not enough, because a client can send any number of requests on one
 * connection without waiting for the answers.
 */
export function createRequestLimiter({ connectionsOfAddress }: HttpLimits) {
  const enter = createCounter(connectionsOfAddress);
  /** Returns the function to call when the request has ended. @throws HttpError if the network has too many requests */
  return ({ socket }: IncomingMessage): (() => void) => {
    const leave = enter(networkOf(socket.remoteAddress ?? ''));
    if (leave === undefined) throw busy();
    return leave;
  };
}

/** Maximum number of logged refusals of one network, or of one caller, in a minute. */
const loggedPerMinute = 5;
/** Maximum number of logged refusals of all networks in a second. */
const loggedPerSecond = 5;

/**
 * Creates a function that logs failed logins or other refusals, with address and reason, within limits. `unlogged` in an entry is the number of
 * entries left out since the last entry. If `facts` name a caller, the caller is counted and not the network, because behind a load balancer all
 * callers come from one network.
 */
export function createLimitedLog(now: () => Date, log: Log, event: LogEvent) {
  // Both functions return 0 if an entry may be logged now, and then also count the entry.
  const secondsUntilLogOfSource = createRateLimiter(loggedPerMinute / 60, now, { burst: loggedPerMinute });
  const secondsUntilAnyLog = createRateLimiter(loggedPerSecond, now);
  let unlogged = 0;
  return (
    { socket: { remoteAddress = 'unknown' } }: Parameters<OnFailedLogin>[0],
    reason: string,
    facts: { readonly status?: number; readonly caller?: string | undefined } = {},
  ): void => {
    const source = facts.caller === undefined ? networkOf(remoteAddress) : `caller ${facts.caller}`;
    if (secondsUntilLogOfSource(source) > 0 || secondsUntilAnyLog() > 0) {
      unlogged += 1;
      return;
    }
    log('warn', event, { address: remoteAddress, reason, ...facts, ...(unlogged > 0 && { unlogged }) });
    unlogged = 0;
  };
}

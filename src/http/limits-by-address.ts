import type { IncomingMessage, Server } from 'node:http';
import { isIPv4 } from 'node:net';
import type { Log, LogEvent } from '../util/log.js';
import type { OnFailedLogin } from './auth.js';
import { busy } from './http-helpers.js';
import { createCounter, createRateLimiter, type HttpLimits } from './limits.js';

/**
 * The network that a client's address counts for: each IPv4 address is one, IPv6 addresses are grouped by /64, because one
 * customer has at least that many.
 */
export function networkOf(address: string): string {
  const [, mapped = address] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (isIPv4(mapped)) return mapped;
  const [left = [], right] = address
    .replace(/%.*$/, '')
    .split('::')
    .map((side) => side.split(':').filter((group) => group !== ''));
  const zeros = right === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...(right ?? [])];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/** Closes connections of a network that has too many. */
export function limitConnections(server: Server, { connectionsOfAddress }: HttpLimits, onRefused: () => void): void {
  const enter = createCounter(connectionsOfAddress);
  server.on('connection', (socket) => {
    const leave = enter(networkOf(socket.remoteAddress ?? ''));
    if (leave !== undefined) return void socket.once('close', leave);
    socket.destroy();
    onRefused();
  });
}

/**
 * Limits the requests of a network at the same time. Its connections alone would not limit them, because a client that does not wait
 * for answers can begin any number on one connection.
 */
export function createRequestLimiter({ connectionsOfAddress }: HttpLimits) {
  const enter = createCounter(connectionsOfAddress);
  /**
   * Returns the function to call when the request has ended.
   * @throws HttpError if there are too many
   */
  return ({ socket }: IncomingMessage): (() => void) => {
    const leave = enter(networkOf(socket.remoteAddress ?? ''));
    if (leave === undefined) throw busy();
    return leave;
  };
}

/** Failed logins that are logged: of each network in a minute, and of all together in a second. */
const loggedPerMinute = 5;
const loggedPerSecond = 5;

/** Logs failed logins with address and reason. They do not flood the log: each line says how many were left out before it. */
export function createFailedLogins(now: () => Date, log: Log, event: LogEvent = 'login failed'): OnFailedLogin {
  const checkNetwork = createRateLimiter(loggedPerMinute / 60, now, loggedPerMinute);
  const checkAll = createRateLimiter(loggedPerSecond, now);
  let unlogged = 0;
  return ({ socket: { remoteAddress = 'unknown' } }, reason) => {
    if (checkNetwork(networkOf(remoteAddress)) > 0 || checkAll('') > 0) {
      unlogged += 1;
      return;
    }
    log('warn', event, { address: remoteAddress, reason, ...(unlogged > 0 && { unlogged }) });
    unlogged = 0;
  };
}

import { isIPv6 } from 'node:net';
import { shownReason } from '../util/log.js';
import { exact, say } from '../util/safe-text.js';
import { addressOptions, type Command, defaultAddress, portOf } from './command.js';
import { printLine } from './layout.js';

/** `cloudops-mcp health` is the health check of a container, whose image has no curl. */
export const healthCommand: Command = {
  usage: '[--host 127.0.0.1] [--port 8080]',
  about: 'ask a running http server whether it is ready',
  example: 'health --port 8080',
  exitCodes: { 0: 'the server is ready', 1: 'it is not ready, or does not answer', 2: 'wrong usage' },
  options: addressOptions,
  run: async ({ options, terminal: { stdout, stderr } }) => {
    const { host, port } = { ...defaultAddress, ...options };
    const origin = `http://${isIPv6(host) ? `[${host}]` : host}:${portOf(port)}`;
    try {
      // The image's health check takes at most three seconds.
      const response = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(2_000), redirect: 'error' });
      await response.body?.cancel();
      if (response.ok) printLine(stdout, 'ready');
      else printLine(stderr, say`${exact(origin)} is not ready (HTTP status ${response.status}); its log says why.`);
      return response.ok ? 0 : 1;
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      printLine(stderr, say`${exact(origin)} does not answer (${shownReason(cause)}).`);
      return 1;
    }
  },
};

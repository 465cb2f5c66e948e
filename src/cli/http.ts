import { once } from 'node:events';
import { describeConfig } from '../config/describe.js';
import type { Config } from '../config/load.js';
import { authenticateByIssuer } from '../http/issuer.js';
import { defaultHttpLimits } from '../http/limits.js';
import { serveHttp } from '../http/serve.js';
import { authenticateByTokensFile, parseTokens, readTokensFile } from '../http/tokens-file.js';
import { type Log, reasonOf } from '../util/log.js';
import { isLoopback } from '../util/uri.js';
import { type Command, portOf, UsageError, validConfig } from './command.js';
import { runUntilSignal } from './run-until-signal.js';

/** Calls under way get this long to end when the process is asked to. */
const graceMs = 30_000;

/** `cloudops-mcp http`: serves many clients over HTTP. */
export const httpCommand: Command = {
  usage: '[--host 127.0.0.1] [--port 8080]',
  about: 'serve MCP over HTTP at /mcp',
  options: { host: 'value', port: 'value' },
  run: async (invocation) => {
    const { terminal } = invocation;
    const { host = '127.0.0.1', port = '8080' } = invocation.options;
    const config = validConfig(invocation);
    const listen = { host, port: portOf(port) };
    const access = await accessOf(host, config.http, terminal.now);
    return runUntilSignal(config, terminal, async ({ server, inFlight }, log, stop) => {
      if (access.authenticate !== undefined && config.stateKey === undefined)
        log('warn', 'state key', {
          message:
            'CLOUDOPS_STATE_KEY is not set: other replicas, and this one after a restart, refuse the plans and answers of this process.',
        });
      // A change carries on when its connection is lost, and its outcome is recorded.
      inFlight.detach();
      const { rate, metrics: metricsAt } = config.http;
      const http = await serveHttp({
        ...{ listen, metricsAt, rate, log, now: terminal.now },
        server: { ...server, configuration: () => describeConfig(config, 'caller') },
        hosts: access.hosts,
        resource: access.resource,
        authenticate: access.authenticate?.(log),
        limits: defaultHttpLimits,
        timeoutMs: config.timeoutMs,
      });
      log('info', 'listening', { host, port: http.port, metricsPort: http.metricsPort });
      if (!stop.aborted) await once(stop, 'abort');
      await http.stop(graceMs);
      return 0;
    });
  },
};

/**
 * Under which host names the server is reached, and how it authenticates callers.
 * @throws UsageError
 */
async function accessOf(host: string, { tokensFile, issuer, audience, allowedHosts }: Config['http'], now: () => Date) {
  const listensLocally = isLoopback(host === '::1' ? '[::1]' : host);
  const publicUrl =
    audience !== undefined && /^https?:/i.test(audience) && URL.canParse(audience) ? new URL(audience) : undefined;
  const named = allowedHosts.length > 0 || publicUrl === undefined ? allowedHosts : [publicUrl.hostname];
  const hosts = listensLocally ? [...named, 'localhost', '127.0.0.1', '[::1]'] : named;
  const problems: string[] = [];
  if (!(listensLocally && named.every(isLoopback)) && tokensFile === undefined && issuer === undefined)
    problems.push(
      `${listensLocally ? named.join(', ') : host} is not loopback: set CLOUDOPS_HTTP_TOKENS_FILE, or CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_AUDIENCE, to authenticate callers.`,
    );
  const [first] = hosts;
  if (first === undefined)
    problems.push('CLOUDOPS_HTTP_ALLOWED_HOSTS must name the hosts that clients use to reach the server.');
  const read = () => readTokensFile(tokensFile ?? '');
  let text: string | undefined;
  try {
    // As it is at the start: its problems keep the server from starting.
    if (tokensFile !== undefined) text = await read();
  } catch (error) {
    problems.push(`The file that CLOUDOPS_HTTP_TOKENS_FILE names cannot be read (${reasonOf(error)}).`);
  }
  if (text !== undefined) problems.push(...parseTokens(text).problems);
  if (problems.length > 0) throw new UsageError(...problems);
  if (issuer === undefined || audience === undefined) {
    const authenticate =
      text === undefined ? undefined : (log: Log) => authenticateByTokensFile({ text, read, now, log });
    return { hosts, resource: undefined, authenticate };
  }
  return {
    hosts,
    resource: { url: publicUrl === undefined ? `https://${first}/mcp` : audience, issuer },
    authenticate: (log: Log) => authenticateByIssuer({ issuer, audience, now, log }),
  };
}

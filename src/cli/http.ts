import { once } from 'node:events';
import { describeConfig } from '../config/describe.js';
import type { Config } from '../config/load.js';
import type { Authenticate } from '../serving/auth.js';
import { type HttpOptions, serveHttp } from '../serving/http.js';
import { authenticateByIssuer } from '../serving/issuer.js';
import { defaultHttpLimits } from '../serving/limits.js';
import { authenticateByTokensFile, parseTokens, readTokensFile } from '../serving/tokens-file.js';
import { type Log, reasonOf } from '../util/log.js';
import { isLoopback } from '../util/uri.js';
import { type Command, problemsText, withConfig } from './command.js';
import { runUntilSignal } from './run-until-signal.js';

/** Calls under way get this long to end when the process is asked to. */
const graceMs = 30_000;

/** `cloudops-mcp http`: serves many clients over HTTP. */
export const httpCommand: Command = {
  usage: '[--host 127.0.0.1] [--port 8080]',
  about: 'serve MCP over HTTP at /mcp',
  options: { host: 'value', port: 'value' },
  run: withConfig(async ({ options: { host = '127.0.0.1', port = '8080' }, terminal }, config) => {
    const { now, printError } = terminal;
    const access = await accessOf(host, config.http, now);
    const problems = 'problems' in access ? [...access.problems] : [];
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) problems.push('--port must be a port from 0 to 65535.');
    if ('problems' in access || problems.length > 0) {
      printError(problemsText(problems));
      return 2;
    }
    return runUntilSignal(config, terminal, async ({ server, inFlight }, log, stop) => {
      if (access.authenticate !== undefined && config.stateKey === undefined)
        log('warn', 'state key', {
          message:
            'CLOUDOPS_STATE_KEY is not set: other replicas, and this one after a restart, refuse the plans and answers of this process.',
        });
      // A change carries on when its connection is lost, and its outcome is recorded.
      inFlight.detach();
      const { rate, metrics: metricsAt } = config.http;
      const listen = { host, port: Number(port) };
      try {
        const http = await serveHttp({
          ...{ listen, metricsAt, rate, log, now },
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
      } catch (error) {
        if (!(error instanceof Error && 'syscall' in error && error.syscall === 'listen')) throw error;
        printError(`cloudops-mcp cannot listen: ${error.message}\n`);
        return 1;
      }
    });
  }),
};

interface Access extends Pick<HttpOptions, 'hosts' | 'resource'> {
  readonly authenticate: ((log: Log) => Authenticate) | undefined;
}

/** Under which host names the server is reached and how it authenticates callers, or why it cannot start. */
async function accessOf(
  host: string,
  { tokensFile, issuer, audience, allowedHosts }: Config['http'],
  now: () => Date,
): Promise<Access | { readonly problems: readonly string[] }> {
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
  const tokens = tokensFile === undefined ? undefined : await readTokens(tokensFile);
  problems.push(...(tokens?.problems ?? []));
  if (problems.length > 0) return { problems };
  if (issuer === undefined || audience === undefined)
    return {
      hosts,
      resource: undefined,
      authenticate: tokens && ((log) => authenticateByTokensFile({ ...tokens, now, log })),
    };
  return {
    hosts,
    resource: { url: publicUrl === undefined ? `https://${first}/mcp` : audience, issuer },
    authenticate: (log) => authenticateByIssuer({ issuer, audience, now, log }),
  };
}

/** The file as it is at the start; its problems keep the server from starting. */
async function readTokens(path: string) {
  const read = () => readTokensFile(path);
  try {
    const text = await read();
    return { text, read, problems: parseTokens(text).problems };
  } catch (error) {
    const problem = `The file that CLOUDOPS_HTTP_TOKENS_FILE names cannot be read (${reasonOf(error)}).`;
    return { text: '', read, problems: [problem] };
  }
}

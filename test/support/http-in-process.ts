import { defaultHttpLimits, type HttpLimits } from '../../src/http/limits.js';
import { type HttpOptions, serveHttp } from '../../src/http/serve.js';
import type { ServerDependencies } from '../../src/server.js';
import { type TestCallerOptions, testCaller } from './caller.js';

/** The HTTP server in this process, for a cloud at an origin, with limits as the test wants them. */
export async function serveInProcess({
  cloud = 'http://127.0.0.1:1',
  limits = {},
  caller: callerOptions = {},
  serverOptions = {},
  decisions,
  ...given
}: Partial<Omit<HttpOptions, 'limits' | 'decisions'>> & {
  cloud?: string;
  limits?: Partial<HttpLimits>;
  caller?: TestCallerOptions;
  /** Dependencies of the server besides those of its calls. */
  serverOptions?: Partial<ServerDependencies>;
  /** The page for decisions of the call stack. */
  decisions?: (caller: ReturnType<typeof testCaller>) => HttpOptions['decisions'];
} = {}) {
  const caller = testCaller(cloud, callerOptions);
  const logged: string[] = [];
  const http = await serveHttp({
    listen: { host: '127.0.0.1', port: 0 },
    metricsAt: { host: '127.0.0.1', port: 0 },
    hosts: ['127.0.0.1', 'localhost', '[::1]'],
    limits: { ...defaultHttpLimits, ...limits },
    rate: 1000,
    timeoutMs: 20_000,
    missingPart: () => undefined,
    state: {
      journalReachable: undefined,
      unwrittenOutcomes: () => 0,
      interruptedChanges: () => new Map(),
      issuerReachable: undefined,
      authenticationReady: undefined,
      waitingQuestions: () => 0,
      waitingPlans: undefined,
    },
    server: { ...caller.server, sandbox: async () => '# Sandbox', ...serverOptions },
    stateKeys: caller.stateKeys,
    log: (level, event, fields) => {
      logged.push(JSON.stringify({ level, event, ...fields }));
    },
    now: () => new Date(),
    decisions: decisions?.(caller),
    ...given,
  });
  const origin = `http://127.0.0.1:${http.port}`;
  return {
    origin,
    port: http.port,
    metricsPort: http.metricsPort ?? 0,
    url: new URL(`${origin}/mcp`),
    caller,
    logged,
    callerLogged: caller.logged,
    metrics: async () => (await fetch(`http://127.0.0.1:${http.metricsPort}/metrics`)).text(),
    stop: http.stop,
    close: async () => {
      await http.stop(0);
      await caller.close();
    },
  };
}

/** One message to `/mcp` as any program could send it. */
export const post = (url: URL, message: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });

export const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
export const toolCall = (name: string, args: object) => message('tools/call', { name, arguments: args });

/** The message of an answer, whether it came as JSON or as an event. */
export async function answerOf(
  response: Pick<Response, 'text'>,
): Promise<{ result?: Record<string, unknown>; error?: unknown }> {
  const text = await response.text();
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
}

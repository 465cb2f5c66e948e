import { type ChildProcess, spawn } from 'node:child_process';
import { cleanEnv, commandOf, serverPath } from './server-process.js';

/** `cloudops-mcp http` as users run it, on ports that were free. */
export interface HttpProcess {
  readonly child: ChildProcess;
  readonly origin: string;
  readonly url: URL;
  readonly port: number;
  readonly metricsOrigin: string;
  readonly metrics: () => Promise<string>;
  /** Log lines so far. */
  readonly logged: () => { event: string; [field: string]: unknown }[];
  readonly stderr: () => string;
  readonly ended: Promise<number | null>;
  stop(): Promise<number | null>;
}

/** @param words as in `commandOf` */
export async function startHttpProcess(
  words: readonly string[] = [],
  { env = {}, nodeArgs = [] }: { env?: Record<string, string>; nodeArgs?: readonly string[] } = {},
): Promise<HttpProcess> {
  const { args, variables } = commandOf(['CLOUDOPS_HTTP_METRICS_PORT=0', ...words]);
  const child = spawn(process.execPath, [...nodeArgs, serverPath, 'http', '--port', '0', ...args], {
    env: cleanEnv({ ...env, ...variables }),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let stderr = '';
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const logged = () =>
    stderr
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { event: string });
  const listening = await new Promise<{ port: number; metricsPort: number }>((resolve, reject) => {
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
      const found = logged().find(({ event }) => event === 'listening');
      if (found !== undefined) resolve(found as unknown as { port: number; metricsPort: number });
    });
    void ended.then((code) => reject(new Error(`the server ended with ${code}: ${stderr}`)));
  });
  const { port, metricsPort } = listening;
  const origin = `http://127.0.0.1:${port}`;
  const metricsOrigin = `http://127.0.0.1:${metricsPort}`;
  return {
    child,
    origin,
    url: new URL(`${origin}/mcp`),
    port,
    metricsOrigin,
    metrics: async () => (await fetch(`${metricsOrigin}/metrics`)).text(),
    logged,
    stderr: () => stderr,
    ended,
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

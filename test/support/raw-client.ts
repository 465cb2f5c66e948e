import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { cleanEnv, serverPath } from './server-process.js';

/** A server in a child process, driven line by line, for tests that kill it. */
export interface RawServer {
  readonly child: ChildProcessWithoutNullStreams;
  readonly stdout: () => string;
  readonly stderr: () => string;
  send(message: object): void;
  /** The response with an id, or undefined if the process ends first. */
  response(id: number): Promise<Record<string, unknown> | undefined>;
  readonly ended: Promise<void>;
}

export function startRaw(env: Record<string, string>, args: readonly string[] = []): RawServer {
  const child = spawn(process.execPath, [serverPath, ...args], { env: cleanEnv(env) });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const find = (id: number) =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((message) => message.id === id);
  const server: RawServer = {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    send: (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    response: (id) =>
      new Promise((resolve) => {
        const look = () => {
          const found = find(id);
          if (found === undefined) return;
          child.stdout.removeListener('data', look);
          resolve(found);
        };
        child.stdout.on('data', look);
        void ended.then(() => resolve(find(id)));
        look();
      }),
    ended,
  };
  server.send({
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  });
  server.send({ method: 'notifications/initialized' });
  return server;
}

export const toolCall = (id: number, name: string, args: object) => ({
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

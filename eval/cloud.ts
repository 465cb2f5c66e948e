import { createServer, type IncomingMessage, request as requestPlain, type ServerResponse } from 'node:http';
import { request as requestTls } from 'node:https';
import { buffer } from 'node:stream/consumers';
import * as z from 'zod';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.js';
import type { CloudRequest } from './record.js';

/** The differences between this cloud and a plain sandbox. */
export interface CloudOptions {
  /** Faults of the sandbox. */
  readonly fault?: string;
  /** Adds records to the sandbox before the run. */
  readonly prepare?: (sandbox: Sandbox) => void;
  /** Changes the answer to a request; `url` is the URL of the request. */
  readonly alter?: (url: string, body: string) => string;
}

/** A cloud that reports each request. */
export interface RecordedCloud<Name extends string = string> {
  /** Settings of a server that uses this cloud, without the prefix `CLOUDOPS_`. */
  readonly settings: Readonly<Record<Name, string>>;
  close(): Promise<void>;
}

export type SandboxSetting = 'ACCESS_KEY_ID' | 'SECRET_ACCESS_KEY' | 'STORAGE_URL' | 'CATALOG_URL' | 'DEVOPS_URL';

/** A request as a cloud reports it. */
export type ReportedRequest = Omit<CloudRequest, 'account' | 'changes'>;

/**
 * Starts a sandbox behind a relay.
 * @param tell is told of a request before the sandbox has it
 */
export async function startCloud(
  { fault, prepare, alter }: CloudOptions,
  now: () => Date,
  tell: (request: ReportedRequest) => void,
): Promise<RecordedCloud<SandboxSetting>> {
  const sandbox = await startSandbox({ now, fault });
  prepare?.(sandbox);
  const { credentials, endpoints } = sandbox.cloud;
  const upstream = new URL(endpoints.storage);
  const relay = await startRelay(async (request) => {
    const answer = await forward(request, upstream);
    if (alter === undefined) return answer;
    return { ...answer, content: Buffer.from(alter(request.url, answer.content.toString('utf8'))) };
  }, tell);
  const through = (url: string) => url.replace(upstream.origin, relay.origin);
  return {
    settings: {
      ACCESS_KEY_ID: credentials.accessKeyId,
      SECRET_ACCESS_KEY: credentials.secretAccessKey,
      STORAGE_URL: through(endpoints.storage),
      CATALOG_URL: through(endpoints.catalog),
      DEVOPS_URL: through(endpoints.devops),
    },
    close: async () => {
      await relay.close();
      await sandbox.close();
    },
  };
}

/** A request at a relay. */
export interface RelayedRequest {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly content: Buffer;
}

/** The answer that a relay passes on. */
export interface RelayedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly content: Buffer;
}

/**
 * Starts a server on this machine that reports each request, and then answers. If `answer` fails, the relay breaks the client's connection,
 * as the cloud did.
 */
export async function startRelay(
  answer: (request: RelayedRequest) => Promise<RelayedAnswer>,
  tell: (request: ReportedRequest) => void,
): Promise<{ readonly origin: string; close(): Promise<void> }> {
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { method = '', url = '', rawHeaders } = incoming;
    const content = await buffer(incoming);
    tell({ method, url, headers: withoutSignature(incoming.headers), body: parsedBody(content.toString('utf8')) });
    const { status, headers, content: text } = await answer({ method, url, rawHeaders, content });
    const { connection: _, 'transfer-encoding': __, ...kept } = headers;
    for (const [name, value] of Object.entries(kept)) if (value !== undefined) outgoing.setHeader(name, value);
    outgoing.writeHead(status, { 'content-length': text.length }).end(text);
  };
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => incoming.socket.resetAndDestroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.int() }).parse(server.address());
  return {
    origin: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Forwards a request as it was signed, with its header Host. */
export async function forward(
  { method, url: path, rawHeaders, content }: RelayedRequest,
  { protocol, hostname, port }: URL,
): Promise<RelayedAnswer> {
  const request = protocol === 'https:' ? requestTls : requestPlain;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: hostname, port, method, path, headers: rawHeaders, agent: false }, resolve)
      .once('error', reject)
      .end(content);
  });
  return { status: answer.statusCode ?? 502, headers: answer.headers, content: await buffer(answer) };
}

/** The headers of a request, without those that a stranger could use. */
function withoutSignature(headers: IncomingMessage['headers']): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !/^(authorization|x-(amz|ext)-security-token)$/.test(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

/** The value of JSON, or otherwise the text. */
export function parsedBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

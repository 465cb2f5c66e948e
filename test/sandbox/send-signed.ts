import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import aws4 from 'aws4';
import type { Sandbox } from '../../sandbox/sandbox.js';

/** Requests to a sandbox over HTTP, signed by aws4 and not by our own signer. */
export interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The body for which the signature is made, if not `body`. */
  readonly signed?: string;
  readonly host?: string;
  readonly service?: string;
}

export function sendSigned(sandbox: Sandbox, sent: Sent) {
  const { method = 'GET', path, headers = {}, body = '', signed = body, service = 's3' } = sent;
  const { host = new URL(sandbox.cloud.endpoints.storage).host } = sent;
  const unsigned = { method, path, host, body: signed, service, region: 'jp-east-1', headers: { ...headers } };
  const { headers: all } = aws4.sign(unsigned, sandbox.cloud.credentials);
  return send(sandbox, { ...sent, headers: all as Record<string, string> });
}

/** Resolves with the answer, and with the code and the sentence of an error of S3. */
export async function send(sandbox: Sandbox, { method = 'GET', path, headers = {}, body = '' }: Sent) {
  const { hostname, port } = new URL(sandbox.cloud.endpoints.storage);
  const outgoing = request({ hostname, port, method, path, headers });
  outgoing.end(body);
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve).on('error', reject);
  });
  const answer = await text(incoming);
  const [, code, sentence] = /<Code>(.*?)<\/Code><Message>(.*?)<\/Message>/.exec(answer) ?? [];
  return { status: incoming.statusCode, headers: incoming.headers, body: answer, code, sentence };
}

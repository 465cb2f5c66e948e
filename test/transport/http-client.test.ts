import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createHttpClient } from '../../src/transport/http-client.js';
import { never } from '../support/caller.js';

async function bodyFrom(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = createHttpClient();
  onTestFinished(async () => {
    await client.close();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const response = await client.send({ method: 'GET', origin, path: '/', headers: {}, newConnection: false }, never);
  if (response.kind === 'failure') throw new Error(response.code);
  return response.body;
}

// Characters of one to four bytes, so that pieces of any size end within some.
const large = 'aé日🎉'.repeat(150_000);

test('a body that is read in several pieces is the text that was sent', async () => {
  expect((await bodyFrom((_request, response) => response.end(large))) === large).toBe(true);
});

test('so is one that came compressed', async () => {
  const body = await bodyFrom((_request, response) =>
    response.setHeader('content-encoding', 'gzip').end(gzipSync(large)),
  );
  expect(body === large).toBe(true);
});

test('a character that is cut off at the end is marked', async () => {
  const body = await bodyFrom((_request, response) => response.end(Buffer.from(large).subarray(0, -1)));
  expect(body.slice(-2)).toBe('日\ufffd');
});

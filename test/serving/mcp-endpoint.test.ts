import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as tick } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { serveMessage } from '../../src/serving/mcp-endpoint.js';

type Fetch = Parameters<typeof serveMessage>[0]['fetch'];

/** A server whose requests go to a handler with a message that was read before. */
async function serve(fetch: Fetch) {
  const responses: ServerResponse[] = [];
  const served: Promise<void>[] = [];
  const server = createServer((request, response) => {
    responses.push(response);
    served.push(serveMessage({ fetch }, { id: 1 }, request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, responses, served };
}

test('the handler gets the headers and the message, the client its status, headers and body', async () => {
  const { port } = await serve(async (request, options) => {
    const seen = [request.method, request.headers.get('mcp-method'), options?.parsedBody];
    return Response.json(seen, { status: 418, headers: { 'x-answer': 'yes' } });
  });
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { 'mcp-method': 'ping' } });
  expect([response.status, response.headers.get('x-answer')]).toEqual([418, 'yes']);
  expect(await response.json()).toEqual(['POST', 'ping', { id: 1 }]);
});

test('an answer without a body ends', async () => {
  const { port } = await serve(async () => new Response(null, { status: 202 }));
  expect(await (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' })).text()).toBe('');
});

test('a handler knows when its client has gone, and not when an answer has been read', async () => {
  const signals: AbortSignal[] = [];
  let answer = () => undefined as unknown;
  const { port, served } = await serve(({ signal }) => {
    signals.push(signal);
    if (signals.length === 1) return Promise.resolve(new Response('read'));
    return new Promise((resolve) => {
      answer = () => resolve(new Response('too late'));
    });
  });
  await (await fetch(`http://127.0.0.1:${port}/`)).text();
  const abort = new AbortController();
  const gone = fetch(`http://127.0.0.1:${port}/`, { signal: abort.signal });
  await vi.waitFor(() => expect(signals).toHaveLength(2));
  abort.abort();
  await expect(gone).rejects.toThrow();
  await vi.waitFor(() => expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]));
  answer();
  await Promise.all(served);
});

test('an answer is made no faster than its client reads, and comes to an end with it', async () => {
  let pulled = 0;
  const cancelled = vi.fn();
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulled += 1;
      controller.enqueue(new Uint8Array(65_536));
      if (pulled === 10_000) controller.close();
    },
    cancel: cancelled,
  });
  const { port, responses, served } = await serve(async () => new Response(body));
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  await vi.waitFor(() => expect(responses[0]?.writableNeedDrain).toBe(true));
  for (let turn = 0; turn < 100; turn += 1) await tick();
  expect(pulled).toBeLessThan(1000);
  socket.destroy();
  await Promise.all(served);
  expect(cancelled).toHaveBeenCalled();
});

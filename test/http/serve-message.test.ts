import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as tick } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { sendAnswer, serveMessage } from '../../src/http/serve-message.js';
import { answerOf, message, post, serveInProcess, toolCall } from '../support/http-in-process.js';
import { startServer } from '../support/http-server.js';

/** A server that sends answers. */
async function serve(answer: Parameters<typeof sendAnswer>[2]) {
  const responses: ServerResponse[] = [];
  const served: Promise<void>[] = [];
  const server = createServer((request, response) => {
    responses.push(response);
    served.push(sendAnswer(request, response, answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, responses, served };
}

test('invisible characters of an answer are escapes of JSON, also if they come in pieces, and mean the same', async () => {
  const value = { text: 'a\u202e\u{e0041}\u0085 日本 😀' };
  const bytes = new TextEncoder().encode(`data: ${JSON.stringify(value)}\n\n`);
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const { port } = await serve(async () => new Response(body));
  const raw = await (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' })).text();
  expect(raw).toBe(`data: ${String.raw`{"text":"a\u202e\udb40\udc41\u0085 日本 😀"}`}\n\n`);
  expect(JSON.parse(raw.slice('data: '.length))).toEqual(value);
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

describe('a request of a protocol before 2026-07-28', () => {
  const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const withProgress = { 'x-progress': 'yes' };

  /** A tool that runs until it is released or its client has gone. Calls have a progress token if they have the header `x-progress`. */
  async function serveTool() {
    let signal: AbortSignal | undefined;
    let headers: Headers | undefined;
    let notify = async (_method: 'notifications/progress', _params: { progressToken: string; progress: number }) => {};
    let end: (text: string) => void = () => {};
    const served: Promise<void>[] = [];
    const responses: ServerResponse[] = [];
    const http = createServer((request, response) => {
      const server = new Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
      server.setRequestHandler('tools/call', async (_request, { mcpReq, http }) => {
        signal = mcpReq.signal;
        headers = http?.req?.headers;
        notify = (method, params) => mcpReq.notify({ method, params });
        const text = await new Promise<string>((resolve) => {
          end = resolve;
        });
        return { content: [{ type: 'text', text }] };
      });
      const _meta = request.headers['x-progress'] === undefined ? {} : { progressToken: 'p' };
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't', arguments: {}, _meta } };
      responses.push(response);
      const options = { log: () => undefined, beginSession: () => 'session' };
      served.push(serveMessage(() => server, call, request, response, options));
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    const { port } = http.address() as AddressInfo;
    return {
      port,
      responses,
      call: ({ headers, ...init }: RequestInit & { headers?: Record<string, string> } = {}) =>
        fetch(`http://127.0.0.1:${port}/`, { method: 'POST', ...init, headers: { ...usual, ...headers } }),
      called: () => vi.waitFor(() => expect(signal).toBeDefined()),
      aborted: () => signal?.aborted,
      header: (name: string) => headers?.get(name),
      progress: () => notify('notifications/progress', { progressToken: 'p', progress: 1 }),
      end: (text: string) => end(text),
      served,
    };
  }

  test('is answered with JSON, whatever there is to tell before the result', async () => {
    const { call, called, progress, end, served } = await serveTool();
    const response = call();
    await called();
    await progress();
    end('done');
    const { headers } = await response;
    expect(headers.get('content-type')).toBe('application/json');
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
    expect(await (await response).json()).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } });
    await Promise.all(served);
  });

  test('brings the trace that it is part of in its headers', async () => {
    const { call, called, header, end } = await serveTool();
    const response = call({ headers: { traceparent: '00-1', tracestate: 'vendor=1' } });
    await called();
    end('done');
    await (await response).text();
    expect([header('traceparent'), header('tracestate')]).toEqual(['00-1', 'vendor=1']);
  });

  test('is answered with a stream of events if it has a progress token', async () => {
    const { call, called, progress, end } = await serveTool();
    const response = await call({ headers: withProgress });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    await called();
    await progress();
    end('done');
    const events = [...(await response.text()).matchAll(/^event: message\ndata: (.*)\n\n/gm)];
    expect(events.map(([, data = '']) => JSON.parse(data))).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } },
      { id: 1, result: { content: [{ text: 'done' }] } },
    ]);
  });

  test('with a progress token keeps its connection busy while the result takes long', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { call, called, end } = await serveTool();
    const response = await call({ headers: withProgress });
    await called();
    vi.advanceTimersByTime(30_000);
    end('done');
    expect(await response.text()).toMatch(/^(?:: keepalive\n\n){2}event: message\ndata: \{.*"done".*\}\n\n$/);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ['JSON', {}],
    ['a stream', withProgress],
  ])('is stopped when its client, which waits for %s, has gone', async (_what, headers) => {
    const { call, called, aborted, end, served } = await serveTool();
    const abort = new AbortController();
    const gone = call({ headers, signal: abort.signal }).then((response) => response.text());
    await called();
    expect(aborted()).toBe(false);
    abort.abort();
    await expect(gone).rejects.toThrow();
    await vi.waitFor(() => expect(aborted()).toBe(true));
    end('too late');
    await Promise.all(served);
  });

  test('has its whole answer, however late its client reads it', async () => {
    const { port, responses, called, end, served } = await serveTool();
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    const head = Object.entries(usual).map(([name, value]) => `${name}: ${value}`);
    socket.write(`POST / HTTP/1.1\r\nhost: 127.0.0.1\r\n${head.join('\r\n')}\r\n\r\n`);
    await called();
    end('x'.repeat(20_000_000));
    await vi.waitFor(() => expect(responses[0]?.writableEnded).toBe(true));
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    socket.resume();
    await Promise.all(served);
    await vi.waitFor(() => expect(received).toBeGreaterThan(20_000_000));
    socket.destroy();
  });

  const initialize = message('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  });
  const call = message('tools/list');
  const table: readonly [string, number, object, Record<string, string>][] = [
    ['initialize', 200, initialize, {}],
    ['a request', 200, call, { 'mcp-protocol-version': '2025-11-25' }],
    ['a request without a version', 200, call, {}],
    ['a request of a version that does not exist', 400, call, { 'mcp-protocol-version': '2025-01-01' }],
    ['a request of 2026-07-28 without what that asks for', 400, call, { 'mcp-protocol-version': '2026-07-28' }],
    ['a request whose client takes no events', 200, call, { accept: 'application/json' }],
    ['a request whose client takes no JSON', 200, call, { accept: 'text/event-stream' }],
    ['a request whose client takes anything', 200, call, { accept: '*/*' }],
    ['a request whose client takes neither JSON nor events', 406, call, { accept: 'text/html, application/json;q=0' }],
    ['a notification', 202, { jsonrpc: '2.0', method: 'notifications/initialized' }, {}],
    ['a cancellation', 202, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, {}],
    ['a response', 202, { jsonrpc: '2.0', id: 1, result: {} }, {}],
    ['an object that is no message', 400, { id: 1 }, {}],
    ['a message of JSON-RPC 1.0', 400, { ...call, jsonrpc: '1.0' }, {}],
  ];
  test.each(table)('%s: %i', async (_what, status, sent, headers) => {
    const server = await serveInProcess();
    const response = await post(server.url, sent, headers);
    expect(response.status).toBe(status);
    if (status === 200) expect((await answerOf(response)).result).toBeDefined();
    await server.close();
  });

  test.each([
    ['application/json', 'application/json'],
    ['application/*;q=0.5, text/event-stream;q=0', 'application/json'],
    ['TEXT/EVENT-STREAM', 'text/event-stream'],
    ['application/json;q=0, */*', 'text/event-stream'],
  ])('that takes %s is answered with %s', async (accept, type) => {
    const server = await serveInProcess();
    const response = await post(server.url, call, { accept });
    expect(response.headers.get('content-type')).toBe(type);
    await server.close();
  });
});

describe('requests that wait behind another on their connection end with it', () => {
  const list = toolCall('list_parts', { bucket: 'b', object: 'o', uploadId: 'u' });
  const modern = {
    ...list,
    params: {
      ...list.params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  };
  const headersOfModern = ['mcp-protocol-version: 2026-07-28', 'mcp-method: tools/call', 'mcp-name: list_parts'];

  test.each([
    ['2025', list, ['mcp-protocol-version: 2025-11-25']],
    ['2026-07-28', modern, headersOfModern],
  ] as const)('%s', async (_era, sent, headers) => {
    const asked: (() => void)[] = [];
    const cloud = await startServer((_request, response) => {
      asked.push(() => response.end('<ListPartsResult/>'));
    });
    const server = await serveInProcess({ cloud: cloud.origin });
    const warnings: string[] = [];
    const warned = ({ name }: Error) => void warnings.push(name);
    process.on('warning', warned);
    onTestFinished(() => void process.off('warning', warned));
    const body = JSON.stringify(sent);
    const head = [
      'POST /mcp HTTP/1.1',
      `host: 127.0.0.1:${server.port}`,
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      `content-length: ${body.length}`,
      ...headers,
    ];
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`.repeat(20));
    await vi.waitFor(() => expect(asked).toHaveLength(20));
    // The later answers are ready, and have no socket yet.
    for (const answer of asked.slice(1)) answer();
    expect(await server.metrics()).toMatch(/cloudops_concurrent_calls 20\n/);
    socket.destroy();
    await vi.waitFor(async () => expect(await server.metrics()).toMatch(/cloudops_concurrent_calls 0\n/));
    expect(warnings).toEqual([]);
    await server.close();
    await cloud.close();
  });
});

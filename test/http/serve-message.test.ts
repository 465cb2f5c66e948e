import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as tick } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { serveLegacyRequest } from '../../src/http/serve-legacy-request.js';
import { serveByHandler } from '../../src/http/serve-message.js';
import { answerOf, message, post, serveInProcess, toolCall } from '../support/http-in-process.js';
import { startServer } from '../support/http-server.js';

type Fetch = Parameters<typeof serveByHandler>[0]['fetch'];

/** A server that passes requests to a handler, with a message that is parsed already. */
async function serve(fetch: Fetch) {
  const responses: ServerResponse[] = [];
  const served: Promise<void>[] = [];
  const server = createServer((request, response) => {
    responses.push(response);
    served.push(serveByHandler({ fetch }, { id: 1 }, request, response));
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

describe('a request of a protocol before 2026-07-28', () => {
  /** A tool that runs until it is released or its client has gone. */
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
      const call = { jsonrpc: '2.0' as const, id: 1, method: 'tools/call', params: { name: 't', arguments: {} } };
      responses.push(response);
      const conversation = { begin: () => 'session', newId: () => 'question' };
      served.push(serveLegacyRequest(() => server, call, request, response, conversation));
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
      call: (init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', ...init }),
      called: () => vi.waitFor(() => expect(signal).toBeDefined()),
      aborted: () => signal?.aborted,
      header: (name: string) => headers?.get(name),
      progress: () => notify('notifications/progress', { progressToken: 'p', progress: 1 }),
      end: (text: string) => end(text),
      served,
    };
  }

  test('is answered with JSON if there is nothing to tell before the result', async () => {
    const { call, called, end, served } = await serveTool();
    const response = call();
    await called();
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

  test('is answered with a stream of events as soon as there is progress', async () => {
    const { call, called, progress, end } = await serveTool();
    const answering = call();
    await called();
    await progress();
    const response = await answering;
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    end('done');
    const events = [...(await response.text()).matchAll(/^event: message\ndata: (.*)\n\n/gm)];
    expect(events.map(([, data = '']) => JSON.parse(data))).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } },
      { id: 1, result: { content: [{ text: 'done' }] } },
    ]);
  });

  test('keeps its connection busy while the result takes long', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { call, called, end } = await serveTool();
    const answering = call();
    await called();
    vi.advanceTimersByTime(30_000);
    const response = await answering;
    end('done');
    expect(await response.text()).toMatch(/^(?:: keepalive\n\n){2}event: message\ndata: \{.*"done".*\}\n\n$/);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is stopped when its client has gone', async () => {
    const { call, called, aborted, end, served } = await serveTool();
    const abort = new AbortController();
    const gone = call({ signal: abort.signal });
    await called();
    expect(aborted()).toBe(false);
    abort.abort();
    await expect(gone).rejects.toThrow();
    await vi.waitFor(() => expect(aborted()).toBe(true));
    end('too late');
    await Promise.all(served);
  });

  test('has its whole answer, however late its client reads it', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { port, responses, called, end, served } = await serveTool();
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    socket.write('POST / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    await called();
    end('x'.repeat(20_000_000));
    await vi.waitFor(() => expect(responses[0]?.writableEnded).toBe(true));
    vi.advanceTimersByTime(60_000);
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
    ['a request whose client takes no events', 406, call, { accept: 'application/json' }],
    ['a request whose client takes no JSON', 406, call, { accept: 'text/event-stream' }],
    ['a notification', 202, { jsonrpc: '2.0', method: 'notifications/initialized' }, {}],
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
    await vi.waitFor(() => expect(asked).toHaveLength(20), 5000);
    // The later answers are ready, and have no socket yet.
    for (const answer of asked.slice(1)) answer();
    expect(await server.metrics()).toMatch(/cloudops_concurrent_calls 20\n/);
    socket.destroy();
    await vi.waitFor(async () => expect(await server.metrics()).toMatch(/cloudops_concurrent_calls 0\n/), 5000);
    expect(warnings).toEqual([]);
    await server.close();
    await cloud.close();
  });
});

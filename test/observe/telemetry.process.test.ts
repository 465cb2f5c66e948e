import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createReadTasks } from '../../src/mcp/read-tasks.js';
import { traceOrigin } from '../../src/observe/telemetry.js';
import { createServer as createMcpServer } from '../../src/server.js';
import { operations } from '../../src/tools/index.js';
import { say } from '../../src/util/safe-text.js';
import { accountsWith, unusedChanges } from '../support/caller.js';
import { spansOf } from '../support/collector.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { startRaw, toolCall } from '../support/raw-client.js';
import { runServer } from '../support/server-process.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callersSpan = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${callersSpan}-01`;

const [server, client] = [2, 3];
const [unset, failed] = [0, 2];

let cloud: CapturingServer;
let collector: CapturingServer;
let answers: [number, string][] = [];
beforeEach(async () => {
  answers = [];
  cloud = await startServer((_request, response) => {
    const [status, body] = answers.shift() ?? [200, '{"instance":{"instanceId":"s"}}'];
    response.writeHead(status).end(body);
  });
  collector = await startServer((_request, response) => response.end('{}'));
});
afterEach(async () => {
  await cloud.close();
  await collector.close();
});

const settings = (changes: Record<string, string> = {}) => ({
  CLOUDOPS_STORAGE_URL: cloud.origin,
  CLOUDOPS_DEVOPS_URL: cloud.origin,
  CLOUDOPS_ACCESS_KEY_ID: 'AKID-MARKER',
  CLOUDOPS_SECRET_ACCESS_KEY: 'secret-MARKER',
  CLOUDOPS_CONFIRM: 'off',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
  ...changes,
});
const listing = { bucket: 'bucket-MARKER', object: 'object-MARKER', uploadId: 'upload-MARKER' };

/** Makes one call with the built server and ends it. */
async function callOnce(env: Record<string, string>, name: string, args: object, meta: object = {}) {
  const running = startRaw(env);
  const { params, ...request } = toolCall(1, name, args);
  running.send({ ...request, params: { ...params, _meta: meta } });
  const answer = JSON.stringify(await running.response(1));
  const started = Date.now();
  running.child.stdin.end();
  await running.ended;
  return { answer, stderr: running.stderr(), endedAfterMs: Date.now() - started };
}

const received = () => spansOf(collector);

describe('spans at a collector', () => {
  test('a call belongs to the span that _meta names, and each attempt to the call; no argument is in them', async () => {
    answers = [
      [503, 'MARKER'],
      [200, '<ListPartsResult><Bucket>MARKER</Bucket></ListPartsResult>'],
    ];
    await callOnce(settings(), 'list_parts', listing, { traceparent, tracestate: 'vendor=x' });
    const spans = received();
    const port = Number(new URL(cloud.origin).port);
    const parent = spans.find(({ kind }) => kind === server);
    expect(parent).toMatchObject({
      name: 'tools/call list_parts',
      traceId,
      parentSpanId: callersSpan,
      traceState: 'vendor=x',
      status: { code: unset },
      attributes: {
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'list_parts',
        'jsonrpc.request.id': '1',
        'network.transport': 'pipe',
        'cloudops.outcome': 'ok',
      },
    });
    const request = { 'http.request.method': 'GET', 'server.address': '127.0.0.1', 'server.port': port };
    const attempt = { name: 'GET', kind: client, traceId, parentSpanId: parent?.spanId };
    expect(spans.filter(({ kind }) => kind === client)).toMatchObject([
      {
        ...attempt,
        status: { code: failed },
        attributes: { ...request, 'http.response.status_code': 503, 'error.type': '503' },
      },
      {
        ...attempt,
        status: { code: unset },
        attributes: { ...request, 'http.response.status_code': 200, 'http.request.resend_count': 1 },
      },
    ]);
    expect(collector.requests.map(({ url, headers }) => [url, headers['content-type']])).toEqual([
      ['/v1/traces', 'application/json'],
    ]);
    expect(JSON.stringify(collector.requests)).not.toContain('MARKER');
  });

  test('an error of a tool is one of its span; what does not answer is named by its failure', async () => {
    const env = settings({ CLOUDOPS_DEVOPS_URL: 'http://127.0.0.1:1', CLOUDOPS_MAX_ATTEMPTS: '1' });
    await callOnce(env, 'restore_instance', { backupId: 'a'.repeat(32), instanceId: 's' });
    const spans = received();
    const parent = spans.find(({ kind }) => kind === server);
    expect(parent).toMatchObject({
      status: { code: failed },
      attributes: { 'error.type': 'tool_error', 'cloudops.outcome': 'not_sent' },
    });
    expect(parent?.parentSpanId ?? '').toBe('');
    expect(spans.find(({ kind }) => kind === client)).toMatchObject({
      parentSpanId: parent?.spanId,
      status: { code: failed },
      attributes: { 'error.type': 'ConnectionRefused', 'http.request.method': 'POST' },
    });
  });

  test.each(['', 'nonsense', '00-0-0-01', `00-${'0'.repeat(32)}-${callersSpan}-01`])(
    'a traceparent that is none begins a trace of its own: %j',
    async (wrong) => {
      await callOnce(settings(), 'list_parts', listing, { traceparent: wrong });
      expect(received().find(({ kind }) => kind === server)).toMatchObject({
        traceId: expect.not.stringMatching(/^0+$/),
      });
    },
  );

  test('the SDK’s own variables hold: name of the service, headers, sampling', async () => {
    const env = settings({ OTEL_SERVICE_NAME: 'ops-eu', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20t' });
    await callOnce(env, 'list_parts', listing);
    expect(collector.requests[0]?.headers.authorization).toBe('Bearer t');
    expect(collector.requests[0]?.body).toContain('"ops-eu"');
    await callOnce(settings({ OTEL_TRACES_SAMPLER: 'always_off' }), 'list_parts', listing);
    expect(collector.requests).toHaveLength(1);
  });
});

describe('a collector that', () => {
  // The exporter's time limit ends what does not begin to answer. An answer without an end takes as long as the process waits for a collector:
  // four seconds, and not the exporter's time limit.
  test.each([
    ['is away', 1000],
    ['takes connections and says nothing', 1000],
    ['never ends its answer', 100_000],
    ['refuses', undefined],
  ])('%s disturbs no call', async (how, limitMs) => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const refusing = await startServer((_request, response) => response.writeHead(401).end());
    const endless = await startServer((_request, response) => {
      const timer = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(timer));
    });
    const endpoint = {
      'is away': 'http://127.0.0.1:1',
      'takes connections and says nothing': `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
      'never ends its answer': endless.origin,
      refuses: refusing.origin,
    }[how];
    const env = settings({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint ?? '',
      ...(limitMs !== undefined && { OTEL_EXPORTER_OTLP_TIMEOUT: String(limitMs) }),
    });
    const run = await callOnce(env, 'restore_instance', { backupId: 'a'.repeat(32), instanceId: 's' });
    expect(run.answer).toContain('instanceId');
    expect(run.answer).not.toContain('"isError":true');
    expect(run.endedAfterMs).toBeLessThan(25_000);
    if (how === 'refuses') expect(run.stderr).toContain('"event":"telemetry","ok":false');
    silent.close();
    await endless.close();
    await refusing.close();
  });
});

describe('without being asked for', () => {
  /** The files that a server loads before it ends, by what V8 saw of them. */
  async function loadedFiles(env: Record<string, string>): Promise<string[]> {
    const folder = mkdtempSync(join(tmpdir(), 'cloudops-loaded-'));
    try {
      const initialize = {
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      };
      const stdin = `${JSON.stringify(initialize)}\n`;
      await runServer([], { env: { ...env, NODE_V8_COVERAGE: folder }, stdin, until: /"id":0/ });
      const urls = readdirSync(folder).flatMap((file) =>
        z
          .object({ result: z.array(z.object({ url: z.string() })) })
          .parse(JSON.parse(readFileSync(join(folder, file), 'utf8')))
          .result.map(({ url }) => url),
      );
      return urls.filter((url) => url.startsWith('file:')).map((url) => readFileSync(new URL(url), 'utf8'));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const ofTelemetry = (source: string) =>
    source.includes('OTEL_EXPORTER_OTLP_HEADERS') || source.includes('opentelemetry.js.api');
  const ofPostgres = (source: string) => source.includes('SASLInitialResponse') || source.includes('pg-pool');

  test('nothing of OpenTelemetry or PostgreSQL is loaded', async () => {
    const sources = await loadedFiles({});
    expect(sources.length).toBeGreaterThan(0);
    expect(sources.some(ofTelemetry)).toBe(false);
    expect(sources.some(ofPostgres)).toBe(false);
    const asked = await loadedFiles({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
      CLOUDOPS_JOURNAL: 'postgres://127.0.0.1:1/none',
    });
    expect(asked.some(ofTelemetry)).toBe(true);
    expect(asked.some(ofPostgres)).toBe(true);
  });
});

test('over HTTP, the header names the span where _meta does not', async () => {
  const traces: unknown[] = [];
  const longId = 'x'.repeat(101);
  const handler = createMcpHandler(() =>
    createMcpServer({
      version: '0',
      operations: operations,
      accounts: accountsWith({ readOnly: false, tools: undefined }),
      call: async (_operation, _args, { watch }) => {
        traces.push(watch?.tracedRequest && traceOrigin(watch.tracedRequest));
        return { kind: 'succeeded', success: { summary: say`enough`, warnings: [], requestIds: {} } };
      },
      changes: unusedChanges,
      reads: createReadTasks(() => new Date()),
      noteUnknownClient: () => undefined,
      configuration: () => '',
      journal: async () => '',
    }),
  );
  const post = (meta: object) =>
    handler.fetch(
      new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-06-18',
          traceparent,
          tracestate: 'vendor=header',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: longId,
          method: 'tools/call',
          params: { name: 'list_parts', arguments: listing, _meta: meta },
        }),
      }),
    );
  const own = traceparent.replace(callersSpan, 'c'.repeat(16));
  await (await post({})).text();
  await (await post({ traceparent: 5 })).text();
  await (await post({ traceparent: own })).text();
  const attributes = { 'jsonrpc.request.id': longId.slice(0, 100), 'network.transport': 'tcp' };
  expect(traces).toEqual([
    { traceparent, tracestate: 'vendor=header', linkOnly: true, attributes },
    { traceparent, tracestate: 'vendor=header', linkOnly: true, attributes },
    { traceparent: own, tracestate: undefined, linkOnly: true, attributes },
  ]);
});

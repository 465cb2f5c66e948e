import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { answerOf, message, post, toolCall } from '../support/http-in-process.js';
import { type HttpProcess, startHttpProcess } from '../support/http-process.js';
import { startServer } from '../support/http-server.js';
import { printedChanges } from '../support/journal.js';
import { uploadArguments } from '../support/sandbox.js';
import { runServer } from '../support/server-process.js';

/** Attacks the built server. It must refuse them, keep running, and free the memory afterwards. */

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-http-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const token = 'the token of alice';
const tokenOf = (text: string) => ({ authorization: `Bearer ${text.replaceAll(' ', '-')}` });
function tokensFile(): string {
  const path = join(folder, 'tokens');
  writeFileSync(path, `alice ${createHash('sha256').update(token.replaceAll(' ', '-')).digest('hex')}\n`);
  return path;
}

/** Reports the memory in use after a garbage collection, when its parent sends a message. */
const reporter = `process.on('message',()=>{gc();gc();const {heapUsed,external,rss}=process.memoryUsage();process.send({inUse:heapUsed+external,rss})});process.channel.unref()`;
const watched = ['--expose-gc', '--import', `data:text/javascript,${encodeURIComponent(reporter)}`];

const memory = ({ child }: HttpProcess) =>
  new Promise<{ inUse: number; rss: number }>((resolve) => {
    child.once('message', (report) => resolve(report as { inUse: number; rss: number }));
    child.send('report');
  });

/** Number of connections that the limit on open files allows, 10,000 at most. */
function connectionCount(): number {
  if (process.platform !== 'linux') return 1000;
  const [, limit = '1024'] = /Max open files +\d+ +(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return Math.min(10_000, Math.floor(Number(limit) / 2));
}

/** Opens connections and holds them. Resolves when every connection is open or was refused. */
async function holdConnections(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const batch = Array.from({ length: Math.min(250, count - sockets.length) }, () => connect(port, '127.0.0.1'));
    sockets.push(...batch);
    await Promise.all(
      batch.map(
        (socket) =>
          new Promise<void>((resolve) => {
            socket.on('error', () => resolve());
            socket.on('connect', () => resolve());
          }),
      ),
    );
  }
  return sockets;
}

/** Acts, and then every `pauseMs`, until `end` settles; at least twice. */
async function repeatUntil(end: Promise<unknown>, pauseMs: number, act: () => Promise<void>): Promise<void> {
  let isOver = false;
  void end.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await act();
    await delay(pauseMs);
  }
  await act();
}

const list = toolCall('list_parts', uploadArguments);

/** Requests that an attacker can send in a second. All must be refused. */
async function bombard({ url, origin }: HttpProcess): Promise<number[]> {
  const batch = JSON.stringify(Array.from({ length: 400 }, () => list));
  const deep = `${'{"a":'.repeat(4_900)}1${'}'.repeat(4_900)}`;
  const rounds = 20;
  const attacks = [
    () => post(url, message('ping')),
    () => post(url, message('ping'), { origin: 'https://evil.example.com' }),
    () => post(url, batch, tokenOf(token)),
    () => post(url, deep, tokenOf(token)),
    () => post(url, '{"jsonrpc', tokenOf(token)),
    () => post(url, { jsonrpc: '2.0', id: 1 }, tokenOf(token)),
    () => post(url, ' '.repeat(3 * 1024 * 1024), tokenOf(token)),
    () => post(url, message('ping'), { ...tokenOf(token), 'content-type': 'text/plain' }),
    () => fetch(url, { headers: tokenOf(token) }),
    () => fetch(url, { method: 'DELETE', headers: tokenOf(token) }),
    () => fetch(`${origin}/${'x'.repeat(8000)}`),
  ];
  const statuses: number[] = [];
  const make = async (attack: () => Promise<Response>) => {
    const response = await attack();
    await response.text();
    statuses.push(response.status);
  };
  // In parallel, because answers to failed logins are delayed.
  const logins = Array.from({ length: rounds }, () => make(() => post(url, message('ping'), tokenOf('wrong'))));
  for (let round = 0; round < rounds; round += 1) await Promise.all(attacks.map(make));
  await Promise.all(logins);
  return statuses;
}

test('an attack is refused, the process lives, and its memory is back within 10 % afterwards', async () => {
  const args = ['--sandbox', `CLOUDOPS_HTTP_TOKENS_FILE=${tokensFile()}`, 'CLOUDOPS_HTTP_RATE=1000'];
  const server = await startHttpProcess(args, { nodeArgs: watched });
  // One connection, because fetch would open others, which the server refuses while too many are open.
  const client = new Agent({ connections: 1 });
  const serves = async () => {
    const { body } = await request(server.url, {
      dispatcher: client,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...tokenOf(token) },
      body: JSON.stringify(list),
    });
    return (await answerOf(body)).result;
  };
  const attack = async () => {
    expect((await bombard(server)).filter((status) => status < 400)).toEqual([]);
    expect(await serves()).toBeDefined();
    const holding = holdConnections(server.port, connectionCount());
    // A client with a connection is still served.
    await repeatUntil(holding, 500, async () => expect(await serves()).toBeDefined());
    for (const socket of await holding) socket.destroy();
    await vi.waitFor(async () => expect(await serves()).toBeDefined());
  };
  // The first round fills caches and compiles code.
  await attack();
  const before = await memory(server);
  await attack();
  await vi.waitFor(
    async () => {
      const after = await memory(server);
      expect(after.inUse / before.inUse).toBeLessThan(1.1);
      expect(after.rss / before.rss).toBeLessThan(1.1);
    },
    { interval: 500 },
  );
  expect(await server.metrics()).toMatch(/cloudops_refused_requests_total\{reason="connections"\} [1-9]/);
  expect(server.stderr()).not.toContain('the-token');
  await client.close();
  expect(await server.stop()).toBe(0);
});

describe('who may not enter a server that is not on loopback alone', () => {
  test.each([
    [
      ['--host', '0.0.0.0'],
      ['CLOUDOPS_HTTP_TOKENS_FILE', 'CLOUDOPS_HTTP_ALLOWED_HOSTS must name'],
    ],
    [['--host', '::'], [':: is not loopback']],
    [['CLOUDOPS_HTTP_ALLOWED_HOSTS=tunnel.example.com'], ['tunnel.example.com is not loopback']],
    [['--host', '0.0.0.0', 'CLOUDOPS_HTTP_TOKENS_FILE=/nonexistent'], ['cannot be read (ENOENT)']],
    [['--host', '0.0.0.0', 'CLOUDOPS_HTTP_ISSUER=https://id.example.com'], ['HTTP_AUDIENCE go together']],
    [['CLOUDOPS_HTTP_SCOPE_CLAIM=roles'], ['HTTP_SCOPE_CLAIM is of use only with CLOUDOPS_HTTP_ISSUER']],
    [['CLOUDOPS_HTTP_ISSUER=http://id.example.com', 'CLOUDOPS_HTTP_AUDIENCE=x'], ['plain http is for loopback only']],
    [
      ['CLOUDOPS_HTTP_ISSUER=https://id.example.com', 'CLOUDOPS_HTTP_AUDIENCE=0f7'],
      ['CLOUDOPS_HTTP_AUDIENCE is no URL', 'set CLOUDOPS_HTTP_PUBLIC_URL'],
    ],
    [['CLOUDOPS_HTTP_SCOPE_PREFIX=a"b'], ['HTTP_SCOPE_PREFIX is "a\\"b"; it must be the beginning of a scope']],
    [['CLOUDOPS_HTTP_ALLOWED_HOSTS=a.example.com:80'], ['host names without port']],
    [['CLOUDOPS_HTTP_METRICS_PORT=70000'], ['it must be a port']],
    [['--port', 'x'], ['--port takes a number from 0 to 65535']],
  ])('%j: it does not start', async (args, texts) => {
    const run = await runServer(['http', '--sandbox', ...args]);
    expect(run.code).toBe(2);
    for (const text of texts) expect(run.stderr).toContain(text);
  });

  test('an audience that is no URL: the refusal still says where to get a token', async () => {
    const env = { CLOUDOPS_STATE_KEY: 'k'.repeat(64), CLOUDOPS_HTTP_PUBLIC_URL: 'https://cloudops.example.com' };
    const issuer = [
      'CLOUDOPS_HTTP_ISSUER=https://id.invalid',
      'CLOUDOPS_HTTP_AUDIENCE=cloudops',
      'CLOUDOPS_HTTP_CLIENT_ID=id',
    ];
    const server = await startHttpProcess(['--sandbox', ...issuer], { env });
    const refused = await post(server.url, message('ping'));
    expect(refused.status).toBe(401);
    const metadata = 'https://cloudops.example.com/.well-known/oauth-protected-resource/mcp';
    expect(refused.headers.get('www-authenticate')).toContain(metadata);
    await server.stop();
  });

  test('with tokens it starts, and the Host header must be one of those allowed', async () => {
    const hosts = ['CLOUDOPS_HTTP_ALLOWED_HOSTS=cloudops.example.com'];
    const server = await startHttpProcess([
      '--host',
      '0.0.0.0',
      '--sandbox',
      `CLOUDOPS_HTTP_TOKENS_FILE=${tokensFile()}`,
      ...hosts,
    ]);
    expect((await post(server.url, message('ping'), tokenOf(token))).status).toBe(403);
    expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
    expect(server.logged()).toContainEqual(expect.objectContaining({ level: 'warn', event: 'state key' }));
    await server.stop();
  });
});

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.POSITIVE_INFINITY;

/** How long Kubernetes waits for a probe if its manifest says nothing (milliseconds). `bench -- load` measures shorter waits. */
const probeMs = 1000;

/** Number of concurrent calls of one caller. It is within all limits. */
const callsAtOnce = 31;

/**
 * Repeats a call, and asks for the health meanwhile, 15 times. Resolves with the statuses, the size of the longest answer, and the median of how long
 * the health took (milliseconds).
 */
async function attack({ url, metricsOrigin }: HttpProcess, call: string) {
  let isOver = false;
  const statuses = new Set<number>();
  let longest = 0;
  const callAgain = async () => {
    while (!isOver) {
      const response = await post(url, call, tokenOf(token));
      longest = Math.max(longest, (await response.text()).length);
      statuses.add(response.status);
    }
  };
  const attacked = Promise.all(Array.from({ length: callsAtOnce }, callAgain));
  const waits: number[] = [];
  while (waits.length < 15) {
    const asked = performance.now();
    expect((await fetch(`${metricsOrigin}/healthz`, { headers: { connection: 'close' } })).status).toBe(200);
    waits.push(performance.now() - asked);
    await delay(20);
  }
  isOver = true;
  await attacked;
  return { statuses: [...statuses], longest, healthMs: median(waits) };
}

test.each([
  ['more arguments than a message may have values', 20_000, 413],
  ['as many as it may', 4_990, 200],
])('%s take little memory, and health is told meanwhile', async (_what, count, status) => {
  const args = ['--sandbox', `CLOUDOPS_HTTP_TOKENS_FILE=${tokensFile()}`, 'CLOUDOPS_HTTP_RATE=100000'];
  const server = await startHttpProcess(args, { nodeArgs: ['--max-old-space-size=256'] });
  const names = Array.from({ length: count }, (_, index) => `n${index.toString(36)}`);
  const call = JSON.stringify(toolCall('list_parts', Object.fromEntries(names.map((name) => [name, 1]))));
  const { statuses, longest, healthMs } = await attack(server, call);
  expect(statuses).toEqual([status]);
  expect(longest).toBeLessThan(20_000);
  expect(healthMs).toBeLessThan(probeMs);
  expect((await answerOf(await post(server.url, list, tokenOf(token)))).result).toBeDefined();
  await server.stop();
});

/** A page of uploads. Its keys have `keyLength` characters, each of which takes two bytes in the memory of JavaScript. */
function uploadsPage(from: number, count: number, keyLength: number, isTruncated: boolean): string {
  const keys = Array.from({ length: count }, (_, index) => `${from + index}`.padStart(8, '0').padEnd(keyLength, 'é日'));
  const uploads = keys.map(
    (key) => `<Upload><Key>${key}</Key><UploadId>u</UploadId><Initiated>2026-11-20T12:00:00.000Z</Initiated></Upload>`,
  );
  return `<ListMultipartUploadsResult><IsTruncated>${isTruncated}</IsTruncated><NextKeyMarker>${from + count}</NextKeyMarker>${uploads.join('')}</ListMultipartUploadsResult>`;
}

/** The number after which a page begins. */
const markerOf = (url: string) => Number(/key-marker=(\d+)/.exec(url)?.[1] ?? 0);

const counted = { answer: { uploadCount: expect.any(Number) } };

test.each<[string, (marker: number) => string, object]>([
  ['a bucket with 10,000 uploads of long keys', (marker) => uploadsPage(marker, 1000, 500, marker < 9000), counted],
  ['a list that never ends', (marker) => uploadsPage(marker, 1, 8, true), counted],
  ['a service that adds almost 4 MiB a page', (marker) => uploadsPage(marker, 2400, 650, true), counted],
  [
    'a service that adds more than 4 MiB a page',
    (marker) => uploadsPage(marker, 2500, 650, true),
    { code: 'ResponseTooLarge' },
  ],
])('reads of %s neither end the process nor keep health from being told', async (_what, pageAfter, told) => {
  // Pages are kept as bytes, so that this process, which also measures, does not encode megabytes for each answer.
  const made = new Map<number, Buffer>();
  const store = await startServer(({ url }, response) => {
    const marker = markerOf(url);
    const known = made.get(marker) ?? Buffer.from(pageAfter(marker));
    if (made.size < 12) made.set(marker, known);
    response.end(known);
  });
  const env = {
    CLOUDOPS_STORAGE_URL: store.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'test',
    CLOUDOPS_TOOLS: 'list_multipart_uploads',
    CLOUDOPS_HTTP_TOKENS_FILE: tokensFile(),
    CLOUDOPS_HTTP_RATE: '100000',
  };
  const server = await startHttpProcess([], { env, nodeArgs: ['--max-old-space-size=256'] });
  const call = JSON.stringify(toolCall('list_multipart_uploads', { bucket: 'b' }));
  const { statuses, longest, healthMs } = await attack(server, call);
  expect(statuses).toEqual([200]);
  expect(longest).toBeLessThan(200_000);
  expect(healthMs).toBeLessThan(probeMs);
  const { result } = await answerOf(await post(server.url, call, tokenOf(token)));
  expect(result).toMatchObject({ structuredContent: told });
  await server.stop();
  await store.close();
});

test('a body that comes in chunks of one byte takes little memory', async () => {
  const server = await startHttpProcess(['--sandbox'], { nodeArgs: watched });
  const before = await memory(server);
  const socket = connect(server.port, '127.0.0.1');
  const answered = new Promise((resolve) => socket.once('data', resolve));
  const head = 'POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n';
  socket.write(`${head}transfer-encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(250_000)}0\r\n\r\n`);
  expect(String(await answered)).toMatch(/^HTTP\/1.1 400 /);
  expect((await memory(server)).rss - before.rss).toBeLessThan(100 * 1024 * 1024);
  socket.destroy();
  await server.stop();
});

test('callers see how the server is configured, but none of its paths', async () => {
  const server = await startHttpProcess([
    '--sandbox',
    'CLOUDOPS_READ_ONLY=1',
    `CLOUDOPS_HTTP_TOKENS_FILE=${tokensFile()}`,
  ]);
  const read = message('resources/read', { uri: 'cloudops://configuration' });
  const text = JSON.stringify((await answerOf(await post(server.url, read, tokenOf(token)))).result);
  expect(text).toContain('CLOUDOPS_READ_ONLY | 1');
  expect(text).not.toContain(JSON.stringify(folder).slice(1, -1));
  await server.stop();
});

test('a port that is taken is a sentence, not a crash', async () => {
  const server = await startHttpProcess(['--sandbox']);
  const port = String(server.port);
  for (const taken of [
    ['--port', port],
    ['--port', '0', `CLOUDOPS_HTTP_METRICS_PORT=${port}`],
  ]) {
    const run = await runServer(['http', '--sandbox', ...taken]);
    expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('cannot listen: "listen EADDRINUSE')]);
  }
  await server.stop();
});

test('a change whose client goes away, and whose server is then asked to stop, is in the journal as what it was', async () => {
  let answer = () => undefined as unknown;
  const cloud = await startServer((_request, response) => {
    answer = () => response.end('{"instance":{}}');
  });
  const env = {
    CLOUDOPS_DEVOPS_URL: cloud.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'test',
    CLOUDOPS_CONFIRM: 'off',
    CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
    CLOUDOPS_HTTP_TOKENS_FILE: tokensFile(),
  };
  const server = await startHttpProcess([], { env });
  const abort = new AbortController();
  const gone = fetch(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...tokenOf(token) },
    body: JSON.stringify(toolCall('restore_instance', { backupId: 'a'.repeat(32), instanceId: 'restored' })),
    signal: abort.signal,
  }).then((response) => response.text());
  gone.catch(() => undefined);
  await vi.waitFor(() => expect(cloud.requests).toHaveLength(1));
  abort.abort();
  const stopped = server.stop();
  await vi.waitFor(async () => expect((await fetch(`${server.origin}/readyz`)).status).toBe(503));
  answer();
  expect(await stopped).toBe(0);
  const { stdout } = await runServer(['journal', '--json'], { env });
  expect(printedChanges(stdout)).toMatchObject([{ caller: 'alice', state: 'accepted' }]);
  await cloud.close();
});

// Measures how long a caller waits while 31 reads of another caller get answers of 4 MiB. Run it with
// npm run bench -- load [--seconds 10] [--heap 256].
// The server runs over HTTP with a small heap. The store answers from memory, in this process.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, heap: { type: 'string', default: '256' } },
});
const durationMs = Number(options.seconds) * 1000;
const reads = 31;
const goalMs = 500;
const size = 3.9 * 1024 * 1024;

/** Bodies of 3.9 MiB. The answers of the first two have too many values, those of the others do not. */
const filled = (row) => {
  const rows = `${row},`.repeat(Math.floor(size / (row.length + 1)) - 1) + row;
  return Buffer.from(`{"Rows":[${rows}]}`);
};
const answers = {
  'smallest values': filled('{}'),
  'small rows': filled('{"Id":"i-1","Size":1,"Tags":{"a":"b"}}'),
  'rows of 400 characters': filled(`{"Id":"i-1","Note":"${'n'.repeat(380)}"}`),
  'long texts': filled(`{"Id":"i-1","Note":"${'n'.repeat(20_000)}"}`),
};

const folder = mkdtempSync(join(tmpdir(), 'cloudops-load-'));
let child;
process.on('exit', () => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const string = { target: 'smithy.api#String' };
const model = {
  smithy: '2.0',
  shapes: {
    'load#Service': {
      type: 'service',
      version: '2026-01-01',
      operations: [{ target: 'load#ListRows' }],
      traits: { 'aws.protocols#restJson1': {}, 'aws.auth#sigv4': { name: 'load' } },
    },
    'load#ListRows': {
      type: 'operation',
      input: { target: 'load#Input' },
      output: { target: 'load#Output' },
      traits: { 'smithy.api#http': { method: 'GET', uri: '/rows/{Kind}', code: 200 }, 'smithy.api#readonly': {} },
    },
    'load#Input': {
      type: 'structure',
      members: { Kind: { ...string, traits: { 'smithy.api#required': {}, 'smithy.api#httpLabel': {} } } },
    },
    'load#Output': { type: 'structure', members: { Rows: { target: 'load#Rows' } } },
    'load#Rows': { type: 'list', member: { target: 'load#Row' } },
    'load#Row': {
      type: 'structure',
      members: { Id: string, Note: string, Size: { target: 'smithy.api#Integer' }, Tags: { target: 'load#Tags' } },
    },
    'load#Tags': { type: 'map', key: string, value: string },
  },
};
writeFileSync(join(folder, 'model.json'), JSON.stringify(model));
const operations = { model: './model.json', api: 'load', operations: { ListRows: { effect: 'read' } } };
writeFileSync(join(folder, 'load.operations.json'), JSON.stringify(operations));
const tokens = ['many', 'one'];
const digest = (text) => createHash('sha256').update(text).digest('hex');
writeFileSync(join(folder, 'tokens'), tokens.map((name) => `${name} ${digest(`token-of-${name}`)}\n`).join(''));

const small = Buffer.from('{"Rows":[{"Id":"i-1"}]}');
const store = createServer(({ url }, response) => {
  const kind = decodeURIComponent(url.split('/').at(-1));
  response.writeHead(200, { 'content-type': 'application/json' }).end(answers[kind] ?? small);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => store.once('listening', resolve));

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
child = spawn(process.execPath, [`--max-old-space-size=${options.heap}`, main, 'http', '--port', '0'], {
  env: {
    PATH: process.env.PATH,
    XDG_STATE_HOME: folder,
    CLOUDOPS_OPERATIONS: join(folder, 'load.operations.json'),
    CLOUDOPS_ENDPOINT_LOAD_URL: `http://127.0.0.1:${store.address().port}`,
    CLOUDOPS_ACCESS_KEY_ID: 'load',
    CLOUDOPS_SECRET_ACCESS_KEY: 'load',
    CLOUDOPS_HTTP_TOKENS_FILE: join(folder, 'tokens'),
    CLOUDOPS_HTTP_RATE: '100000',
  },
  stdio: ['ignore', 'ignore', 'pipe'],
});
child.once('exit', (code, signal) => {
  console.error(`The server ended (${code ?? signal}).`);
  process.exit(1);
});
const lines = createInterface({ input: child.stderr });
const url = await new Promise((resolve) => {
  lines.on('line', (line) => {
    const { event, port } = line.startsWith('{') ? JSON.parse(line) : {};
    if (event === 'listening') resolve(`http://127.0.0.1:${port}/mcp`);
  });
});

const dispatcher = new Agent({ connections: reads + 1, pipelining: 1 });
/** Makes a call. Resolves with the first words of its text. */
async function call(caller, Kind) {
  const { body } = await request(url, {
    method: 'POST',
    dispatcher,
    headers: {
      authorization: `Bearer token-of-${caller}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'list_rows', arguments: { Kind } },
    }),
  });
  const { result, error } = JSON.parse(await body.text());
  if (result === undefined) throw new Error(JSON.stringify(error));
  const { code = 'answered' } = result.structuredContent;
  return code;
}

const percentile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
let isSlow = false;
for (const kind of Object.keys(answers)) {
  const until = Date.now() + durationMs;
  const codes = {};
  const attack = async () => {
    while (Date.now() < until) {
      const code = await call('many', kind);
      codes[code] = (codes[code] ?? 0) + 1;
      // The answer says to wait for ten seconds.
      if (code === 'TooManyReads') await delay(500);
    }
  };
  const attacked = Promise.all(Array.from({ length: reads }, attack));
  const waits = [];
  while (Date.now() < until) {
    const begun = performance.now();
    const code = await call('one', 'one');
    if (code !== 'answered') codes[`another caller: ${code}`] = (codes[`another caller: ${code}`] ?? 0) + 1;
    waits.push(performance.now() - begun);
    await delay(20);
  }
  await attacked;
  const sorted = waits.toSorted((a, b) => a - b);
  const longest = sorted.at(-1);
  isSlow ||= longest > goalMs;
  const figures = `median ${percentile(sorted, 0.5).toFixed(0)} ms, longest ${longest.toFixed(0)} ms`;
  console.log(`${kind}: another caller waited ${figures} (goal ${goalMs} ms); reads: ${JSON.stringify(codes)}`);
}
store.closeAllConnections();
store.close();
await dispatcher.close();
process.exit(isSlow ? 1 : 0);

// Load over HTTP: 64 clients call list_parts on the sandbox as fast as they are answered, and the same number call echo of
// @modelcontextprotocol/server-everything in the same run: npm run bench:http [-- --seconds 30] [--clients 64] [--json]
// One answers from a signed request to its sandbox, the other from memory: the ratio says what signing, sending, reading and
// keeping no session cost. Figures mean something beside each other only.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    clients: { type: 'string', default: '64' },
    json: { type: 'boolean', default: false },
  },
});
const seconds = Number(options.seconds);
const clients = Number(options.clients);
const version = '2025-06-18';

const folder = mkdtempSync(join(tmpdir(), 'cloudops-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Present memory of a process in MiB; Linux only. */
const memory = (pid) =>
  process.platform === 'linux'
    ? Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
    : Number.NaN;

/** One message; the answer's result, whether it came as JSON or as an event. */
async function send(url, dispatcher, message, session) {
  const { statusCode, headers, body } = await request(url, {
    method: 'POST',
    dispatcher,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      ...(session !== undefined && { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  });
  const text = await body.text();
  if (statusCode === 202) return { headers };
  if (statusCode !== 200) throw new Error(`status ${statusCode}: ${text.slice(0, 200)}`);
  const data = /^data: (\{.*)$/m.exec(text)?.[1] ?? text;
  return { headers, result: JSON.parse(data).result };
}

/** Initializes one client; resolves with its session, if the server has sessions. */
async function open(url, dispatcher) {
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
  const { headers } = await send(url, dispatcher, { id: 0, method: 'initialize', params });
  const session = headers['mcp-session-id'];
  await send(url, dispatcher, { method: 'notifications/initialized' }, session);
  return session;
}

async function ready(url, dispatcher) {
  for (let attempt = 0; ; attempt += 1)
    try {
      return await open(url, dispatcher);
    } catch (error) {
      if (attempt > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/** All clients call for so long. Times in milliseconds, errors counted. */
async function load(url, call, dispatcher, forMs) {
  const times = [];
  const errors = new Map();
  const until = performance.now() + forMs;
  const client = async () => {
    const session = await open(url, dispatcher);
    for (let id = 1; performance.now() < until; id += 1) {
      const start = performance.now();
      try {
        const { result } = await send(url, dispatcher, { id, method: 'tools/call', params: call }, session);
        if (result?.isError !== undefined && result.isError) throw new Error('isError');
        times.push(performance.now() - start);
      } catch (error) {
        errors.set(error.message, (errors.get(error.message) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { times, errors };
}

async function measure({ name, args, env, call }) {
  const port = await freePort();
  const child = spawn(process.execPath, args(port), {
    env: { ...process.env, XDG_STATE_HOME: folder, ...env(port) },
    stdio: 'ignore',
  });
  const dispatcher = new Agent({ connections: clients, pipelining: 1 });
  const url = `http://127.0.0.1:${port}/mcp`;
  try {
    await ready(url, dispatcher);
    // Until code is compiled and heaps have their size.
    await load(url, call, dispatcher, Math.min(5000, seconds * 500));
    const before = memory(child.pid);
    const start = performance.now();
    const { times, errors } = await load(url, call, dispatcher, seconds * 1000);
    const elapsed = (performance.now() - start) / 1000;
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
    return {
      name,
      calls: times.length,
      errors: Object.fromEntries(errors),
      perSecond: times.length / elapsed,
      p50: at(0.5),
      p99: at(0.99),
      memoryBefore: before,
      memoryAfter: memory(child.pid),
    };
  } finally {
    child.kill();
    await dispatcher.destroy();
  }
}

const peer = '@modelcontextprotocol/server-everything@2026.8.31';
const installed = spawnSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', folder, peer]);
if (installed.status !== 0) throw new Error(`npm could not install ${peer}`);

const rows = [];
for (const server of [
  {
    name: 'cloudops-mcp, list_parts',
    args: (port) => [
      fileURLToPath(new URL('../dist/main.js', import.meta.url)),
      ...['http', '--sandbox', '--port', String(port), '--http-rate', '1000000', '--log-level', 'warn'],
    ],
    env: () => ({}),
    call: {
      name: 'list_parts',
      arguments: {
        bucket: 'demo-bucket',
        object: 'backups/2026/database.dump',
        uploadId: 'demo-upload-in-progress',
      },
    },
  },
  {
    name: 'server-everything, echo',
    args: () => [join(folder, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'), 'streamableHttp'],
    env: (port) => ({ PORT: String(port) }),
    call: { name: 'echo', arguments: { message: 'x' } },
  },
])
  rows.push(await measure(server));

const failed = rows.some(({ calls, errors }) => calls === 0 || Object.keys(errors).length > 0);
if (options.json) console.log(JSON.stringify({ node: process.version, clients, seconds, peer, rows }, null, 2));
else {
  console.log(`Node ${process.version}, ${clients} clients, ${seconds} s each, load and servers on one machine`);
  const line = (cells) =>
    console.log(cells.map((cell, index) => (index === 0 ? cell.padEnd(28) : cell.padStart(11))).join(''));
  line(['', 'calls/s', 'p50 ms', 'p99 ms', 'errors', 'MiB before', 'MiB after']);
  for (const { name, perSecond, p50, p99, errors, memoryBefore, memoryAfter } of rows) {
    const count = Object.values(errors).reduce((sum, number) => sum + number, 0);
    line([
      name,
      ...[perSecond, p50, p99].map((number) => number.toFixed(1)),
      String(count),
      memoryBefore.toFixed(0),
      memoryAfter.toFixed(0),
    ]);
  }
}
process.exitCode = failed ? 1 : 0;

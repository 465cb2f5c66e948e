// Measures the built server and its peers in one run: npm run bench [-- --json --rounds 41]
// Each round measures every subject once, in turn. Figures are medians. Only the ratios hold on other machines.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { importSource } from '../scripts/source.mjs';
import { installPeers } from './peers.mjs';

const { values: options } = parseArgs({
  options: { json: { type: 'boolean' }, rounds: { type: 'string', default: '21' } },
});
const rounds = Number(options.rounds);
const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const state = mkdtempSync(join(tmpdir(), 'cloudops-bench-'));
const env = { ...process.env, XDG_STATE_HOME: state, XDG_CACHE_HOME: state, CLOUDOPS_LOG_LEVEL: 'warn' };
const keys = { accessKeyId: 'AKIDBENCH', secretAccessKey: 'bench' };
const server = [here('../dist/main.js')];

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const tokens = (value) => encode(typeof value === 'string' ? value : JSON.stringify(value)).length;
async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Measures every subject once per round, after one round that does not count. Returns the figures of each subject. */
async function inTurn(subjects, times = rounds) {
  const taken = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  for (let round = -1; round < times; round += 1)
    for (const [name, measure] of Object.entries(subjects)) {
      const figure = await measure();
      if (round >= 0) taken[name].push(figure);
    }
  return taken;
}

const medians = (taken, field = (figure) => figure) =>
  Object.fromEntries(Object.entries(taken).map(([name, list]) => [name, median(list.map(field))]));

/** Peak and current memory of a process in MiB; Linux only. */
function memory(pid) {
  if (process.platform !== 'linux') return { peak: Number.NaN, now: Number.NaN };
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024;
  return { peak: field('VmHWM'), now: field('VmRSS') };
}

/** Starts a server as a client of protocol 2025-06-18, lists its tools, and closes its input, as hosts do. */
async function start(command, more = {}) {
  const begun = performance.now();
  const child = spawn(process.execPath, command, { env: { ...env, ...more }, stdio: ['pipe', 'pipe', 'ignore'] });
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'bench', version: '1' };
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, result } = JSON.parse(line);
    if (id === 1) {
      send({ method: 'notifications/initialized' });
      send({ id: 2, method: 'tools/list', params: {} });
    }
    if (id !== 2) continue;
    const figures = { ms: performance.now() - begun, peak: memory(child.pid).peak, tools: result.tools };
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.stdin.end();
    const deadline = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(deadline);
    return figures;
  }
  throw new Error(`${command[0]} ended before it listed its tools.`);
}

/** A server that answers from memory: ten pages of 1,000 parts, or a page of one part. */
function startStore() {
  const part = (number) =>
    `<Part><PartNumber>${number}</PartNumber><LastModified>2026-11-20T11:31:14.651Z</LastModified><ETag>&quot;${number.toString(16).padStart(32, '0')}&quot;</ETag><Size>8388608</Size></Part>`;
  const page = (from, count) => {
    const parts = Array.from({ length: count }, (_, index) => part(from + index));
    return `<?xml version="1.0" encoding="UTF-8"?><ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>b</Bucket><Key>k</Key><UploadId>u</UploadId><IsTruncated>${from < 9001}</IsTruncated><NextPartNumberMarker>${from + count - 1}</NextPartNumberMarker>${parts.join('')}</ListPartsResult>`;
  };
  const pages = Array.from({ length: 10 }, (_, index) => page(index * 1000 + 1, 1000));
  const small = page(9001, 1);
  const store = createServer((request, response) => {
    const query = new URLSearchParams(request.url.split('?')[1]);
    response.setHeader('content-type', 'application/xml');
    response.end(query.get('max-parts') === '1' ? small : pages[Number(query.get('part-number-marker') ?? 0) / 1000]);
  });
  return new Promise((resolve) => store.listen(0, '127.0.0.1', () => resolve(store)));
}

/** A process that reads and writes lines, so that the work of a client is measured on no side. */
function startLines(args, more = {}) {
  const child = spawn(process.execPath, args, { env: { ...env, ...more }, stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (line) => child.stdin.write(`${line}\n`);
  const next = async () => (await lines.next()).value;
  return { send, next, pid: child.pid, close: () => child.kill() };
}

/** An initialized server process: `call` returns the result of a tool. */
async function connect(args, more) {
  const { send, next, ...server } = startLines(args, more);
  const request = async (method, params) => {
    send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    for (;;) {
      const { id, result } = JSON.parse(await next());
      // Skips notifications.
      if (id !== 1) continue;
      if (result === undefined || result.isError) throw new Error(`${args[0]} did not answer ${method}.`);
      return result;
    }
  };
  const clientInfo = { name: 'bench', version: '1' };
  await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  return { ...server, call: (name, given) => request('tools/call', { name, arguments: given }) };
}

/** The process of aws-sdk.mjs: `ask` returns the answer to a line. */
function startSdk(module, endpoint) {
  const { send, next, ...sdk } = startLines([here('aws-sdk.mjs'), module, endpoint]);
  return {
    ...sdk,
    ask: (line) => {
      send(line);
      return next();
    },
  };
}

/** Reads parts on each side, in its own process: ten pages, one part, and the memory that ten pages take. */
async function reading(peers) {
  const store = await startStore();
  const endpoint = `http://127.0.0.1:${store.address().port}`;
  const ours = await connect(server, {
    CLOUDOPS_STORAGE_HEADERS: 'amz',
    CLOUDOPS_STORAGE_URL: endpoint,
    CLOUDOPS_ACCESS_KEY_ID: keys.accessKeyId,
    CLOUDOPS_SECRET_ACCESS_KEY: keys.secretAccessKey,
  });
  const everything = await connect(peers.everything);
  const sdk = startSdk(peers.awsSdk, endpoint);
  const list = (more) => ours.call('list_parts', { bucket: 'b', object: 'k', uploadId: 'u', ...more });
  /** One request to the store, as the SDK makes it. */
  const listOne = () => list({ maxParts: 1, partNumberMarker: 9000, view: 'parts' });
  const echo = () => everything.call('echo', { message: 'x' });
  /** Peak memory, minus the memory of the idle process after one small call. */
  const memoryOf = async (pid, small, big) => {
    await small();
    const { now } = memory(pid);
    await big();
    return memory(pid).peak - now;
  };
  try {
    return {
      memory: {
        ours: await memoryOf(ours.pid, listOne, () => list({})),
        'aws-sdk': await memoryOf(
          sdk.pid,
          () => sdk.ask('one'),
          () => sdk.ask('ten'),
        ),
      },
      ten: medians(await inTurn({ ours: () => timed(() => list({})), 'aws-sdk': () => timed(() => sdk.ask('ten')) })),
      one: medians(
        await inTurn(
          { ours: () => timed(listOne), 'aws-sdk': () => timed(() => sdk.ask('one')), everything: () => timed(echo) },
          rounds * 10,
        ),
      ),
      answer: await list({}),
    };
  } finally {
    for (const one of [ours, everything, sdk]) one.close();
    store.close();
  }
}

/** Signatures per second. */
async function signing(peers) {
  const { sign, s3Profile } = await importSource(
    "export { sign } from './src/signing/sign.js'; export { s3Profile } from './src/signing/signature-variants.js';",
  );
  const aws4 = peers.load('aws4');
  const [host, path, region] = ['storage.example.com', '/bucket/key', 'jp-east-1'];
  const query = { uploadId: 'u', 'max-parts': '1000' };
  const context = { profile: s3Profile, credentials: keys, region, service: 's3' };
  const count = 200;
  const rate = async (work) => {
    const ms = await timed(async () => {
      for (let done = 0; done < count; done += 1) await work();
    });
    return (count * 1000) / ms;
  };
  const taken = await inTurn({
    ours: () => rate(() => sign({ method: 'GET', host, path, query, headers: {} }, { ...context, date: new Date() })),
    aws4: () =>
      rate(() => aws4.sign({ host, path: `${path}?${new URLSearchParams(query)}`, service: 's3', region }, keys)),
  });
  return medians(taken);
}

const peers = installPeers();
const starts = await inTurn({
  ours: () => start(server),
  // Node keeps compiled code from one start to the next, from 22.1 on.
  'ours, nothing kept': () => start(server, { NODE_DISABLE_COMPILE_CACHE: '1' }),
  'ours, with the sandbox': () => start([...server, '--sandbox']),
  filesystem: () => start(peers.filesystem),
  everything: () => start(peers.everything),
});
const { ours, filesystem, everything } = starts;
const { answer, ...read } = await reading(peers);
const signatures = await signing(peers);
const pack = execFileSync('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], { cwd: here('..') });
rmSync(state, { recursive: true });

/** Node 20 keeps no compiled code. */
const startGoal = Number.parseInt(process.versions.node, 10) < 22 ? 0.65 : 0.6;

/** Our figures and the peers'. A goal limits our figure, or the ratio to a peer's figure. */
const figures = [
  ['start to tools/list, ms', medians(starts, ({ ms }) => ms), { filesystem: startGoal }],
  ['peak memory at tools/list, MiB', medians({ ours, filesystem, everything }, ({ peak }) => peak), { filesystem: 1 }],
  [
    'tools/list, tokens',
    medians({ ours, filesystem, everything }, ({ tools }) => tokens(tools)),
    1200 * ours[0].tools.length,
  ],
  ...ours[0].tools.map((tool) => [`${tool.name}, tokens`, { ours: tokens(tool) }]),
  ['answer for 10,000 parts, tokens of text', { ours: tokens(answer.content[0].text) }, 1500],
  ['answer for 10,000 parts, tokens of data', { ours: tokens(answer.structuredContent) }, 1500],
  ['ten pages of 1,000 parts, ms', read.ten, { 'aws-sdk': 1 }],
  ['memory for them over the idle process, MiB', read.memory, 40],
  ['one call, ms', read.one, { 'aws-sdk': 1.1 }],
  ['signatures per second', signatures],
  ['tarball, kB', { ours: JSON.parse(pack)[0].size / 1000 }, 750],
].map(([what, { ours, ...others }, goal]) => ({
  what,
  ours,
  ...(typeof goal === 'number' && { goal }),
  peers: Object.entries(others).map(([peer, value]) => ({ peer, value, ratio: ours / value, goal: goal?.[peer] })),
}));

if (options.json) {
  const date = new Date().toISOString().slice(0, 10);
  console.log(JSON.stringify({ date, node: process.version, rounds, versions: peers.versions, figures }, null, 2));
} else {
  const shown = (number) => (Number.isInteger(number) ? String(number) : number.toFixed(number < 10 ? 2 : 1));
  const limit = (goal) => (goal === undefined ? '' : `≤ ${goal}`);
  const row = (...cells) => `| ${cells.join(' | ')} |`;
  console.log(`Node ${process.version}, medians of ${rounds} rounds\n`);
  console.log(row('what', 'ours', 'goal', 'peer', 'theirs', 'ratio', 'goal'));
  console.log(row(...Array(7).fill('---')));
  for (const { what, ours, goal, peers: others } of figures) {
    const [first, ...rest] = others.map((one) => [one.peer, shown(one.value), one.ratio.toFixed(2), limit(one.goal)]);
    console.log(row(what, shown(ours), limit(goal), ...(first ?? Array(4).fill(''))));
    for (const cells of rest) console.log(row('', '', '', ...cells));
  }
}

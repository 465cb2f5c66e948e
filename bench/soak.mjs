// Runs a mixed load over HTTP for a long time, with failures of every kind. Run it with npm run bench -- soak [--minutes 10] [--seed
// 1] [--store sqlite]. Two callers with several clients each read and change through two servers that share a journal. The sandbox fails
// by a random scenario, a server is killed or stopped repeatedly, and the journal is away twice. At the end, answers, journal and cloud
// must agree.
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startCloud } from './soak-cloud.mjs';
import { stores } from './soak-stores.mjs';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    store: { type: 'string', default: 'postgres' },
  },
});
const durationMs = Number(options.minutes) * 60_000;
const callers = ['alice', 'bob'];
const clientsPerCaller = 3;
const restartEveryMs = 25_000;
const storeAwayMs = Math.min(12_000, durationMs / 10);
/** Memory is judged after this time, because caches fill and code is compiled until then. */
const warmMs = 10 * 60_000;
const memoryEveryMs = 2000;
const heapEveryMs = 15_000;
/** Every fifth minute, the heap is written to stderr. */
const heapsPerLine = 20;
/** In the second half of a run, the heap after a collection grows by less than this (MiB per minute). */
const mostHeapGrowth = 0.1;
const mebibyte = 1024 * 1024;
/** A run that sent fewer changes per minute has shown nothing. */
const fewestChanges = 30;

/** Random numbers from 0 to below 1 that depend only on the seed. */
function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
const random = randomFrom(Number(options.seed));

const folder = mkdtempSync(join(tmpdir(), 'cloudops-soak-'));
const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const main = join(dist, 'main.js');
/** Identifies a build. Replicas of different or incomplete builds would prove nothing. */
const buildNow = () =>
  readdirSync(dist, { recursive: true })
    .sort()
    .map((name) => [name, statSync(join(dist, name), { throwIfNoEntry: false })])
    .map(([name, stats]) => `${name} ${stats?.size} ${stats?.mtimeMs}`)
    .join('\n');
const build = buildNow();
const rebuilt = () => (buildNow() === build ? '' : 'dist was built anew while this ran: let nothing else build here. ');
function run(args, env = {}, flags = []) {
  const child = spawn(process.execPath, [...flags, main, ...args], {
    env: { PATH: process.env.PATH, XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  child.on('exit', () => children.delete(child));
  return child;
}

const json = async (child) => {
  child.stderr.resume();
  for await (const line of createInterface(child.stdout)) return JSON.parse(line);
  throw new Error(`${rebuilt()}the sandbox ended before it said where it listens`);
};

const store = await stores[options.store](folder);
const cloud = await startCloud({ folder, random, run, json });
const tokensFile = join(folder, 'tokens');
writeFileSync(
  tokensFile,
  callers.map((name) => `${name} ${createHash('sha256').update(`token-of-${name}`).digest('hex')}\n`).join(''),
  { mode: 0o600 },
);
const settings = {
  ...cloud.settings,
  CLOUDOPS_JOURNAL: store.address,
  CLOUDOPS_STATE_KEY: 'k'.repeat(32),
  CLOUDOPS_CONFIRM: 'plan',
  CLOUDOPS_TIMEOUT_MS: '20000',
};

const heapFlags = ['--expose-gc', '--import', new URL('report-heap.mjs', import.meta.url).href];

/** A replica, listening on `port`. `heaps` has its heap after each collection (minutes of its life, MiB). */
async function startReplica() {
  const env = { ...settings, CLOUDOPS_HTTP_TOKENS_FILE: tokensFile, CLOUDOPS_HTTP_RATE: '1000' };
  const child = run(['http', '--port', '0'], env, heapFlags);
  child.stdout.resume();
  const heaps = [];
  const started = Date.now();
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const port = await new Promise((resolve, reject) => {
    createInterface(child.stderr).on('line', (line) => {
      if (line.includes('"event":"listening"')) resolve(JSON.parse(line).port);
      if (!line.startsWith('{"event":"heap"')) return;
      const { heap, external } = JSON.parse(line);
      heaps.push({ minute: (Date.now() - started) / 60_000, heap: heap / mebibyte, external: external / mebibyte });
    });
    void ended.then((code) => reject(new Error(`${rebuilt()}a replica ended with ${code} at its start`)));
  });
  return { child, ended, port, heaps };
}

const replicas = [await startReplica(), await startReplica()];
const counts = { reads: 0, plans: 0, changes: 0, repeats: 0, unanswered: 0, restarts: 0 };
/** Answers to all attempts at a change, by the name of its server. */
const told = new Map();

/** Calls a tool through either replica. Returns the structured answer, or undefined without one. */
async function callTool(caller, name, args) {
  const { port } = replicas[Math.floor(random() * replicas.length)];
  try {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer token-of-${caller}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text).result?.structuredContent;
  } catch {
    counts.unanswered += 1;
    return undefined;
  }
}

/** Plans and executes a change, sometimes twice at once, or again by another caller. */
async function changeSomething(caller) {
  const instanceId = `s-${randomUUID().slice(0, 13)}`;
  const args = { backupId: 'demobackup0000000000000000000001', instanceId };
  const act = async (by) => {
    counts.plans += 1;
    const planned = await callTool(by, 'restore_instance', args);
    const answer =
      planned?.outcome === 'planned'
        ? await callTool(by, 'confirm_change', { changeId: planned.changeId, thing: instanceId })
        : planned;
    counts.changes += 1;
    told.set(instanceId, [...(told.get(instanceId) ?? []), answer ?? { code: 'no answer' }]);
  };
  const twice = random() < 0.2;
  await Promise.all(twice ? [act(caller), act(caller)] : [act(caller)]);
  if (random() < 0.3) {
    counts.repeats += 1;
    await act(callers[Math.floor(random() * callers.length)]);
  }
}

async function readSomething(caller) {
  counts.reads += 1;
  const args = { bucket: 'demo-bucket', object: 'backups/2026/database.dump', uploadId: 'demo-upload-in-progress' };
  await callTool(caller, 'list_parts', args);
}

const begun = Date.now();
const isOver = () => Date.now() - begun > durationMs;

async function client(caller) {
  for (; !isOver(); await delay(200 * random()))
    await (random() < 0.6 ? readSomething(caller) : changeSomething(caller));
}

/** Alternately kills and stops the second replica, and starts another. The first replica runs all the time. */
async function restart() {
  for (let kill = true; ; kill = !kill) {
    await delay(restartEveryMs);
    if (isOver()) return;
    const old = replicas[1];
    old.child.kill(kill ? 'SIGKILL' : 'SIGTERM');
    await old.ended;
    replicas[1] = await startReplica();
    everyReplica.push(replicas[1]);
    counts.restarts += 1;
  }
}

async function takeStoreAway() {
  for (const part of [1 / 3, 2 / 3]) {
    await delay(begun + durationMs * part - Date.now());
    await store.beAway(storeAwayMs);
  }
}

const memory = [];
async function watchMemory() {
  for (; !isOver(); await delay(memoryEveryMs)) {
    const status = readFileSync(`/proc/${replicas[0].child.pid}/status`, 'utf8');
    memory.push(Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024);
  }
}

/** All replicas that ran, in the order of their starts. */
const everyReplica = [...replicas];
async function watchHeaps() {
  for (let count = 1; !isOver(); count += 1) {
    for (const { child } of replicas) child.kill('SIGUSR2');
    await delay(heapEveryMs);
    const { minute, heap, external } = everyReplica[0].heaps.at(-1) ?? {};
    // As it goes, so that a run that fails at its end has shown the heap.
    if (count % heapsPerLine === 0) console.error('heap, MiB', { minute, heap, external });
  }
}

const clients = callers.flatMap((caller) => Array.from({ length: clientsPerCaller }, () => client(caller)));
await Promise.all([...clients, restart(), takeStoreAway(), watchMemory(), watchHeaps()]);

// A new replica ends the changes that killed replicas left open.
for (const { child, ended } of replicas) {
  child.kill('SIGTERM');
  await ended;
}
const last = await startReplica();
replicas.splice(0, 2, last, last);
await changeSomething('alice');
last.child.kill('SIGTERM');
await last.ended;

/** Outcomes in the journal by the name of the server, except "not sent". */
const journal = new Map();
for (const row of await store.rows()) {
  const [, outcome, instanceId] = /^(not sent|\w+) .*?"(s-[\w-]+)"/.exec(row);
  if (outcome !== 'not sent') journal.set(instanceId, [...(journal.get(instanceId) ?? []), outcome]);
}
const instances = await cloud.instances();
const mine = (id) => told.get(id) ?? [];
const isAccepted = ({ outcome }) => outcome === 'accepted';
const wrong = {
  'sent twice': [...cloud.asked].filter(([, times]) => times > 1).map(([id]) => id),
  'sent, and not in the journal': [...cloud.asked.keys()].filter((id) => !journal.has(id)),
  'in the journal twice': [...journal].filter(([, outcomes]) => outcomes.length > 1).map(([id]) => id),
  'still open': [...journal].filter(([, outcomes]) => outcomes.includes('open')).map(([id]) => id),
  'accepted in the journal, and not in the cloud': [...journal]
    .filter(([id, outcomes]) => outcomes.includes('accepted') && !instances.has(id))
    .map(([id]) => id),
  'rejected in the journal, and in the cloud': [...journal]
    .filter(([id, outcomes]) => outcomes.includes('rejected') && instances.has(id))
    .map(([id]) => id),
  'told accepted, and not so in the journal': [...told.keys()].filter(
    (id) => mine(id).some((one) => isAccepted(one) && !one.notes?.length) && !journal.get(id)?.includes('accepted'),
  ),
  'told accepted twice': [...told.keys()].filter((id) => mine(id).filter(isAccepted).length > 1),
};

const tally = (values) => {
  const counted = {};
  for (const value of values) counted[value] = (counted[value] ?? 0) + 1;
  return counted;
};
/** Slope of the line that fits pairs of a minute and a value best. */
function growthPerMinute(pairs) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const minute = mean(pairs.map(([x]) => x));
  const value = mean(pairs.map(([, y]) => y));
  const covariance = pairs.reduce((sum, [x, y]) => sum + (x - minute) * (y - value), 0);
  return covariance / pairs.reduce((sum, [x]) => sum + (x - minute) ** 2, 0);
}
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const warm = memory.slice(warmMs / memoryEveryMs);
const tenth = Math.ceil(warm.length / 10);
/** Judged only in a run of at least twice the warm-up time. */
const memoryThen =
  durationMs < 2 * warmMs
    ? { most: Math.max(...memory) }
    : {
        'after ten minutes': median(warm.slice(0, tenth)),
        'at the end': median(warm.slice(-tenth)),
        most: Math.max(...memory),
      };
const [firstReplica] = everyReplica;
const secondHalf = firstReplica.heaps.filter(({ minute }) => minute > durationMs / 120_000);
const heapGrowth = growthPerMinute(secondHalf.map(({ minute, heap }) => [minute, heap]));
const rounded = (value) => Math.round(value * 100) / 100;
/** Median heap and memory outside it, by minute. */
const heapByMinute = [];
for (let minute = 0; minute * 60_000 < durationMs; minute += 1) {
  const sampled = firstReplica.heaps.filter((sample) => Math.floor(sample.minute) === minute);
  if (sampled.length === 0) continue;
  const middle = (name) => rounded(median(sampled.map((sample) => sample[name])));
  heapByMinute.push(`${middle('heap')} ${middle('external')}`);
}
console.log(
  JSON.stringify(
    {
      minutes: (Date.now() - begun) / 60_000,
      ...counts,
      sent: cloud.asked.size,
      journal: tally([...journal.values()].flat()),
      answers: tally([...told.values()].flat().map(({ outcome, code }) => outcome ?? code)),
      'memory of the replica that ran all the time, MiB': memoryThen,
      'its heap after a collection and memory outside it, by minute, MiB': heapByMinute,
      'growth of its heap in the second half, MiB per minute': rounded(heapGrowth),
      'heap of the other replicas at their end, MiB': everyReplica
        .slice(1)
        .flatMap(({ heaps }) => heaps.at(-1)?.heap ?? [])
        .map(rounded),
      wrong: Object.fromEntries(Object.entries(wrong).map(([what, ids]) => [what, ids.length])),
    },
    null,
    2,
  ),
);
const first = Object.entries(wrong).find(([, ids]) => ids.length > 0);
if (first !== undefined) {
  const [id] = first[1];
  console.error(`${first[0]}: ${id}`, { asked: cloud.asked.get(id), journal: journal.get(id), told: mine(id) });
}
const grew = memoryThen['at the end'] > 1.1 * memoryThen['after ten minutes'];
if (grew) console.error('memory grew');
const heapGrew = durationMs >= 2 * warmMs && heapGrowth > mostHeapGrowth;
if (heapGrew) console.error('the heap grew');
const idle = cloud.asked.size < fewestChanges * Number(options.minutes);
if (idle) console.error('hardly anything was sent');
if (rebuilt() !== '') console.error(rebuilt());
store.remove();
process.exit(first === undefined && !grew && !heapGrew && !idle && rebuilt() === '' ? 0 : 1);

// Measures calls per second over HTTP, compared with a bare server (http-peer.mjs). Run it with
// npm run bench -- http [--rounds 5] [--seconds 3] [--json].
// Each call makes one request to the store on both sides. The two servers and the store are three processes, and the servers are
// called in turn. Only the ratios hold on other machines.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const milliseconds = Number(options.seconds) * 1000;
const version = '2025-06-18';
const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

const folder = mkdtempSync(join(tmpdir(), 'cloudops-bench-'));
const children = [];
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function run(args, env = {}) {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, XDG_STATE_HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  return child;
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Peak memory of a process in MiB; Linux only. */
const peakMemory = (pid) =>
  process.platform === 'linux'
    ? Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
    : Number.NaN;

/** CPU time of all threads of a process in milliseconds; Linux only. Other work on the machine hardly changes it. */
const cpuTime = (pid) =>
  process.platform === 'linux'
    ? readdirSync(`/proc/${pid}/task`)
        .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
        .reduce((sum, ms) => sum + ms, 0)
    : Number.NaN;

const callWith = (args) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'list_parts', arguments: { bucket: 'b', object: 'k', uploadId: 'u', ...args } },
  });

async function callOnce(url, dispatcher, body) {
  const { statusCode, body: answer } = await request(url, {
    method: 'POST',
    dispatcher,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
    },
    body,
  });
  const text = await answer.text();
  const { result, error } = statusCode === 200 ? JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text) : {};
  if (result === undefined || result.isError) throw new Error(`status ${statusCode}: ${JSON.stringify(error) ?? text}`);
}

/** Lets `clients` clients call without pauses for `forMs`. Returns the calls per second and the CPU milliseconds per call. */
async function load({ url, pid, call }, clients, forMs) {
  const dispatcher = new Agent({ connections: clients, pipelining: 1 });
  const begun = performance.now();
  const cpuBefore = cpuTime(pid);
  let count = 0;
  const client = async () => {
    while (performance.now() - begun < forMs) {
      await callOnce(url, dispatcher, call);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const elapsed = (performance.now() - begun) / 1000;
  await dispatcher.close();
  return { count, rate: count / elapsed, cpu: (cpuTime(pid) - cpuBefore) / count };
}

async function ready({ url, call }) {
  const dispatcher = new Agent();
  for (let attempt = 0; ; attempt += 1)
    try {
      await callOnce(url, dispatcher, call);
      return await dispatcher.close();
    } catch (error) {
      if (attempt > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/** Our server runs with the image's Node options from the image's Node version on. V8 has other defaults in earlier versions. */
const image = readFileSync(here('../Dockerfile'), 'utf8');
const [, imageNode] = /FROM node:(\d+)/.exec(image);
const [, imageOptions] = /NODE_OPTIONS=(\S+)/.exec(image);
const [, imageCommand] = /ENTRYPOINT (.+)/.exec(image);
const isOfImage = Number.parseInt(process.versions.node, 10) >= Number(imageNode);
const nodeOptions = isOfImage ? imageOptions : '';
const nodeArgs = isOfImage ? JSON.parse(imageCommand).filter((arg) => arg.startsWith('--')) : [];

const store = run([here('store.mjs')]);
const { value: storePort } = await createInterface({ input: store.stdout })[Symbol.asyncIterator]().next();
const endpoint = `http://127.0.0.1:${storePort}`;
const [ourPort, peerPort] = [await freePort(), await freePort()];
const ourArgs = ['http', '--port', String(ourPort)];
const start = (call, port, ...more) => {
  const { pid } = run(...more);
  return { pid, url: `http://127.0.0.1:${port}/mcp`, call };
};
const servers = {
  // Its default view, a summary, would make a second request.
  ours: start(callWith({ view: 'parts' }), ourPort, [...nodeArgs, here('../dist/main.js'), ...ourArgs], {
    CLOUDOPS_HTTP_RATE: '1000000',
    CLOUDOPS_LOG_LEVEL: 'warn',
    CLOUDOPS_STORAGE_HEADERS: 'amz',
    NODE_OPTIONS: nodeOptions,
    CLOUDOPS_STORAGE_URL: endpoint,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDBENCH',
    CLOUDOPS_SECRET_ACCESS_KEY: 'bench',
  }),
  peer: start(callWith({}), peerPort, [here('http-peer.mjs'), String(peerPort), endpoint]),
};

for (const server of Object.values(servers)) {
  await ready(server);
  // Warms up until the code is compiled and the heaps have grown.
  for (let count = 0; count < 3000; ) count += (await load(server, 8, milliseconds)).count;
}
const rows = [];
for (const clients of [1, 8, 64]) {
  const taken = { ours: [], peer: [] };
  for (let round = 0; round < rounds; round += 1)
    for (const [name, server] of Object.entries(servers)) taken[name].push(await load(server, clients, milliseconds));
  const figure = (field) => {
    const [ours, peer] = [taken.ours, taken.peer].map((list) => median(list.map((figures) => figures[field])));
    return { ours, peer, ratio: ours / peer };
  };
  rows.push({ clients, rate: figure('rate'), cpu: figure('cpu') });
}
const [ours, peer] = [servers.ours, servers.peer].map(({ pid }) => peakMemory(pid));
const memory = { ours, peer, ratio: ours / peer };

if (options.json) console.log(JSON.stringify({ node: process.version, rounds, rows, memory }, null, 2));
else {
  console.log(`Node ${process.version}, medians of ${rounds} rounds\n`);
  console.log('| what | ours | peer | ratio | goal |\n| --- | --- | --- | --- | --- |');
  const line = (what, { ours, peer, ratio }, goal) =>
    console.log(`| ${what} | ${ours.toFixed(1)} | ${peer.toFixed(1)} | ${ratio.toFixed(2)} | ${goal} |`);
  for (const { clients, rate, cpu } of rows) {
    line(`${clients} clients, calls per second`, rate, '≥ 1.5');
    line(`${clients} clients, ms of CPU per call`, cpu, '≤ 0.67');
  }
  line('peak memory, MiB', memory, '≤ 0.8');
}
process.exit();

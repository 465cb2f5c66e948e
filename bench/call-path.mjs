// Counts the files of src/ and the named functions that a warm call runs through, by V8's coverage. Run it with npm run bench --
// call-path [--list]. The server runs over stdio on its sandbox, and its client answers the question for a change.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundle } from '../scripts/bundle.mjs';
import writeSchemas from '../scripts/schemas.mjs';
import { linkPackages, unbundled } from '../scripts/source.mjs';

const { values: options } = parseArgs({ options: { list: { type: 'boolean' } } });
const root = fileURLToPath(new URL('..', import.meta.url));

/** Each call is made twice, and the second is counted. The arguments differ, because the server refuses to repeat a change. */
const calls = [
  {
    tool: 'list_parts',
    goal: { files: 40, functions: 200 },
    asks: 0,
    args: () => ({ bucket: 'demo-bucket', object: 'backups/2026/database.dump', uploadId: 'demo-upload-in-progress' }),
  },
  {
    tool: 'restore_instance',
    goal: { files: 55, functions: 260 },
    asks: 1,
    args: (count) => ({ backupId: 'demobackup0000000000000000000001', instanceId: `restored${count}` }),
  },
];

/** Runs in the server's process, and answers each message with the functions that ran since the message before it. */
const counter = `
  import { Session } from 'node:inspector/promises';
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  process.on('message', async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    process.send(result.filter(({ url }) => url.startsWith('file:')));
  });`;

const folder = mkdtempSync(join(tmpdir(), 'cloudops-call-path-'));
const program = join(folder, 'main.mjs');
linkPackages(folder);
await writeSchemas();
await bundle({
  input: join(root, 'src/main.ts'),
  platform: 'node',
  transform: { target: 'node20' },
  resolve: { mainFields: ['module', 'main'] },
  external: unbundled,
  output: { file: program, codeSplitting: false, sourcemap: true, sourcemapExcludeSources: true },
});

const code = readFileSync(program, 'utf8');
const map = new SourceMap(JSON.parse(readFileSync(`${program}.map`, 'utf8')));
const lineStarts = [0, ...[...code.matchAll(/\n/g)].map(({ index }) => index + 1)];

/** The file of src/ that an offset in the bundle comes from. */
function sourceAt(offset) {
  const line = lineStarts.findLastIndex((start) => start <= offset);
  const { generatedLine, originalSource } = map.findEntry(line, offset - lineStarts[line]);
  // Lines that rolldown adds between modules have no source.
  if (generatedLine !== line || !originalSource) return undefined;
  const path = relative(root, resolve(dirname(program), originalSource));
  return path.startsWith('src') ? path : undefined;
}

const settings = { CLOUDOPS_CONFIRM: 'ask', CLOUDOPS_LOG_LEVEL: 'warn' };
const env = { ...process.env, XDG_STATE_HOME: folder, XDG_CACHE_HOME: folder, ...settings };
const preload = ['--import', `data:text/javascript,${encodeURIComponent(counter)}`];
const server = spawn(process.execPath, [...preload, program, '--sandbox'], {
  env,
  stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
});
let questions = 0;
const quietMs = 250;
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
/** Sends a request and reads its answer. Agrees to a question that comes before the answer. */
async function ask(method, params) {
  send({ id: 1, method, params });
  for (;;) {
    const message = JSON.parse((await lines.next()).value);
    if (message.method === 'elicitation/create') await agree(message);
    else return check(message);
  }
}

/** The server refuses an answer that comes within a second, because no person reads that fast. */
const readMs = 1_200;

async function agree({ id, params }) {
  const [accept] = params.requestedSchema.properties.decision.enum;
  questions += 1;
  await new Promise((done) => setTimeout(done, readMs));
  send({ id, result: { action: 'accept', content: { decision: accept } } });
}

function check({ result, error }) {
  if (error !== undefined || result.isError) throw new Error(JSON.stringify(error ?? result.content));
}

/** The functions of src/ that ran since the last call of this function. */
async function ranSince() {
  const answer = new Promise((done) => server.once('message', done));
  server.send('count');
  return (await answer)
    .flatMap(({ functions }) => functions)
    .filter(({ functionName, ranges: [{ count }] }) => functionName !== '' && count > 0)
    .flatMap(({ functionName, ranges: [{ startOffset }] }) => {
      const file = sourceAt(startOffset);
      return file === undefined ? [] : [{ file, functionName }];
    });
}

/** Waits until no function of src/ has run for `quietMs`, so that background work of an earlier call is not counted. */
async function backgroundDone() {
  for (let attempt = 0; attempt < 40; attempt += 1) {
    await new Promise((done) => setTimeout(done, quietMs));
    if ((await ranSince()).length === 0) return;
  }
  throw new Error('The server does not come to rest.');
}

const clientInfo = { name: 'call-path', version: '1' };
await ask('initialize', { protocolVersion: '2025-06-18', capabilities: { elicitation: {} }, clientInfo });
send({ method: 'notifications/initialized' });
for (const { tool, goal, args, asks } of calls) {
  await ask('tools/call', { name: tool, arguments: args(1) });
  await backgroundDone();
  questions = 0;
  await ask('tools/call', { name: tool, arguments: args(2) });
  const ran = await ranSince();
  if (questions !== asks) throw new Error(`${tool} asked ${questions} questions.`);
  const files = new Set(ran.map(({ file }) => file));
  console.log(
    `${tool}: ${files.size} files (goal ${goal.files}), ${ran.length} named functions (goal ${goal.functions})`,
  );
  if (options.list)
    for (const file of [...files].sort()) {
      const names = ran.filter((each) => each.file === file).map(({ functionName }) => functionName);
      console.log(`  ${file} (${names.length}): ${names.join(', ')}`);
    }
}
server.kill('SIGKILL');
rmSync(folder, { recursive: true });

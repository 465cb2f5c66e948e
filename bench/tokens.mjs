// Counts the tokens of a change that waits for a person on the page: for a client with tasks, and for one that calls get_change again and
// again. One call of get_change waits for real, 25 seconds; the others of the time are taken to be like it. Run it with
// npm run bench -- tokens [--minutes 2].
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '2' } } });
const waitMs = Number(values.minutes) * 60_000;
const pollMs = 25_000;

const folder = mkdtempSync(join(tmpdir(), 'cloudops-tokens-'));
const line = (name, scope = '') => `${name} ${createHash('sha256').update(name).digest('hex')} ${scope}\n`;
writeFileSync(join(folder, 'tokens'), line('alice') + line('bob', 'cloudops:approve'));
const server = spawn(
  process.execPath,
  [fileURLToPath(new URL('../dist/main.js', import.meta.url)), 'http', '--port', '0', '--sandbox'],
  {
    env: {
      PATH: process.env.PATH,
      CLOUDOPS_CONFIRM: 'approval',
      CLOUDOPS_HTTP_TOKENS_FILE: join(folder, 'tokens'),
      CLOUDOPS_HTTP_PUBLIC_URL: 'https://cloudops.example.com',
      CLOUDOPS_STATE_KEY: 'k'.repeat(32),
      CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
      XDG_CACHE_HOME: folder,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  },
);

const origin = await new Promise((resolve, reject) => {
  createInterface(server.stderr).on('line', (text) => {
    const { event, port } = text.startsWith('{') ? JSON.parse(text) : {};
    if (event === 'listening') resolve(`http://127.0.0.1:${port}`);
  });
  server.once('exit', () => reject(new Error('The server ended.')));
});

let id = 0;
/** A request of protocol 2026-07-28, as alice. */
async function ask(method, params, extensions = {}) {
  id += 1;
  const inEnvelope = (name) => `io.modelcontextprotocol/${name}`;
  const _meta = {
    [inEnvelope('protocolVersion')]: '2026-07-28',
    [inEnvelope('clientInfo')]: { name: 'bench', version: '1' },
    [inEnvelope('clientCapabilities')]: { extensions },
  };
  const response = await fetch(`${origin}/mcp`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer alice',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...('tools/list' !== method && { 'mcp-name': params.name ?? params.taskId }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
  });
  const text = await response.text();
  const data = /^data: (.*"result".*)$/m.exec(text)?.[1] ?? text;
  const { result, error } = JSON.parse(data);
  if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  return result;
}
const textOf = ({ content }) => content.map(({ text }) => text).join('\n');

/** Bob agrees to a plan on the page. */
async function agree(changeId) {
  const headers = { origin: 'https://cloudops.example.com' };
  const signIn = await fetch(`${origin}/decisions/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers,
    body: new URLSearchParams({ token: 'bob' }),
  });
  const cookie = signIn.headers
    .getSetCookie()
    .map((set) => set.split(';')[0])
    .join('; ');
  const page = await (await fetch(`${origin}/decisions/${changeId}/`, { headers: { cookie } })).text();
  const [, csrf = ''] = /name="csrf-token" content="([^"]+)"/.exec(page) ?? [];
  // A person reads for more than a second.
  await delay(1500);
  const clicked = await fetch(`${origin}/decisions/${changeId}/tool`, {
    method: 'POST',
    headers: { ...headers, cookie, 'x-csrf-token': csrf, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'decide_change', arguments: { ticket: changeId, decision: 'accept' } }),
  });
  if (!clicked.ok) throw new Error(`The page answered ${clicked.status}: ${await clicked.text()}`);
}

const restore = (instanceId) => ({
  name: 'restore_instance',
  arguments: { backupId: 'demobackup0000000000000000000001', instanceId },
});
const written = (call) => countTokens(JSON.stringify(call));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** A message of the model, and what it reads next. */
const turn = (call, text) => ({ writes: call === undefined ? 0 : written(call), reads: countTokens(text) });

/** The tokens that a conversation adds, and those of all requests if each one sends the whole conversation again. */
function costs(turns, base) {
  let context = base;
  let sent = 0;
  for (const { writes, reads } of turns) {
    sent += context + writes;
    context += writes + reads;
  }
  // The last request, in which the model reports the outcome.
  return { added: sum(turns.map(({ writes, reads }) => writes + reads)), sent: sent + context };
}

try {
  const tools = countTokens(JSON.stringify((await ask('tools/list', {})).tools));

  const planCall = restore('with-polls');
  const plan = textOf(await ask('tools/call', planCall));
  const [, changeId] = /^changeId: (.+)$/m.exec(plan) ?? [];
  const get = { name: 'get_change', arguments: { changeId } };
  const begun = performance.now();
  const waiting = textOf(await ask('tools/call', get));
  const tookMs = performance.now() - begun;
  if (tookMs < pollMs - 1000) throw new Error(`get_change waited ${Math.round(tookMs)} ms.`);
  await agree(changeId);
  const ended = textOf(await ask('tools/call', get));
  const polls = Math.ceil(waitMs / pollMs);
  const polling = [
    turn(planCall, plan),
    ...Array.from({ length: polls - 1 }, () => turn(get, waiting)),
    turn(get, ended),
  ];

  const taskCall = restore('with-tasks');
  const task = await ask('tools/call', taskCall, { 'io.modelcontextprotocol/tasks': {} });
  if (task.resultType !== 'task') throw new Error('The call became no task.');
  await agree(task.taskId);
  const done = await ask('tasks/get', { taskId: task.taskId }, { 'io.modelcontextprotocol/tasks': {} });
  const note = task._meta['com.anthropic/agent-task'].modelImmediateResponse;
  const tasks = [turn(taskCall, note), turn(undefined, textOf(done.result))];

  const [polled, asTask] = [costs(polling, tools), costs(tasks, tools)];
  // What the wait itself costs: everything between the call and its outcome.
  const waits = (all, without) => all.added - without;
  const both = [written(planCall) + countTokens(ended), written(taskCall) + countTokens(textOf(done.result))];
  const rows = [
    ['the wait alone', waits(polled, both[0]), waits(asTask, both[1])],
    ['the change with its outcome', polled.added, asTask.added],
    ['all requests of the model, each with tools and conversation', polled.sent, asTask.sent],
  ];
  console.log(
    `A change that a person decides on after ${values.minutes} minutes: ${polls} calls of get_change, or a task\n`,
  );
  console.log('| tokens (o200k) | with get_change | as a task | |\n|---|---|---|---|');
  for (const [what, before, after] of rows)
    console.log(
      `| ${what} | ${before.toLocaleString('en')} | ${after.toLocaleString('en')} | ${Math.round((after / before) * 100)} % |`,
    );
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { seededUpload } from '../../sandbox/sandbox.js';
import { toolArguments } from '../../src/mcp/server-tools.js';
import { toolListSchema, toolSchemas } from '../../src/mcp/tool-schemas.js';
import { operations } from '../../src/tools/index.js';
import { changedTimers } from '../support/changed-timers.js';
import { isAlive } from '../support/is-alive.js';
import { allNames, exampleCalls, offeredBy, sandboxPolicy } from '../support/operations.js';
import { startRaw } from '../support/raw-client.js';
import { cleanEnv, commandOf, runServer, serverPath } from '../support/server-process.js';

/** Real clients of both lines of the SDK, over real stdio, against the built server. */

interface AnyClient {
  listTools(): Promise<{ tools: { name: string; inputSchema?: object; outputSchema?: object | undefined }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<{
    content?: unknown;
    structuredContent?: unknown;
    isError?: unknown;
  }>;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

const info = { name: 'test', version: '1' };
const spawnOptions = (words: readonly string[]) => {
  const { args, variables } = commandOf(words);
  return {
    command: process.execPath,
    args: [serverPath, ...args],
    env: cleanEnv(variables),
    stderr: 'ignore' as const,
  };
};

const connectV2 = async (args: readonly string[], mode: 'legacy' | 'auto' | { pin: string }, era: string) => {
  const client = new ClientV2(info, { versionNegotiation: { mode } });
  await client.connect(new StdioV2(spawnOptions(args)));
  expect(client.getProtocolEra()).toBe(era);
  return client as AnyClient;
};

const clients: readonly [string, (args: readonly string[]) => Promise<AnyClient>][] = [
  [
    'SDK 1.x',
    async (args) => {
      const client = new ClientV1(info);
      await client.connect(new StdioV1(spawnOptions(args)));
      return client as AnyClient;
    },
  ],
  ['SDK 2.x, legacy', (args) => connectV2(args, 'legacy', 'legacy')],
  ['SDK 2.x, auto', (args) => connectV2(args, 'auto', 'modern')],
  ['SDK 2.x, pinned to 2026-07-28', (args) => connectV2(args, { pin: '2026-07-28' }, 'modern')],
];

const text = (result: { content?: unknown }) => (result.content as { text: string }[])[0]?.text ?? '';

describe.each(clients)('%s', (_name, connect) => {
  test('lists all tools, and the example of each succeeds', async () => {
    const client = await connect(['--sandbox', 'CLOUDOPS_CONFIRM=off', `CLOUDOPS_TOOLS=${allNames}`]);
    try {
      const { tools } = await client.listTools();
      const { get_change, withdraw_change } = toolArguments();
      expect(
        tools.map(({ inputSchema, outputSchema }) => ({ input: inputSchema, output: outputSchema })),
      ).toMatchObject([
        ...operations.map(toolSchemas),
        // With CLOUDOPS_CONFIRM=off, no plan waits for confirm_change.
        ...[get_change, withdraw_change].map((schema) => ({ input: toolListSchema(schema), output: undefined })),
      ]);
      const results = [];
      for (const call of exampleCalls) results.push(await client.callTool(call));
      expect(results.map(({ isError }) => isError ?? false)).toEqual(operations.map(() => false));
      expect(results.map(({ structuredContent }) => structuredContent)).toMatchObject(
        operations.map(({ effect }) => (effect === 'read' ? { answer: {} } : { outcome: 'accepted', answer: {} })),
      );
      for (const [index, { structuredContent }] of results.entries()) {
        const validateOutput = new Ajv2020().compile(tools[index]?.outputSchema ?? false);
        expect(validateOutput(structuredContent), JSON.stringify(validateOutput.errors)).toBe(true);
      }
    } finally {
      await client.close();
    }
  });

  test('offers no tool without any configuration, and says what is missing', async () => {
    const client = await connect([]);
    try {
      expect((await client.listTools()).tools).toEqual([]);
      expect(client.getInstructions()).toMatch(
        /^No tool is offered\. .*CLOUDOPS_STORAGE_URL.*CLOUDOPS_SANDBOX=1.*`cloudops-mcp doctor`/,
      );
      const result = await client.callTool({
        name: 'list_parts',
        arguments: { bucket: 'b', object: 'o', uploadId: 'u' },
      });
      expect(result.isError).toBe(true);
      for (const name of ['STORAGE_URL', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY'])
        expect(text(result)).toContain(`CLOUDOPS_${name} is not set`);
    } finally {
      await client.close();
    }
  });

  test('a wrong call is a readable tool error, not a protocol error', async () => {
    const client = await connect(['--sandbox', 'CLOUDOPS_CONFIRM=off']);
    try {
      const invalid = await client.callTool({ name: 'list_parts', arguments: { bucket: 'b', uploadId: 'u', max: 1 } });
      expect(invalid.isError).toBe(true);
      expect(text(invalid)).toMatch(/object: is required[\s\S]*max: is not an argument;.* maxParts\?/);
      const refused = await client.callTool({ name: 'list_parts', arguments: { ...lookup, uploadId: 'unknown' } });
      expect(text(refused)).toMatch(/NoSuchUpload[\s\S]*status: 404[\s\S]*next: The upload was completed or aborted/);
    } finally {
      await client.close();
    }
  });

  test('with READ_ONLY only the reading tools are on offer, and the tool that reads earlier changes', async () => {
    const client = await connect(['--sandbox', 'CLOUDOPS_READ_ONLY=1']);
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
        ...offeredBy({ ...sandboxPolicy, readOnly: true }).map(({ name }) => name),
        'get_change',
      ]);
    } finally {
      await client.close();
    }
  });
});

const lookup = { bucket: seededUpload.bucket, object: seededUpload.key };

const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const initialize = line({
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: info },
});
const initialized = line({ method: 'notifications/initialized' });
const callLine = (id: number, args: object) =>
  line({ id, method: 'tools/call', params: { name: 'list_parts', arguments: args } });

test('stdout carries protocol messages and nothing else, at the highest log level and with garbage on stdin', async () => {
  const stdin = `${initialize}${initialized}not json\n{"jsonrpc":"2.0"}\n\u0000\n${callLine(2, { ...lookup, uploadId: 'x' })}${callLine(3, {})}`;
  const run = await runServer(['--sandbox', 'CLOUDOPS_LOG_LEVEL=debug'], {
    stdin,
    until: /"id":3[\s\S]*"id":2|"id":2[\s\S]*"id":3/,
  });
  for (const message of run.stdout.trimEnd().split('\n')) expect(JSON.parse(message)).toMatchObject({ jsonrpc: '2.0' });
  for (const event of run.stderr.trimEnd().split('\n')) expect(JSON.parse(event)).toHaveProperty('event');
  expect(run.code).toBe(0);
});

test.each([
  ['as the name of a field', `{"jsonrpc":"2.0","id":7,"method":"ping","-----BEGIN PRIVATE KEY-----MARKER":1}`],
  ['as the text', `{"jsonrpc":"2.0","id":"-----BEGIN PRIVATE KEY-----MARKER","method":7}`],
])('a private key %s of a message does not reach the log', async (_what, message) => {
  const run = await runServer(['--sandbox', 'CLOUDOPS_LOG_LEVEL=debug'], {
    stdin: `${initialize}${initialized}${message}\n${line({ id: 8, method: 'ping' })}`,
    until: /"id":8/,
  });
  expect(run.stdout).toContain('"id":8');
  expect(run.stderr).not.toContain('MARKER');
});

/**
 * Whatever the server could wait for takes 30 seconds or more with these timers. Starting and ending a process takes a part of that on a busy
 * machine.
 */
const waitedForNothingMs = 25_000;
const patient = changedTimers({ 10000: 100_000 });

test.each([
  ['idle', initialize + initialized, /"id":1/],
  ['before anything was said', '', /^/],
  [
    'after a call',
    `${initialize}${initialized}${callLine(2, { ...lookup, uploadId: seededUpload.uploadId })}`,
    /"id":2/,
  ],
])('when stdin ends (%s), the process ends and waits for nothing', async (_when, stdin, until) => {
  const run = await runServer(['--sandbox'], { stdin, until, env: patient });
  expect(run.code).toBe(0);
  expect(run.endedAfterMs).toBeLessThan(waitedForNothingMs);
});

test('a call that hangs does not keep the process when stdin ends', async () => {
  const { startServer } = await import('../support/http-server.js');
  const hanging = await startServer(() => undefined);
  const env = {
    CLOUDOPS_STORAGE_URL: hanging.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'test',
    ...patient,
  };
  const list = line({ id: 3, method: 'ping' });
  const run = await runServer([], {
    env,
    stdin: `${initialize}${initialized}${callLine(2, { ...lookup, uploadId: 'x' })}${list}`,
    until: /"id":3/,
  });
  expect(run.endedAfterMs).toBeLessThan(waitedForNothingMs);
  await hanging.close();
});

test.each([
  ['a read of a cloud that hangs', 'list_parts', [], (_said: string, requests: number) => requests > 0],
  ['a question that is open', 'restore_instance', ['--sandbox'], (said: string) => said.includes('elicitation/create')],
])('%s does not keep the process on SIGTERM', async (_what, name, args, isUnderWay) => {
  const { startServer } = await import('../support/http-server.js');
  const hanging = await startServer(() => undefined);
  const env = {
    CLOUDOPS_STORAGE_URL: hanging.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'test',
    CLOUDOPS_CONFIRM: 'human',
    ...patient,
  };
  const child = spawn(process.execPath, [serverPath, ...args], { env: cleanEnv(env), stdio: 'pipe' });
  const ended = once(child, 'exit');
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  const example = operations.find((operation) => operation.name === name)?.example;
  const params = { protocolVersion: '2025-06-18', capabilities: { elicitation: {} }, clientInfo: info };
  child.stdin.write(line({ id: 1, method: 'initialize', params }) + initialized);
  child.stdin.write(line({ id: 2, method: 'tools/call', params: { name, arguments: example } }));
  await expect.poll(() => isUnderWay(said, hanging.requests.length)).toBe(true);
  const asked = Date.now();
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(Date.now() - asked).toBeLessThan(waitedForNothingMs);
  await hanging.close();
});

test('a program that is asked for keys and hangs does not keep the process when stdin ends, and ends with it', async () => {
  const pidFile = join(mkdtempSync(join(tmpdir(), 'cloudops-program-')), 'pid');
  const code = 'require("node:fs").writeFileSync(process.argv[1], String(process.pid)); setInterval(() => {}, 1000)';
  const env = {
    CLOUDOPS_STORAGE_URL: 'http://127.0.0.1:1',
    CLOUDOPS_CREDENTIAL_PROCESS: JSON.stringify([process.execPath, '-e', code, pidFile]),
    ...patient,
  };
  const child = spawn(process.execPath, [serverPath], { env: cleanEnv(env), stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = once(child, 'exit');
  child.stdin.write(`${initialize}${initialized}${callLine(2, { ...lookup, uploadId: 'x' })}`);
  await expect.poll(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8')).toBeTruthy();
  const asked = Date.now();
  child.stdin.end();
  expect(await ended).toEqual([0, null]);
  expect(Date.now() - asked).toBeLessThan(waitedForNothingMs);
  const pid = Number(readFileSync(pidFile, 'utf8'));
  await expect.poll(() => isAlive(pid)).toBe(false);
  rmSync(dirname(pidFile), { recursive: true });
});

test.each([
  [
    ['--region', 'x', '--sandbx'],
    {},
    [/--region is not an option: set CLOUDOPS_REGION\./, /--sandbx is not an option;.* --sandbox\?/],
  ],
  [
    [],
    { CLOUDOPS_REGOIN: 'x', CLOUDOPS_TIMEOUT_MS: 'soon' },
    [/CLOUDOPS_REGOIN is not a setting;\s.*\sCLOUDOPS_REGION\?/s, /CLOUDOPS_TIMEOUT_MS is "soon"/],
  ],
])(
  'a wrong configuration is explained on stderr, all of it, and nothing starts: %j %j',
  async (args, env, messages) => {
    const run = await runServer(args, { env });
    expect(run.code).toBe(2);
    expect(run.stdout).toBe('');
    for (const message of messages) expect(run.stderr).toMatch(message);
  },
);

test('mcp.json starts the server on the sandbox', async () => {
  const { mcpServers } = JSON.parse(readFileSync('mcp.json', 'utf8'));
  const { command, args, env } = mcpServers.cloudops;
  const client = new ClientV2(info);
  await client.connect(new StdioV2({ command, args, env: { ...cleanEnv(), ...env }, stderr: 'ignore' }));
  const result = await client.callTool({
    name: 'list_parts',
    arguments: { ...lookup, uploadId: seededUpload.uploadId },
  });
  expect(result.isError ?? false).toBe(false);
  await client.close();
});

test('a call with an argument that the SDK drops is answered with an error, also if it comes in pieces', async () => {
  const server = startRaw({ CLOUDOPS_SANDBOX: 'true' });
  const toolCall = (text: string) => ({ method: 'tools/call', params: JSON.parse(text) });
  const padding = 'p'.repeat(300_000);
  for (const [id, size] of [
    [2, 0],
    [3, 300_000],
  ] as const) {
    server.send({
      id,
      ...toolCall(
        `{"name":"get_metadata","arguments":{"padding":"${padding.slice(0, size)}","__proto__":{"bucket":"b"}}}`,
      ),
    });
    expect(await server.response(id)).toMatchObject({
      error: { code: -32602, message: '__proto__: is not an argument.' },
    });
  }
  server.child.stdin.end();
  await server.ended;
  expect(server.child.exitCode).toBe(0);
});

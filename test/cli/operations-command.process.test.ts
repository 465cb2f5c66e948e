import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { changeToolNames } from '../../src/mcp/server-tools.js';
import { http, member, smallModelJson } from '../models/small-model.js';
import { startServer } from '../support/http-server.js';
import { printedChanges } from '../support/journal.js';
import { cleanEnv, runServer, serverPath } from '../support/server-process.js';
import { changeThing, getThing, thingsFile } from '../support/things.js';

const folder = mkdtempSync(join(tmpdir(), 'cloudops-own-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Fails if two tests give their files the same name. */
function written(name: string, source: string): string {
  const path = join(folder, name);
  writeFileSync(path, source, { flag: 'wx' });
  return path;
}

const things = thingsFile(folder, 'things');
const rows = z.array(z.object({ name: z.string(), tokens: z.int(), arguments: z.array(z.string()) }));

test('all tools are listed, with what each costs a model', async () => {
  const apis = ['STORAGE', 'CATALOG', 'DEVOPS', 'ENDPOINT_THINGS'].map((api) => [
    `CLOUDOPS_${api}_URL`,
    'https://api.test.invalid',
  ]);
  const keys = { CLOUDOPS_ACCESS_KEY_ID: 'a', CLOUDOPS_SECRET_ACCESS_KEY: 'b' };
  const settings = { CLOUDOPS_OPERATIONS: things, CLOUDOPS_STORAGE_HEADERS: 'amz' };
  const env = { ...cleanEnv(), ...settings, ...Object.fromEntries(apis), ...keys };
  const { stdout } = await runServer(['operations', '--json'], { env });
  const listed = rows.parse(JSON.parse(stdout));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [serverPath], env }));
  const { tools } = await client.listTools();
  await client.close();
  const ofChanges = tools.filter(({ name }) => changeToolNames.includes(name));
  const ofOperations = tools.filter((tool) => !ofChanges.includes(tool));
  expect(listed.map(({ name }) => name)).toEqual(ofOperations.map(({ name }) => name));
  expect(listed.at(-1)).toMatchObject({ name: 'get_thing', arguments: ['id', '[fields]'] });
  for (const tool of ofOperations) {
    const { tokens = 0 } = listed.find(({ name }) => name === tool.name) ?? {};
    const { annotations: _, ...read } = tool;
    expect(tokens / encode(JSON.stringify(read)).length, tool.name).toBeGreaterThan(0.8);
    expect(tokens / encode(JSON.stringify(read)).length, tool.name).toBeLessThan(1.25);
  }
});

test('only tools whose API is configured are listed, with what to set for the others', async () => {
  const env = {
    CLOUDOPS_STORAGE_URL: 'https://storage.test.invalid',
    CLOUDOPS_STORAGE_HEADERS: 'amz',
    CLOUDOPS_ACCESS_KEY_ID: 'a',
    CLOUDOPS_SECRET_ACCESS_KEY: 'b',
  };
  const named = async (more: Record<string, string>) => {
    const { stdout, stderr } = await runServer(['operations', '--json'], { env: { ...env, ...more } });
    return { names: rows.parse(JSON.parse(stdout)).map(({ name }) => name), stderr };
  };
  const storage = ['list_parts', 'list_multipart_uploads', 'abort_multipart_upload'];
  const { names, stderr } = await named({});
  expect(names.length).toBeLessThan((await named({ CLOUDOPS_SANDBOX: '1' })).names.length);
  expect(names).toEqual(expect.arrayContaining(storage));
  expect(names).not.toContain('restore_instance');
  expect(stderr).toMatch(/^\d tools left out\. To offer all, set CLOUDOPS_[A-Z]+_URL, CLOUDOPS_[A-Z]+_URL\.\n$/);
  // What the settings forbid is not advertised.
  expect(await named({ CLOUDOPS_TOOLS: 'list_parts' })).toEqual({ names: ['list_parts'], stderr: '' });
});

describe('check', () => {
  const check = (path: string, env = {}) => runServer(['operations', 'check', path], { env });

  test('counts the operations of a file', async () => {
    const { code, stdout } = await check('examples/operations/storage.operations.json');
    expect(stdout).toContain('operations: 5, problems: 0');
    expect(code).toBe(0);
  });

  test('and the start say that a deletion is declared as another change', async () => {
    const path = thingsFile(folder, 'deletion', { DeleteThing: { effect: 'alter', costsMoney: false } });
    const note = 'DeleteThing looks like a deletion, but is declared as alter';
    const { code, stdout } = await check(path);
    expect(stdout).toContain(`note  ${note}`);
    expect(code).toBe(0);
    const { stderr } = await runServer([], { env: { CLOUDOPS_OPERATIONS: path } });
    expect(stderr).toContain(`warning: CLOUDOPS_OPERATIONS: ${note}`);
  });

  test('reads a folder, and names the read to which an extended built-in change leads', async () => {
    const both = join(folder, 'both');
    thingsFile(both, 'change', changeThing({ follow: { read: 'get_thing', arguments: { id: 'input.id' } } }));
    const follow = { read: 'get_thing', arguments: { id: 'input.instanceId' } };
    thingsFile(both, 'read', getThing, { extend: { restore_instance: { follow } } });
    const { code, stdout } = await check(both);
    expect(stdout).toMatch(/^restore_instance: leads to "get_thing"\n\noperations: 3, problems: 0$/m);
    expect(code).toBe(0);
  });

  test('says which patterns of a model are left to the cloud', async () => {
    const pattern = { 'smithy.api#pattern': '^(a+)+$' };
    const model = smallModelJson(
      { ListKeys: { input: { Prefix: 'small#Prefix' }, traits: http('GET', '/keys') } },
      { 'small#Prefix': { type: 'string', traits: pattern } },
    );
    written('patterns.json', JSON.stringify(model));
    const operations = { ListKeys: { effect: 'read' } };
    const file = { model: './patterns.json', api: 'keys', prefix: 'keys', operations };
    const path = written('patterns.operations.json', JSON.stringify(file));
    const { code, stdout } = await runServer(['operations', 'check', path]);
    expect(stdout).toMatch(/^note {2}The pattern of Prefix is left to the cloud, because it repeats a group\./m);
    expect(code).toBe(0);
  });

  test.each<[what: string, shape: object]>([
    ['a pattern', { type: 'string', traits: { 'smithy.api#pattern': '^key-[0-9]$' } }],
    [
      'a set',
      {
        type: 'list',
        member: { target: 'smithy.api#String' },
        traits: { 'smithy.api#length': { min: 2 }, 'smithy.api#uniqueItems': {} },
      },
    ],
  ])('makes up no example for %s, though the operation can be called', async (what, shape) => {
    const name = what.replace('a ', 'no-example-for-');
    const model = smallModelJson(
      { GetKey: { input: { Id: member('small#Id', { required: {} }) }, traits: http('POST', '/keys') } },
      { 'small#Id': shape },
    );
    written(`${name}.json`, JSON.stringify(model));
    const operations = { GetKey: { effect: 'read' } };
    const file = { model: `./${name}.json`, api: 'keys', prefix: 'keys', operations };
    const path = written(`${name}.operations.json`, JSON.stringify(file));
    const { code, stdout } = await runServer(['operations', 'check', path]);
    expect(stdout).toMatch(/^operations: 1, problems: 0$/m);
    expect(code).toBe(0);
    const help = await runServer(['call', 'keys_get_key', '--help', `CLOUDOPS_OPERATIONS=${path}`]);
    expect(help.stdout).toContain('Id');
    expect(help.stdout).not.toContain('An example');
    expect(help.stdout).not.toContain("keys_get_key '");
  });

  test('passes for a draft, which says on stderr what it leaves out and what a person has to decide', async () => {
    const host = member('String', { required: {}, hostLabel: {} });
    const model = smallModelJson({
      CreateKey: { traits: http('POST', '/keys') },
      GetKey: { input: { Place: host }, traits: http('GET', '/keys') },
      InvokeKey: { traits: http('POST', '/keys/invoke') },
    });
    const modelFile = written('drafted.json', JSON.stringify(model));
    const draft = (...names: readonly string[]) => runServer(['operations', 'draft', modelFile, ...names]);
    const { code, stdout, stderr } = await draft();
    expect(code).toBe(0);
    expect(stderr).toMatch(/^left out: GetKey: its argument Place is a part of the host, .*\.$/m);
    expect(stderr).toMatch(/^to decide: the effect of InvokeKey, which is drafted as alter, because .*\.$/m);
    expect(await draft('--operations', 'all')).toMatchObject({ stdout, stderr });
    const { model: _, ...file } = JSON.parse(stdout);
    const path = written('drafted.operations.json', JSON.stringify({ model: './drafted.json', ...file }));
    expect(await check(path)).toMatchObject({ code: 0, stdout: expect.stringContaining('operations: 2, problems: 0') });
    expect(await draft('--operations', 'CreateKy')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('CreateKey'),
    });
  });
});

/** Code with which a process prints, and throws in a timer while a change is under way. */
const littering = `
  import http from 'node:http';
  const { subscribe } = await import('node:diagnostics_channel');
  subscribe('undici:client:sendHeaders', () => setTimeout(() => { throw new Error('of a timer'); }, 300));`;

/** A cloud that takes a second, and a server in which meanwhile a timer throws. */
async function slowChange(name: string) {
  const server = await startServer(async (_request, response) => {
    await sleep(1000);
    response.end('{}');
  });
  const env = {
    ...cleanEnv(),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(littering)}`,
    CLOUDOPS_OPERATIONS: thingsFile(folder, name, changeThing()),
    CLOUDOPS_ENDPOINT_THINGS_URL: server.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'secret',
    CLOUDOPS_CONFIRM: 'off',
    CLOUDOPS_JOURNAL: join(folder, `${name}.jsonl`),
  };
  const outcomes = async () => {
    const { stdout } = await runServer(['journal', '--json'], { env });
    return printedChanges(stdout).map(({ state }) => state);
  };
  return { server, env, outcomes };
}

describe('a server with operations of its own', () => {
  test('ends after its running changes when a timer throws, and prints only messages of the protocol', async () => {
    const { server, env, outcomes } = await slowChange('littering-change');
    const transport = new StdioClientTransport({ command: process.execPath, args: [serverPath], env, stderr: 'pipe' });
    const client = new Client({ name: 'test', version: '1' });
    const faults: Error[] = [];
    client.onerror = (error) => faults.push(error);
    const closed = new Promise<void>((resolve) => {
      client.onclose = resolve;
    });
    await client.connect(transport);
    const result = client.callTool({ name: 'change_thing', arguments: { id: 'b' } }).catch(() => undefined);
    await closed;
    await result;
    expect(faults).toEqual([]);
    expect(await outcomes()).toEqual(['accepted']);
    await server.close();
  });

  test('and the command that calls a tool tells the outcome when a timer throws', async () => {
    const { server, env, outcomes } = await slowChange('littering-call');
    const { code, stdout, stderr } = await runServer(['call', 'change_thing', '{"id": "b"}', '--yes'], { env });
    expect(stderr).toContain('warning: an error that nothing caught (Error); the call goes on.');
    expect(stderr).not.toContain('of a timer');
    expect([code, stdout]).toEqual([0, expect.stringContaining('was accepted')]);
    expect(await outcomes()).toEqual(['accepted']);
    await server.close();
  });

  test('calls them at their own endpoint', async () => {
    const server = await startServer((_request, response) => response.end('{"name": "thing"}'));
    const env = {
      CLOUDOPS_OPERATIONS: things,
      CLOUDOPS_ENDPOINT_THINGS_URL: server.origin,
      CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
      CLOUDOPS_SECRET_ACCESS_KEY: 'secret',
      CLOUDOPS_TOOLS: 'get_thing',
    };
    const { code, stdout, stderr } = await runServer(['call', 'get_thing', '{"id": "a b"}'], { env });
    expect(stdout, stderr).toContain('"thing"');
    expect(server.requests).toMatchObject([{ url: '/things/a%20b' }]);
    expect(code).toBe(0);
    await server.close();
  });

  test('calls them for each account at the endpoint that the accounts file gives', async () => {
    const answering = (name: string) => startServer((_request, response) => response.end(JSON.stringify({ name })));
    const [shared, own] = [await answering('shared'), await answering('own')];
    const accounts = { a: {}, b: { endpoints: { things: own.origin } } };
    const env = {
      CLOUDOPS_OPERATIONS: things,
      CLOUDOPS_ACCOUNTS_FILE: written('accounts.json', JSON.stringify({ accounts })),
      CLOUDOPS_ENDPOINT_THINGS_URL: shared.origin,
      CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
      CLOUDOPS_SECRET_ACCESS_KEY: 'secret',
    };
    for (const account of ['a', 'b'])
      expect(await runServer(['call', 'get_thing', '{"id": "1"}', '--account', account], { env })).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(account === 'a' ? 'shared' : 'own'),
      });
    expect([shared.requests.length, own.requests.length]).toEqual([1, 1]);
    await Promise.all([shared.close(), own.close()]);
  });

  test.each([
    [
      'a file of code',
      written('throws.mjs', "throw new Error('no network');"),
      // An endpoint of an operation that could not be loaded is not called unknown.
      { CLOUDOPS_ENDPOINT_THINGS_URL: 'https://example.com' },
      /^cloudops-mcp cannot start: CLOUDOPS_OPERATIONS: throws\.mjs: only JSON files are read, with the path of a model/m,
    ],
    [
      'a file that is no JSON',
      written('syntax.json', '{"model": "./a.json",}'),
      {},
      /syntax\.json: it is not JSON: ".* in JSON at position \d+/m,
    ],
    [
      'a file that is not there',
      join(folder, 'none.mjs'),
      {},
      /none\.mjs" cannot be read \(ENOENT: there is no such file\)/,
    ],
    [
      'an endpoint that is none',
      things,
      { CLOUDOPS_ENDPOINT_THINGS_URL: 'ftp://x' },
      /CLOUDOPS_ENDPOINT_THINGS_URL is not usable: it must begin with https/,
    ],
    [
      'plain http to others',
      things,
      { CLOUDOPS_ENDPOINT_THINGS_URL: 'http://example.com' },
      /CLOUDOPS_ENDPOINT_THINGS_URL is not usable: plain http/,
    ],
    [
      'an endpoint of no service',
      things,
      { CLOUDOPS_ENDPOINT_THING_URL: 'https://example.com' },
      /CLOUDOPS_ENDPOINT_THING_URL is not a setting;.* CLOUDOPS_ENDPOINT_THINGS_URL\?/,
    ],
    [
      'a tool that is none',
      things,
      { CLOUDOPS_TOOLS: 'get_thin' },
      /names "get_thin", which is not a tool; the tools are .*get_thing/,
    ],
  ])('does not start with %s, and says so without a stack', async (_what, path, more, problem) => {
    const { code, stderr } = await runServer([], { env: { CLOUDOPS_OPERATIONS: path, ...more } });
    expect(stderr).toMatch(problem);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(code).toBe(2);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { changeWith, fileWith, lyingFiles } from '../operations/faulty.js';
import { http, member, smallModelJson } from '../operations/model/small-model.js';
import { startServer } from '../support/http-server.js';
import { printedChanges } from '../support/journal.js';
import { cleanEnv, runServer, serverPath } from '../support/server-process.js';
import { shorterTimers } from '../support/shorter-timers.js';

const folder = mkdtempSync(join(tmpdir(), 'cloudops-own-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Fails if two tests give their files the same name. */
function written(name: string, source: string): string {
  const path = join(folder, name);
  writeFileSync(path, source, { flag: 'wx' });
  return path;
}

const things = written('things.mjs', fileWith());
const rows = z.array(z.object({ name: z.string(), tokens: z.int(), arguments: z.array(z.string()) }));

test('all tools are listed, with what each costs a model', async () => {
  const env = { ...cleanEnv(), CLOUDOPS_OPERATIONS: things, CLOUDOPS_STORAGE_HEADERS: 'amz' };
  const { stdout } = await runServer(['operations', '--json'], { env });
  const listed = rows.parse(JSON.parse(stdout));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [serverPath], env }));
  const { tools } = await client.listTools();
  await client.close();
  expect(listed.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
  expect(listed.at(-1)).toMatchObject({ name: 'get_thing', arguments: ['id'] });
  for (const tool of tools) {
    const { tokens = 0 } = listed.find(({ name }) => name === tool.name) ?? {};
    const { annotations: _, ...read } = tool;
    expect(tokens / encode(JSON.stringify(read)).length, tool.name).toBeGreaterThan(0.8);
    expect(tokens / encode(JSON.stringify(read)).length, tool.name).toBeLessThan(1.25);
  }
});

describe('check', () => {
  const check = (path: string, env = {}) => runServer(['operations', 'check', path], { env });

  test('prints plan and request of the example', async () => {
    const { code, stdout } = await check(
      written(
        'change.mjs',
        changeWith("request: ({ id }) => ({ path: '/things', body: kit.xml('Thing', { Id: id }) })"),
      ),
    );
    expect(stdout).toContain('PUT https://things.example.com/things');
    expect(stdout).toContain('    <Id>a</Id>');
    expect(stdout).toContain('operations: 1, problems: 0');
    expect(code).toBe(0);
  });

  test('signs the example of object storage with the signing name of the settings', async () => {
    const request = "service: 'storage', signing: undefined, request: ({ id }) => ({ path: '/things' })";
    const { stdout } = await check(written('storage-change.mjs', changeWith(request)));
    expect(stdout).toContain('for service s3 in');
  });

  test('makes a trial call of each operation of a model, and prints its request and the answer of the agent', async () => {
    const { code, stdout } = await check('examples/operations/storage.operations.json');
    expect(stdout).toContain('GET https://storage.example.com/demo-bucket?list-type=2\n');
    expect(stdout).toContain('ListObjectsV2 found 2 in Contents: "a", "a".');
    expect(stdout).toMatch(/content-md5: .*\n.*<Key>old\/report\.csv<\/Key>/s);
    expect(stdout).toContain('operations: 5, problems: 0');
    expect(code).toBe(0);
  });

  test('and the start say that a deletion is declared as another change', async () => {
    const path = written('deletion.mjs', changeWith("api: 'DeleteThing'"));
    const note = 'DeleteThing looks like a deletion, but is declared as alter';
    const { code, stdout } = await check(path);
    expect(stdout).toContain(`note  ${note}`);
    expect(code).toBe(0);
    const { stderr } = await runServer([], { env: { CLOUDOPS_OPERATIONS: path } });
    expect(stderr).toContain(`warning: CLOUDOPS_OPERATIONS: ${note}`);
  });

  test('notes an empty file beside others, also if these have problems', async () => {
    const folderOfBoth = mkdtempSync(join(folder, 'empty-'));
    writeFileSync(join(folderOfBoth, 'empty.mjs'), 'export default () => [];');
    writeFileSync(join(folderOfBoth, 'full.mjs'), changeWith("api: 'DeleteThing'"));
    const note = /^note {2}CLOUDOPS_OPERATIONS: empty\.mjs has no operations\.$/m;
    const { stdout } = await check(folderOfBoth);
    expect(stdout).toMatch(note);
    expect(stdout.match(/DeleteThing looks like a deletion/g)).toHaveLength(1);
    writeFileSync(join(folderOfBoth, 'faulty.mjs'), fileWith("title: ''"));
    expect((await check(folderOfBoth)).stdout).toMatch(note);
  });

  test('shows the read to which a change and an extended built-in change lead', async () => {
    const follow = "follow: { read: 'get_thing', arguments: { id: 'input.id' } }";
    const read = fileWith(
      '',
      ", kit.extend('restore_instance', { follow: { read: 'get_thing', arguments: { id: 'input.instanceId' } } })",
    );
    const folderOfBoth = mkdtempSync(join(folder, 'follow-'));
    writeFileSync(join(folderOfBoth, 'read.mjs'), read);
    writeFileSync(join(folderOfBoth, 'change.mjs'), changeWith(`name: 'change_thing', ${follow}`));
    const { code, stdout } = await check(folderOfBoth);
    expect(stdout).toContain('Call get_thing with id "a" to see its progress');
    expect(stdout).toMatch(/Call get_thing with id "\S+" to see its progress.*operations: 3, problems: 0/s);
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
    expect(stdout).toMatch(
      /^note {2}The pattern of Prefix is left to the cloud, because matching it can take very long\./m,
    );
    expect(code).toBe(0);
  });

  test.each<[what: string, shape: object]>([
    // No text is made for a reference such as `\1`.
    ['a pattern', { type: 'string', traits: { 'smithy.api#pattern': '^(key)-\\1$' } }],
    [
      'a set',
      {
        type: 'list',
        member: { target: 'smithy.api#String' },
        traits: { 'smithy.api#length': { min: 2 }, 'smithy.api#uniqueItems': {} },
      },
    ],
  ])('asks for an example if none can be made up for %s, though the operation can be called', async (what, shape) => {
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
    expect(stdout).toMatch(/^problem {2}keys_get_key: example: is missing/m);
    expect(stdout).toMatch(/^operations: 1, problems: 1$/m);
    expect(code).toBe(1);
    const help = await runServer(['call', 'keys_get_key', '--help', `CLOUDOPS_OPERATIONS=${path}`]);
    expect(help.stdout).toContain('Id');
    expect(help.stdout).not.toContain('An example');
    expect(help.stdout).not.toContain("keys_get_key '");
  });

  test('fails for a draft until a person has decided what only they know', async () => {
    const model = 'examples/operations/storage-model.json';
    const { stdout: rows } = await runServer(['operations', 'draft', model, '--json']);
    expect(JSON.parse(rows)).toContainEqual({
      operation: 'DeleteObjects',
      method: 'POST',
      path: '/{Bucket}?delete',
      effect: 'delete',
    });
    const { stdout: draft } = await runServer([
      'operations',
      'draft',
      model,
      '--operations',
      'HeadBucket,DeleteObjects',
    ]);
    const file = written('draft.mjs', draft.replace(`./${model}`, resolve(model)));
    const { code, stdout } = await check(file);
    expect(code).toBe(1);
    expect(stdout).toContain('operations.DeleteObjects.costsMoney: is not decided: "true or false?"');
    expect(stdout).not.toContain('HeadBucket');
  });

  test('finds what only calls show', async () => {
    const [, source = '', problem = /./] = lyingFiles[0] ?? [];
    const { code, stdout } = await check(written('lying.mjs', source));
    expect(stdout).toMatch(problem);
    expect(code).toBe(1);
  });

  test('goes on after a change whose texts throw', async () => {
    const source = changeWith().replace('consequences: () => []', "consequences: () => { throw new Error('x'); }");
    const { code, stdout } = await check(written('throwing-text.mjs', source));
    expect(stdout).toMatch(/problem {2}.*consequences/);
    expect(stdout).toMatch(/^operations: 1, problems: [1-9]/m);
    expect(code).toBe(1);
  });

  test.each([
    ['takes all memory', 'all-memory', 'const all = []; for (;;) all.push(new Array(1e6).fill(all.length));'],
    ['ends the process', 'exit-7', 'process.exit(7);'],
    ['ends the process as if all were well', 'exit-0', 'process.exit(0);'],
  ])('outlives a file that %s', async (_what, name, source) => {
    const { code, stderr } = await check(written(`${name}.mjs`, source));
    expect(stderr).toMatch(/^The check did not end: "[a-z0-7-]+\.mjs: import" took .*, or ended the process\.\n$/);
    expect(code).toBe(1);
  });

  test('names what did not end', async () => {
    // Blocks like an endless loop, but leaves the processor to other tests.
    const block = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
    const endless = [
      ['a-default-export.mjs', `export default () => { ${block} };`, '"a-default-export.mjs: default export"'],
      ['a-function.mjs', fileWith(`summarize: () => { ${block} }`), '"get_thing: summarize"'],
      [
        'a-rule-that-takes-years-with-long-texts.mjs',
        fileWith(
          "input: () => kit.z.strictObject({ id: kit.z.string().max(40).refine((id) => !/^(a+)+!$/.test(id)).describe('x') })",
        ),
        '"get_thing: input"',
      ],
    ] as const;
    // The limits for a function and for an import that waits are shorter, and still differ by two seconds.
    const env = shorterTimers({ 7000: 3_500, 5000: 1_500 });
    // At once, because each check takes the time of its limit.
    const waiting = check(
      written('an-import-that-waits.mjs', 'setInterval(() => {}, 1000); await new Promise(() => {});'),
      env,
    );
    const checks = await Promise.all(endless.map(([file, source]) => check(written(file, source), env)));
    expect(checks).toEqual(
      endless.map(([, , name]) =>
        expect.objectContaining({
          code: 1,
          stderr: expect.stringContaining(`The check did not end: ${name} took more than 7 seconds`),
        }),
      ),
    );
    // An import that only waits does not stop the check, which tells it as a problem.
    const { code, stdout, stderr } = await waiting;
    expect(stdout).toContain('did not end loading within 5 seconds');
    expect(stdout).toContain('operations: 0, problems: 1');
    expect([code, stderr]).toEqual([1, '']);
  });
});

/** Code that prints, and leaves behind an error of a promise and one of a timer. */
const littering =
  "console.log('here'); void Promise.reject(new Error('of a promise')); setTimeout(() => { throw new Error('of a timer'); });";

test('check finds errors that functions leave behind, and prints nothing of theirs', async () => {
  const source = fileWith(`summarize: () => { ${littering} return kit.say\`There it is.\`; }`);
  const { code, stdout } = await runServer(['operations', 'check', written('littering.mjs', source)]);
  expect(stdout).toContain('problem  an error in a timer or a promise, which nothing caught: "of a promise"');
  expect(stdout).toContain('problem  an error in a timer or a promise, which nothing caught: "of a timer"');
  expect(stdout).not.toMatch(/^\s*here$/m);
  expect(code).toBe(1);
});

/** A cloud that takes a second, and a server whose change leaves an error of a timer behind meanwhile. */
async function slowChange(name: string) {
  const server = await startServer(async (_request, response) => {
    await sleep(1000);
    response.end('{}');
  });
  // Not with the example, which the start tries.
  const leavingAnError = `request: ({ id }) => {
    console.log('here');
    if (id === 'b') setTimeout(() => { throw new Error('of a timer'); }, 300);
    return { path: '/' + id };
  }`;
  const env = {
    ...cleanEnv(),
    CLOUDOPS_OPERATIONS: written(`${name}.mjs`, changeWith(leavingAnError)),
    CLOUDOPS_ENDPOINT_THINGS_URL: server.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'secret',
    CLOUDOPS_CONFIRM: 'off',
    CLOUDOPS_JOURNAL: join(folder, `${name}.jsonl`),
  };
  const outcomes = async () => {
    const { stdout } = await runServer(['journal', '--json'], { env });
    return printedChanges(stdout).map(({ ending }) => ending?.outcome);
  };
  return { server, env, outcomes };
}

describe('a server with operations of its own', () => {
  test('ends after its running changes when a function leaves an error behind, and prints only messages of the protocol', async () => {
    const { server, env, outcomes } = await slowChange('littering-change');
    const transport = new StdioClientTransport({ command: process.execPath, args: [serverPath], env, stderr: 'pipe' });
    const client = new Client({ name: 'test', version: '1' });
    const faults: Error[] = [];
    client.onerror = (error) => faults.push(error);
    const closed = new Promise<void>((resolve) => {
      client.onclose = resolve;
    });
    await client.connect(transport);
    const result = client.callTool({ name: 'get_thing', arguments: { id: 'b' } }).catch(() => undefined);
    await closed;
    await result;
    expect(faults).toEqual([]);
    expect(await outcomes()).toEqual(['accepted']);
    await server.close();
  });

  test('and the command that calls a tool tells the outcome when a function leaves an error behind', async () => {
    const { server, env, outcomes } = await slowChange('littering-call');
    const { code, stdout, stderr } = await runServer(['call', 'get_thing', '{"id": "b"}', '--yes'], { env });
    expect(stderr).toContain('warning: an error that nothing caught (Error); the call goes on.');
    expect(stderr).not.toContain('of a timer');
    expect([code, stdout]).toEqual([0, expect.stringContaining('There it is.')]);
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
    expect(stdout, stderr).toContain('There it is.');
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
      'a file that throws',
      written('throws.mjs', "throw new Error('no network');"),
      // An endpoint of an operation that could not be loaded is not called unknown.
      { CLOUDOPS_ENDPOINT_THINGS_URL: 'https://example.com' },
      /^cloudops-mcp cannot start: CLOUDOPS_OPERATIONS: throws\.mjs: it cannot be imported: "no network" \(line 1\)\.$/m,
    ],
    [
      'a file that is no JavaScript',
      written('syntax.mjs', 'export default (kit => ['),
      {},
      /syntax\.mjs: it cannot be imported: ".*" \(node --check shows the line\)\.$/m,
    ],
    [
      'a file that leaves an error behind',
      written('rejects.mjs', `void Promise.reject(new Error('nobody waits')); ${fileWith()}`),
      {},
      /CLOUDOPS_OPERATIONS: an error in a timer or a promise, which nothing caught: "nobody waits"/,
    ],
    [
      'a file that ends the process as if all were well',
      written('exits.mjs', 'process.exit(0);'),
      {},
      /^A file of operations ended the process\.$/m,
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

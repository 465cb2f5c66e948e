import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { hostRules } from '../../src/cli/load-operation-files.js';
import { allOperations } from '../../src/config/own-operations.js';
import { instructionsFor } from '../../src/mcp/instructions.js';
import { loadOperations } from '../../src/operations/load-operations.js';
import { operations as builtIn } from '../../src/tools/index.js';
import { never, testCaller } from '../support/caller.js';
import { changeWith, faultyFiles, fileWith } from './faulty.js';

const folder = mkdtempSync(join(tmpdir(), 'cloudops-operations-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
/** Writes a file under a name of its own: a module is imported once. */
function written(source: string): string {
  count += 1;
  const path = join(folder, `platform-${count}.mjs`);
  writeFileSync(path, source);
  return path;
}

describe('a file', () => {
  test('adds its operations, with the schemas that hosts are shown', async () => {
    const { operations, problems } = await loadOperations(written(fileWith()), hostRules);
    expect(problems).toEqual([]);
    expect(operations).toMatchObject([
      { name: 'get_thing', defaults: [], schemas: { input: { required: ['id'], additionalProperties: false } } },
    ]);
  });

  test('has a note on a deletion that is declared as another change, unless it insists', async () => {
    const notes = async (fields: string) => {
      const own = await loadOperations(written(changeWith(`api: 'DeleteThing', ${fields}`)), hostRules);
      expect(own.problems).toEqual([]);
      return own.notes?.map(({ text }) => text);
    };
    expect(await notes('')).toEqual([
      'CLOUDOPS_OPERATIONS: DeleteThing looks like a deletion, but is declared as alter, so nobody types a name to confirm it. effectIsSure: true says that this is right.',
    ]);
    expect(await notes('effectIsSure: true')).toEqual([]);
  });

  test('may attach a read to a built-in change', async () => {
    const source = (tool: string) =>
      fileWith(
        "name: 'get_instance', api: 'GetInstance', input: () => kit.z.strictObject({ InstanceId: kit.fields.pathName().describe('x') }), example: { InstanceId: 'a' }, request: () => ({ path: '/' })",
        `, kit.extend('${tool}', { follow: { read: 'GetInstance', arguments: { InstanceId: 'input.instanceId' } } })`,
      );
    const own = await loadOperations(written(source('restore_instance')), hostRules);
    expect(own.problems).toEqual([]);
    const follow = { read: 'GetInstance', arguments: { InstanceId: 'input.instanceId' } };
    const extended = allOperations(builtIn, own).filter((operation) => operation.follow !== undefined);
    expect(extended).toMatchObject([{ name: 'restore_instance', follow }]);
    const { problems } = await loadOperations(written(source('list_parts')), hostRules);
    expect(problems).toEqual([expect.stringMatching(/entry 2: extend: must name a built-in change: /)]);
  });

  test.each([
    [
      'a read',
      'restore_instance',
      "read: 'get_thin', arguments: {}",
      'follow.read: get_thin is not a read; did you mean get_thing?',
    ],
    [
      'an argument of the read',
      'get_thing_change',
      "read: 'get_thing', arguments: { ids: 'input.id' }",
      'follow.arguments: ids is not an argument of get_thing; did you mean id?',
    ],
    [
      'an argument of the change',
      'restore_instance',
      "read: 'GetThing', arguments: { id: 'input.instanceIdd' }",
      'follow.arguments: instanceIdd is not an argument of restore_instance; did you mean instanceId?',
    ],
  ])('is refused if follow names %s that does not exist', async (_what, tool, follow, problem) => {
    const both = mkdtempSync(join(folder, 'follow-'));
    // The read is in a later file.
    writeFileSync(join(both, 'b.mjs'), fileWith());
    writeFileSync(
      join(both, 'a.mjs'),
      tool === 'restore_instance'
        ? `export default (kit) => [kit.extend('restore_instance', { follow: { ${follow} } })];`
        : changeWith(`name: 'get_thing_change', follow: { ${follow} }`),
    );
    const { operations, problems } = await loadOperations(both, hostRules);
    expect(problems.map(({ text }) => text)).toEqual([`CLOUDOPS_OPERATIONS: a.mjs: ${tool}: ${problem}`]);
    expect(operations).toEqual([]);
  });

  test('may follow a read by a name that the API of an earlier file has as well', async () => {
    const both = mkdtempSync(join(folder, 'namesakes-'));
    const read = (service: string, id: string) =>
      `name: 'get_${service}', api: 'GetJob', service: '${service}', signing: { service: 'x', headers: 'api' }, input: () => kit.z.strictObject({ ${id}: kit.fields.pathName().describe('x') }), example: { ${id}: 'a' }, request: () => ({ path: '/' })`;
    writeFileSync(join(both, 'a.mjs'), fileWith(read('other', 'jobId')));
    writeFileSync(join(both, 'b.mjs'), fileWith(read('things', 'id')));
    const follow = "follow: { read: 'GetJob', arguments: { id: 'input.id' } }";
    writeFileSync(
      join(both, 'c.mjs'),
      changeWith(`name: 'start_job', api: 'StartJob', signing: { service: 'x', headers: 'api' }, ${follow}`),
    );
    expect((await loadOperations(both, hostRules)).problems).toEqual([]);
  });

  test('is refused if it has the name of a built-in change that another file extends, and that file is not named', async () => {
    const both = mkdtempSync(join(folder, 'extended-'));
    writeFileSync(
      join(both, 'a.mjs'),
      "export default (kit) => [kit.extend('restore_instance', { follow: { read: 'GetThing', arguments: {} } })];",
    );
    writeFileSync(join(both, 'b.mjs'), fileWith("name: 'restore_instance'"));
    const { problems } = await loadOperations(both, hostRules);
    expect(problems.map(({ text }) => text)).toEqual([
      'CLOUDOPS_OPERATIONS: b.mjs: operation 1 (restore_instance): name: is taken by another operation. Choose another name, or a prefix for the operations of a model.',
    ]);
  });

  test('is refused if it attaches a read to a change that has one of an earlier file', async () => {
    const both = mkdtempSync(join(folder, 'both-'));
    const source =
      "export default (kit) => [kit.extend('restore_instance', { follow: { read: 'GetInstance', arguments: {} } })];";
    for (const name of ['a.mjs', 'b.mjs']) writeFileSync(join(both, name), source);
    const { problems } = await loadOperations(both, hostRules);
    expect(problems.map(({ text }) => text)).toEqual([
      'CLOUDOPS_OPERATIONS: b.mjs: entry 1: extend: restore_instance is already extended by another entry.',
    ]);
  });

  test.each([
    ['an operation', "kit.defineOperation({}), 'title'", /operation 1: it cannot be checked: "He said: \\"ok\\""\.$/],
    ['an extension', "kit.extend('restore_instance', {}), 'follow'", /it cannot be checked: "He said/],
  ])('is refused if a field of %s throws, and the message is quoted', async (_what, field, problem) => {
    const getter = `{ get: () => { throw new Error('He said: "ok"'); } }`;
    const { problems } = await loadOperations(
      written(`export default (kit) => [Object.defineProperty(${field}, ${getter})];`),
      hostRules,
    );
    expect(problems.map(({ text }) => text)).toEqual([expect.stringMatching(problem)]);
  });

  test('of no operations adds none, and a note says so', async () => {
    const { notes = [], fileNotes, ...own } = await loadOperations(written('export default () => [];'), hostRules);
    expect(fileNotes).toEqual(notes);
    expect(own).toEqual({ operations: [], follows: {}, problems: [] });
    expect(notes.join()).toMatch(/^CLOUDOPS_OPERATIONS: platform-\d+\.mjs has no operations\.$/);
  });

  test('has sentences for models, which stand in the instructions unless a tool that is offered makes them wrong', async () => {
    const { operations } = await loadOperations(
      written(
        fileWith("instructions: [{ text: 'Things are old.' }, { text: 'No tool lists them.', unless: 'list_things' }]"),
      ),
      hostRules,
    );
    const listThings = operations.map((operation) => ({ ...operation, name: 'list_things', instructions: [] }));
    const told = (offered: typeof operations) =>
      instructionsFor(offered, { all: [], byDefault: undefined, areNamed: false });
    expect(told(operations)).toContain('get_thing only reads. Things are old. No tool lists them.\n');
    expect(told([...operations, ...listThings])).toContain('get_thing and list_things only read. Things are old.\n');
  });

  test('that is not there is a problem', async () => {
    const { problems } = await loadOperations(join(folder, 'none.mjs'), hostRules);
    expect(problems).toEqual([
      expect.stringMatching(/^CLOUDOPS_OPERATIONS: ".*none\.mjs" cannot be read \(ENOENT: there is no such file\)\.$/),
    ]);
  });

  test('that never settles is given up', async () => {
    const { operations, problems } = await loadOperations(written('await new Promise(() => {});'), hostRules, {
      timeLimitMs: 1000,
    });
    expect(operations).toEqual([]);
    expect(problems).toEqual([expect.stringMatching(/did not end loading within 1 seconds/)]);
  });

  test.each(faultyFiles)('is refused with the field and without a stack: %s', async (_what, source, problem) => {
    const { operations, problems } = await loadOperations(written(source), hostRules);
    expect(operations).toEqual([]);
    expect(problems.join('\n')).toMatch(problem);
    for (const line of problems) expect(line.text).toMatch(/^CLOUDOPS_OPERATIONS: platform-\d+\.mjs[: ][^\n]*$/);
  });
});

test('a file that adds a field to every object is refused', async () => {
  try {
    const { operations, problems } = await loadOperations(
      written('Object.prototype.admin = true; export default () => [];'),
      hostRules,
    );
    expect(operations).toEqual([]);
    expect(problems.join()).toMatch(/platform-\d+\.mjs: it adds admin to every object there is\.$/);
  } finally {
    Reflect.deleteProperty(Object.prototype, 'admin');
  }
});

test('a request that XML cannot hold is refused before anything is sent', async () => {
  const source = fileWith(
    "input: () => kit.z.strictObject({ id: kit.fields.text(20).describe('x') }), method: 'POST', answer: 'none', request: ({ id }) => ({ path: '/', body: kit.xml('A', { B: id }) })",
  );
  const { operations } = await loadOperations(written(source), hostRules);
  const [operation] = operations;
  if (operation === undefined) throw new Error('there is none');
  const { call, close } = testCaller('', { cloud: { endpoints: { things: 'http://127.0.0.1:1' } } });
  expect(await call(operation, { id: 'a\u0000' }, { signal: never })).toMatchObject({
    failure: { code: 'InvalidArguments', problems: [expect.stringContaining('it has a control character')] },
  });
  await close();
});

test('a folder adds the operations of its files, in the order of their names', async () => {
  const path = join(folder, 'several');
  mkdirSync(path);
  writeFileSync(join(path, 'b.mjs'), fileWith("name: 'second'"));
  writeFileSync(join(path, 'a.mjs'), fileWith("name: 'first'"));
  writeFileSync(join(path, 'README.md'), 'no module');
  const { operations, problems } = await loadOperations(path, hostRules);
  expect(problems).toEqual([]);
  expect(operations.map(({ name }) => name)).toEqual(['first', 'second']);
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededBackupId } from '../../../sandbox/devops.js';
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.js';
import { listMultipartUploads } from '../../../src/tools/list-multipart-uploads.js';
import { listParts } from '../../../src/tools/list-parts.js';
import { never, testCaller } from '../../support/caller.js';
import { connectInProcess } from '../../support/in-process.js';
import { problems } from '../../support/rules.js';
import { addUpload } from '../../support/sandbox.js';

/** Built-in reads, and the tool that reads a change, pick fields from the whole answer. */

let sandbox: Sandbox;
let caller: ReturnType<typeof testCaller>;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
  caller = testCaller('', {
    cloud: sandbox.cloud,
    policy: { readOnly: false, tools: undefined, extensions: ['s3'] },
  });
  const parts = Array.from({ length: 300 }, (_, index) => ({
    partNumber: index + 1,
    size: 6_000_000,
    etag: 'e'.repeat(32),
    lastModified: new Date().toISOString(),
  }));
  addUpload(sandbox, { bucket: 'picked', key: 'k', uploadId: 'u-0' }, parts);
  for (let index = 1; index < 200; index += 1)
    addUpload(sandbox, { bucket: 'picked', key: 'k', uploadId: `u-${index}` }, []);
});
afterAll(async () => {
  await caller.close();
  await sandbox.close();
});

const upload = { bucket: 'picked', object: 'k', uploadId: 'u-0' };

async function answerTo(operation: typeof listParts | typeof listMultipartUploads, args: object) {
  const result = await caller.call(operation, args, { signal: never });
  if (!result.ok) throw new Error(result.text);
  return result.structured;
}

test('a summary has only the picked fields, and its sentences are about all', async () => {
  const { answer, summary } = await answerTo(listParts, { ...upload, fields: ['partCount', 'idleSeconds'] });
  expect(answer).toEqual({ partCount: 300, idleSeconds: expect.any(Number) });
  expect(String(summary)).toContain('300 parts');
});

test.each([
  [listParts, { ...upload, maxParts: 300 }, 'parts[].partNumber', 'parts', 300],
  [listMultipartUploads, { bucket: 'picked' }, 'uploads[].uploadId', 'uploads', 200],
] as const)('a list that is too long is picked as a whole', async (operation, args, path, name, length) => {
  const { answer: shortened } = await answerTo(operation, args);
  expect(Object(shortened)[name].length).toBeLessThan(length);
  const { answer: picked } = await answerTo(operation, { ...args, fields: [path] });
  expect(Object(picked)[name]).toHaveLength(length);
  expect(Object.keys(Object(picked)[name][0])).toEqual([path.split('.').at(-1)]);
});

test('the marker of the next page stays', async () => {
  const { answer } = await answerTo(listParts, { ...upload, maxParts: 2, fields: ['parts[].size'] });
  expect(answer).toEqual({ nextPartNumberMarker: 2, parts: [{ size: 6_000_000 }, { size: 6_000_000 }] });
});

describe('a path that leads to no field is refused, with the nearest', () => {
  test.each([
    ['part[].size', '"part[].size" is not a path: part is not in the answer; did you mean parts?'],
    ['parts[].sizes', '"parts[].sizes" is not a path: sizes is not in parts of the answer; did you mean size?'],
    ['parts[0].size.x', '"parts[0].size.x" is not a path: x is not in size of parts of the answer'],
    ['[]', '"[]" is not a path: [] is not in the answer'],
    ['toString', '"toString" is not a path: toString is not in the answer'],
  ])('%s', (path, problem) => {
    expect(problems(listParts, { ...upload, fields: [path] })).toEqual([`fields[0]: ${problem}`]);
  });
});

describe('the answer of a change', () => {
  async function read(fields: unknown) {
    const session = await connectInProcess('legacy', undefined, { confirm: 'off' });
    const changed = await session.client.callTool({
      name: 'restore_instance',
      arguments: { backupId: seededBackupId, instanceId: 'wiki' },
    });
    const changeId = Object(changed.structuredContent).changeId;
    const result = await session.client.callTool({ name: 'get_change', arguments: { changeId, fields } });
    await session.close();
    return Object(result.structuredContent);
  }

  test('has the picked fields', async () => {
    expect(await read(['instance.instanceId'])).toMatchObject({
      outcome: 'accepted',
      answer: { instance: { instanceId: 'wiki' } },
    });
  });

  test.each([
    [['instance.instanceID'], 'instanceID is not in instance of the answer; did you mean instanceId?'],
    [[], 'must have 1 entry or more'],
  ])('is left out for %j, and the outcome stays', async (fields, problem) => {
    const { answer, outcome, warnings } = await read(fields);
    expect([answer, outcome]).toEqual([undefined, 'accepted']);
    expect(warnings).toContainEqual(expect.stringContaining(problem));
  });
});

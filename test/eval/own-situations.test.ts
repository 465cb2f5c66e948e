import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ownSituations } from '../../eval/own-situations.js';
import { http, smallModelJson } from '../models/small-model.js';
import { thingsFile } from '../support/things.js';

/** Situations of a user's own operations, before a model gets them. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-eval-situations-'));
afterAll(() => rmSync(folder, { recursive: true }));

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const examples = 'examples/operations/storage.operations.json';
const situationsOf = (operations = examples, more: object = {}) =>
  ownSituations({ operations, situations: undefined, address: undefined, env: {}, ...more });

test('each operation has the request of its example, and the server gets only these tools', async () => {
  const situations = await situationsOf();
  expect(situations.map(({ name }) => name)).toEqual([
    's3_list_objects_v2',
    's3_head_bucket',
    ...['create_multipart_upload', 'complete_multipart_upload', 'delete_objects'].flatMap((name) => [
      `s3_${name}: plan and agree`,
      `s3_${name}: a refusal`,
    ]),
  ]);
  expect(situations.at(-2)?.expected).toMatchObject({
    sent: [
      { method: 'POST', path: '/demo-bucket?delete=', body: expect.stringContaining('<Key>old/report.csv</Key>') },
    ],
    asked: { s3_delete_objects: { tool: 's3_delete_objects', fate: 'accepted' } },
  });
  expect(situations.at(-1)?.expected).toMatchObject({ sent: [], asked: { s3_delete_objects: { fate: 'nothing' } } });
  expect(situations[0]?.ownCloud).toMatchObject({
    settings: { TOOLS: expect.stringMatching(/^s3_list_objects_v2,/) },
    endpointSettings: ['STORAGE_URL'],
    changes: { s3_delete_objects: 'POST' },
  });
});

written(
  'host.json',
  JSON.stringify(
    smallModelJson({
      GetHost: { traits: { ...http('GET', '/host'), 'smithy.api#endpoint': { hostPrefix: 'api.' } } },
    }),
  ),
);

let count = 0;
const situationsFile = (situation: object) => {
  count += 1;
  return { situations: written(`situations-${count}.json`, JSON.stringify([situation])) };
};
const list = { tool: 's3_list_objects_v2', arguments: { Bucket: 'demo-bucket' } };

test.each<[string, string | undefined, object, RegExp]>([
  ['a file with a fault', thingsFile(folder, 'faulty', { GetThing: { effect: 'look' } }), {}, /effect: must be read/],
  ['a file without operations', thingsFile(folder, 'empty', {}), {}, /has no operations/],
  ['no file', join(folder, 'none.json'), {}, /cannot be read \(ENOENT: there is no such file\)/],
  [
    'a fixed beginning of the host',
    written(
      'host.operations.json',
      JSON.stringify({
        model: './host.json',
        api: 'host',
        useHostPrefix: true,
        operations: { GetHost: { effect: 'read' } },
      }),
    ),
    {},
    /get_host has a beginning/,
  ],
  ['situations that are not JSON', undefined, { situations: written('text.json', 'x') }, /cannot be used: SyntaxError/],
  ['a field that there is not', undefined, situationsFile({ name: 'a', task: 'b', expect: [] }), /"expect"/],
  [
    'a tool that there is not',
    undefined,
    situationsFile({ name: 'a', task: 'b', expected: [{ ...list, tool: 'list' }] }),
    /^a: there is no tool "list"/,
  ],
  [
    'arguments that the tool refuses',
    undefined,
    situationsFile({ name: 'a', task: 'b', expected: [{ ...list, arguments: {} }] }),
    /^a: s3_list_objects_v2 refuses the arguments: .*Bucket/s,
  ],
  [
    'a pattern that cannot be read',
    undefined,
    situationsFile({ name: 'a', task: 'b', expected: [list], answer: { x: '(' } }),
    /^a: Invalid regular expression/,
  ],
  ['an address that is none', undefined, { address: 'ftp://x' }, /takes an address such as/],
  [
    'an address without keys',
    undefined,
    { address: 'http://127.0.0.1:1' },
    /CLOUDOPS_ACCESS_KEY_ID and CLOUDOPS_SECRET/,
  ],
])('%s is refused', async (_what, operations, more, problem) => {
  await expect(situationsOf(operations, more)).rejects.toThrow(problem);
});

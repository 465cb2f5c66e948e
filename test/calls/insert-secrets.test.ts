import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSecretFiles } from '../../src/calls/call-secrets.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';

/** An agent may name a secret that the server holds, but never read it, and never reach another file. */

let folder: string;
beforeAll(() => {
  const base = mkdtempSync(join(tmpdir(), 'cloudops-secrets-'));
  folder = join(base, 'secrets');
  mkdirSync(join(folder, 'sub'), { recursive: true });
  writeFileSync(join(folder, 'demo-key.json'), '{"private_key":"MARKER-1"}\n');
  writeFileSync(join(folder, 'not-json'), 'MARKER-2');
  writeFileSync(join(folder, 'huge'), 'x'.repeat(65 * 1024));
  writeFileSync(join(folder, '.hidden'), 'MARKER-3');
  writeFileSync(join(folder, 'sub', 'inner'), 'MARKER-4');
  writeFileSync(join(base, 'outside'), 'MARKER-5');
  mkdirSync(join(folder, 'empty'));
  mkdirSync(join(folder, 'dangling'));
  symlinkSync('nothing', join(folder, 'dangling', 'key'));
  if (process.platform !== 'win32') execFileSync('mkfifo', [join(folder, 'pipe')]);
  symlinkSync(join(base, 'outside'), join(folder, 'link'));
  // As Kubernetes mounts a secret: a link to a hidden link to a hidden folder.
  mkdirSync(join(folder, '..2026'));
  writeFileSync(join(folder, '..2026', 'mounted'), '{"mounted":1}');
  symlinkSync('..2026', join(folder, '..data'));
  symlinkSync(join('..data', 'mounted'), join(folder, 'mounted'));
});
afterAll(() => rmSync(join(folder, '..'), { recursive: true }));

test('the text of a secret is read by its name, without the line end', async () => {
  expect(await createSecretFiles(folder).read('demo-key.json')).toEqual({
    kind: 'secret',
    text: '{"private_key":"MARKER-1"}',
  });
});

describe.each([
  ['link', 'a link out of the folder'],
  ['sub/inner', 'in a subfolder'],
  ['sub', 'a folder'],
  ['pipe', 'a pipe that nobody writes to'],
  ['../outside', 'above'],
  ['./demo-key.json', 'another spelling'],
  ['.hidden', 'hidden'],
  ['demo-key.json\u0000', 'with a NUL'],
  ['demo-kye.json', 'mistyped'],
])('%s (%s)', (name) => {
  test('does not exist for an agent, which is told what does', async () => {
    const result = await createSecretFiles(folder).read(name);
    expect(result).toEqual({
      kind: 'problem',
      problem: expect.stringMatching(/does not exist; there are demo-key\.json, huge, mounted, not-json$/),
    });
  });
});

test('a link that stays in the folder is followed', async () => {
  expect(await createSecretFiles(folder).read('mounted')).toEqual({ kind: 'secret', text: '{"mounted":1}' });
});

test.each([
  ['{"private_key":"MARKER"}', false],
  ['MARKER{', false],
  ['{MARKER', false],
  ['x'.repeat(65), false],
  ['x'.repeat(64), true],
  ['demo_key-2.json', true],
])('a secret that is given as a name is not repeated: %s', async (name, shown) => {
  const result = await createSecretFiles(folder).read(name);
  const start = shown ? name : 'the name given (not shown)';
  expect(result).toEqual({ kind: 'problem', problem: expect.stringContaining(`${start} does not exist`) });
  expect(JSON.stringify(result).includes(name)).toBe(shown);
});

test.each([
  ['a folder that does not exist', () => join(folder, 'nowhere')],
  ['a file in place of the folder', () => join(folder, 'huge')],
  ['a folder that is empty', () => join(folder, 'empty')],
  ['a folder with nothing but a link to nothing', () => join(folder, 'dangling')],
])('%s has no secrets', async (_what, at) => {
  const problem = 'key does not exist; the folder has no secrets';
  expect(await createSecretFiles(at()).read('key')).toEqual({ kind: 'problem', problem });
});

test.each([
  ['nothing', 0],
  ['64 KiB', 64 * 1024],
])('a file of %s is read', async (_what, length) => {
  const at = mkdtempSync(join(tmpdir(), 'cloudops-secrets-'));
  writeFileSync(join(at, 'key'), 'x'.repeat(length));
  expect(await createSecretFiles(at).read('key')).toEqual({ kind: 'secret', text: 'x'.repeat(length) });
  rmSync(at, { recursive: true });
});

test('what is too large to be a key is not read', async () => {
  expect(await createSecretFiles(folder).read('huge')).toEqual({
    kind: 'problem',
    problem: 'huge is larger than 64 KiB',
  });
});

test('without a folder, the setting is named', async () => {
  expect(await createSecretFiles(undefined).read('x')).toEqual({
    kind: 'problem',
    problem: expect.stringContaining('CLOUDOPS_SECRETS_DIR'),
  });
});

describe('in a call', () => {
  const provision = async (externalCloudConfig: Record<string, string>) => {
    const server = await startServer((_request, response) => response.end('{}'));
    const caller = testCaller(server.origin, { secretsDir: folder });
    const { text } = await caller.call(
      provisionKubeResourceGroup,
      { resourceGroupName: 'g', externalCloudConfig },
      { signal: never },
    );
    await caller.close();
    await server.close();
    expect(text + JSON.stringify(caller.logged)).not.toContain('MARKER');
    return { text, bodies: server.requests.map(({ body }) => JSON.parse(body)) };
  };

  test('nothing is looked up without a name', async () => {
    expect((await provision({ location: 'here' })).bodies).toEqual([{ externalCloudConfig: { location: 'here' } }]);
  });

  test('the key is sent in place of its name', async () => {
    const { bodies } = await provision({ serviceAccountKeyName: 'demo-key.json', location: 'here' });
    expect(bodies).toEqual([
      { externalCloudConfig: { serviceAccountKey: '{"private_key":"MARKER-1"}', location: 'here' } },
    ]);
  });

  test.each([
    [
      { serviceAccountKeyName: 'demo-key.json', serviceAccountKey: '{}' },
      'must be left out if serviceAccountKey is given',
    ],
    [{ serviceAccountKeyName: 'not-json' }, 'must be the text of a JSON object'],
    [{ serviceAccountKeyName: 'nope' }, 'nope does not exist; there are'],
    [
      { serviceAccountKey: '{"private_key":"MARKER-6"}' },
      'externalCloudConfig.serviceAccountKeyName: give the name of a secret here, in place of externalCloudConfig.serviceAccountKey',
    ],
    [
      { serviceAccountKeyName: `MARKER-7${'x'.repeat(255)}` },
      'the value given (not shown) must have at most 255 characters',
    ],
  ])('%j is refused and nothing is sent', async (given, reason) => {
    const { text, bodies } = await provision(given);
    expect(text).toContain(reason);
    expect(bodies).toEqual([]);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { member, smallModelJson } from '../models/small-model.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { runServer } from '../support/server-process.js';

/** Operations of services at the terminal. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-services-'));
let cloud: CapturingServer;
beforeAll(async () => {
  const VolumeId = member('String', { required: {} });
  const operations = {
    DescribeVolume: { input: { VolumeId }, output: { State: 'String' } },
    DeleteVolume: { input: { VolumeId } },
  };
  writeFileSync(join(folder, 'disks.json'), JSON.stringify(smallModelJson(operations, {}, 'awsJson1_1')));
  cloud = await startServer((_request, response) => response.end('{"State":"available"}'));
});
afterAll(async () => {
  await cloud.close();
  rmSync(folder, { recursive: true });
});

const env = (more: Record<string, string> = {}) => ({
  CLOUDOPS_MODELS: folder,
  CLOUDOPS_ENDPOINT_DISKS_URL: cloud.origin,
  CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
  CLOUDOPS_SECRET_ACCESS_KEY: 'secret',
  CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
  ...more,
});
const call = (...args: string[]) => runServer(['call', ...args], { env: env() });

test('call reads and changes by the name of an operation', async () => {
  const read = await call('disks:DescribeVolume', '{"VolumeId": "vol-1"}', '--json');
  expect(JSON.parse(read.stdout)).toMatchObject({ ok: true, answer: { answer: { State: 'available' } } });
  const deleted = await call('disks:DeleteVolume', '{"VolumeId": "vol-1"}', '--yes');
  expect([deleted.code, deleted.stdout]).toEqual([0, expect.stringContaining('accepted')]);
  const journal = await runServer(['journal', '--json'], { env: env() });
  expect(journal.stdout).toContain('"disks:DeleteVolume"');
});

test.each([
  ['disks:DeleteVolumes', /did you mean "?DeleteVolume/],
  ['disk:DeleteVolume', /did you mean "?disks/],
])('call %s is refused with the nearest name', async (name, problem) => {
  const { code, stderr } = await call(name);
  expect(code).toBe(2);
  expect(stderr).toMatch(problem);
});

test('operations check loads the model of a service, and finds the operations that have settings', async () => {
  const file = join(folder, 'my.operations.json');
  const operations = { DeleteVolume: { consequences: ['The data is lost.'] }, Delete: { costsMoney: false } };
  writeFileSync(file, JSON.stringify({ services: { disks: { model: './disks.json', operations } } }));
  const { code, stdout } = await runServer(['operations', 'check', file]);
  expect(stdout).toContain('service disks: 2 operations');
  expect(stdout).toMatch(/problem +"disks:Delete": the model has no operation Delete/);
  expect(code).toBe(1);
});

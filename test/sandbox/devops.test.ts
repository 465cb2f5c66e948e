import { beforeEach, expect, test } from 'vitest';
import { seededBackupId, seededDevops } from '../../sandbox/devops.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { testCloud } from '../support/sandbox.js';

let cloud: ReturnType<typeof testCloud>;
let time: number;
beforeEach(() => {
  time = Date.parse('2026-11-20T12:00:00Z');
  cloud = testCloud({ now: () => new Date(time) });
});

const send = (method: string, path: string, body: unknown, region = 'jp-east-1') =>
  cloud.send('devops', method, path, body, {
    authorization: `AWS4-HMAC-SHA256 Credential=KEY/20261120/${region}/devops/aws4_request, x`,
  });
const restore = (body: object, region?: string) =>
  send('POST', '/v1/instances:restore', { backupId: seededBackupId, instanceId: 'restored', ...body }, region);
const instances = async () => (await send('GET', '/v1/instances', {})).body.instances;

test('answers with the whole DevOps server record and what was given', async () => {
  const given = {
    instanceType: 'h2-large',
    firewallGroupName: seededDevops.firewallGroupName,
    parameterGroupName: seededDevops.parameterGroupName,
    diskSize: 400,
    availabilityZone: 'east-14',
    description: '復元',
    networkConfig: { networkId: 'net-1', privateAddress: '192.168.0.10/24' },
    objectStorageConfig: { account: 'A1', region: 'jp-west-2', bucketUseObjects: { lfs: 'lfs', packages: 'pkg' } },
  };
  const { status, headers, body } = await restore(given);
  expect(status).toBe(200);
  expect(headers['x-sandbox-invented']).toBe('status,versions,groups,urls');
  expect(restoreInstance.output().safeParse(body).error).toBeUndefined();
  expect(body.instance).toMatchObject({
    ...given,
    instanceId: 'restored',
    region: 'jp-east-1',
    publicIpAddress: '',
    state: 'RESTORING',
    status: { code: 200, name: 'RESTORING' },
    createTime: '2026-11-20 12:00:00 UTC',
  });
});

test.each([
  ['jp-east-1', 'east-11'],
  ['jp-east-3', 'east-31'],
  ['jp-west-1', 'west-12'],
  ['jp-west-2', 'jp-west-21'],
])('in %s the defaults are e-large and %s', async (region, availabilityZone) => {
  const { body } = await restore({}, region);
  expect(restoreInstance.output().safeParse(body).error).toBeUndefined();
  expect(body.instance).toMatchObject({ region, availabilityZone, instanceType: 'e-large' });
});

test('the server runs after the time to settle', async () => {
  await restore({});
  time += 20_000;
  expect((await instances()).at(-1)).toMatchObject({ state: 'RESTORING', publicIpAddress: '' });
  time += 1;
  expect((await instances()).at(-1)).toMatchObject({ state: 'RUNNING', status: { code: 100, name: 'RUNNING' } });
  expect((await instances())[0]).toMatchObject({ instanceId: seededDevops.instanceId, state: 'RUNNING' });
});

test.each([
  ['InvalidParameterNotFound.Backup', 404, { backupId: 'b'.repeat(32) }],
  ['InvalidParameterNotFound.FirewallGroup', 404, { firewallGroupName: 'unknown' }],
  ['InvalidParameterNotFound.ParameterGroup', 404, { parameterGroupName: 'unknown' }],
  ['InvalidParameterDuplicate.Instance', 409, { instanceId: seededDevops.instanceId }],
  ['InvalidParameterIllegalInput.DiskSize', 400, { diskSize: 150 }],
])('refuses with %s, and nothing is made', async (code, status, given) => {
  expect(await restore(given)).toMatchObject({
    status,
    headers: { 'x-sandbox-invented': 'error' },
    body: { code: `Client.${code}`, message: expect.stringMatching(/\.$/) },
  });
  expect(await instances()).toHaveLength(1);
});

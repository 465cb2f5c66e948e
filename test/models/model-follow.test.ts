import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { thingOf } from '../../src/changes/change-state.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { member, operationsFrom, smallModelJson } from './small-model.js';

/** The read of a model that shows what a change is about: before it, in the plan, and after it, as the next step. */

const strings = { target: 'smithy.api#String' };
const model = smallModelJson(
  {
    DeleteVolume: { input: { VolumeId: member('String', { required: {} }) } },
    ModifyVolume: { input: { VolumeId: 'String', Size: 'Integer' } },
    CreateVolume: { input: { Size: 'Integer' }, output: { VolumeId: 'String' } },
    DescribeVolumes: { input: { VolumeIds: 'small#Ids' }, output: { Volumes: 'small#Volumes' } },
    PutKeyValue: { input: { KeyId: member('String', { required: {} }) } },
    GetKeyValue: { input: { KeyId: member('String', { required: {} }) }, output: { SecretString: 'String' } },
  },
  {
    'small#Ids': { type: 'list', member: strings },
    'small#Volumes': { type: 'list', member: { target: 'small#Volume' } },
    'small#Volume': {
      type: 'structure',
      members: {
        Size: { target: 'smithy.api#Integer' },
        VolumeId: strings,
        State: strings,
        Owner: { ...strings, traits: { 'smithy.api#sensitive': {} } },
        Attachments: { target: 'small#Attachments' },
        Tags: { target: 'small#Tags' },
      },
    },
    'small#Attachments': { type: 'list', member: { target: 'small#Attachment' } },
    'small#Attachment': { type: 'structure', members: { Device: strings, InstanceId: strings } },
    'small#Tags': { type: 'list', member: { target: 'small#Tag' } },
    'small#Tag': { type: 'structure', members: { Key: strings, Value: strings } },
  },
  'awsJson1_1',
);

let cloud: CapturingServer;
/** What the cloud answers to a read. */
let answer: { readonly status: number; readonly body: object };
beforeAll(async () => {
  cloud = await startServer(({ headers }, response) => {
    const isRead = /\.(?:Describe|Get)/.test(String(headers['x-amz-target']));
    const { status, body } = isRead ? answer : { status: 200, body: { VolumeId: 'vol-9' } };
    response.writeHead(status).end(JSON.stringify(body));
  });
});
beforeEach(() => {
  cloud.requests.length = 0;
});
afterAll(() => cloud.close());

const volume = {
  VolumeId: 'vol-1',
  State: 'in-use',
  Size: 8,
  Owner: 'MARKER-of-a-person',
  Attachments: [{ Device: '/dev/sda', InstanceId: 'i-1' }],
  Tags: [{ Key: 'Name', Value: 'db' }],
};

async function planOf(name: string, args: object, settings: object = {}) {
  const effects = { DeleteVolume: 'delete', ModifyVolume: 'alter', CreateVolume: 'create', PutKeyValue: 'alter' };
  const operations = {
    ...Object.fromEntries(Object.entries(effects).map(([change, effect]) => [change, { effect, ...settings }])),
    DescribeVolumes: { effect: 'read' },
    GetKeyValue: { effect: 'read', effectIsSure: true },
  };
  const loaded = operationsFrom(model, operations, { api: 'disks' });
  const operation = loaded.find(({ api }) => api === name);
  if (operation === undefined) throw new Error('there is none');
  const caller = testCaller('', {
    confirm: 'plan',
    cloud: { endpoints: { disks: cloud.origin } },
    operations: loaded,
  });
  const planned = await caller.call(operation, args, { signal: never });
  const [change] = await caller.store.waiting({});
  if (change === undefined) throw new Error('no change waits');
  const ended = await caller.confirm(change.id, thingOf(change));
  await caller.close();
  return { planned, change, ended, targets: cloud.requests.map(({ headers }) => headers['x-amz-target']) };
}

const read = 'Service.DescribeVolumes';

test('the plan of a change shows what is there, but nothing private', async () => {
  answer = { status: 200, body: { Volumes: [volume] } };
  const { planned, change, targets } = await planOf('DeleteVolume', { VolumeId: 'vol-1' });
  expect(targets).toEqual([read, 'Service.DeleteVolume']);
  expect(JSON.parse(cloud.requests[0]?.body ?? '')).toEqual({ VolumeIds: ['vol-1'] });
  expect(planned.text).toContain(
    'DescribeVolumes shows State "in-use", VolumeId "vol-1", Size 8, Tags "Name" "db", 1 in Attachments: "i-1".',
  );
  expect(JSON.stringify(change)).not.toContain('MARKER');
  expect(change.isPrivate).toBeUndefined();
});

test.each([
  ['is refused', { status: 403, body: { __type: 'AccessDenied' } }, 'What is there now is not known.'],
  ['finds nothing', { status: 400, body: { __type: 'VolumeNotFound' } }, 'What is there now is not known.'],
  ['finds an empty list', { status: 200, body: { Volumes: [] } }, 'DescribeVolumes shows 0 in Volumes.'],
])('a read that %s does not stop the change', async (_what, answered, text) => {
  answer = answered;
  const { planned, ended, targets } = await planOf('ModifyVolume', { VolumeId: 'vol-1' });
  expect(planned.text).toContain(text);
  expect(ended).toMatchObject({ ok: true });
  expect(targets).toEqual([read, 'Service.ModifyVolume']);
});

test.each([
  [
    'lacks the argument that the read would take, which would then be about all things',
    'ModifyVolume',
    { Size: 1 },
    {},
  ],
  ['creates the thing', 'CreateVolume', {}, {}],
  ['would read a secret', 'PutKeyValue', { KeyId: 'k' }, {}],
  ['has no follow', 'DeleteVolume', { VolumeId: 'vol-1' }, { follow: false }],
])('nothing is read before a change that %s', async (_what, name, args, settings) => {
  const { targets } = await planOf(name, args, settings);
  expect(targets).toEqual([`Service.${name}`]);
});

test('the step after a change names the read, without a setting', async () => {
  const { ended } = await planOf('CreateVolume', {});
  expect(ended.text).toContain('describe_volumes with VolumeIds ["vol-9"]');
});

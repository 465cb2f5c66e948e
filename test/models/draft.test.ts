import { describe, expect, test } from 'vitest';
import { hostRules } from '../../src/cli/load-operation-files.js';
import { draftFile } from '../../src/models/draft.js';
import { makeOperations } from '../../src/models/from-model.js';
import { effectDoubt } from '../../src/models/guess-effect.js';
import type { Model } from '../../src/models/model.js';
import { modelSettings } from '../../src/models/model-settings.js';
import { http, member, smallModel } from './small-model.js';

test.each([
  ['read', 'DeleteObjects', 'POST', 'problem'],
  ['read', 'deleteServer', 'POST', 'problem'],
  ['read', 'RunInstances', 'POST', 'problem'],
  ['read', 'StopQuery', 'POST', 'problem'],
  ['read', 'CreateMembers', 'POST', 'problem'],
  ['read', 'StopQuery', 'GET', 'note'],
  ['read', 'Invoke', 'POST', 'note'],
  ['read', 'Watch', 'GET', undefined],
  ['read', 'SearchUsers', 'POST', undefined],
  ['alter', 'DeleteObjects', 'POST', 'note'],
  ['alter', 'deleteServer', 'POST', 'note'],
  ['create', 'EmptyBucket', 'DELETE', 'note'],
  ['create', 'PutUser', 'PUT', undefined],
  ['delete', 'Invoke', 'POST', undefined],
] as const)('%s for %s by %s is doubted: %s', (effect, api, method, kind) => {
  expect(effectDoubt({ api, method, effect })?.kind).toBe(kind);
  expect(effectDoubt({ api, method, effect, effectIsSure: true })).toBeUndefined();
});

const id = member('String', { required: {}, httpLabel: {} });
const model = smallModel({
  CreateFunction: { input: { FunctionName: member('String', { required: {} }) }, traits: http('POST', '/functions') },
  DeleteFunction: { input: { FunctionName: id }, traits: http('DELETE', '/functions/{FunctionName}') },
  GetFunction: {
    input: { FunctionName: id },
    traits: http('GET', '/functions/{FunctionName}'),
  },
  Invoke: { traits: http('POST', '/invoke') },
});

/** Drafts all operations of a model. */
const draftOf = (drafted: Model, operations = drafted.names) =>
  draftFile({ model: drafted, path: './model.json', operations }, hostRules(false));
const operationsIn = ({ json }: { readonly json: string }) => JSON.parse(json).operations;

test('a draft is a file that loads, and says what a person has to decide', () => {
  const draft = draftOf(model);
  const { model: path, ...settings } = JSON.parse(draft.json);
  expect(path).toBe('./model.json');
  expect(settings).toEqual({
    api: 'small',
    prefix: 'small',
    operations: {
      CreateFunction: { effect: 'create' },
      DeleteFunction: { effect: 'delete', costsMoney: false },
      GetFunction: { effect: 'read' },
      Invoke: { effect: 'alter' },
    },
  });
  expect(makeOperations(model, modelSettings.parse(settings), hostRules(false)).problems.size).toBe(0);
  expect(draft.toDecide).toEqual([
    { operation: 'Invoke', reason: 'is drafted as alter, because neither its name nor the model tells what it does' },
  ]);
});

test('a draft leaves out what cannot be offered, and says why', () => {
  const host = member('String', { required: {}, hostLabel: {} });
  const waiter = {
    acceptors: [
      { state: 'success', matcher: { output: { path: 'State', expected: 'A', comparator: 'stringEquals' } } },
    ],
  };
  const draft = draftOf(
    smallModel(
      {
        CreateUser: { input: { Name: member('String', { required: {} }) } },
        GetUser: { input: { Name: host }, traits: { 'smithy.waiters#waitable': { UserExists: waiter } } },
        ListUsers: { traits: { 'smithy.api#auth': [] } },
        Read: { output: { Body: 'small#Body' } },
      },
      { 'small#Body': { type: 'blob', traits: { 'smithy.api#streaming': {} } } },
      'awsJson1_0',
    ),
  );
  expect(operationsIn(draft)).toEqual({ CreateUser: { effect: 'create' } });
  expect(draft.toDecide).toEqual([]);
  expect(draft.leftOut).toEqual([
    { operation: 'GetUser', reason: expect.stringContaining('no argument may choose the host') },
    { operation: 'ListUsers', reason: expect.stringContaining('not signed with Signature Version 4') },
    { operation: 'Read', reason: expect.stringContaining('body of any length') },
  ]);
});

test('the name of each tool fits into 64 characters with the name of the server, and none is taken twice', () => {
  const long = 'DescribeEngineDefaultParametersOfOrderableClusterSnapshots';
  const names = [long, `${long}Again`, `${long}AgaiN`, 'ListUsers'];
  const large = smallModel(Object.fromEntries(names.map((name) => [name, {}])), {}, 'awsJson1_0');
  const named = { ...large, service: { ...large.service, name: 'the-name-of-a-service-in-many-words' } };
  const { model: _, ...settings } = JSON.parse(draftOf(named).json);
  const { operations } = makeOperations(named, modelSettings.parse(settings), hostRules(false));
  const toolNames = operations.map(({ name }) => name);
  expect(toolNames.at(-1)).toMatch(/^\w{1,16}_list_users$/);
  expect(new Set(toolNames).size).toBe(4);
  for (const name of toolNames) expect(`mcp__cloudops__${name}`.length).toBeLessThanOrEqual(64);
});

describe('the read that shows a change', () => {
  const required = (target: string) => member(target, { required: {} });
  const name = { InstanceName: required('String') };
  const output = (path: string, expected: string, comparator = 'stringEquals') => ({
    output: { path, expected, comparator },
  });
  const waiter = (...success: readonly object[]) => ({
    acceptors: [
      { state: 'failure', matcher: output('Instance.State', 'BROKEN') },
      ...success.map((matcher) => ({ state: 'success', matcher })),
    ],
  });
  const waits = (waiters: object) => ({ ...http('POST', '/'), 'smithy.waiters#waitable': waiters });
  const change = (input: object, answer = {}) => ({
    input: { ...input, Size: 'String' },
    output: answer,
    traits: http('POST', '/'),
  });
  const server = smallModel(
    {
      CreateInstance: change(name),
      CreateInstanceRule: change(name),
      RestoreInstanceFromBackup: change(name),
      UpdateInstanceCode: change(name),
      StopInstance: change(name),
      TagInstance: change({ InstanceName: 'String' }),
      DeleteInstance: change(name),
      GetInstance: {
        input: name,
        output: { Instance: 'small#Instance' },
        traits: waits({
          InstanceExists: { acceptors: [{ state: 'success', matcher: { success: true } }] },
          InstanceActiveV2: waiter(output('Instance.State', 'RUNNING')),
          InstanceUpdated: waiter(output('Instance.Update', 'DONE')),
          InstanceStopped: waiter(output('Instance.State', 'STOPPED')),
          InstanceDeleted: waiter({ errorType: 'NotFound' }),
        }),
      },
      CreateVolume: change({ InstanceName: 'String' }, { Volume: 'small#Volume' }),
      CopyVolumes: change({}, { Volumes: 'small#Volumes' }),
      AttachVolume: change({ VolumeId: required('String') }),
      DescribeVolumes: {
        input: { VolumeIds: 'small#Ids', SnapshotIds: 'small#Ids' },
        output: { Volumes: 'small#Volumes' },
        traits: waits({
          VolumeAvailable: {
            acceptors: [{ state: 'success', matcher: output('Volumes[].State', 'available', 'allStringEquals') }],
          },
          VolumeInUse: {
            minDelay: 15,
            maxDelay: 60,
            // As in botocore's files.
            maxAttempts: 40,
            acceptors: [{ state: 'success', matcher: output('Volumes[].State', 'in-use', 'allStringEquals') }],
          },
        }),
      },
      CreateDisk: change(name),
      GetDisk: {
        input: { ...name, Zone: required('String') },
        traits: waits({ DiskReady: waiter(output('State', 'READY')) }),
      },
      CreateGroup: change({ GroupName: 'String' }),
      GetGroup: { input: { GroupName: 'String' }, traits: waits({ GroupReady: 'soon' }) },
      PutGroupPolicy: change({ GroupName: required('String') }),
      GetGroupPolicy: { input: { GroupName: required('String') }, output: {} },
    },
    {
      'small#Ids': { type: 'list', member: { target: 'smithy.api#String' } },
      'small#Volumes': { type: 'list', member: { target: 'small#Volume' } },
      'small#Volume': {
        type: 'structure',
        members: { VolumeId: { target: 'smithy.api#String' }, State: { target: 'smithy.api#String' } },
      },
      'small#Instance': {
        type: 'structure',
        members: { State: { target: 'smithy.api#String' }, Update: { target: 'smithy.api#String' } },
      },
    },
    'awsJson1_0',
  );
  const instance = (end: object) => ({
    read: 'GetInstance',
    arguments: { InstanceName: 'input.InstanceName' },
    failed: { 'Instance.State': ['BROKEN'] },
    ...end,
  });
  const volume = (source: unknown, state: string) => ({
    read: 'DescribeVolumes',
    arguments: { VolumeIds: source },
    done: { 'Volumes[].State': state },
  });

  test.each<[operation: string, expected: object | undefined]>([
    ['CreateInstance', instance({ done: { 'Instance.State': 'RUNNING' } })],
    ['RestoreInstanceFromBackup', instance({ done: { 'Instance.State': 'RUNNING' } })],
    ['UpdateInstanceCode', instance({ done: { 'Instance.Update': 'DONE' } })],
    ['StopInstance', instance({ done: { 'Instance.State': 'STOPPED' } })],
    // The error that the thing is not found.
    ['DeleteInstance', instance({ gone: true })],
    // No waiter, but a read of the thing.
    ['TagInstance', { read: 'GetInstance', arguments: { InstanceName: 'input.InstanceName' } }],
    ['PutGroupPolicy', { read: 'GetGroupPolicy', arguments: { GroupName: 'input.GroupName' } }],
    ['CreateGroup', { read: 'GetGroup', arguments: { GroupName: 'input.GroupName' } }],
    // Lists, and values in the answer.
    ['AttachVolume', { ...volume(['input.VolumeId'], 'in-use'), pauseSeconds: 15, limitSeconds: 600 }],
    ['CreateVolume', volume(['answer.Volume.VolumeId'], 'available')],
    ['CopyVolumes', volume('answer.Volumes[].VolumeId', 'available')],
    // Another thing, and an argument that the change does not have.
    ['CreateInstanceRule', undefined],
    ['CreateDisk', undefined],
  ])('%s', (operation, expected) => {
    const { model: _, ...settings } = JSON.parse(draftOf(server, [operation]).json);
    const { operations } = makeOperations(server, modelSettings.parse(settings), hostRules(false));
    const nameOf = new Map(operations.map(({ name, api }) => [name, api]));
    const { follow } = operations.find(({ api }) => api === operation) ?? {};
    // Loading names the read by its tool.
    expect(follow && { ...follow, read: nameOf.get(follow.read) }).toEqual(expected);
  });
});

import { describe, expect, test } from 'vitest';
import { draftJson, draftRows } from '../../../src/operations/model/draft.js';
import { effectDoubt, guessEffect } from '../../../src/operations/model/guess-effect.js';
import { readSettings } from '../../../src/operations/model/model-settings.js';
import { UnusableFile } from '../../../src/operations/unusable-file.js';
import { http, member, smallModel } from './small-model.js';

test.each([
  ['GetUser', 'GET', false, false, 'read'],
  ['ListUsers', 'POST', true, true, 'read'],
  ['ListUsers', 'POST', false, true, undefined],
  ['CreateUser', 'POST', false, false, 'create'],
  ['PutPolicy', 'PUT', false, false, 'alter'],
  ['DeleteUser', 'DELETE', false, false, 'delete'],
  ['DeleteObjects', 'POST', false, false, 'delete'],
  ['RevokeRule', 'DELETE', false, false, undefined],
  ['StopQuery', 'GET', false, false, undefined],
  ['CreateSession', 'POST', true, true, undefined],
  ['GetUser', 'POST', false, false, undefined],
  ['Getaway', 'GET', false, false, undefined],
] as const)(
  '%s by %s (readonly: %s, same method for all: %s): %s',
  (name, method, isReadonly, isMethodFixed, effect) => {
    expect(guessEffect({ name, method, isReadonly, isMethodFixed }).effect).toBe(effect);
  },
);

test.each([
  ['read', 'DeleteObjects', 'POST', 'problem'],
  ['read', 'deleteServer', 'POST', 'problem'],
  ['read', 'RunInstances', 'POST', 'problem'],
  ['read', 'StopQuery', 'POST', 'problem'],
  ['read', 'CreateMembers', 'POST', 'problem'],
  ['read', 'StopQuery', 'GET', 'note'],
  ['read', 'TagList', 'POST', 'note'],
  ['read', 'SetMembers', 'POST', 'note'],
  ['read', 'UpdateHistory', 'POST', 'note'],
  ['read', 'StartTime', 'POST', 'note'],
  ['read', 'RestoreJobStatus', 'POST', 'note'],
  ['read', 'IssueTracker', 'POST', 'note'],
  ['read', 'RequestStatus', 'POST', 'note'],
  ['read', 'RunQuery', 'POST', 'note'],
  ['read', 'GenerateReport', 'POST', 'note'],
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

test.each([
  ['RevokeRule', 'DELETE', false, 'the name suggests alter, the model suggests a deletion'],
  ['Invoke', 'POST', true, 'neither the name nor the model tells'],
] as const)('%s by %s is unclear, with the reason', (name, method, isMethodFixed, reason) => {
  expect(guessEffect({ name, method, isReadonly: false, isMethodFixed })).toEqual({ reason });
});

function problemsOf(settings: unknown): readonly string[] {
  try {
    readSettings(settings);
    return [];
  } catch (error) {
    if (error instanceof UnusableFile) return error.problems;
    throw error;
  }
}

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

test('the rows have the guess, or the reason why there is none', () => {
  expect(draftRows(model)).toEqual([
    { operation: 'CreateFunction', method: 'POST', path: '/functions', effect: 'create' },
    { operation: 'DeleteFunction', method: 'DELETE', path: '/functions/{FunctionName}', effect: 'delete' },
    { operation: 'GetFunction', method: 'GET', path: '/functions/{FunctionName}', effect: 'read' },
    {
      operation: 'Invoke',
      method: 'POST',
      path: '/invoke',
      effect: 'unclear',
      reason: 'the name does not tell, the model suggests a change',
    },
  ]);
});

describe('a draft', () => {
  const source = { model, path: './it\'s "small".json', operations: model.names };

  test('refuses to be used before it is decided', () => {
    const { model: path, ...settings } = JSON.parse(draftJson(source));
    expect(path).toBe(source.path);
    expect(settings).toMatchObject({
      api: 'small',
      prefix: 'small',
      operations: {
        CreateFunction: { effect: 'create' },
        GetFunction: { effect: 'read' },
      },
    });
    const problems = problemsOf(settings);
    const paths = ['CreateFunction', 'DeleteFunction', 'Invoke'].flatMap((name) => [
      `operations.${name}.costsMoney`,
      `operations.${name}.continues`,
      `operations.${name}.consequences[0]`,
    ]);
    expect(problems.map((problem) => problem.replace(/: is not decided: .*/, '')).sort()).toEqual(
      [...paths, 'operations.Invoke.effect'].sort(),
    );
  });
});

test('a draft asks for the list of entries that failed, and for the field of an error, if the answer has one', () => {
  const structure = (...names: readonly string[]) => ({
    type: 'structure',
    members: Object.fromEntries(names.map((name) => [name, { target: 'smithy.api#String' }])),
  });
  const list = (target: string) => ({ type: 'list', member: { target } });
  const map = (target: string) => ({ type: 'map', key: { target: 'smithy.api#String' }, value: { target } });
  const listOf = {
    Names: 'small#Names',
    Results: 'small#Results',
    FailedIds: 'small#Names',
    UnprocessedItems: 'small#Unprocessed',
    ErrorTexts: 'small#Texts',
    FunctionError: 'String',
    Error: 'small#User',
  };
  const batch = smallModel(
    {
      DeleteUsers: { output: listOf, traits: http('POST', '/delete') },
      DeleteUser: { output: { Names: 'small#Names', Users: 'small#Users' }, traits: http('DELETE', '/user') },
    },
    {
      'small#Names': list('smithy.api#String'),
      'small#Unprocessed': map('small#Users'),
      'small#Texts': map('smithy.api#String'),
      'small#Results': list('small#Result'),
      'small#Result': structure('Id', 'ErrorCode'),
      'small#Users': list('small#User'),
      'small#User': structure('Name'),
    },
  );
  const { operations } = JSON.parse(draftJson({ model: batch, path: './m.json', operations: batch.names }));
  expect(operations.DeleteUsers.failures).toBe(
    'decide: Results or FailedIds or UnprocessedItems, if it lists the entries that failed; else leave it out',
  );
  expect(operations.DeleteUsers.errorField).toBe(
    'decide: FunctionError, if only the answer to a change that failed has it; else leave it out',
  );
  expect(operations.DeleteUser).not.toHaveProperty('failures');
  expect(operations.DeleteUser).not.toHaveProperty('errorField');
});

describe('the read that shows a change', () => {
  const name = { InstanceName: member('String', { required: {} }) };
  const waiter = (path: string, expected: string, comparator = 'stringEquals') => ({
    acceptors: [
      { state: 'failure', matcher: { output: { path, expected: 'BROKEN', comparator } } },
      { state: 'success', matcher: { output: { path, expected, comparator } } },
    ],
  });
  const waits = (waiters: object) => ({ ...http('POST', '/'), 'smithy.waiters#waitable': waiters });
  const change = { input: { ...name, Size: 'String' }, traits: http('POST', '/') };
  const server = smallModel(
    {
      ...Object.fromEntries(
        [
          'CreateInstance',
          'CreateInstanceRule',
          'RestoreInstanceFromBackup',
          'UpdateInstanceCode',
          'StopInstance',
          'DeleteInstance',
          'CreateDisk',
          'CreateGroup',
        ].map((operation) => [operation, change]),
      ),
      GetInstance: {
        input: name,
        traits: waits({
          InstanceExists: { acceptors: [{ state: 'success', matcher: { success: true } }] },
          InstanceActiveV2: waiter('Instance.State', 'RUNNING'),
          InstanceUpdated: waiter('Instance.Update', 'DONE'),
          InstanceDeleted: waiter('length(Instances) == `0`', 'true', 'booleanEquals'),
        }),
      },
      ListInstances: {
        input: { InstanceName: 'String' },
        traits: waits({ InstanceRunning: waiter('Instances[].State', 'RUNNING', 'allStringEquals') }),
      },
      GetDisk: {
        input: { ...name, Zone: member('String', { required: {} }) },
        traits: waits({ DiskReady: waiter('State', 'READY') }),
      },
      GetGroup: { input: name, traits: waits({ GroupReady: 'soon' }) },
    },
    {},
    'awsJson1_0',
  );
  const follow = (read: string, done: object) => ({
    read,
    arguments: { InstanceName: 'input.InstanceName' },
    done,
  });

  test.each<[operation: string, others: readonly string[], expected: object | undefined]>([
    ['CreateInstance', [], follow('GetInstance', { 'Instance.State': 'RUNNING' })],
    ['CreateInstance', ['ListInstances'], follow('ListInstances', { 'Instances[].State': 'RUNNING' })],
    ['RestoreInstanceFromBackup', [], follow('GetInstance', { 'Instance.State': 'RUNNING' })],
    ['UpdateInstanceCode', [], follow('GetInstance', { 'Instance.Update': 'DONE' })],
    // Another thing, another state, the end of the thing, an argument that the change does not have, and no waiter.
    ['CreateInstanceRule', [], undefined],
    ['StopInstance', [], undefined],
    ['DeleteInstance', [], undefined],
    ['CreateDisk', [], undefined],
    ['CreateGroup', [], undefined],
  ])('%s beside %j comes from a waiter', (operation, others, expected) => {
    const { operations } = JSON.parse(
      draftJson({ model: server, path: './m.json', operations: [operation, ...others] }),
    );
    expect(operations[operation].follow).toEqual(expected);
    expect('continues' in operations[operation]).toBe(expected === undefined);
    // The draft has that read, which trait and name agree on.
    if (expected !== undefined) expect(operations[Object(expected).read]).toEqual({ effect: 'read' });
  });
});

import { describe, expect, test } from 'vitest';
import exceptions from '../../src/models/effect-exceptions.json' with { type: 'json' };
import { draftedEffect, effectOf } from '../../src/models/guess-effect.js';
import { http, member, smallModel } from './small-model.js';

/** Returns the effect of an operation in a protocol that sends everything by POST. */
const effectFor = (operation: string, traits = {}) => {
  const model = smallModel({ [operation]: { traits } }, {}, 'awsJson1_0');
  return effectOf(model, model.operation(operation));
};

const isReadonly = { 'smithy.api#readonly': {} };

describe('an effect is proved to be a read, or it is a change', () => {
  test.each([
    ['GetThing', 'read'],
    ['BatchGetThing', 'read'],
    ['NiftyDescribeThings', 'read'],
    ['LookupEvents', 'read'],
    ['Getaway', 'alter'],
    ['AdminGetUser', 'read'],
    ['BatchDeleteUsers', 'delete'],
    ['CheckInLicense', 'alter'],
    ['Invoke', 'alter'],
    ['GetId', 'alter'],
    ['WatchThing', 'alter'],
    ['ScanImage', 'alter'],
    ['TestConnection', 'alter'],
    ['ValidateEmail', 'alter'],
    ['PollForJobs', 'alter'],
    ['GetOrCreateThing', 'alter'],
    ['DescribeAndLockThing', 'alter'],
    ['ScheduleKeyDeletion', 'delete'],
    ['UnregisterThing', 'delete'],
  ])('%s is guessed as %s', (operation, effect) => {
    expect(effectFor(operation).effect).toBe(effect);
  });

  test.each([
    ['WatchThing', 'read'],
    ['ReceiveMessage', 'alter'],
    ['CreateSession', 'create'],
    ['PollForJobs', 'alter'],
    ['GetActivityTask', 'alter'],
  ])('%s, which the model marks as a read, is guessed as %s', (operation, effect) => {
    expect(effectFor(operation, isReadonly).effect).toBe(effect);
  });

  test('a read that is sent by PUT or DELETE is a change', () => {
    const model = smallModel({ GetA: { traits: http('PUT', '/a') }, GetB: { traits: http('DELETE', '/b') } });
    expect(model.names.map((name) => effectOf(model, model.operation(name)).effect)).toEqual(['alter', 'delete']);
  });

  test.each(Object.keys(exceptions.changesNamedLikeReads))('%s changes something', (operation) => {
    expect(effectFor(operation).effect).toBe('alter');
  });

  test.each(Object.keys(exceptions.readsNamedLikeChanges))('%s only reads', (operation) => {
    expect(effectFor(operation).effect).toBe('read');
  });
});

const unclear = true;
test.each<[name: string, method: string, effect: string, isUnclear?: boolean]>([
  ['SearchUsers', 'POST', 'read'],
  ['HeadObject', 'HEAD', 'read'],
  ['CreateUser', 'POST', 'create'],
  ['PutPolicy', 'PUT', 'alter'],
  ['DeleteUser', 'DELETE', 'delete'],
  ['DeleteObjects', 'POST', 'delete'],
  ['RevokeRule', 'DELETE', 'delete'],
  ['GetUser', 'PUT', 'alter', unclear],
  ['StopQuery', 'GET', 'alter', unclear],
  ['Getaway', 'GET', 'alter', unclear],
])('%s by %s is drafted as %s', (name, method, effect, isUnclear = false) => {
  const model = smallModel({ [name]: { traits: http(method, '/') } });
  const drafted = draftedEffect(model, model.operation(name));
  expect(drafted.effect).toBe(effect);
  expect(drafted.unclear !== undefined).toBe(isUnclear);
});

test.each([
  ['RunInstances', true],
  ['CreateVolume', true],
  ['CopyDBSnapshot', true],
  ['RestoreTableToPointInTime', true],
  ['RestoreThingToPointInTime', true],
  ['ModifyVolumeAttribute', true],
  ['MonitorInstances', true],
  ['SelectObjectContent', true],
  ['GetCostAndUsage', true],
  ['CreateRouteTable', false],
  ['CreateKeyPair', false],
  ['CreateSecurityGroup', false],
  ['RegisterInstancesWithLoadBalancer', false],
  ['TagInstance', false],
  ['StopInstances', false],
  ['DeleteVolume', false],
  ['DescribeInstances', false],
])('%s can start or raise a charge: %s', (operation, canCost) => {
  expect(effectFor(operation).canCost).toBe(canCost);
});

describe('a read that gives out secrets is marked', () => {
  test.each([
    ...Object.keys(exceptions.readsOfSecrets),
    'GetSecretValue',
    'GetSessionToken',
    'GetAuthorizationToken',
    'GetCredentialsForIdentity',
    'GetApiKeys',
    'GetDownloadUrlForLayer',
    'GetRandomPassword',
  ])('%s', (operation) => {
    expect(effectFor(operation)).toMatchObject({ effect: 'read', givesSecrets: true });
  });

  test.each(['GetSecretPolicy', 'GetAccountPasswordPolicy', 'ListAccessKeys', 'GetQueueUrl', 'GetChangeTokenStatus'])(
    'but not %s',
    (operation) => {
      expect(effectFor(operation)).toMatchObject({ effect: 'read', givesSecrets: false });
    },
  );

  test('by an address that the model calls presigned', () => {
    const address = member('String', { documentation: 'A presigned URL of the upload.' });
    const model = smallModel({ ListUploads: { output: { Url: address } } }, {}, 'awsJson1_0');
    expect(effectOf(model, model.operation('ListUploads'))).toMatchObject({ effect: 'read', givesSecrets: true });
  });

  test('and not a change, whose answer has its own rules', () => {
    expect(effectFor('CreateAccessToken')).toMatchObject({ effect: 'create', givesSecrets: false });
  });
});

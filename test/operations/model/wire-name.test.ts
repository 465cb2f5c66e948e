import { expect, test } from 'vitest';
import { translatePath } from '../../../src/operations/model/argument-paths.js';
import { argumentsOf } from '../../../src/operations/model/arguments.js';
import { member, smallModel } from './small-model.js';

/** Names of arguments: as in requests, which depends on the protocol. */

const shapes = {
  'small#Names': { type: 'list', member: { target: 'smithy.api#String' } },
  'small#Place': {
    type: 'structure',
    members: {
      RoomName: {
        target: 'smithy.api#String',
        traits: { 'smithy.api#jsonName': 'room', 'smithy.api#xmlName': 'Room', 'smithy.api#httpHeader': 'x-room' },
      },
    },
  },
};
const input = {
  Acl: member('String', { httpHeader: 'x-amz-acl' }),
  MaxKeys: member('Integer', { httpQuery: 'max-keys' }),
  Owner: member('String', { jsonName: 'owner', xmlName: 'OwnerId' }),
  Keys: member('small#Names', { xmlName: 'Key', xmlFlattened: {} }),
  Grants: member('small#Names', { xmlName: 'GrantList' }),
  Place: 'small#Place',
};

const argumentsWith = (protocol: string, members: Parameters<typeof smallModel>[0][string]['input'] = input) => {
  const model = smallModel({ Put: { input: members ?? {} } }, shapes, protocol);
  return argumentsOf(model, model.operation('Put').input, () => false);
};
const namesWith = (...given: Parameters<typeof argumentsWith>) => argumentsWith(...given).map(({ name }) => name);

test.each([
  ['restJson1', ['x-amz-acl', 'max-keys', 'owner', 'Keys', 'Grants', 'Place'], 'room'],
  ['awsJson1_0', ['Acl', 'MaxKeys', 'Owner', 'Keys', 'Grants', 'Place'], 'RoomName'],
  ['awsJson1_1', ['Acl', 'MaxKeys', 'Owner', 'Keys', 'Grants', 'Place'], 'RoomName'],
  // A list without an element around its entries has no name in requests: only the entries have.
  ['restXml', ['x-amz-acl', 'max-keys', 'OwnerId', 'Keys', 'GrantList', 'Place'], 'Room'],
  ['awsQuery', ['Acl', 'MaxKeys', 'OwnerId', 'Keys', 'GrantList', 'Place'], 'Room'],
  ['ec2Query', ['Acl', 'MaxKeys', 'OwnerId', 'Keys', 'Grants', 'Place'], 'Room'],
])('with %s, arguments are %j, and %s in a structure', (protocol, names, inner) => {
  const fields = argumentsWith(protocol);
  expect(fields.map(({ name }) => name)).toEqual(names);
  const place = fields.at(-1)?.rules;
  expect(place?.kind === 'structure' ? place.fields().map(({ name }) => name) : place).toEqual([inner]);
});

test('ec2Query has names of its own, and begins every other name with a capital', () => {
  const own = { target: 'String', traits: { 'aws.protocols#ec2QueryName': 'DryRunOnly' } };
  expect(namesWith('ec2Query', { DryRun: own, Zone: member('String', { xmlName: 'zoneId' }) })).toEqual([
    'DryRunOnly',
    'ZoneId',
  ]);
});

test.each([
  ['with a dot, which separates the steps of paths', { Size: member('String', { httpQuery: 'file.size' }) }, ['Size']],
  ['with a colon', { Type: member('String', { xmlName: 'xsi:type' }) }, ['Type']],
  ['of another member', { A: member('String', { httpQuery: 'B' }), B: 'String' }, ['A', 'B']],
  [
    'of an argument before it',
    { A: member('String', { httpQuery: 'x' }), B: member('String', { httpQuery: 'x' }) },
    ['x', 'B'],
  ],
  ['of the account', { account: 'String' }, ['account_']],
  [
    'of a control argument',
    { Older: member('String', { httpQuery: 'replaces' }), planOnly: 'String' },
    ['Older', 'planOnly_'],
  ],
])('a name %s is not used', (_what, members, names) => {
  expect(namesWith('restXml', members)).toEqual(names);
});

test.each([
  ['name', 'Place.RoomName', 'Place.Room'],
  ['name', 'Place.Room', 'Place.Room'],
  ['memberName', 'Place.Room', 'Place.RoomName'],
  ['memberName', 'max-keys', 'MaxKeys'],
  ['name', 'Keys[0]', 'Keys[0]'],
] as const)('by %s, %s is %s', (to, path, expected) => {
  const naming = { setting: 'failures', structure: 'the answer' };
  expect(translatePath(path, argumentsWith('restXml'), to, naming)).toBe(expected);
  expect(() => translatePath('Nothing.Room', argumentsWith('restXml'), to, naming)).toThrow(
    'failures: Nothing is not in the answer',
  );
});

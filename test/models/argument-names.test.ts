import fc from 'fast-check';
import { expect, test } from 'vitest';
import { translatePath, withListedNames } from '../../src/models/argument-names.js';
import { argumentsOf } from '../../src/models/chosen-operation.js';
import { member, smallModel } from './small-model.js';

/** Names of arguments: as in the model, while calls and settings may also have the names in requests, which depend on the protocol. */

const shapes = {
  'small#Names': { type: 'list', member: { target: 'smithy.api#String' } },
  'small#Places': { type: 'list', member: { target: 'small#Place' } },
  'small#PlaceMap': { type: 'map', key: { target: 'smithy.api#String' }, value: { target: 'small#Place' } },
  'small#Place': {
    type: 'structure',
    members: {
      RoomName: {
        target: 'smithy.api#String',
        traits: { 'smithy.api#jsonName': 'room', 'smithy.api#xmlName': 'Room', 'smithy.api#httpHeader': 'x-room' },
      },
      Inner: { target: 'small#Place' },
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
  Places: 'small#Places',
  PlaceMap: 'small#PlaceMap',
};

const argumentsWith = (protocol: string, members: Parameters<typeof smallModel>[0][string]['input'] = input) => {
  const model = smallModel({ Put: { input: members ?? {} } }, shapes, protocol);
  return argumentsOf(model.operation('Put'));
};

test.each([
  ['restJson1', ['x-amz-acl', 'max-keys', 'owner', 'Keys', 'Grants'], 'room'],
  ['awsJson1_0', ['Acl', 'MaxKeys', 'Owner', 'Keys', 'Grants'], 'RoomName'],
  ['awsJson1_1', ['Acl', 'MaxKeys', 'Owner', 'Keys', 'Grants'], 'RoomName'],
  // A list without an element around its entries has no name in requests: only the entries have.
  ['restXml', ['x-amz-acl', 'max-keys', 'OwnerId', 'Keys', 'GrantList'], 'Room'],
  ['awsQuery', ['Acl', 'MaxKeys', 'OwnerId', 'Keys', 'GrantList'], 'Room'],
  ['ec2Query', ['Acl', 'MaxKeys', 'OwnerId', 'Keys', 'Grants'], 'Room'],
])('with %s, the names in requests are %j, and %s in a structure', (protocol, names, inner) => {
  const fields = argumentsWith(protocol);
  expect(fields.map(({ name }) => name)).toEqual(Object.keys(input));
  expect(fields.slice(0, names.length).map(({ requestName }) => requestName)).toEqual(names);

  const value = (room: string) => ({ [room]: 'a', Inner: { [room]: 'b' } });
  const call = (room: string) => ({
    Place: value(room),
    Places: [value(room)],
    PlaceMap: { [room]: value(room) },
  });
  const listed = { ...call('RoomName'), PlaceMap: { [inner]: value('RoomName') } };
  expect(withListedNames(fields, call(inner))).toEqual(listed);
  const asText = Object.entries(call(inner)).map(([name, given]) => [name, JSON.stringify(given)]);
  expect(withListedNames(fields, Object.fromEntries(asText))).toEqual(listed);
});

test('ec2Query has names of its own, and begins every other name with a capital', () => {
  const own = { target: 'String', traits: { 'aws.protocols#ec2QueryName': 'DryRunOnly' } };
  const members = { DryRun: own, Zone: member('String', { xmlName: 'zoneId' }) };
  expect(argumentsWith('ec2Query', members).map(({ requestName }) => requestName)).toEqual(['DryRunOnly', 'ZoneId']);
});

const string = (traits: object) => member('String', { ...traits });
test.each<[what: string, members: Parameters<typeof argumentsWith>[1], given: object, listed: object]>([
  ['of another member', { A: string({ httpQuery: 'B' }), B: 'String' }, { A: '1', B: '2' }, { A: '1', B: '2' }],
  ['of the account', { account: 'String' }, { account: '1', account_: '2' }, { account: '1', account_: '2' }],
  [
    'of an argument of this server',
    { Older: string({ httpQuery: 'replaces' }), planOnly: 'String', outputFields: 'String' },
    { replaces: '1', planOnly: true, outputFields: ['a'], planOnly_: '2', outputFields_: '3' },
    { replaces: '1', planOnly: true, outputFields: ['a'], planOnly_: '2', outputFields_: '3' },
  ],
  ['that is unknown', { A: 'String' }, { B: '1', a: '2' }, { B: '1', a: '2' }],
  [
    'of an argument that is given under both',
    { A: string({ httpQuery: 'x' }) },
    { A: '1', x: '2' },
    { A: '1', x: '2' },
  ],
])('a name %s stays as it is', (_what, members, given, listed) => {
  expect(withListedNames(argumentsWith('restXml', members), { ...given })).toEqual(listed);
});

test('no text makes the names unreadable', () => {
  const fields = argumentsWith('restJson1');
  const deep = `${'{"Inner":'.repeat(4000)}{}${'}'.repeat(4000)}`;
  expect(withListedNames(fields, { Place: deep })).toEqual({ Place: deep });
  fc.assert(
    fc.property(fc.string(), (text) => {
      const value = withListedNames(fields, { Place: text }).Place;
      expect(value).toEqual(typeof value === 'string' ? text : JSON.parse(text));
    }),
  );
});

test.each([
  ['Place.RoomName', 'Place.RoomName'],
  ['Place.Room', 'Place.RoomName'],
  ['max-keys', 'MaxKeys'],
  ['Keys[0]', 'Keys[0]'],
])('in settings, %s is %s', (path, expected) => {
  const naming = { setting: 'failures', structure: 'the answer' };
  expect(translatePath(path, argumentsWith('restXml'), naming)).toBe(expected);
  expect(() => translatePath('Nothing.Room', argumentsWith('restXml'), naming)).toThrow(
    'failures: Nothing is not in the answer',
  );
});

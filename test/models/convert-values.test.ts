import { expect, test } from 'vitest';
import { answerSummary } from '../../src/models/answer-summary.js';
import { answerRecord } from '../../src/models/convert-values.js';
import { secrecyIn } from '../../src/models/secret-members.js';
import { member, smallModel } from './small-model.js';

const model = smallModel(
  {
    Get: {
      output: {
        Since: 'Timestamp',
        Cover: 'Blob',
        Size: 'Long',
        Total: 'BigInteger',
        Ratio: 'Double',
        Password: 'String',
        PasswordLength: 'Integer',
        Address: member('String', { sensitive: {} }),
        Users: 'small#Users',
        Tags: 'small#Tags',
        Times: 'small#Times',
        More: 'Document',
      },
    },
  },
  {
    'small#Users': { type: 'list', member: { target: 'small#User' } },
    'small#User': {
      type: 'structure',
      members: { AccessToken: { target: 'smithy.api#String' }, Name: { target: 'smithy.api#String' } },
    },
    'small#Times': { type: 'list', member: { target: 'smithy.api#Timestamp' } },
    'small#Tags': { type: 'map', key: { target: 'smithy.api#String' }, value: { target: 'small#User' } },
  },
);
const fields = model.operation('Get').output.members;
const { isSecret } = secrecyIn({ secretNames: ['Name'], notSecret: [] });

test('an answer becomes a record of JSON, without secrets', () => {
  const answer = {
    Since: '2026-11-30T13:00:00+01:00',
    Cover: new Uint8Array([1, 2, 3]),
    Size: '12345678901234567890',
    Total: '12345678901234567890.5',
    Ratio: Number.POSITIVE_INFINITY,
    Password: 'p',
    PasswordLength: 8,
    Address: 'c',
    Users: [{ AccessToken: 't', Name: 'n' }],
    Tags: { a: { AccessToken: 't' } },
    More: { any: [1, 'thing'] },
    Undocumented: 'x',
    Absent: undefined,
  };
  const hidden = expect.stringContaining('hidden');
  const record = answerRecord(fields, answer, isSecret);
  expect(record).toEqual({
    Since: '2026-11-30T12:00:00.000Z',
    Cover: 'AQID',
    Size: '12345678901234567890',
    Total: '12345678901234567890.5',
    Ratio: 'Infinity',
    Password: hidden,
    PasswordLength: 8,
    Address: 'c',
    Users: [{ AccessToken: hidden, Name: hidden }],
    Tags: { a: { AccessToken: hidden } },
    More: { any: [1, 'thing'] },
    Undocumented: 'x',
  });
});

test.each([
  [1796040000, '2026-11-30T12:00:00.000Z'],
  [1796040000.123, '2026-11-30T12:00:00.123Z'],
  ['1796040000', '2026-11-30T12:00:00.000Z'],
  ['2026-11-30T12:00:00.123456789Z', '2026-11-30T12:00:00.123Z'],
  ['Mon, 30 Nov 2026 12:00:00 GMT', '2026-11-30T12:00:00.000Z'],
  ['Monday, 30-Nov-26 12:00:00 GMT', '2026-11-30T12:00:00.000Z'],
])('the time %j is %s', (Since, expected) => {
  expect(answerRecord(fields, { Since }, isSecret)).toEqual({ Since: expected });
});

test('the dates of a header, which are split at their commas, are times', () => {
  const pieces = ['Mon', '30 Nov 2026 12:00:00 GMT', 'Tue', '01 Dec 2026 12:00:00 GMT'];
  const Times = ['2026-11-30T12:00:00.000Z', '2026-12-01T12:00:00.000Z'];
  expect(answerRecord(fields, { Times: pieces }, isSecret)).toEqual({ Times });
  expect(answerRecord(fields, { Times }, isSecret)).toEqual({ Times });
});

test.each<[object, object]>([
  [
    { Size: '12', Ratio: '1.5' },
    { Size: 12, Ratio: 1.5 },
  ],
  [
    { Size: ' 12 ', Ratio: '-1e3' },
    { Size: 12, Ratio: -1000 },
  ],
  [
    { Size: '9007199254740993', Ratio: 'NaN' },
    { Size: '9007199254740993', Ratio: 'NaN' },
  ],
  [
    { Size: 'big', Ratio: 'wide' },
    { Size: 'big', Ratio: 'wide' },
  ],
  [{ Size: '', Ratio: '' }, {}],
  [{ Ratio: 'Infinity' }, { Ratio: 'Infinity' }],
])('a text in place of a number becomes the number, if that changes nothing: %j', (answer, expected) => {
  const record = answerRecord(fields, { ...answer }, isSecret);
  expect(record).toEqual(expected);
});

test.each([
  [{ Size: 1, Tags: { a: 'no user' } }],
  [{ Users: ['no user'] }],
  [{ Total: { digits: '1' } }],
  [{ Size: { x: 1 }, Since: 'now', Cover: 'not base64!' }],
])('an answer that does not fit the model stays as it is: %j', (answer) => {
  expect(answerRecord(fields, answer, isSecret)).toEqual(answer);
});

test.each<[object, string]>([
  [{ Names: ['a', 'b', 'c', 'd'], Other: [] }, 'Get succeeded: 4 in Names: "a", "b", "c" and others, 0 in Other.'],
  [{ Result: { Users: [{ Size: 1, UserName: 'u', Note: 'n' }] } }, 'Get succeeded: 1 in Result.Users: "u".'],
  [
    { Result: { Instances: [{ FirewallGroupName: 'f', InstanceId: 'i' }] } },
    'Get succeeded: 1 in Result.Instances: "i".',
  ],
  [{ Errors: [{ VersionId: 'v', Key: 'k' }] }, 'Get succeeded: 1 in Errors: "k".'],
  [{ Users: [] }, 'Get succeeded: 0 in Users.'],
  [
    { Id: 'i', State: { Code: 16, On: true }, A: 'a', B: '' },
    'Get succeeded: State.Code 16, State.On true, Id "i", A "a".',
  ],
  [
    {
      Table: {
        Keys: [{ Name: 'id' }],
        Rows: 3,
        TableName: 't',
        TableStatus: 'ACTIVE',
        Tags: [{ Key: 'a', Value: 'b' }],
      },
    },
    'Get succeeded: Table.TableStatus "ACTIVE", Table.TableName "t", Table.Rows 3, 1 in Table.Keys: "id", 1 in Table.Tags: "a".',
  ],
  [
    { Name: 'bucket', Versions: [{ Key: 'k' }], IsTruncated: true, NextKeyMarker: 'k' },
    'Get succeeded: Name "bucket", 1 in Versions: "k". More follow.',
  ],
  [{ Items: ['a'], Page: { HasMore: true } }, 'Get succeeded: 1 in Items: "a". More follow.'],
  [{ Items: ['a'], LastEvaluatedKey: { Id: { S: 'a' } } }, 'Get succeeded: 1 in Items: "a". More follow.'],
  [{ Items: [{ IsTruncated: true, NextToken: 'x' }] }, 'Get succeeded: 1 in Items: "x".'],
  [{ Names: ['a'], IsTruncated: false, NextToken: '' }, 'Get succeeded: 1 in Names: "a".'],
  [{}, 'Get succeeded. Its answer has no values to show.'],
])('the summary of %j', (record, summary) => {
  expect(answerSummary('Get', { ...record }, { isChange: false }).text).toBe(summary);
});

test.each<[object, string]>([
  [
    { Users: [{ Name: 'u' }], Id: 'i', Status: 'CREATING' },
    'Create was accepted: Status "CREATING", Id "i", 1 in Users: "u".',
  ],
  [{ Errors: [{}], IsTruncated: true }, 'Create was accepted: 1 in Errors.'],
  [{}, 'Create was accepted. Its answer has no values to show.'],
])('the summary of a change that is answered with %j', (record, summary) => {
  expect(answerSummary('Create', { ...record }, { isChange: true }).text).toBe(summary);
});

test('the summary of pages is about the list of their entries', () => {
  const record = { Names: ['a'], Prefixes: ['b', 'c'], Status: 'ok' };
  expect(answerSummary('List', record, { isChange: false, items: 'Names' }).text).toBe('List found 1 in Names: "a".');
});

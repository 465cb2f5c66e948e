import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { inputJsonSchema } from '../../src/mcp/tool-schemas.js';
import { withListedNames } from '../../src/models/argument-names.js';
import { argumentShape } from '../../src/models/argument-schema.js';
import { memberValues } from '../../src/models/convert-values.js';
import { exampleArguments } from '../../src/models/example-arguments.js';
import { listTool } from '../../src/models/fit-listings.js';
import { uncheckedPatterns } from '../../src/models/read-pattern.js';
import { secretPaths } from '../../src/models/secret-members.js';
import { schemaProblems } from '../support/schema-problems.js';
import { member, smallModel } from './small-model.js';

/** Shapes of a library: one for each kind of value, and one that contains itself. */
const shapes = {
  'small#Name': {
    type: 'string',
    traits: { 'smithy.api#length': { min: 3, max: 5 }, 'smithy.api#pattern': '^[a-z]+$' },
  },
  'small#Part': { type: 'string', traits: { 'smithy.api#pattern': '[0-9]' } },
  'small#Slow': { type: 'string', traits: { 'smithy.api#pattern': '^(a+)+$' } },
  'small#Foreign': { type: 'string', traits: { 'smithy.api#pattern': '^\\p{Print}+$' } },
  'small#Days': { type: 'integer', traits: { 'smithy.api#range': { min: 1, max: 30 } } },
  'small#Binding': {
    type: 'enum',
    members: { SOFT: { target: 'smithy.api#Unit' }, HARD: { target: 'smithy.api#Unit' } },
  },
  'small#Level': {
    type: 'intEnum',
    members: {
      A: { target: 'smithy.api#Unit', traits: { 'smithy.api#enumValue': 1 } },
      B: { target: 'smithy.api#Unit', traits: { 'smithy.api#enumValue': 4 } },
    },
  },
  'small#Tags': { type: 'map', key: { target: 'smithy.api#String' }, value: { target: 'small#Name' } },
  'small#Names': {
    type: 'list',
    member: { target: 'small#Name' },
    traits: { 'smithy.api#length': { max: 2 }, 'smithy.api#uniqueItems': {} },
  },
  'small#Place': {
    type: 'union',
    members: { Shelf: { target: 'smithy.api#String' }, Room: { target: 'smithy.api#Integer' } },
  },
  'small#Box': {
    type: 'structure',
    members: { Label: { target: 'small#Name', traits: { 'smithy.api#required': {} } }, Inner: { target: 'small#Box' } },
  },
  'small#Cover': { type: 'blob', traits: { 'smithy.api#length': { max: 3 } } },
};

const input = {
  Name: 'small#Name',
  Part: 'small#Part',
  Slow: 'small#Slow',
  Foreign: 'small#Foreign',
  Days: 'small#Days',
  Tiny: 'Byte',
  Price: 'Double',
  Huge: 'BigInteger',
  Lent: 'Boolean',
  Binding: 'small#Binding',
  Level: 'small#Level',
  Since: 'Timestamp',
  Cover: 'small#Cover',
  Body: member('small#Cover', { httpPayload: {} }),
  Note: 'Document',
  Tags: 'small#Tags',
  Names: 'small#Names',
  Place: 'small#Place',
  Box: 'small#Box',
  Wire: member('String', { jsonName: 'wireName' }),
  Must: member('String', { required: {} }),
};

const model = smallModel({ Lend: { input } }, shapes);
const fields = model.operation('Lend').input.members;
const schema = z.strictObject(argumentShape(fields));

const problemOf = (given: object): string | undefined => {
  const args = withListedNames(fields, { Must: 'x', ...given });
  const [issue] = schema.safeParse(args, { reportInput: true }).error?.issues ?? [];
  return issue && `${issue.path.join('.')}: ${issue.message}`;
};

test.each([
  { Name: 'abc' },
  { Part: 'not anchored, so 1 digit suffices' },
  { Slow: 'left to the cloud!' },
  { Foreign: 'left to the cloud' },
  { Days: 30 },
  { Days: '7' },
  { Price: 1.5 },
  { Price: '1.5' },
  { Price: 'NaN' },
  { Price: '-Infinity' },
  { Huge: '123456789012345678901234567890' },
  { Binding: 'HARD' },
  { Level: 4 },
  { Since: '2026-11-30T12:00:00Z' },
  { Since: '2026-11-30T12:00:00.123+09:00' },
  { Cover: 'QUJD' },
  { Cover: '//79' },
  { Body: 'QUJD' },
  { Note: '{"any":["JSON",1,null]}' },
  { Note: '"a text"' },
  { Note: 'a text' },
  { Tags: '{"a":"abc"}' },
  { Tags: { a: 'abc' } },
  { Names: ['abc', 'abd'] },
  { Place: { Room: 1 } },
  { Box: { Label: 'abc', Inner: '{"Label":"abc","Inner":{"Label":"abc"}}' } },
  { Wire: 'x' },
])('%j is allowed', (given) => {
  expect(problemOf(given)).toBeUndefined();
});

test.each<[object, RegExp]>([
  [{ Must: undefined }, /^Must: /],
  [{ Name: 'ab' }, /^Name: must have 3 to 5 characters$/],
  [{ Name: 'ABC' }, /^Name: must match the pattern/],
  [{ Part: 'none' }, /^Part: must match/],
  [{ Days: 31 }, /^Days: must be a whole number from 1 to 30$/],
  [{ Days: 1.5 }, /^Days: must be a whole number/],
  [{ Tiny: 128 }, /^Tiny: must be a whole number from -128 to 127$/],
  [{ Price: 'cheap' }, /^Price: must be a number$/],
  [{ Huge: 'many' }, /^Huge: must be a number as text/],
  [{ Lent: 'yes' }, /^Lent: must be true or false$/],
  [{ Binding: 'GOLD' }, /^Binding: /],
  [{ Level: 2 }, /^Level: must be one of: 1, 4$/],
  [{ Since: 'yesterday' }, /^Since: must be a time in ISO 8601/],
  [{ Since: '2026-13-01T00:00:00Z' }, /^Since: must be a time/],
  [{ Cover: '***' }, /^Cover: must be base64$/],
  [{ Cover: 'QU_D' }, /^Cover: must be base64$/],
  [{ Cover: 'QUJ' }, /^Cover: must be base64$/],
  [{ Cover: 'QUJDRA==' }, /^Cover: must hold at most 3 bytes$/],
  [{ Body: '//79' }, /^Body: must be the base64 of text in UTF-8$/],
  [{ Note: '{"cut' }, /^Note: must be JSON text$/],
  [{ Tags: 'a text' }, /^Tags: must be JSON text$/],
  [{ Box: '{"Label":' }, /^Box: must be JSON text$/],
  [{ Note: `${'['.repeat(33)}${']'.repeat(33)}` }, /^Note: must be JSON text/],
  [{ Box: { Label: 'abc', Inner: '"text"' } }, /^Box\.Inner: /],
  [{ Tags: '{"a":"ABC"}' }, /^Tags\.a: must match the pattern/],
  [{ Names: ['abc', 'abc'] }, /^Names: must not have an entry twice$/],
  [{ Names: ['abc', 'abd', 'abe'] }, /^Names: must have at most 2 entries$/],
  [{ Place: {} }, /^Place: must have exactly one of: Shelf, Room$/],
  [{ Place: { Shelf: 'a', Room: 1 } }, /^Place: must have exactly one/],
  [{ Box: { Label: 'abc', Inner: '{"Label":"abc","Inner":{"Label":"AB"}}' } }, /^Box\.Inner\.Inner\.Label: /],
  [{ Box: { Label: 'abc', Inner: '{"Label":"abc","Colour":"red"}' } }, /^Box\.Inner: /],
  [{ Colour: 'x' }, /^: Unrecognized/],
])('%j is refused', (given, problem) => {
  expect(problemOf(given)).toMatch(problem);
});

describe('the schema for hosts', () => {
  const listing = (tools: number) =>
    listTool({ title: 'Lend', description: 'Lends.', fields, control: {} }, tools).input;

  test.each([1, 12, 30])('has only what every host accepts, in a list of %i tools', (tools) => {
    expect(schemaProblems(listing(tools))).toEqual([]);
  });

  test('has the types of the rules, the same arguments and the same required ones', () => {
    const { properties: rules, required } = inputJsonSchema(schema);
    const { properties: listed, required: alsoRequired } = listing(1);
    const types = (all: unknown) =>
      Object.entries(Object(all)).map(([name, property]) => [name, Object(property).type]);
    expect(types(listed)).toEqual(types(rules));
    expect(alsoRequired).toEqual(required);
  });

  test('writes what JSON text holds', () => {
    expect(listing(1).properties).toMatchObject({
      Tags: { type: 'string', description: 'Tags. JSON text.' },
      Box: { properties: { Inner: { properties: { Inner: { description: 'Inner. JSON text: {Label, Inner?}' } } } } },
    });
  });
});

test('says which patterns are left to the cloud, at any depth', () => {
  const nested = smallModel(
    { Lend: { input: { ...input, Loans: 'small#Loans' } } },
    {
      ...shapes,
      'small#Loans': { type: 'list', member: { target: 'small#Loan' } },
      'small#Loan': {
        type: 'structure',
        members: { By: { target: 'small#Slow' }, Next: { target: 'small#Loan' }, Name: { target: 'small#Name' } },
      },
    },
  );
  expect(uncheckedPatterns(nested.operation('Lend').input.members)).toEqual([
    'The pattern of Slow is left to the cloud, because it repeats a group.',
    'The pattern of Foreign is left to the cloud, because JavaScript cannot read it.',
    'The pattern of By is left to the cloud, because it repeats a group.',
  ]);
});

test('a structure in many places is searched once for patterns and secrets', () => {
  const levels = Array.from({ length: 10 }, (_, level) => [
    `small#Level${level}`,
    {
      type: 'structure',
      members: { A: { target: `small#Level${level + 1}` }, B: { target: `small#Level${level + 1}` } },
    },
  ]);
  const model = smallModel(
    { Lend: { input: { Top: 'small#Level0' } } },
    {
      ...shapes,
      ...Object.fromEntries(levels),
      'small#Level10': { type: 'structure', members: { By: { target: 'small#Slow' } } },
    },
  );
  const fields = model.operation('Lend').input.members;
  expect(uncheckedPatterns(fields)).toHaveLength(1);

  let asked = 0;
  const isSecret = () => {
    asked += 1;
    return false;
  };
  expect(secretPaths(fields, isSecret)).toEqual([]);
  // Searching all paths would ask about thousands of members.
  expect(asked).toBeLessThan(100);
});

test('a part of the path has at most 2048 bytes, and cannot address another resource', () => {
  const paths = smallModel({ Get: { input: { Id: member('String', { required: {}, httpLabel: {} }) } } });
  const id = z.strictObject(argumentShape(paths.operation('Get').input.members));
  for (const Id of ['', '.', '..', 'a/../b', '..;x']) expect(id.safeParse({ Id }).success, Id).toBe(false);
  expect(id.safeParse({ Id: 'é'.repeat(1025) }).error?.issues).toMatchObject([
    { message: 'must have at most 2048 bytes' },
  ]);
  for (const Id of ['a', '...', 'a/b', 'arn:x:y/z.txt', 'é'.repeat(1024)])
    expect(id.safeParse({ Id }).success, Id).toBe(true);
});

test('a list in a header has at most 4096 bytes in all', () => {
  const headers = smallModel(
    { Get: { input: { Parts: member('small#Names', { httpHeader: 'x-parts' }) } } },
    { 'small#Names': { type: 'list', member: { target: 'smithy.api#String' } } },
  );
  const [parts] = Object.values(argumentShape(headers.operation('Get').input.members));
  const half = 'a'.repeat(2047);
  expect(parts?.safeParse([half, half]).success).toBe(true);
  expect(parts?.safeParse([half, `${half}a`]).error?.issues).toMatchObject([
    { message: 'must have at most 4096 bytes' },
  ]);
});

test.each([
  [{ author: 'a', 'co-author': 'b' }, true],
  [{ 'a b': 'c' }, false],
  [{ 'a\r\nhost': 'c' }, false],
  [{ ['a'.repeat(129)]: 'c' }, false],
  [{ a: 'b', A: 'c' }, false],
])('the headers %j with a prefix: %s', (given, expected) => {
  const metadata = smallModel(
    { Put: { input: { Metadata: member('small#Metadata', { httpPrefixHeaders: 'x-meta-' }) } } },
    { 'small#Metadata': { type: 'map', key: { target: 'smithy.api#String' }, value: { target: 'smithy.api#String' } } },
  );
  const [field, ...others] = metadata.operation('Put').input.members;
  if (field === undefined) throw new Error('there is none');
  const headers = z.strictObject(argumentShape([field, ...others]));
  for (const Metadata of [given, JSON.stringify(given)])
    expect(headers.safeParse(withListedNames([field], { Metadata })).success).toBe(expected);
});

test('values have the types of the protocols, by the names of members', () => {
  const given = { Wire: 'x', Days: '7', Since: '2026-11-30T12:00:00Z', Cover: 'QUJD', Tags: { a: 'abc' } };
  expect(memberValues(fields, given)).toEqual({
    Wire: 'x',
    Days: 7,
    Since: new Date('2026-11-30T12:00:00Z'),
    Cover: new Uint8Array([65, 66, 67]),
    Tags: { a: 'abc' },
  });
});

test('the text in place of a secret stays readable as bytes, because a plan shows it', () => {
  const { Body } = memberValues(fields, { Body: 'the secret (not shown)' });
  expect(Body).toEqual(new TextEncoder().encode('the secret (not shown)'));
});

test('an example keeps to the rules of all required arguments', () => {
  const required = fields.map((field) => ({ ...field, isRequired: !['Slow', 'Foreign'].includes(field.name) }));
  const example = exampleArguments(required);
  expect(schema.safeParse(example).error?.issues).toBeUndefined();
  expect(Object.keys(example ?? {})).toHaveLength(fields.length - 2);
});

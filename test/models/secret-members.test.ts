import { describe, expect, test } from 'vitest';
import { mayHoldPrivate, secrecyIn, secretPaths } from '../../src/models/secret-members.js';
import { member, operationsFrom, smallModel, smallModelJson } from './small-model.js';

/** A secret is a credential, which nobody sees. A private value is marked as sensitive, and is kept out of logs and stores. */

const text = { target: 'smithy.api#String' };
const sensitive = { target: 'smithy.api#String', traits: { 'smithy.api#sensitive': {} } };
const model = smallModel(
  {
    Create: {
      input: {
        Name: 'String',
        Email: member('String', { sensitive: {} }),
        Pin: member('Integer', { sensitive: {} }),
        Password: 'String',
        SessionToken: member('String', { sensitive: {} }),
        PasswordLength: 'Integer',
        KeyMaterial: 'String',
        Plaintext: 'Blob',
        ApiKey: 'String',
        SSECustomerKey: member('String', { sensitive: {} }),
        ConfirmationCode: member('String', { sensitive: {} }),
        PrivateKeyBase64: 'String',
        PublicKeyMaterial: 'String',
        ClientToken: 'String',
        IdempotencyToken: 'String',
        Emails: 'small#PrivateTexts',
        Variables: 'small#PrivateMap',
        Tokens: 'small#TextMap',
        People: 'small#People',
        PeopleByName: 'small#PeopleMap',
        Key: 'small#ApiKey',
      },
    },
  },
  {
    'small#PrivateTexts': { type: 'list', member: sensitive },
    'small#PrivateMap': { type: 'map', key: text, value: sensitive },
    'small#TextMap': { type: 'map', key: text, value: text },
    'small#People': { type: 'list', member: { target: 'small#Person' } },
    'small#PeopleMap': { type: 'map', key: text, value: { target: 'small#Person' } },
    'small#Person': { type: 'structure', members: { Phone: sensitive, Secret: text, City: text } },
    'small#ApiKey': { type: 'structure', members: { value: text, id: text } },
  },
);
const fields = model.operation('Create').input.members;
const named = (name: string) => fields.filter((field) => field.name === name);

describe('of an argument', () => {
  const { isSecret, isPrivate } = secrecyIn({ secretNames: [], notSecret: [] });
  const kindOf = (name: string) => named(name).map((field) => [isSecret(field), isPrivate(field)]);

  test.each([
    ...['Password', 'SessionToken', 'KeyMaterial', 'Plaintext', 'ApiKey', 'Tokens'],
    ...['SSECustomerKey', 'ConfirmationCode', 'PrivateKeyBase64'],
  ])('%s is secret', (name) => {
    expect(kindOf(name)).toEqual([[true, false]]);
  });
  test.each(['Email', 'Pin', 'Emails', 'Variables'])('%s is private', (name) => {
    expect(kindOf(name)).toEqual([[false, true]]);
  });
  test.each(['Name', 'PasswordLength', 'PublicKeyMaterial', 'ClientToken', 'IdempotencyToken'])(
    '%s is neither',
    (name) => {
      expect(kindOf(name)).toEqual([[false, false]]);
    },
  );
});

test('settings correct the guess', () => {
  const { isSecret, isPrivate } = secrecyIn({ secretNames: ['Name'], notSecret: ['Password', 'SessionToken'] });
  expect(fields.filter(isSecret).map(({ name }) => name)).toEqual(expect.arrayContaining(['Name']));
  expect([...named('Password'), ...named('SessionToken')].some(isSecret)).toBe(false);
  expect(named('SessionToken').every(isPrivate)).toBe(true);
});

test('secrets are found in lists, maps and structures', () => {
  const { isSecret } = secrecyIn({ secretNames: [], notSecret: [] });
  const inside = ['People', 'PeopleByName', 'Key'].flatMap(named);
  expect(secretPaths(inside, isSecret)).toEqual(['People[].Secret', 'PeopleByName', 'Key.value']);
});

test('the value of an API key is secret in an answer too', () => {
  const { isSecret } = secrecyIn({ secretNames: [], notSecret: [] });
  const [key] = named('Key');
  if (key?.shape.kind !== 'structure') throw new Error('no structure');
  expect(key.shape.members.filter(isSecret)).toMatchObject([{ name: 'value' }]);
  expect(model.operation('Create').output.members).toEqual([]);
});

describe('arguments may hold a private value', () => {
  const { isPrivate } = secrecyIn({ secretNames: [], notSecret: [] });
  test.each<readonly [string, Readonly<Record<string, unknown>>, boolean]>([
    ['of their own', { Email: 'a@example.com' }, true],
    ['that is a number', { Pin: 1 }, true],
    ['in a list', { Emails: ['a@example.com'] }, true],
    ['in a map', { Variables: { A: 'b' } }, true],
    ['in a structure of a list', { People: [{ City: 'x' }, { Phone: '1' }] }, true],
    ['perhaps in a structure, which is not searched', { PeopleByName: { a: { City: 'x' } } }, true],
    ['nowhere, if the private members are absent', { Name: 'n', Password: 'p' }, false],
  ])('%s', (_where, values, expected) => {
    expect(mayHoldPrivate(fields, values, isPrivate)).toBe(expected);
  });
});

describe('of the answer of a read that gives out secrets', () => {
  const output = {
    Url: 'String',
    Link: member('String', { documentation: 'A pre-signed URL of the report.' }),
    Location: member('String', { documentation: 'A <b>presigned</b> address.' }),
    NextToken: member('String', { documentation: 'Gives the next presigned URLs.' }),
    Name: 'String',
  };
  const hidden = (name: string, settings: object) => {
    const json = smallModelJson({ [name]: { output } }, {}, 'awsJson1_0');
    const [operation] = operationsFrom(json, { [name]: settings }, { api: 'small', prefix: 'small' });
    return operation?.outline?.('').hidden;
  };
  test.each([
    ['an address that the model calls presigned', 'GetReport', { effect: 'read' }, ['Link', 'Location']],
    ['every address, if the name says so', 'GetSecretValue', { effect: 'read' }, ['Url', 'Link', 'Location']],
    ['not what the file says', 'GetReport', { effect: 'read', notSecret: ['Link'], show: ['Location'] }, []],
    ['and nothing of a change', 'CreateReport', { effect: 'create', costsMoney: false }, []],
  ])('%s is hidden', (_case, name, settings, expected) => {
    expect(hidden(name, settings)).toEqual(expected);
  });
});

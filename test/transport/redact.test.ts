import { afterEach, describe, expect, test } from 'vitest';
import { listParts } from '../../src/tools/list-parts.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { createRedactor } from '../../src/transport/redact.js';
import { never, testCaller, testKeys } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** Made for this test: no key of anybody. */
const secret = 'wJa+rXUtn/FEMI9K7MDENG8bPxRfiCYQ5EXAMPLEKEY0';
const pem = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BMIIEvQIBADANBgkqhkiG9w0B\n'.repeat(8)}-----END PRIVATE KEY-----\n`;
const serviceAccount = JSON.stringify({ project_id: 'a-project', private_key: pem, client_email: 'a@example.com' });

const base64 = (text: string) => Buffer.from(text).toString('base64');
const json = (text: string) => JSON.stringify(text).slice(1, -1);

const encodings: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'as JSON': json,
  'as JSON within JSON': (text) => json(json(text)),
  'in base64': base64,
  'in base64 for URLs': (text) => Buffer.from(text).toString('base64url'),
  'in base64, one byte later': (text) => base64(`x${text}`),
  'in base64, two bytes later': (text) => base64(`xy${text}`),
  'broken into lines': (text) => text.replace(/.{10}/g, '$&\n'),
  'in base64, broken into lines': (text) => base64(text).replace(/.{7}/g, '$&\r\n'),
};

describe.each(Object.entries(encodings))('a secret %s', (_name, encode) => {
  test.each([
    ['whole', secret],
    ['without its end', secret.slice(0, -9)],
    ['among other words', `the key ${secret} is not known`],
  ])('is found: %s', (_how, text) => {
    expect(createRedactor([secret]).finds(encode(text))).toBe(true);
  });

  test('is found in lines of the private key of a service account', () => {
    const body = pem.split('\n').slice(2, 5).join('\n');
    expect(createRedactor([serviceAccount]).finds(encode(body))).toBe(true);
  });
});

const blocks: readonly (readonly [string, string])[] = [
  ['a whole block', pem],
  ['only its beginning', pem.slice(0, 40)],
  ['only its end', pem.slice(-40)],
  ['of another kind', '-----BEGIN OPENSSH PRIVATE KEY-----'],
  ['encrypted', '-----BEGIN ENCRYPTED PRIVATE KEY-----'],
  ['of PGP', '-----BEGIN PGP PRIVATE KEY BLOCK-----'],
  ['as JSON within JSON', json(json(pem))],
  ...['', 'x', 'xy'].map((before) => [`in base64 after ${before.length} bytes`, base64(before + pem)] as const),
  ['a signature', `Credential=x, Signature=${'0af9'.repeat(16)}`],
  ['a signature of version 2', `Timestamp=x&Signature=${'0aF+'.repeat(10)}0aF=`],
];
test.each(blocks)('what looks like a private key is removed whoever it belongs to: %s', (_what, text) => {
  expect(createRedactor([]).finds(text)).toBe(true);
});

test.each([
  'a certificate: -----BEGIN CERTIFICATE-----',
  'the private key is missing',
  'a@example.com',
  'a-project',
  'the word short stands here',
  'Signature=none',
])('what is no secret stays: %s', (text) => {
  expect(createRedactor([serviceAccount, 'short', undefined, secret]).finds(text)).toBe(false);
});

describe('16 characters at an end make the difference', () => {
  const letters = 'abcdefghijklmnopqrstuvwxyzABCDEF';
  test.each([
    ['its first 15 characters', letters.slice(0, 15), false],
    ['its first 16', letters.slice(0, 16), true],
    ['its last 15', letters.slice(-15), false],
    ['its last 16', letters.slice(-16), true],
    ['its last 16 and more', `${letters.slice(-16)}, and so on`, true],
  ])('of a longer secret, %s', (_what, text, found) => {
    expect(createRedactor([letters]).finds(text)).toBe(found);
  });

  test.each([
    [7, 7, false],
    [8, 8, true],
    [8, 7, false],
    [15, 15, true],
    [15, 14, false],
    [16, 16, true],
    [16, 15, false],
    [17, 16, true],
  ])('of a secret of %i characters, %i', (length, given, found) => {
    const { finds } = createRedactor([letters.slice(0, length)]);
    for (const before of ['', '-', '----', '-------'])
      expect(finds(`${before}${letters.slice(0, given)}-`), before).toBe(found);
  });

  test.each([
    [39, false],
    [40, true],
  ])('of a line of %i characters in a longer secret', (length, found) => {
    const line = letters.padEnd(length, 'z');
    expect(createRedactor([`first line\n${line}\nlast line`]).finds(line)).toBe(found);
  });
});

test.each([
  ['without its white space', 'a\nb\tc\rd\fe f\n'.repeat(3), 'abcdef'.repeat(3)],
  ['white space of JSON in the text', 'abcdef'.repeat(3), 'a\\nb\\tc\\rde f\\n'.repeat(3)],
  ['any other escape of JSON', '"/'.repeat(10), '\\"\\/'.repeat(10)],
  ['in base64 that is all signs', '>>>???'.repeat(4), 'Pj4-Pz8_'.repeat(4)],
])('characters with a spelling of their own are found %s', (_how, given, text) => {
  expect(createRedactor([given]).finds(text)).toBe(true);
});

describe('of a secret that is JSON', () => {
  const inner = 'abcdefghijklmnopqrst';
  test.each([
    ...['private_key', 'clientSecret', 'access_token', 'PASSWORD'].map(
      (name) => [`the field ${name} is looked for`, { [name]: inner, id: 'z'.repeat(20) }, inner, true] as const,
    ),
    ['a field inside a field is', { type: 'x', credentials: { value: inner } }, inner, true],
    ['an element of a list is', { keys: ['y'.repeat(20), inner] }, inner, true],
    ['a field of any other name is, from 16 characters on', { key: 'y'.repeat(20), note: inner }, inner, true],
    ['one of exactly 16 characters is', { key: 'y'.repeat(20), note: inner.slice(0, 16) }, inner.slice(0, 16), true],
    ['a field that is no text is nothing to look for', { key: inner, key_version: 1 }, inner, true],
    ['a shorter one is not', { key: 'y'.repeat(20), note: 'production' }, 'production', false],
    ...['project', 'project_id', 'client_email', 'clientId', 'type', 'token_uri', 'auth_provider_x509_cert_url'].map(
      (name) => [`${name} is not, beside a secret`, { key: 'y'.repeat(20), [name]: inner }, inner, false] as const,
    ),
    ['all of it is, without such a field', { project: inner }, JSON.stringify({ project: inner }), true],
    ['the elements of a list are', [inner], inner, true],
    ['a text in quotation marks is', inner, inner, true],
  ] as const)('%s', (_what, given, text, found) => {
    expect(createRedactor([JSON.stringify(given)]).finds(text)).toBe(found);
  });
});

test('white space before the JSON of a secret makes no difference', () => {
  const [key, project] = ['abcdefghijklmnopqrst', 'z'.repeat(20)];
  const { finds } = createRedactor([`\n ${JSON.stringify({ private_key: key, project })}`]);
  expect([finds(key), finds(project)]).toEqual([true, false]);
});

test('what only looks like JSON is looked for whole', () => {
  expect(createRedactor(['{"private_key": abcdefghijklmnop']).finds('abcdefghijklmnop')).toBe(true);
});

test('a text that ends in the middle of an escape hides nothing in the next one', () => {
  const data = ['\\', 'nbcdefghijklmnop'];
  expect(createRedactor(['nbcdefghijklmnop']).clean(data)).toEqual(['\\', '[removed: it held a secret]']);
});

test('a secret that ends with a backslash is removed, whatever text comes next', () => {
  const data = ['pass-wor\\', 'x'];
  expect(createRedactor(['pass-wor\\']).clean(data)).toEqual(['[removed: it held a secret]', 'x']);
});

test('every text that holds a secret is replaced, deep inside and in names, and nothing else', () => {
  const data = { [secret]: [{ deep: `x ${secret}` }], fine: 'as it is', count: 1, nothing: null, yes: true };
  expect(createRedactor([secret]).clean(data)).toEqual({
    '[removed: it held a secret]': [{ deep: '[removed: it held a secret]' }],
    fine: 'as it is',
    count: 1,
    nothing: null,
    yes: true,
  });
});

test('megabytes are searched in little time, also for a long secret that they nearly match', () => {
  const long = 'ab'.repeat(32_000);
  const redactor = createRedactor([secret, JSON.stringify({ private_key: long })]);
  expect(redactor.finds(long.slice(0, 20))).toBe(true);
  expect(redactor.finds('abababababababa-'.repeat(60_000))).toBe(false);
  expect(redactor.finds(secret.slice(0, 15).repeat(70_000))).toBe(false);
});

let server: CapturingServer | undefined;
afterEach(() => server?.close());

test.each([200, 400, 500])('what a service repeats of a secret goes no further (status %i)', async (status) => {
  const key = JSON.stringify({ type: 'service_account', private_key: 'MARKER-of-a-key-line1\nMARKER-of-a-key-line2' });
  server = await startServer((request, response) => {
    const echo = `${request.body} ${testKeys.secretAccessKey}`;
    const echoes = { name: echo, code: echo, message: echo, configuration: { kube: { [key]: key } } };
    response.writeHead(status, { 'x-request-id': encodeURIComponent(key) }).end(JSON.stringify(echoes));
  });
  const caller = testCaller(server.origin);
  const args = { resourceGroupName: 'g', externalCloudConfig: { serviceAccountKey: key } };
  const result = await caller.call(provisionKubeResourceGroup, args, { signal: never });
  expect(result.ok).toBe(status === 200);
  expect(JSON.stringify([result, caller.logged])).not.toMatch(/MARKER|test\/secret/);
  await caller.close();
});

test.each([
  ['comments', (piece: string) => `${piece}<!---->`],
  ['processing instructions', (piece: string) => `${piece}<?x?>`],
  ['empty sections of character data', (piece: string) => `${piece}<![CDATA[]]>`],
  ['sections of character data', (piece: string) => `<![CDATA[${piece}]]>`],
])('a secret cut into pieces by %s, which reading the XML joins, goes no further', async (_what, wrap) => {
  const { secretAccessKey } = testKeys;
  const message = secretAccessKey.replace(/.{1,7}/g, wrap);
  server = await startServer((_request, response) =>
    response.writeHead(403).end(`<Error><Code>AccessDenied</Code><Message>k=${message}</Message></Error>`),
  );
  const caller = testCaller(server.origin);
  const result = await caller.call(listParts, listParts.example, { signal: never });
  expect(result).toMatchObject({ ok: false, failure: { code: 'AccessDenied' } });
  expect(JSON.stringify([result, caller.logged])).not.toContain(secretAccessKey);
  await caller.close();
});

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { listParts } from '../../src/tools/list-parts.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { createRedactor } from '../../src/transport/redact.js';
import { never, testCaller, testKeys } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { runs } from '../support/runs.js';

/** Made for this test: no key of anybody. */
const secret = 'wJa+rXUtn/FEMI9K7MDENG8bPxRfiCYQ5EXAMPLEKEY0';
const pem = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0B\n'.repeat(8)}-----END PRIVATE KEY-----\n`;
const serviceAccount = JSON.stringify({ project_id: 'a-project', private_key: pem, client_email: 'a@example.com' });

const base64 = (text: string) => Buffer.from(text).toString('base64');
const percent = (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
const html = (text: string) => [...text].map((character) => `&#${character.charCodeAt(0)};`).join('');
const htmlHex = (text: string) => [...text].map((character) => `&#x${character.charCodeAt(0).toString(16)};`).join('');
const json = (text: string) => JSON.stringify(text).slice(1, -1);
const jsonEscaped = (text: string) =>
  [...text].map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

const encodings: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'as JSON': json,
  'as JSON, every character escaped': jsonEscaped,
  'as JSON within JSON': (text) => json(json(text)),
  'in a URL': encodeURIComponent,
  'percent-encoded': percent,
  'percent-encoded twice': (text) => encodeURIComponent(percent(text)),
  'in HTML, decimal': html,
  'in HTML, hexadecimal': htmlHex,
  'in base64': base64,
  'in base64 for URLs': (text) => Buffer.from(text).toString('base64url'),
  'in base64, one byte later': (text) => base64(`x${text}`),
  'in base64, two bytes later': (text) => base64(`xy${text}`),
  'in base64 within a URL': (text) => encodeURIComponent(base64(text)),
  'broken into lines': (text) => text.replace(/.{10}/g, '$&\n'),
  'in base64, broken into lines': (text) => base64(text).replace(/.{7}/g, '$&\r\n'),
};

describe.each(Object.entries(encodings))('a secret %s', (_name, encode) => {
  test.each([
    ['whole', secret],
    ['without its beginning', secret.slice(9)],
    ['without its end', secret.slice(0, -9)],
    ['the middle of it', secret.slice(8, 36)],
    ['among other words', `the key ${secret} is not known`],
  ])('is found: %s', (_how, text) => {
    expect(createRedactor([secret]).finds(encode(text))).toBe(true);
  });

  test('is found in the private key of a service account', () => {
    const body = pem.split('\n').slice(2, 5).join('\n');
    expect(createRedactor([serviceAccount]).finds(encode(body))).toBe(true);
  });
});

test('any 16 characters of a secret are found, wherever they stand, and 7 are not', () => {
  const redactor = createRedactor([secret]);
  fc.assert(
    fc.property(
      fc.nat(secret.length - 16),
      fc.string({ unit: fc.constantFrom(...'xyz .,'), maxLength: 40 }),
      fc.string({ unit: fc.constantFrom(...'xyz .,'), maxLength: 40 }),
      (at, before, after) => {
        expect(redactor.finds(before + secret.slice(at, at + 16) + after)).toBe(true);
        expect(redactor.finds(before + secret.slice(at, at + 7) + after)).toBe(false);
      },
    ),
    { numRuns: runs(2000) },
  );
});

const blocks: readonly (readonly [string, string])[] = [
  ['a whole block', pem],
  ['only its beginning', pem.slice(0, 40)],
  ['only its end', pem.slice(-40)],
  ['of another kind', '-----BEGIN OPENSSH PRIVATE KEY-----'],
  ['encrypted', '-----BEGIN ENCRYPTED PRIVATE KEY-----'],
  ['of PGP', '-----BEGIN PGP PRIVATE KEY BLOCK-----'],
  ['in a URL', encodeURIComponent(pem)],
  ['as JSON within JSON', json(json(pem))],
  ...['', 'x', 'xy'].map((before) => [`in base64 after ${before.length} bytes`, base64(before + pem)] as const),
  ['a signature', `Credential=x, Signature=${'0af9'.repeat(16)}`],
  ['a signature of version 2, in a form', `Timestamp=x&Signature=${'0aF%2B'.repeat(10)}0aF%3D`],
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

describe('16 characters make the difference', () => {
  const letters = 'abcdefghijklmnopqrstuvwxyzABCDEF';
  test.each([
    ['its first 15 characters', letters.slice(0, 15), false],
    ['its first 16', letters.slice(0, 16), true],
    ['its last 15', letters.slice(-15), false],
    ['its last 16', letters.slice(-16), true],
    ['its last 16 and more', `${letters.slice(-16)}, and so on`, true],
    ['15 in the middle of other words', `words ${letters.slice(8, 23)} words`, false],
    ['16 in the middle of other words', `words ${letters.slice(8, 24)} words`, true],
    ['twice 8 that do not belong together', letters.slice(0, 8) + letters.slice(16, 24), false],
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
});

describe('characters with a spelling of their own', () => {
  const marked = `&<>"'`.repeat(4);
  const entities: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };
  const named = marked.replace(/./g, (character) => `&${entities[character]};`);
  test.each([
    ['by the names of HTML', marked, named],
    ['by the names of HTML, in capitals', marked, named.toUpperCase()],
    ['by the names of HTML, twice', marked, named.replaceAll('&', '&amp;')],
    ['without its white space', 'a\nb\tc\rd\fe f\n'.repeat(3), 'abcdef'.repeat(3)],
    ['white space of JSON in the text', 'abcdef'.repeat(3), 'a\\nb\\tc\\rd\\fe\\bf\\n'.repeat(3)],
    ['any other escape of JSON', '"/'.repeat(10), '\\"\\/'.repeat(10)],
    ['in base64 that is all signs', '>>>???'.repeat(4), 'Pj4-Pz8_'.repeat(4)],
    ['in Latin-1', 'é'.repeat(20), Buffer.from('é'.repeat(20)).toString('latin1')],
    ['in HTML with leading zeros', 'abcdefghijklmnop', html('abcdefghijklmnop').replaceAll('#', '#00000')],
    ['with a NUL, in a URL', 'a\0bcdefghijklmno', 'a%00bcdefghijklmno'],
    ['with the digits of URLs, in capitals', 'JKLMNOZ'.repeat(3), '%4A%4B%4C%4D%4E%4F%5A'.repeat(3)],
    ['not in Latin letters, beside an escape of URLs', '鍵'.repeat(16), `%20${'鍵'.repeat(16)}`],
    ['above the basic plane', '\u{1f511}'.repeat(10), '&#128273;'.repeat(10)],
  ])('are found %s', (_how, given, text) => {
    expect(createRedactor([given]).finds(text)).toBe(true);
  });

  test.each(['&#1114112;', '&#x110000;', '&#999999;&#xffffff;', '&nbsp;&toString;', '%zz%', '\\u12', '\\'])(
    'what stands for none is no error: %s',
    (text) => expect(createRedactor([secret]).clean({ text })).toEqual({ text }),
  );

  test('the last of all is one', () => {
    expect(createRedactor(['\u{10ffff}'.repeat(10)]).finds('&#x10ffff;'.repeat(10))).toBe(true);
  });
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
    ['all of it is, if such a field is not text', { key: { project: inner } }, inner, true],
    ['all of it is, if it is a list', [inner], inner, true],
    ['all of it is, if it is a text', inner, inner, true],
  ] as const)('%s', (_what, given, text, found) => {
    expect(createRedactor([JSON.stringify(given)]).finds(text)).toBe(found);
  });
});

test('white space before the JSON of a secret makes no difference', () => {
  const [key, project] = ['abcdefghijklmnopqrst', 'z'.repeat(20)];
  const { finds } = createRedactor([`\n ${JSON.stringify({ private_key: key, project })}`]);
  expect([finds(key), finds(project)]).toEqual([true, false]);
});

test.each([
  ['%4G', 'P'],
  ['%4@', 'I'],
  ['%4z', 'A'],
])('%s is no escape of URLs, and does not stand for %s', (text, character) => {
  const { finds } = createRedactor([`abcdefgh${character}ijklmnop`]);
  expect(finds(`abcdefgh${text}ijklmnop`)).toBe(false);
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

test('a signature is 64 hexadecimal digits, and less is none', () => {
  const { finds } = createRedactor([]);
  expect(finds(`signature=${'0af9'.repeat(16)}`)).toBe(true);
  expect(finds(`signature=${'0af9'.repeat(16).slice(1)}`)).toBe(false);
});

test('a secret of 8 to 15 characters is found whole', () => {
  const { finds } = createRedactor(['pass-w/rd']);
  expect(finds('it is pass-w/rd')).toBe(true);
  expect(finds(`it is ${encodeURIComponent('pass-w/rd')}`)).toBe(true);
  expect(finds('it is pass-w/r')).toBe(false);
});

test('each of several secrets is removed', () => {
  const redactor = createRedactor([secret, 'another/secret+of16']);
  const { a, ...rest } = redactor.clean({ a: 'another/secret+of16', b: 'harmless', c: null });
  expect(a).toMatch(/^\[removed/);
  expect(rest).toEqual({ b: 'harmless', c: null });
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

test('a megabyte is searched in little time, also one that nearly matches', () => {
  const redactor = createRedactor([secret, serviceAccount]);
  const near = secret.slice(0, 15).repeat(70_000);
  expect(redactor.finds('%'.repeat(1e6))).toBe(false);
  expect(redactor.finds(`${secret.slice(0, 7)} `.repeat(1e5))).toBe(false);
  expect(redactor.finds(near)).toBe(false);
});

test('a text is not decoded again after nothing was decoded', () => {
  const { finds } = createRedactor([secret]);
  const decode = vi.spyOn(Buffer, 'from');
  try {
    expect(finds('100 % of a & b')).toBe(false);
    expect(decode).toHaveBeenCalledTimes(1);
  } finally {
    decode.mockRestore();
  }
});

test('hardly any piece of an ordinary text is looked up, because a table of hashes rules it out', () => {
  const { finds } = createRedactor([secret]);
  const text = Array.from(
    { length: 10_000 },
    (_, number) => `"${createHash('md5').update(`${number}`).digest('hex')}"`,
  );
  const lookUp = vi.spyOn(Set.prototype, 'has');
  try {
    expect(finds(text.join('\0'))).toBe(false);
    // The text has 43,750 pieces.
    expect(lookUp.mock.calls.length).toBeLessThan(2000);
  } finally {
    lookUp.mockRestore();
  }
});

test.each(['A', 'ab', 'abcdefg'])('a long secret of nothing but "%s" is looked for in little time', (unit) => {
  const long = unit.repeat(65_000 / unit.length);
  const redactor = createRedactor([JSON.stringify({ private_key: long })]);
  expect(redactor.finds(long.slice(0, 20))).toBe(true);
  expect(redactor.finds(`${unit.repeat(2).slice(0, 15)}-`.repeat(60_000))).toBe(false);
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

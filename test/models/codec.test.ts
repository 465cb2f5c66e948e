import { describe, expect, test } from 'vitest';
import { createCodec } from '../../src/models/codec.js';
import type { Protocol } from '../../src/models/model.js';
import { encodeRequest } from '../../src/transport/request.js';
import { http as httpTrait, member, smallModel } from './small-model.js';

type Traits = Readonly<Record<string, unknown>>;
interface TestMember {
  readonly target?: string;
  readonly traits?: Traits;
}
interface TestApi {
  readonly input?: Readonly<Record<string, TestMember>>;
  readonly output?: Readonly<Record<string, TestMember>>;
  readonly http?: { readonly method?: string; readonly uri?: string };
  readonly operationTraits?: Traits;
  readonly serviceTraits?: Traits;
}

const simple: Readonly<Record<string, string>> = {
  Text: 'String',
  Count: 'Integer',
  Flag: 'Boolean',
  Time: 'Timestamp',
  Bytes: 'Blob',
  Any: 'Document',
};
const memberOf = ({ target = 'Text', traits = {} }: TestMember) => member(simple[target] ?? `small#${target}`, traits);
const membersOf = (members: Readonly<Record<string, TestMember>> = {}) =>
  Object.fromEntries(Object.entries(members).map(([name, given]) => [name, memberOf(given)]));
const text = (traits: Traits = {}) => ({ target: 'smithy.api#String', traits });
const xmlName = (name: string) => text({ 'smithy.api#xmlName': name });
const list = (element: object) => ({ type: 'list', member: element });
const shapes = {
  'small#Word': { type: 'enum', members: { new: { target: 'smithy.api#Unit' } } },
  'small#Texts': list(text()),
  'small#NamedTexts': list(xmlName('Item')),
  'small#Times': list({ target: 'smithy.api#Timestamp' }),
  'small#SparseTexts': { ...list(text()), traits: { 'smithy.api#sparse': {} } },
  'small#FlatMap': { type: 'map', key: xmlName('Name'), value: xmlName('Setting') },
  'small#Tagged': {
    type: 'structure',
    members: { Kind: text({ 'smithy.api#xmlAttribute': {}, 'smithy.api#xmlName': 'kind' }), Value: text() },
  },
  'small#TextMap': { type: 'map', key: text(), value: text() },
  'small#TextsMap': { type: 'map', key: text(), value: { target: 'small#Texts' } },
  'small#Book': { type: 'structure', members: { Title: text(), Next: { target: 'small#Book' } } },
  'small#Choice': { type: 'union', members: { Name: text(), Number: { target: 'smithy.api#Integer' } } },
};

/** A service with the operation `Lend`. */
function libraryWith(protocol: Protocol, { input, output, http = {}, operationTraits, serviceTraits }: TestApi) {
  const traits = { ...httpTrait(http.method ?? 'POST', http.uri ?? '/'), ...operationTraits };
  const lend = { input: membersOf(input), output: membersOf(output), traits };
  const model = smallModel({ Lend: lend }, shapes, protocol, serviceTraits);
  return { model, codec: createCodec(model), operation: model.operation('Lend') };
}

/** The request on the wire. */
async function encode(protocol: Protocol, api: TestApi, values: Record<string, unknown>, token?: string) {
  const { codec, operation } = libraryWith(protocol, api);
  const request = await codec.encode(operation, values, token);
  return encodeRequest('POST', request, { pathPrefix: '' });
}

async function decode(
  protocol: Protocol,
  output: Record<string, TestMember>,
  text: string,
  headers = {},
  status = 200,
) {
  const { codec, operation } = libraryWith(protocol, { output });
  return codec.decode(operation, { text, headers, status });
}

const noon = new Date('2026-01-02T12:00:00Z');
const bytes = new Uint8Array([104, 105]);

describe('each protocol has its address, headers and body', () => {
  test.each<[Protocol, Record<string, string>, string]>([
    ['restJson1', { 'content-type': 'application/json' }, '{"Title":"a&b"}'],
    ['awsJson1_0', { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'Service.Lend' }, '{"Title":"a&b"}'],
    ['awsJson1_1', { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'Service.Lend' }, '{"Title":"a&b"}'],
    [
      'restXml',
      { 'content-type': 'application/xml' },
      '<?xml version="1.0" encoding="UTF-8"?><LendInput><Title>a&amp;b</Title></LendInput>',
    ],
    ['awsQuery', { 'content-type': 'application/x-www-form-urlencoded' }, 'Action=Lend&Version=2026-01-01&Title=a%26b'],
    ['ec2Query', { 'content-type': 'application/x-www-form-urlencoded' }, 'Action=Lend&Version=2026-01-01&Title=a%26b'],
  ])('%s', async (protocol, headers, body) => {
    const request = await encode(protocol, { input: { Title: {} } }, { Title: 'a&b' });
    expect(request).toMatchObject({ target: '/', headers, body });
  });

  test.each<Protocol>(['awsJson1_0', 'awsJson1_1', 'awsQuery', 'ec2Query'])('%s has no HTTP bindings', (protocol) => {
    const input = { Title: { traits: { httpLabel: {} } }, Room: { traits: { httpQuery: 'room' } } };
    const { operation } = libraryWith(protocol, { http: { method: 'DELETE', uri: '/books/{Title}' }, input });
    expect(operation.http).toMatchObject({ method: 'POST', uri: '/' });
    expect(operation.input.members).toMatchObject([
      { name: 'Title', location: undefined },
      { name: 'Room', location: undefined },
    ]);
  });
});

describe('HTTP bindings decide on the place of a member', () => {
  const http = { uri: '/books/{Id}' };
  const id = { Id: { traits: { httpLabel: {}, required: {} } } };
  test.each<[string, TestApi, Record<string, unknown>, object]>([
    ['a label is one encoded segment', { http, input: id }, { Id: 'a/b c' }, { target: '/books/a%2Fb%20c' }],
    [
      'a greedy label keeps its slashes',
      { http: { uri: '/books/{Id+}/pages' }, input: id },
      { Id: 'a/b c' },
      { target: '/books/a/b%20c/pages' },
    ],
    [
      'a query parameter, with one that is fixed',
      { http: { uri: '/?fixed=1' }, input: { Title: { traits: { httpQuery: 'title' } } } },
      { Title: 'a b' },
      { target: '/?fixed=1&title=a%20b' },
    ],
    [
      'a list repeats its parameter in its order',
      { input: { Titles: { target: 'Texts', traits: { httpQuery: 't' } } } },
      { Titles: ['b', 'a'] },
      { target: '/?t=b&t=a' },
    ],
    [
      'a map of lists has further parameters',
      { input: { More: { target: 'TextsMap', traits: { httpQueryParams: {} } } } },
      { More: { x: ['1', '2'], y: [] } },
      { target: '/?x=1&x=2' },
    ],
    [
      'a map has further parameters, and the fixed and named ones go first',
      {
        input: {
          Title: { traits: { httpQuery: 't' } },
          More: { target: 'TextMap', traits: { httpQueryParams: {} } },
        },
      },
      { Title: 'a', More: { t: 'b', u: 'c' } },
      { target: '/?t=a&u=c' },
    ],
    [
      'a header of JSON, in base64',
      { input: { Data: { traits: { httpHeader: 'X-Data', mediaType: 'application/json' } } } },
      { Data: '{"a":1}' },
      { headers: { 'x-data': 'eyJhIjoxfQ==' } },
    ],
    [
      'a header of seconds, by its own trait',
      { input: { Time: { target: 'Time', traits: { httpHeader: 'X-Time', timestampFormat: 'epoch-seconds' } } } },
      { Time: noon },
      { headers: { 'x-time': '1767355200' } },
    ],
    [
      'a header, and headers with a prefix',
      {
        input: {
          Count: { target: 'Count', traits: { httpHeader: 'X-Count' } },
          Meta: { target: 'TextMap', traits: { httpPrefixHeaders: 'X-Meta-' } },
        },
      },
      { Count: 3, Meta: { A: 'b' } },
      { headers: { 'x-count': '3', 'x-meta-a': 'b' } },
    ],
    [
      'a header of times, in the format of headers',
      { input: { Times: { target: 'Times', traits: { httpHeader: 'X-Times' } } } },
      { Times: [noon] },
      { headers: { 'x-times': 'Fri, 02 Jan 2026 12:00:00 GMT' } },
    ],
    [
      'a text that is the body',
      { input: { Text: { traits: { httpPayload: {} } } } },
      { Text: 'plain' },
      { body: 'plain', headers: { 'content-type': 'text/plain' } },
    ],
    [
      'bytes that are the body, with the type of another member',
      {
        input: {
          Data: { target: 'Bytes', traits: { httpPayload: {} } },
          Type: { traits: { httpHeader: 'Content-Type' } },
        },
      },
      { Data: bytes, Type: 'text/csv' },
      { body: 'hi', headers: { 'content-type': 'text/csv' } },
    ],
    [
      'the type of a body that is sent later',
      { input: { Type: { traits: { httpHeader: 'Content-Type' } } } },
      { Type: 'text/csv' },
      { headers: { 'content-type': 'text/csv' } },
    ],
    [
      'a structure that is the body',
      { input: { Book: { target: 'Book', traits: { httpPayload: {} } } } },
      { Book: { Title: 't' } },
      { body: '{"Title":"t"}' },
    ],
  ])('%s', async (_, api, values, expected) => {
    expect(await encode('restJson1', api, values)).toMatchObject(expected);
  });

  test('a union that is the body and absent leaves the request without a body', async () => {
    const input = { Choice: { target: 'Choice', traits: { httpPayload: {} } } };
    expect((await encode('restJson1', { input }, {})).body).toBeUndefined();
  });

  test.each(['', undefined])('a label %j is refused, because the path would name something else', async (Id) => {
    await expect(encode('restJson1', { http, input: id }, { Id })).rejects.toThrow('Id is a part of the path');
  });

  test('bytes that are not text are refused', async () => {
    const input = { Data: { target: 'Bytes', traits: { httpPayload: {} } } };
    await expect(encode('restJson1', { input }, { Data: new Uint8Array([255]) })).rejects.toThrow();
  });
});

describe('a JSON body', () => {
  test.each<[string, TestMember, unknown, string]>([
    ['has the name of the wire', { traits: { jsonName: 'title' } }, 'a', '{"title":"a"}'],
    ['has numbers', { target: 'Count' }, 3, '{"M":3}'],
    ['has times as seconds', { target: 'Time' }, noon, '{"M":1767355200}'],
    [
      'has times in the format of their trait',
      { target: 'Time', traits: { timestampFormat: 'date-time' } },
      noon,
      '{"M":"2026-01-02T12:00:00Z"}',
    ],
    ['has bytes in base64', { target: 'Bytes' }, bytes, '{"M":"aGk="}'],
    ['has documents as they are', { target: 'Any' }, { a: [1, null] }, '{"M":{"a":[1,null]}}'],
    ['has one member of a union', { target: 'Choice' }, { Number: 1 }, '{"M":{"Number":1}}'],
    [
      'has structures that contain themselves',
      { target: 'Book' },
      { Title: 'a', Next: { Title: 'b' } },
      '{"M":{"Title":"a","Next":{"Title":"b"}}}',
    ],
    ['has text of JSON as text', { traits: { mediaType: 'application/json' } }, '{"a":1}', '{"M":"{\\"a\\":1}"}'],
    ['has null in a sparse list', { target: 'SparseTexts' }, ['a', null], '{"M":["a",null]}'],
    [
      'has times of headers',
      { target: 'Time', traits: { timestampFormat: 'http-date' } },
      noon,
      '{"M":"Fri, 02 Jan 2026 12:00:00 GMT"}',
    ],
    ['has keys of maps as they are', { target: 'TextMap' }, { 'a.b': 'c' }, '{"M":{"a.b":"c"}}'],
  ])('%s', async (_, member, value, body) => {
    expect((await encode('restJson1', { input: { M: member } }, { M: value })).body).toBe(body);
  });
});

describe('an XML body', () => {
  const xmlns = { uri: 'https://library.example/' };
  test.each<[string, TestMember, unknown, string]>([
    ['wraps lists', { target: 'Texts' }, ['a', 'b'], '<M><member>a</member><member>b</member></M>'],
    ['names the elements of lists', { target: 'NamedTexts' }, ['a'], '<M><Item>a</Item></M>'],
    ['flattens lists', { target: 'Texts', traits: { xmlFlattened: {} } }, ['a', 'b'], '<M>a</M><M>b</M>'],
    ['renames members', { traits: { xmlName: 'N' } }, 'a', '<N>a</N>'],
    ['has namespaces', { traits: { xmlNamespace: xmlns } }, 'a', '<M xmlns="https://library.example/">a</M>'],
    ['has maps', { target: 'TextMap' }, { a: 'b' }, '<M><entry><key>a</key><value>b</value></entry></M>'],
    [
      'flattens maps, and names their keys and values',
      { target: 'FlatMap', traits: { xmlFlattened: {} } },
      { a: 'b' },
      '<M><Name>a</Name><Setting>b</Setting></M>',
    ],
    ['has attributes of members', { target: 'Tagged' }, { Kind: 'k', Value: 'v' }, '<M kind="k"><Value>v</Value></M>'],
    [
      'has namespaces with a prefix',
      { traits: { xmlNamespace: { prefix: 'l', uri: 'https://library.example/' } } },
      'a',
      '<M xmlns:l="https://library.example/">a</M>',
    ],
    ['has times', { target: 'Time' }, noon, '<M>2026-01-02T12:00:00Z</M>'],
    [
      'has seconds, by their own trait',
      { target: 'Time', traits: { timestampFormat: 'epoch-seconds' } },
      noon,
      '<M>1767355200</M>',
    ],
    ['escapes text', {}, '<a>', '<M>&lt;a&gt;</M>'],
  ])('%s', async (_, member, value, inner) => {
    const { body } = await encode('restXml', { input: { M: member } }, { M: value });
    expect(body).toBe(`<?xml version="1.0" encoding="UTF-8"?><LendInput>${inner}</LendInput>`);
  });

  test('has attributes', async () => {
    const input = { Kind: { traits: { xmlAttribute: {}, xmlName: 'xsi:type' } } };
    expect((await encode('restXml', { input }, { Kind: 'User' })).body).toContain('<LendInput xsi:type="User"/>');
  });

  test('is named by the structure that is the whole body', async () => {
    const input = { Book: { target: 'Book', traits: { httpPayload: {}, xmlName: 'Volume' } } };
    const { body } = await encode('restXml', { input }, { Book: { Title: 'a' } });
    expect(body).toMatch(/<Volume><Title>a<\/Title><\/Volume>$/);
  });
});

describe('a form', () => {
  test.each<[Protocol, string, TestMember, unknown, string]>([
    ['awsQuery', 'numbers the elements of lists', { target: 'Texts' }, ['a', 'b'], 'm.member.1=a&m.member.2=b'],
    ['awsQuery', 'flattens lists', { target: 'Texts', traits: { xmlFlattened: {} } }, ['a'], 'm.1=a'],
    ['awsQuery', 'has maps', { target: 'TextMap' }, { a: 'b' }, 'm.entry.1.key=a&m.entry.1.value=b'],
    ['awsQuery', 'has structures', { target: 'Book' }, { Title: 'a' }, 'm.Title=a'],
    ['awsQuery', 'renames members', { traits: { xmlName: 'Other' } }, 'a', 'Other=a'],
    ['awsQuery', 'names the elements of lists', { target: 'NamedTexts' }, ['a'], 'm.Item.1=a'],
    ['awsQuery', 'has times', { target: 'Time' }, noon, 'm=2026-01-02T12%3A00%3A00Z'],
    ['awsQuery', 'has bytes in base64', { target: 'Bytes' }, bytes, 'm=aGk%3D'],
    ['ec2Query', 'begins the names of the wire with a capital', { traits: { xmlName: 'other' } }, 'a', 'Other=a'],
    ['ec2Query', 'flattens all lists', { target: 'Texts' }, ['a'], 'M.1=a'],
    ['ec2Query', 'has names of its own', { traits: { 'aws.protocols#ec2QueryName': 'Own' } }, 'a', 'Own=a'],
  ])('of %s %s', async (protocol, _, member, value, form) => {
    const { body } = await encode(protocol, { input: { m: member } }, { m: value });
    expect(body).toBe(`Action=Lend&Version=2026-01-01&${form}`);
  });
});

describe('the server adds', () => {
  test.each(['smithy.api#httpChecksumRequired', 'aws.protocols#httpChecksum'])(
    'the checksum that %s requires',
    async (trait) => {
      const operationTraits = { [trait]: { requestChecksumRequired: true } };
      const { headers } = await encode('restJson1', { input: { T: {} }, operationTraits }, { T: 'a' });
      expect(headers['content-md5']).toMatch(/^[\w+/]{22}==$/);
    },
  );

  test.each([
    [{}, true],
    [{ 'aws.protocols#httpChecksum': { requestChecksumRequired: false } }, false],
  ])('the checksum that an argument could set, unless %j says that none is needed', async (operationTraits, isSent) => {
    const input = { T: {}, Checksum: { traits: { httpHeader: 'Content-MD5' } } };
    const { headers } = await encode('restJson1', { input, operationTraits }, { T: 'a' });
    expect('content-md5' in headers).toBe(isSent);
  });

  test.each(['awsJson1_0', 'awsJson1_1'] as const)(
    'the mode of an API that was a form before: %s',
    async (protocol) => {
      const serviceTraits = { 'aws.protocols#awsQueryCompatible': {} };
      const { headers } = await encode(protocol, { input: { T: {} }, serviceTraits }, { T: 'a' });
      expect(headers).toMatchObject({ 'x-amzn-query-mode': 'true' });
      expect((await encode(protocol, { input: { T: {} } }, { T: 'a' })).headers).not.toHaveProperty(
        'x-amzn-query-mode',
      );
    },
  );

  test('the namespace of the service', async () => {
    const serviceTraits = { 'smithy.api#xmlNamespace': { uri: 'https://library.example/' } };
    const { body } = await encode('restXml', { input: { T: {} }, serviceTraits }, { T: 'a' });
    expect(body).toContain('<LendInput xmlns="https://library.example/"><T>a</T></LendInput>');
  });

  test('the idempotency token that it is given, and no other', async () => {
    const input = { Token: { traits: { idempotencyToken: {} } } };
    expect((await encode('awsJson1_1', { input }, {}, 'abc')).body).toBe('{"Token":"abc"}');
    expect((await encode('awsJson1_1', { input }, {})).body).toBe('{}');
    expect((await encode('awsQuery', { input }, {})).body).not.toContain('Token');
  });
});

describe('an answer', () => {
  test.each<[string, Protocol, TestMember, string, unknown]>([
    ['JSON with the name of the wire', 'restJson1', { traits: { jsonName: 'm' } }, '{"m":"a","x":1}', 'a'],
    ['JSON with seconds', 'awsJson1_0', { target: 'Time' }, '{"M":1767355200}', 1767355200],
    [
      'JSON with a time',
      'restJson1',
      { target: 'Time', traits: { timestampFormat: 'date-time' } },
      '{"M":"2026-01-02T13:00:00+01:00"}',
      '2026-01-02T13:00:00+01:00',
    ],
    ['JSON with bytes', 'awsJson1_1', { target: 'Bytes' }, '{"M":"aGk="}', 'aGk='],
    ['JSON with a union', 'restJson1', { target: 'Choice' }, '{"M":{"Number":2}}', { Number: 2 }],
    [
      'JSON that is one member',
      'restJson1',
      { target: 'Book', traits: { httpPayload: {} } },
      '{"Title":"a"}',
      { Title: 'a' },
    ],
    ['a word of a list that is one member', 'restXml', { target: 'Word', traits: { httpPayload: {} } }, 'new', 'new'],
    ['text that is one member', 'restXml', { traits: { httpPayload: {} } }, '{"a":', '{"a":'],
    ['XML', 'restXml', { target: 'Flag' }, '<LendResult><M>true</M></LendResult>', 'true'],
    [
      'XML with a flag that is none',
      'restXml',
      { target: 'Flag' },
      '<LendResult><M>perhaps</M></LendResult>',
      'perhaps',
    ],
    [
      'XML with a flat list',
      'restXml',
      { target: 'Texts', traits: { xmlFlattened: {} } },
      '<R><M>a</M><M>b</M></R>',
      ['a', 'b'],
    ],
    ['JSON with a sparse list', 'restJson1', { target: 'SparseTexts' }, '{"M":["a",null]}', ['a', null]],
    [
      'XML with an attribute',
      'restXml',
      { target: 'Tagged' },
      '<R><M kind="k"><Value>v</Value></M></R>',
      { Kind: 'k', Value: 'v' },
    ],
    [
      'XML with a flat map',
      'restXml',
      { target: 'FlatMap', traits: { xmlFlattened: {} } },
      '<R><M><Name>a</Name><Setting>b</Setting></M></R>',
      { a: 'b' },
    ],
    ['XML with another name', 'restXml', { traits: { xmlName: 'N' } }, '<R><N>a</N></R>', 'a'],
    ['XML with a namespace', 'restXml', {}, '<R xmlns="https://library.example/"><M>a</M></R>', 'a'],
    [
      'XML with seconds, by their own trait',
      'restXml',
      { target: 'Time', traits: { timestampFormat: 'epoch-seconds' } },
      '<R><M>1767355200</M></R>',
      '1767355200',
    ],
    ['XML with an empty list', 'restXml', { target: 'Texts' }, '<R><M/></R>', []],
    ['XML with references', 'restXml', {}, '<R><M>a &amp; &#x62;</M></R>', 'a & b'],
    [
      'XML with an emoji as a reference',
      'restXml',
      {},
      '<R><M>&#x1F600;&#128512;&amp;#x1F600;</M></R>',
      '😀😀&#x1F600;',
    ],
    ['XML with a reference that is data', 'restXml', {}, '<R><M><![CDATA[&#x1F600;]]></M></R>', '&#x1F600;'],
    ['XML with the ends of lines', 'restXml', {}, '<R><M> a\n\tb&#13;\n </M></R>', ' a\n\tb\r\n '],
    ['XML with an empty map', 'restXml', { target: 'TextMap' }, '<R><M/></R>', {}],
    ['JSON with an empty list', 'awsJson1_1', { target: 'Texts' }, '{"M":[]}', []],
    ['JSON with an empty map', 'awsJson1_1', { target: 'TextMap' }, '{"M":{}}', {}],
    ['a form', 'awsQuery', { target: 'Count' }, '<LendResponse><LendResult><M>4</M></LendResult></LendResponse>', '4'],
    ['XML with no number', 'restXml', { target: 'Count' }, '<R><M>big</M></R>', 'big'],
    ['XML with a large integer', 'restXml', { target: 'Count' }, '<R><M>9007199254740993</M></R>', '9007199254740993'],
    ['JSON with a large integer', 'restJson1', { target: 'Count' }, '{"M":-9007199254740993}', '-9007199254740993'],
    ['JSON with an exact integer', 'awsJson1_0', { target: 'Count' }, '{"M":9007199254740992}', 9007199254740992],
    ['JSON with a long fraction', 'awsJson1_1', { target: 'Count' }, '{"M":0.12345678901234566}', 0.12345678901234566],
    [
      'JSON with a longer fraction',
      'awsJson1_1',
      { target: 'Any' },
      '{"M":-0.123456789012345678}',
      '-0.123456789012345678',
    ],
    [
      'JSON with large integers in a text',
      'restJson1',
      {},
      JSON.stringify({ M: '" 9007199254740993, {"n": 9007199254740993}\\' }),
      '" 9007199254740993, {"n": 9007199254740993}\\',
    ],
    [
      'JSON with large integers in a document',
      'restJson1',
      { target: 'Any' },
      '{"M":{"n":[9007199254740993,1]}}',
      { n: ['9007199254740993', 1] },
    ],
    [
      'text that is one member, and looks like JSON',
      'restJson1',
      { traits: { httpPayload: {} } },
      '{"n":9007199254740993}',
      '{"n":9007199254740993}',
    ],
    [
      'a form of EC2',
      'ec2Query',
      { target: 'NamedTexts' },
      '<LendResponse><M><Item>a</Item></M></LendResponse>',
      ['a'],
    ],
  ])('is read from %s', async (_, protocol, member, text, value) => {
    expect(await decode(protocol, { M: member }, text)).toEqual({ M: value });
  });

  test('that is one blob is not read if it was no UTF-8, because the blob would be another one', async () => {
    const output = { M: { target: 'Bytes', traits: { httpPayload: {} } } };
    expect(await decode('restJson1', output, 'h\ufffd')).toBeUndefined();
    expect(Buffer.from(Object(await decode('restJson1', output, 'hi')).M)).toEqual(Buffer.from('hi'));
  });

  test('is read from JSON with a long text and a large integer, also if it is cut', async () => {
    const M = 'a"'.repeat(1_000_000);
    const json = JSON.stringify({ M }).replace('}', ',"x":9007199254740993}');
    expect(await decode('restJson1', { M: {} }, json)).toEqual({ M });
    expect(await decode('restJson1', { M: {} }, json.slice(0, -30))).toBeUndefined();
  });

  test('is read from headers and status', async () => {
    const output = {
      Etag: { traits: { httpHeader: 'ETag' } },
      Meta: { target: 'TextMap', traits: { httpPrefixHeaders: 'x-meta-' } },
      Sent: { target: 'Time', traits: { httpHeader: 'X-Sent' } },
      Status: { target: 'Count', traits: { httpResponseCode: {} } },
    };
    const headers = { etag: '"1"', 'x-meta-a': 'b', 'x-sent': 'Fri, 02 Jan 2026 12:00:00 GMT', other: 'c' };
    expect(await decode('restXml', output, '', headers, 202)).toEqual({
      Etag: '"1"',
      Meta: { a: 'b' },
      Sent: 'Fri, 02 Jan 2026 12:00:00 GMT',
      Status: 202,
    });
  });

  test.each<[Protocol, string, string]>([
    ['restJson1', 'an HTML page', '<html></html>'],
    ['awsJson1_0', 'JSON that is cut', '{"M":"a'],
    ['awsJson1_1', 'text', 'OK'],
    ['restXml', 'XML that is cut', '<R><M>a'],
    ['awsQuery', 'JSON', '{}'],
  ])('of %s that is %s is not read', async (protocol, _, text) => {
    expect(await decode(protocol, { M: {} }, text)).toBeUndefined();
  });

  test('has only members of the model', async () => {
    expect(await decode('awsJson1_0', {}, '{"__type":"x","other":1}')).toEqual({});
    expect(await decode('restJson1', { M: {} }, '{"M":null,"__proto__":{"a":1}}')).toEqual({});
  });
});

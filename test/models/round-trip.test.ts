import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Protocol, protocols } from '../../src/models/model.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { anyText } from '../support/any-text.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { runs } from '../support/runs.js';
import { http, member, operationsFrom, smallModelJson } from './small-model.js';

/** What is read and written back is the same, in every protocol. */

let cloud: CapturingServer;
let answer = '';
beforeAll(async () => {
  cloud = await startServer((_request, response) => response.writeHead(200).end(answer));
});
afterAll(() => cloud.close());

const fields = { Text: 'String', Bytes: 'Blob', Texts: 'small#Texts', Labels: 'small#Labels' };
const change = { effect: 'alter', costsMoney: false, continues: false };

function operationsOf(protocol: Protocol): readonly [read: Operation, change: Operation] {
  const name = { Name: member('String', { required: {} }) };
  const model = smallModelJson(
    {
      GetDocument: { input: name, output: fields, traits: http('POST', '/get') },
      PutDocument: { input: { ...name, ...fields }, traits: http('POST', '/put') },
    },
    {
      'small#Texts': { type: 'list', member: { target: 'smithy.api#String' } },
      'small#Labels': { type: 'map', key: { target: 'smithy.api#String' }, value: { target: 'smithy.api#String' } },
    },
    protocol,
  );
  const [read, write] = operationsFrom(
    model,
    { GetDocument: { effect: 'read' }, PutDocument: change },
    { api: 'docs' },
  );
  if (read === undefined || write === undefined) throw new Error('there is none');
  return [read, write];
}

interface Document {
  readonly Text: string;
  readonly Bytes: string;
  readonly Texts: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
}

const inXml = (text: string) => text.replace(/[<>&"\r]/g, (character) => `&#${character.charCodeAt(0)};`);
const element = (name: string, content: string) => `<${name}>${content}</${name}>`;
const isXml = (protocol: Protocol) => !/json/i.test(protocol);

/** The answer of a service to the read. */
function answerOf(protocol: Protocol, { Text, Bytes, Texts, Labels }: Document): string {
  if (!isXml(protocol)) return JSON.stringify({ Text, Bytes, Texts, Labels });
  const entries = Object.entries(Labels).map(([key, value]) =>
    element('entry', element('key', inXml(key)) + element('value', inXml(value))),
  );
  const content = [
    element('Text', inXml(Text)),
    element('Bytes', Bytes),
    element('Texts', Texts.map((text) => element('member', inXml(text))).join('')),
    element('Labels', entries.join('')),
  ].join('');
  if (protocol === 'restXml') return element('GetDocumentOutput', content);
  const result = protocol === 'ec2Query' ? content : element('GetDocumentResult', content);
  return element('GetDocumentResponse', result);
}

/** The document in a request, as the service reads it. */
function sentDocument(protocol: Protocol, body: string): object {
  if (!isXml(protocol)) {
    const { Name: _, ...document } = JSON.parse(body);
    return document;
  }
  if (protocol === 'restXml') {
    const parser = new XMLParser({
      trimValues: false,
      parseTagValue: false,
      processEntities: true,
      htmlEntities: true,
    });
    const { Text, Bytes, Texts, Labels } = Object(parser.parse(body)).PutDocumentInput;
    const entries = [Labels.entry].flat().map(({ key, value }) => [key, value]);
    return { Text, Bytes, Texts: [Texts.member].flat(), Labels: Object.fromEntries(entries) };
  }
  const form = new URLSearchParams(body);
  const valuesOf = (pattern: RegExp) => [...form].filter(([name]) => pattern.test(name)).map(([, value]) => value);
  const keys = valuesOf(/^Labels\.(?:entry\.)?\d+\.key$/i);
  const values = valuesOf(/^Labels\.(?:entry\.)?\d+\.value$/i);
  return {
    Text: form.get('Text'),
    Bytes: form.get('Bytes'),
    Texts: valuesOf(/^Texts\.(?:member\.)?\d+$/),
    Labels: Object.fromEntries(keys.map((key, index) => [key, values[index]])),
  };
}

/** Reads a document, writes what was read, and returns what the service got. */
async function roundTrip(protocol: Protocol, [read, write]: readonly [Operation, Operation], document: Document) {
  const { call, close } = testCaller('', { cloud: { endpoints: { docs: cloud.origin } } });
  answer = answerOf(protocol, document);
  const result = await call(read, { Name: 'a' }, { signal: never });
  const given = result.ok ? result.structured.answer : {};
  answer = isXml(protocol) ? element('PutDocumentResponse', '') : '{}';
  const written = await call(write, { Name: 'a', ...given, allowRepeat: true }, { signal: never });
  await close();
  if (!written.ok) throw new Error(written.text);
  return { given, sent: sentDocument(protocol, String(cloud.requests.at(-1)?.body)) };
}

const text = [
  '{\n\t"Version": "2012-10-17",\r\n  "Statement": [{"Effect": "Allow"}]\n}',
  'quotes " \\" \' ` and \\n, <tags> & &amp; ]]>',
  'emoji 😀 👩‍👩‍👧 ❤️, é, 日本, nb\u00a0sp, \u202eleft\u2066',
  ' spaces at both ends \n',
].join('\n');
const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index)).toString('base64');

test.each(protocols)('a document is the same after it was read and written back: %s', async (protocol) => {
  const document = {
    Text: `${text}${'z'.repeat(5000)}${text}`,
    Bytes: bytes,
    Texts: [text, '', '(hidden)', 'a'.repeat(2500)],
    Labels: { b: text, 'key "😀': '1' },
  };
  const { given, sent } = await roundTrip(protocol, operationsOf(protocol), document);
  expect(given).toEqual(document);
  expect(sent).toEqual(document);
});

test('any text that JSON can hold is the same', async () => {
  const operations = operationsOf('awsJson1_1');
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    anyText({ maxLength: 40 }).filter((value) => value.isWellFormed()),
  );
  await fc.assert(
    fc.asyncProperty(texts, fc.uint8Array({ maxLength: 40 }), async (Text, blob) => {
      const document = { Text, Bytes: Buffer.from(blob).toString('base64'), Texts: [Text], Labels: { a: Text } };
      const { given, sent } = await roundTrip('awsJson1_1', operations, document);
      expect(given).toEqual(document);
      expect(sent).toEqual(document);
    }),
    { numRuns: runs(300) },
  );
});

test('a text that was left out is absent, and a secret that was hidden is refused, so that neither overwrites the value', async () => {
  const [read, write] = operationsOf('awsJson1_1');
  const { call, close } = testCaller('', { cloud: { endpoints: { docs: cloud.origin } } });
  answer = JSON.stringify({ Text: 'z'.repeat(30_000), Texts: ['a'] });
  const result = await call(read, { Name: 'a' }, { signal: never });
  expect(result).toMatchObject({
    structured: { answer: { Texts: ['a'] }, leftOut: [{ path: 'Text', characters: 30_000 }] },
  });
  const picked = await call(read, { Name: 'a', fields: ['Text'] }, { signal: never });
  expect(picked).toMatchObject({ structured: { answer: { Text: 'z'.repeat(30_000) } } });

  const sent = cloud.requests.length;
  const refused = await call(write, { Name: 'a', Text: '(hidden, because it may be a secret)' }, { signal: never });
  await close();
  expect(refused).toMatchObject({ failure: { code: 'InvalidArguments', mayHaveHappened: false } });
  expect(cloud.requests).toHaveLength(sent);
});

import { describe, expect, test } from 'vitest';
import { convertBotocore } from '../../src/models/botocore.js';
import { createCodec } from '../../src/models/codec.js';
import { ModelError, parseModelJson, readAst } from '../../src/models/model.js';

/** A lending library with one resource, in the AST of Smithy. */
const library = {
  smithy: '2.0',
  shapes: {
    'lib#Library': {
      type: 'service',
      version: '2026-01-01',
      operations: [{ target: 'lib#CountBooks' }],
      resources: [{ target: 'lib#Book' }],
      traits: {
        'aws.protocols#restJson1': {},
        'aws.auth#sigv4': { name: 'library' },
        'smithy.api#xmlNamespace': { uri: 'https://library.example/' },
      },
    },
    'lib#Book': {
      type: 'resource',
      read: { target: 'lib#GetBook' },
      collectionOperations: [{ target: 'lib#LendBooks' }],
      resources: [{ target: 'lib#Book' }],
    },
    'lib#CountBooks': { type: 'operation' },
    'lib#LendBooks': { type: 'operation', input: { target: 'lib#LendBooksInput' } },
    'lib#LendBooksInput': {
      type: 'structure',
      members: {
        Titles: { target: 'lib#Titles', traits: { 'smithy.api#jsonName': 'titles', 'smithy.api#required': {} } },
        Days: { target: 'smithy.api#PrimitiveInteger' },
      },
    },
    'lib#Titles': { type: 'list', member: { target: 'lib#Title' }, traits: { 'smithy.api#length': { max: 3 } } },
    'lib#Title': { type: 'string', traits: { 'smithy.api#sensitive': {}, 'smithy.api#pattern': '^a' } },
    'lib#GetBook': {
      type: 'operation',
      output: { target: 'lib#Volume' },
      traits: { 'smithy.api#http': { method: 'GET', uri: '/books/{Id}' } },
    },
    'lib#Volume': {
      type: 'structure',
      members: {
        Binding: { target: 'lib#Binding' },
        Shelf: { target: 'lib#Shelf' },
        Place: { target: 'lib#Place' },
        Loans: { target: 'lib#Loans' },
        Cover: { target: 'smithy.api#Blob' },
      },
    },
    'lib#Binding': {
      type: 'enum',
      members: {
        SOFT: { target: 'smithy.api#Unit', traits: { 'smithy.api#enumValue': 'soft' } },
        HARD: { target: 'smithy.api#Unit' },
      },
    },
    'lib#Shelf': {
      type: 'intEnum',
      members: { TOP: { target: 'smithy.api#Unit', traits: { 'smithy.api#enumValue': 4 } } },
    },
    'lib#Place': { type: 'union', members: { Room: { target: 'smithy.api#String' } } },
    'lib#Loans': { type: 'map', key: { target: 'lib#Title' }, value: { target: 'smithy.api#Timestamp' } },
  },
};

describe('a Smithy model', () => {
  const model = readAst(library);

  test('describes its service', () => {
    expect(model.service).toMatchObject({
      id: 'lib#Library',
      version: '2026-01-01',
      protocol: 'restJson1',
      signingName: 'library',
      xmlNamespace: 'https://library.example/',
    });
  });

  test('lists the operations of the service and of its resources, also if resources form a circle', () => {
    expect(model.names).toEqual(['CountBooks', 'GetBook', 'LendBooks']);
  });

  test('gives an operation its method, input and output', () => {
    expect(model.operation('GetBook')).toMatchObject({
      http: { method: 'GET', uri: '/books/{Id}', code: 200 },
      input: { kind: 'structure', members: [] },
      output: { id: 'lib#Volume' },
    });
    expect(model.operation('CountBooks').http).toEqual({ method: 'POST', uri: '/', code: 200 });
  });

  test('joins the traits of a member with those of its target', () => {
    const [titles] = model.operation('LendBooks').input.members;
    expect(titles?.traits).toEqual({
      'smithy.api#jsonName': 'titles',
      'smithy.api#required': {},
      'smithy.api#length': { max: 3 },
    });
  });
});

describe('a model of botocore', () => {
  const readBotocore = (...files: Parameters<typeof convertBotocore>) => readAst(convertBotocore(...files));
  const metadata = { protocol: 'rest-json', signatureVersion: 'v4', endpointPrefix: 'library', apiVersion: '1' };
  const operation = { http: { method: 'POST', requestUri: '/books/{id}/{path+}' }, input: { shape: 'Input' } };
  const input = { type: 'structure', required: ['Id'], members: {} };
  const withMembers = (members: Record<string, object>, changes: { protocol?: string } = {}) =>
    readBotocore({
      metadata: { ...metadata, ...changes },
      operations: { Lend: operation },
      shapes: {
        Input: { ...input, members },
        Text: { type: 'string', min: 2, pattern: '^a' },
        Kind: { type: 'string', enum: ['a b', 'c'] },
        Map: { type: 'map', key: { shape: 'Text' }, value: { shape: 'Text' } },
        Count: { type: 'integer', max: 9 },
        Named: { type: 'string', locationName: 'NameOfShape' },
        Choice: { type: 'structure', union: true, members: { A: { shape: 'Text' } } },
        Any: { type: 'structure', document: true },
      },
    });

  test('becomes a service that signs with its signing name or endpoint prefix', () => {
    expect(withMembers({}).service).toMatchObject({ protocol: 'restJson1', signingName: 'library', version: '1' });
  });

  test('may have a shape with the name of the service', () => {
    const shapes = { Service: { type: 'structure' }, Lending: { type: 'structure' } };
    const withPrefix = { ...metadata, protocol: 'json', targetPrefix: 'Lending' };
    const named = { Lend: { ...operation, input: { shape: 'Service' } } };
    expect(readBotocore({ metadata, operations: named, shapes }).operation('Lend').input.members).toEqual([]);
    expect(readBotocore({ metadata: withPrefix, operations: {}, shapes }).service.id).toBe('botocore.service#Lending');
  });

  test.each([
    ['rest-xml', 'restXml'],
    ['query', 'awsQuery'],
    ['ec2', 'ec2Query'],
    ['json', 'awsJson1_0'],
  ])('%s is the protocol %s', (protocol, expected) => {
    expect(withMembers({}, { protocol }).service.protocol).toBe(expected);
  });

  test('names labels by members', () => {
    const model = withMembers({
      Id: { shape: 'Text', location: 'uri', locationName: 'id' },
      Path: { shape: 'Text', location: 'uri', locationName: 'path' },
    });
    expect(model.operation('Lend').http.uri).toBe('/books/{Id}/{Path+}');
    expect(model.operation('Lend').input.members[0]?.ownTraits).toEqual({
      'smithy.api#httpLabel': {},
      'smithy.api#required': {},
    });
  });

  test.each([
    [{ shape: 'Text', location: 'querystring', locationName: 'q' }, { 'smithy.api#httpQuery': 'q' }],
    [{ shape: 'Map', location: 'querystring' }, { 'smithy.api#httpQueryParams': {} }],
    [{ shape: 'Text', location: 'header', locationName: 'x-a' }, { 'smithy.api#httpHeader': 'x-a' }],
    [{ shape: 'Map', location: 'headers', locationName: 'x-m-' }, { 'smithy.api#httpPrefixHeaders': 'x-m-' }],
    [{ shape: 'Text', locationName: 'wire' }, { 'smithy.api#jsonName': 'wire' }],
    [{ shape: 'Text', idempotencyToken: true }, { 'smithy.api#idempotencyToken': {} }],
    [{ shape: 'Text', jsonvalue: true }, { 'smithy.api#mediaType': 'application/json' }],
    [{ shape: 'Text', timestampFormat: 'rfc822' }, { 'smithy.api#timestampFormat': 'http-date' }],
    [{ shape: 'Text', xmlNamespace: 'urn:x' }, { 'smithy.api#xmlNamespace': { uri: 'urn:x' } }],
    [{ shape: 'Map', flattened: true }, { 'smithy.api#xmlFlattened': {} }],
    [{ shape: 'Named' }, { 'smithy.api#jsonName': 'NameOfShape' }],
  ])('a member %j has the traits %j', (member, traits) => {
    expect(withMembers({ M: member }).operation('Lend').input.members[0]?.ownTraits).toEqual(traits);
  });

  test.each([
    ['Text', { kind: 'text', traits: { 'smithy.api#length': { min: 2 }, 'smithy.api#pattern': '^a' } }],
    ['Count', { kind: 'integer', type: 'integer', traits: { 'smithy.api#range': { max: 9 } } }],
    ['Kind', { kind: 'enum', values: ['a b', 'c'] }],
    ['Choice', { isUnion: true, members: [{ name: 'A' }] }],
    ['Any', { kind: 'document' }],
  ])('a shape %s is converted', (shape, expected) => {
    expect(withMembers({ M: { shape } }).operation('Lend').input.members[0]?.shape).toMatchObject(expected);
  });

  test('takes the name of the XML root from the operation', () => {
    const model = readBotocore({
      metadata: { ...metadata, protocol: 'rest-xml' },
      operations: { Lend: { ...operation, input: { shape: 'Input', locationName: 'LendRequest' } } },
      shapes: { Input: input },
    });
    expect(model.operation('Lend').input.traits).toEqual({ 'smithy.api#xmlName': 'LendRequest' });
  });

  test.each(['Lending', 'Loan'])('names the XML root %s as its member does', async (locationName) => {
    const model = readBotocore({
      metadata: { ...metadata, protocol: 'rest-xml' },
      operations: { Lend: { ...operation, http: { method: 'PUT', requestUri: '/' } } },
      shapes: {
        Input: { ...input, payload: 'Lending', members: { Lending: { shape: 'LendingState', locationName } } },
        LendingState: { type: 'structure', members: { Days: { shape: 'Count' } } },
        Count: { type: 'integer' },
      },
    });
    const { body } = await createCodec(model).encode(model.operation('Lend'), { Lending: { Days: 3 } });
    expect(body).toMatchObject({ text: expect.stringContaining(`<${locationName}><Days>3</Days></${locationName}>`) });
  });

  test('takes pages from the paginators', () => {
    const paginators = { pagination: { Lend: { input_token: 'Marker', output_token: 'Next', result_key: 'Books' } } };
    const model = readBotocore({ metadata, operations: { Lend: operation }, shapes: { Input: input } }, { paginators });
    expect(model.operation('Lend').traits['smithy.api#paginated']).toMatchObject({
      inputToken: 'Marker',
      outputToken: 'Next',
      items: 'Books',
    });
  });

  test('takes waiters from the file beside it', () => {
    const waiters = {
      version: 2,
      waiters: {
        BookLent: {
          operation: 'Lend',
          delay: 5,
          maxAttempts: 3,
          acceptors: [
            { state: 'success', matcher: 'pathAll', argument: 'Books[].State', expected: 'LENT' },
            { state: 'failure', matcher: 'error', expected: 'NoBook' },
          ],
        },
        BookBound: { operation: 'Bind', acceptors: [] },
      },
    };
    const model = readBotocore({ metadata, operations: { Lend: operation }, shapes: { Input: input } }, { waiters });
    const output = { path: 'Books[].State', expected: 'LENT', comparator: 'allStringEquals' };
    expect(model.operation('Lend').traits['smithy.waiters#waitable']).toEqual({
      BookLent: {
        acceptors: [
          { state: 'success', matcher: { output } },
          { state: 'failure', matcher: { errorType: 'NoBook' } },
        ],
        minDelay: 5,
        maxAttempts: 3,
      },
    });
  });

  test.each([
    ['v1', 'computing', /signs with v1 \(metadata\.signatureVersion\)/],
    ['v2', 'query', /only if they are 3, or 2 with a protocol of NIFCLOUD/],
  ])('with the signature %s and the protocol %s is refused', (signatureVersion, protocol, problem) => {
    const refused = { metadata: { ...metadata, signatureVersion, protocol }, operations: {}, shapes: {} };
    expect(() => readBotocore(refused)).toThrow(problem);
  });
});

describe('a model that cannot be used is refused with the place and the reason', () => {
  const { shapes } = library;
  const withShape = (id: string, shape: unknown) => ({ ...library, shapes: { ...shapes, [id]: shape } });
  const withTraits = (traits: object) => withShape('lib#Library', { ...shapes['lib#Library'], traits });

  test.each([
    ['no JSON', 'no JSON', /not a JSON object/],
    ['a list', '[]', /not a JSON object/],
    ['deep nesting', `{"a":${'['.repeat(300)}${']'.repeat(300)}}`, /nested deeper than 200/],
    ['too much text', ' '.repeat(20_000_001), /more than 20 MB/],
  ])('%s', (_, text, reason) => {
    expect(() => parseModelJson(text)).toThrow(ModelError);
    expect(() => parseModelJson(text)).toThrow(reason);
  });

  test.each([
    ['another version', { ...library, smithy: '1.0' }, /smithy/],
    ['no service', { smithy: '2.0', shapes: {} }, /one service, and has 0/],
    ['two services', withShape('lib#Second', shapes['lib#Library']), /one service, and has 2/],
    ['another protocol', withTraits({ 'smithy.protocols#rpcv2Cbor': {} }), /protocols that are supported: restJson1/],
    ['another signature', withTraits({ 'aws.protocols#restJson1': {} }), /does not sign with Signature Version 4/],
    ['mixins', withShape('lib#Mixed', { type: 'structure', mixins: [] }), /lib#Mixed uses mixins/],
    ['traits of mixins', withShape('lib#Mixed$a', { type: 'apply', traits: {} }), /uses mixins/],
  ])('%s', (_, json, reason) => {
    expect(() => readAst(json)).toThrow(ModelError);
    expect(() => readAst(json)).toThrow(reason);
  });

  test.each([
    ['a missing shape', undefined, /lib#Volume is not in the model/],
    ['an unknown type', { type: 'cube' }, /lib#Volume at type/],
    ['a member without target', { type: 'structure', members: { A: {} } }, /lib#Volume at members\.A\.target/],
    ['a member that every object has', { type: 'structure', members: { toString: { target: 'x#Y' } } }, /every object/],
    ['a list as output', { type: 'list', member: { target: 'smithy.api#String' } }, /must be a structure/],
  ])('an operation with %s', (_, shape, reason) => {
    // As in a file, a shape that is undefined is missing.
    const model = readAst(parseModelJson(JSON.stringify(withShape('lib#Volume', shape))));
    expect(() => model.operation('GetBook')).toThrow(ModelError);
    expect(() => model.operation('GetBook')).toThrow(reason);
    expect(model.operation('CountBooks').name).toBe('CountBooks');
  });

  test('an operation that it does not have', () => {
    expect(() => readAst(library).operation('BurnBook')).toThrow(/no operation BurnBook/);
  });
});

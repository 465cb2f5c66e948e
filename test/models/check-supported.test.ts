import { describe, expect, test } from 'vitest';
import { checkSupported, hostPrefixOf, isSetByServer } from '../../src/models/check-supported.js';
import { readAst } from '../../src/models/model.js';
import { http as httpTrait } from './small-model.js';

/** A service with one operation, whose only member of input and output is given. */
function operationWith({
  member = {},
  shapes = {},
  traits = {},
  isInOutput = false,
  protocol = 'restXml',
}: {
  readonly member?: object;
  readonly shapes?: object;
  readonly traits?: object;
  readonly isInOutput?: boolean;
  readonly protocol?: string;
}) {
  const structure = { type: 'structure', members: { M: { target: 'smithy.api#String', ...member } } };
  const model = readAst({
    smithy: '2.0',
    shapes: {
      'lib#Library': {
        type: 'service',
        operations: [{ target: 'lib#Lend' }],
        traits: { [`aws.protocols#${protocol}`]: {}, 'aws.auth#sigv4': { name: 'library' } },
      },
      'lib#Lend': { type: 'operation', [isInOutput ? 'output' : 'input']: { target: 'lib#Value' }, traits },
      'lib#Value': structure,
      ...shapes,
    },
  });
  return { model, operation: model.operation('Lend') };
}

const http = (uri: string) => httpTrait('GET', uri);

describe('an operation is refused with a reason if it needs', () => {
  const events = { 'lib#Events': { type: 'union', members: {}, traits: { 'smithy.api#streaming': {} } } };
  const mapOfLists = {
    'lib#Map': { type: 'map', key: { target: 'smithy.api#String' }, value: { target: 'lib#List' } },
    'lib#List': { type: 'list', member: { target: 'lib#Map' } },
  };
  const stream = { 'lib#Stream': { type: 'blob', traits: { 'smithy.api#streaming': {} } } };
  test.each([
    ['a label in the host', { member: { traits: { 'smithy.api#hostLabel': {} } } }, /no argument may choose the host/],
    ['a stream', { member: { target: 'lib#Stream' }, shapes: stream }, /a body of any length/],
    ['a stream as answer', { member: { target: 'lib#Stream' }, shapes: stream, isInOutput: true }, /any length/],
    ['events', { member: { target: 'lib#Events' }, shapes: events, isInOutput: true }, /a stream of events/],
    [
      'a header that no argument may set',
      { member: { traits: { 'smithy.api#httpHeader': 'X-A: b' } } },
      /would set headers/,
    ],
    ['a header with any name', { member: { traits: { 'smithy.api#httpPrefixHeaders': '' } } }, /would set headers/],
    ['headers that sign', { member: { traits: { 'smithy.api#httpPrefixHeaders': 'X-Amz-' } } }, /would set headers/],
    ['a path of another resource', { traits: http('/a/../{M}') }, /is no path whose arguments are whole segments/],
    ['a path that ends in another one', { traits: http('/a/..;b') }, /is no path whose arguments/],
    ['a part of a segment', { traits: http('/a/.{M}') }, /whole segments/],
    ['a part of a segment with another end', { traits: http('/a/{M}:..') }, /whole segments/],
    ['an encoded path', { traits: http('/a/%2e%2e/{M}') }, /whole segments/],
    ['a path without a beginning', { traits: http('a') }, /whole segments/],
    ['a label in the path of a form', { traits: http('/{M}'), protocol: 'rdb' }, /whole segments/],
    ['a query with a form', { traits: http('/?a=b'), protocol: 'computing' }, /whole segments/],
    ['no signature', { traits: { 'smithy.api#auth': [] } }, /not signed with Signature Version 4/],
    ['another signature', { traits: { 'smithy.api#auth': ['smithy.api#httpBearerAuth'] } }, /Signature Version 4/],
    [
      'a shape that is missing',
      { member: { target: 'lib#List' }, shapes: { 'lib#List': { type: 'list', member: { target: 'lib#None' } } } },
      /lib#None is not in the model/,
    ],
    [
      'a list of itself',
      { member: { target: 'lib#List' }, shapes: { 'lib#List': { type: 'list', member: { target: 'lib#List' } } } },
      /its list lib#List contains itself without a structure between/,
    ],
    [
      'a map of lists of itself as answer',
      { member: { target: 'lib#Map' }, shapes: mapOfLists, isInOutput: true },
      /its map lib#Map contains itself/,
    ],
  ])('%s', (_, api, reason) => {
    const { model, operation } = operationWith(api);
    expect(() => checkSupported(model, operation)).toThrow(reason);
  });
});

test.each(['lib#Value', 'lib#List'])('shapes may contain themselves through a structure', (target) => {
  const shapes = { 'lib#List': { type: 'list', member: { target: 'lib#Value' } } };
  const { model, operation } = operationWith({ member: { target }, shapes });
  expect(() => checkSupported(model, operation)).not.toThrow();
});

test('a fixed beginning of the host is found', () => {
  const { operation } = operationWith({ traits: { 'smithy.api#endpoint': { hostPrefix: 'api.' } } });
  expect(hostPrefixOf(operation)).toBe('api.');
  expect(hostPrefixOf(operationWith({}).operation)).toBeUndefined();
});

test.each(['evil.example/', 'a@', 'api', '{M}.', 'a'.repeat(64).concat('.')])(
  '%s is no beginning of a host',
  (hostPrefix) => {
    const { operation } = operationWith({ traits: { 'smithy.api#endpoint': { hostPrefix } } });
    expect(() => hostPrefixOf(operation)).toThrow(/must be the beginning of a host name/);
  },
);

describe('members that the server sets are no arguments', () => {
  test.each([
    [{ 'smithy.api#idempotencyToken': {} }, true],
    [{ 'smithy.api#httpHeader': 'Content-MD5' }, true],
    [{ 'smithy.api#httpHeader': 'Content-Length' }, true],
    [{ 'smithy.api#httpHeader': 'Host' }, true],
    [{ 'smithy.api#httpHeader': 'Date' }, true],
    [{ 'smithy.api#httpHeader': 'X-Amzn-Authorization' }, true],
    [{ 'smithy.api#httpHeader': 'X-Amz-Security-Token' }, true],
    [{ 'smithy.api#httpHeader': 'Proxy-Authorization' }, true],
    [{ 'smithy.api#httpHeader': 'x-amz-checksum-sha256' }, true],
    [{ 'smithy.api#httpHeader': 'x-amz-checksum-mode' }, false],
    [{ 'smithy.api#httpHeader': 'Content-Type' }, false],
    [{}, false],
  ])('%j: %s', (traits, expected) => {
    const { operation } = operationWith({ member: { traits } });
    expect(operation.input.members.map((member) => isSetByServer(operation, member))).toEqual([expected]);
  });

  test('the algorithm of a checksum', () => {
    const { operation } = operationWith({ traits: { 'aws.protocols#httpChecksum': { requestAlgorithmMember: 'M' } } });
    expect(operation.input.members.map((member) => isSetByServer(operation, member))).toEqual([true]);
  });
});

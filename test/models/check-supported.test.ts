import { describe, expect, test } from 'vitest';
import { checkSupported, hostPrefixOf, isSetByServer } from '../../src/models/check-supported.js';
import { http as httpTrait, member, smallModel } from './small-model.js';

/** An operation whose only member of input or output is given. */
function operationWith({
  member: { target = 'String', traits: traitsOfMember = {} } = {},
  shapes = {},
  traits = {},
  isInOutput = false,
  protocol = 'restXml',
}: {
  readonly member?: { readonly target?: string; readonly traits?: object };
  readonly shapes?: Readonly<Record<string, unknown>>;
  readonly traits?: Readonly<Record<string, unknown>>;
  readonly isInOutput?: boolean;
  readonly protocol?: string;
}) {
  const lend = { [isInOutput ? 'output' : 'input']: { M: member(target, { ...traitsOfMember }) }, traits };
  const model = smallModel({ Lend: lend }, shapes, protocol);
  return { model, operation: model.operation('Lend') };
}

const http = (uri: string) => httpTrait('GET', uri);

describe('an operation is refused with a reason if it needs', () => {
  const events = { 'small#Events': { type: 'union', members: {}, traits: { 'smithy.api#streaming': {} } } };
  const mapOfLists = {
    'small#Map': { type: 'map', key: { target: 'smithy.api#String' }, value: { target: 'small#List' } },
    'small#List': { type: 'list', member: { target: 'small#Map' } },
  };
  const stream = { 'small#Stream': { type: 'blob', traits: { 'smithy.api#streaming': {} } } };
  test.each([
    ['a label in the host', { member: { traits: { 'smithy.api#hostLabel': {} } } }, /no argument may choose the host/],
    ['a stream', { member: { target: 'small#Stream' }, shapes: stream }, /a body of any length/],
    ['a stream as answer', { member: { target: 'small#Stream' }, shapes: stream, isInOutput: true }, /any length/],
    ['events', { member: { target: 'small#Events' }, shapes: events, isInOutput: true }, /a stream of events/],
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
    ['a signature that cannot be read', { traits: { 'smithy.api#auth': 'aws.auth#sigv4' } }, /Signature Version 4/],
    [
      'a shape that is missing',
      {
        member: { target: 'small#List' },
        shapes: { 'small#List': { type: 'list', member: { target: 'small#None' } } },
      },
      /small#None is not in the model/,
    ],
    [
      'a list of itself',
      {
        member: { target: 'small#List' },
        shapes: { 'small#List': { type: 'list', member: { target: 'small#List' } } },
      },
      /its list small#List contains itself without a structure between/,
    ],
    [
      'a map of lists of itself as answer',
      { member: { target: 'small#Map' }, shapes: mapOfLists, isInOutput: true },
      /its map small#Map contains itself/,
    ],
  ])('%s', (_, api, reason) => {
    const { model, operation } = operationWith(api);
    expect(() => checkSupported(model, operation)).toThrow(reason);
  });
});

test.each(['small#LendInput', 'small#List'])('shapes may contain themselves through a structure', (target) => {
  const shapes = { 'small#List': { type: 'list', member: { target: 'small#LendInput' } } };
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
    expect(operation.input.members.map((each) => isSetByServer(operation, each))).toEqual([expected]);
  });

  test('the algorithm of a checksum', () => {
    const { operation } = operationWith({ traits: { 'aws.protocols#httpChecksum': { requestAlgorithmMember: 'M' } } });
    expect(operation.input.members.map((each) => isSetByServer(operation, each))).toEqual([true]);
  });
});

import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { readMessage } from '../../src/mcp/messages.js';

/** Messages as clients write them. Kinds of mistakes are from reports about MCP clients; names and values are made up. */

const request = (params: unknown, method = 'tools/list') => ({ jsonrpc: '2.0', id: 1, method, params });
const messageOf = (value: unknown) => {
  const read = readMessage(value);
  return read.kind === 'read' ? read.message : read.answer.error;
};

describe('an initialize request', () => {
  const initialize = (params: unknown) => messageOf(request(params, 'initialize'));

  test('gets all that it lacks', () => {
    const clientInfo = { name: 'unknown', version: '' };
    const params = { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities: {}, clientInfo };
    expect(initialize({ clientInfo: null })).toEqual(request(params, 'initialize'));
  });
});

test('a client of 2026-07-28 may leave out its version in each request', () => {
  const key = 'io.modelcontextprotocol/clientInfo';
  expect(messageOf(request({ _meta: { [key]: { name: 'a' } } }))).toEqual(
    request({ _meta: { [key]: { name: 'a', version: '' } } }),
  );
});

test('arguments may be JSON text', () => {
  expect(messageOf(request({ arguments: '{"bucket":"b"}' }))).toEqual(request({ arguments: { bucket: 'b' } }));
});

const deep = () => Array.from({ length: 1_001 }).reduce<unknown>((inner) => [inner], []);

test.each([
  ['a number', 7, -32600, /must be a JSON object/],
  ['a list of params', request([]), -32600, /params must be an object/],
  ['arguments that are no object', request({ arguments: 'bucket=b' }), -32602, /arguments must be an object/],
  ['arguments that are the text null', request({ arguments: 'null' }), -32602, /arguments must be an object/],
  ['text of too many arguments', request({ arguments: `[${'1,'.repeat(5_000)}1]` }), -32602, /more than 5000 values/],
  [
    'text of arguments that are too deep',
    request({ arguments: `{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}` }),
    -32602,
    /deeper than 1000 levels/,
  ],
  ['a hidden name in the text of arguments', request({ arguments: '{"__proto__":{}}' }), -32602, /__proto__/],
  ['a hidden name', JSON.parse('{"id":1,"method":"m","params":{"arguments":{"__proto__":{}}}}'), -32602, /__proto__/],
  [
    'a hidden name inside',
    JSON.parse('{"id":1,"method":"m","params":{"arguments":{"tags":[{"__proto__":"b"}]}}}'),
    -32602,
    /__proto__/,
  ],
  ['a message that is too deep', request({ arguments: { a: deep() } }), -32600, /deeper than 1000 levels/],
])(
  '%s is refused with a code and a sentence, because the SDK would ignore or change it',
  (_what, value, code, text) => {
    expect(messageOf(value)).toEqual({ code, message: expect.stringMatching(text) });
  },
);

test('arguments may have the names of methods of JavaScript', () => {
  const message = request({ arguments: { constructor: 1 } });
  expect(messageOf(message)).toEqual(message);
});

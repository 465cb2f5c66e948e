import { describe, expect, test } from 'vitest';
import { answerOf, message, post, serveInProcess } from '../support/http-in-process.js';

/**
 * A request as a connector of claude.ai was reported to send it (https://github.com/anthropics/claude-code/issues/93290): it opens
 * with server/discover, and from then on each body is one of 2026-07-28 under the header of 2025-11-25.
 */
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'claude-code', version: '2.1.267' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
};
const header = { 'mcp-protocol-version': '2025-11-25' };
const version = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const call = (more: object = {}) =>
  message('tools/call', {
    name: 'list_parts',
    arguments: { bucket: 'b', object: 'o', uploadId: 'u' },
    _meta: meta,
    ...more,
  });

describe('a whole request of 2026-07-28 under the header of 2025-11-25', () => {
  test.each([
    ['a call', call(), {}],
    [
      'a call whose other headers are those of its body',
      call(),
      { 'mcp-method': 'tools/call', 'mcp-name': 'list_parts' },
    ],
    ['a call of a tool whose name no header can hold', call({ name: 'größe\n' }), {}],
    ['the list of tools', message('tools/list', { _meta: meta }), {}],
    ['a resource', message('resources/read', { uri: 'cloudops://reference', _meta: meta }), {}],
  ])('is served by its body: %s', async (_name, sent, more) => {
    const server = await serveInProcess();
    const response = await post(server.url, sent, { ...header, ...more });
    const { result, error } = await answerOf(response);
    expect(error ?? {}).not.toMatchObject({ code: -32_020 });
    // Only an answer of 2026-07-28 says which kind of result it is.
    if (result !== undefined) expect(result).toMatchObject({ resultType: 'complete' });
    expect(response.headers.get('mcp-session-id')).toBeNull();
    await server.close();
  });
});

describe('all else in which headers and body disagree is refused', () => {
  test.each([
    ['an older header', call(), { 'mcp-protocol-version': '2025-06-18' }],
    ['a header that names both', call(), { 'mcp-protocol-version': '2025-11-25, 2026-07-28' }],
    [
      'a body of another version',
      call({ _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' } }),
      header,
    ],
    ['a method that is not the body’s', call(), { ...header, 'mcp-method': 'tools/list' }],
    ['a name that is not the body’s', call(), { ...header, 'mcp-name': 'restore_instance' }],
    ['no version in the header', call(), {}],
  ])('%s', async (_name, sent, headers) => {
    const server = await serveInProcess();
    const response = await post(server.url, sent, headers);
    expect([response.status, (await answerOf(response)).error]).toEqual([
      400,
      expect.objectContaining({ code: -32_020 }),
    ]);
    await server.close();
  });

  test('an envelope that is not whole', async () => {
    const server = await serveInProcess();
    const response = await post(server.url, call({ _meta: version }), header);
    expect([response.status, (await answerOf(response)).error]).toEqual([
      400,
      expect.objectContaining({ code: -32_602 }),
    ]);
    await server.close();
  });
});

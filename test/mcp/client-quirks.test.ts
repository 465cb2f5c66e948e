import { afterEach, describe, expect, test } from 'vitest';
import { schemaFor, withoutAddedArguments } from '../../src/mcp/client-quirks.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { answerOf, message, post, serveInProcess } from '../support/http-in-process.js';
import { connectInProcess, eras } from '../support/in-process.js';

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

/** As Claude Code 2.1.330 shows calls: see test/clients/terminal.test.ts. */
describe.each(eras)('Claude Code shows the argument "description" as the title of a call, %s', (_name, era) => {
  const open: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of open.splice(0)) await close();
  });
  const connect = async (clientName: string, confirm: 'off' | 'ask' = 'off') => {
    const { client, close } = await connectInProcess(era, undefined, { clientName, confirm });
    open.push(close);
    const { tools } = await client.listTools();
    const call = async (args: object): Promise<Record<string, unknown>> => {
      const sent = { ...restoreInstance.example, ...args };
      return Object((await client.callTool({ name: restoreInstance.name, arguments: sent })).structuredContent);
    };
    const confirmChange = async (args: Record<string, unknown>) =>
      (await client.callTool({ name: 'confirm_change', arguments: args })).structuredContent;
    const namesOf = (tool: string) =>
      Object.keys(tools.find(({ name }) => name === tool)?.inputSchema.properties ?? {});
    return { tools, call, confirmChange, namesOf };
  };
  const claude = 'claude-code';

  test('its list of tools has another name in the same place, and is otherwise the list of every client', async () => {
    const [own, others] = [await connect(claude), await connect('test')];
    for (const { name } of own.tools) expect(own.namesOf(name)).not.toContain('description');
    expect(others.namesOf(restoreInstance.name)).toContain('description');
    const text = JSON.stringify(own.tools).replace('"descriptionText":', '"description":');
    expect(text).toBe(JSON.stringify(others.tools));
  });

  test('a call with that name carries the argument, also into a plan that is confirmed', async () => {
    const { call, confirmChange } = await connect(claude, 'ask');
    const args = { descriptionText: 'A memo' };
    const { changeId } = await call(args);
    expect(await confirmChange({ changeId, thing: restoreInstance.example.instanceId })).toMatchObject({
      outcome: 'accepted',
      answer: { instance: { description: 'A memo' } },
    });
  });

  test.each([
    ['the name of other clients', { description: 'A memo' }, /^description: .* descriptionText\?$/],
    ['a value that breaks a rule', { descriptionText: 'x'.repeat(256) }, /^descriptionText: /],
    ['a misspelt name', { descriptionTxt: 'A memo' }, /^descriptionTxt: .* descriptionText\?$/],
  ])('%s is refused, with the name that it has', async (_what, args, problem) => {
    const { call } = await connect(claude);
    expect(await call(args)).toMatchObject({
      code: 'InvalidArguments',
      problems: [expect.stringMatching(problem)],
    });
  });

  test('other clients keep their name, and have no second one', async () => {
    const { call } = await connect('claude-codex');
    expect(await call({ descriptionText: 'A memo' })).toMatchObject({
      problems: [expect.stringMatching(/^descriptionText: is not an argument; expected one of: .* description,/)],
    });
  });
});

test('the other name for "description" is one that no argument has, and stays required', () => {
  const client = { name: 'claude-code 2', form: true, url: true, views: false };
  const property = (description: string) => ({ type: 'string', description });
  const schema = {
    type: 'object',
    properties: { description: property('a'), descriptionText: property('b'), name: property('c') },
    required: ['name', 'description'],
  };
  expect(schemaFor(client, schema)).toEqual({
    type: 'object',
    properties: { descriptionText_: property('a'), descriptionText: property('b'), name: property('c') },
    required: ['name', 'descriptionText_'],
  });
});

test('an argument that the tool has stays, even if the client adds others of that name', () => {
  const schema = { properties: { action: { type: 'string' }, toolCallId: { type: 'string' } } };
  const args = { action: 'start', toolCallId: 'a', sessionId: 's' };
  expect(withoutAddedArguments(args, { name: 'n8n' }, schema)).toEqual({ action: 'start', toolCallId: 'a' });
});

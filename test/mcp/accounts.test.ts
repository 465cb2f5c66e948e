import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { countTokens } from 'gpt-tokenizer';
import { afterEach, expect, test } from 'vitest';
import type { Accounts } from '../../src/calls/account.js';
import { createServer } from '../../src/server.js';
import { type NamedAccount, namedAccounts } from '../support/accounts.js';
import { testCaller } from '../support/caller.js';

/** What models see of accounts: an argument where there is a choice, and nothing where there is none. */

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function connect(accounts?: Accounts, principal?: { name: string; scopes: string[] }) {
  const caller = testCaller('http://127.0.0.1:1', accounts === undefined ? {} : { accounts });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const handle = serveStdio(() => createServer({ ...caller.server, principal }), { transport: serverSide });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(clientSide);
  closing.push(
    () => client.close(),
    () => handle.close(),
    caller.close,
  );
  const { tools } = await client.listTools();
  return { tools, instructions: client.getInstructions() ?? '' };
}

const prod: NamedAccount = { name: 'prod', description: 'live customers, handle with care' };
const staging: NamedAccount = { name: 'staging', description: 'trials' };
const readOnly = { readOnly: true, tools: undefined };
const of = (named: readonly NamedAccount[], byDefault?: string) =>
  namedAccounts('http://127.0.0.1:1', named, byDefault);
const argumentOf = (tools: Awaited<ReturnType<typeof connect>>['tools'], name: string) => {
  const schema = tools.find((tool) => tool.name === name)?.inputSchema;
  return { account: schema?.properties?.account, required: schema?.required };
};

test('the list of tools is the same with one account, whether it has a name or not', async () => {
  const without = (await connect()).tools;
  expect(JSON.stringify((await connect(of([prod]))).tools)).toBe(JSON.stringify(without));
  for (const { name } of without) expect(argumentOf(without, name).account).toBeUndefined();
});

test('a tool that several accounts allow has an argument that names them, first and required', async () => {
  const { tools, instructions } = await connect(of([prod, staging]));
  for (const { name } of tools)
    expect(argumentOf(tools, name)).toEqual({
      account: {
        type: 'string',
        enum: ['prod', 'staging'],
        description: 'prod: live customers, handle with care; staging: trials. If not said, ask',
      },
      required: expect.arrayContaining(['account']),
    });
  expect(Object.keys(tools[0]?.inputSchema.properties ?? {})[0]).toBe('account');
  expect(instructions).toContain('prod (live customers, handle with care)');
});

test('it is not required where one of them is the default', async () => {
  const { tools } = await connect(of([prod, staging], 'staging'));
  const { account, required = [] } = argumentOf(tools, 'restore_instance');
  expect(account).toMatchObject({ description: expect.stringContaining('Default staging') });
  expect(required).not.toContain('account');
});

test('a tool that one account alone allows has none', async () => {
  const { tools } = await connect(of([{ ...prod, policy: readOnly }, staging]));
  expect(argumentOf(tools, 'list_parts').account).toBeDefined();
  expect(argumentOf(tools, 'restore_instance').account).toBeUndefined();
});

test('a caller sees its own accounts and no trace of others', async () => {
  const scopes = ['cloudops:read', 'cloudops:write', 'cloudops:account:staging'];
  const seen = JSON.stringify(await connect(of([prod, staging, { name: 'test' }]), { name: 'a', scopes }));
  expect(seen).not.toMatch(/prod|live customers|"test"/);
  const none = await connect(of([prod, staging]), { name: 'a', scopes: ['cloudops:read', 'cloudops:write'] });
  expect(none.tools).toEqual([]);
  expect(none.instructions).toContain('Your token names no account');
});

const atLength = (name: string) => ({ name, description: 'for a purpose '.repeat(10) });
const briefly = (name: string) => ({ name, description: `for some ${name}s` });

test.each([
  ['two', [prod, staging]],
  ['three', ['customer', 'trial', 'demo'].map(briefly)],
  ['four with long descriptions', ['a1', 'b2', 'c3', 'd4'].map(atLength)],
])('%s take 45 tokens a tool at most', async (_what, named) => {
  const { tools } = await connect(of(named));
  const { tools: plain } = await connect();
  const added = countTokens(JSON.stringify(tools)) - countTokens(JSON.stringify(plain));
  expect(added / tools.length).toBeLessThanOrEqual(45);
});

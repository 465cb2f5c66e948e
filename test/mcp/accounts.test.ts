import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { countTokens } from 'gpt-tokenizer';
import { afterEach, expect, test } from 'vitest';
import type { Account, Accounts } from '../../src/calls/account.js';
import { changeToolNames } from '../../src/mcp/server-tools.js';
import { type Offer, offerTo } from '../../src/mcp/tool-catalog.js';
import { createServer } from '../../src/server.js';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { type NamedAccount, namedAccounts } from '../support/accounts.js';
import { never, testCaller } from '../support/caller.js';
import { openPolicy } from '../support/operations.js';

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
  return { tools, instructions: client.getInstructions() ?? '', call: caller.call };
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

const only =
  (service: string): Account['missingFor'] =>
  (asked) =>
    asked === service ? [] : [`CLOUDOPS_${asked.toUpperCase()}_URL`];

/** A store that speaks S3. */
const s3 = { ...openPolicy, extensions: ['s3'] };

test('only the tools of configured APIs are offered, and the instructions speak of no other', async () => {
  const { tools, instructions } = await connect(of([{ ...prod, policy: s3, missingFor: only('storage') }]));
  const names = tools.map(({ name }) => name).filter((name) => !changeToolNames.includes(name));
  expect(names).toEqual(['list_parts', 'list_multipart_uploads', 'abort_multipart_upload', 'abort_multipart_uploads']);
  expect(instructions).toMatch(/^Operate a cloud \(S3 object storage\)/);
  expect(instructions).not.toContain('restore_instance');
});

test('a tool is for the accounts that have its API', async () => {
  const { tools } = await connect(of([{ ...prod, missingFor: only('storage') }, staging]));
  expect(argumentOf(tools, 'list_parts').account).toMatchObject({ enum: ['prod', 'staging'] });
  expect(argumentOf(tools, 'restore_instance').account).toBeUndefined();
  expect(tools.find(({ name }) => name === 'restore_instance')?.description).toMatch(/^For the account staging only\./);
});

test('without any API there is no tool, and the instructions say what to set', async () => {
  const { tools, instructions } = await connect(of([{ ...prod, missingFor: () => ['CLOUDOPS_STORAGE_URL'] }]));
  expect(tools).toEqual([]);
  expect(instructions).toMatch(/^No tool is offered\. No API can be called yet\. Not set: CLOUDOPS_STORAGE_URL\./);
});

test('a tool that several accounts allow has an argument that names them, first and required', async () => {
  const { tools, instructions } = await connect(of([prod, staging]));
  for (const { name } of tools.filter((tool) => !changeToolNames.includes(tool.name)))
    expect(argumentOf(tools, name)).toEqual({
      account: {
        type: 'string',
        enum: ['prod', 'staging'],
        description: 'prod: live customers, handle with care; staging: trials. Ask if the user named none',
      },
      required: expect.arrayContaining(['account']),
    });
  expect(Object.keys(tools[0]?.inputSchema.properties ?? {})[0]).toBe('account');
  expect(instructions).toContain('prod (live customers, handle with care)');
});

test('it is not required where one of them is the default', async () => {
  const { tools } = await connect(of([prod, staging], 'staging'));
  const { account, required = [] } = argumentOf(tools, 'restore_instance');
  expect(account).toMatchObject({ description: expect.stringContaining('Ask if the user named none') });
  const ofRead = argumentOf(tools, 'list_parts');
  expect(ofRead.account).toMatchObject({
    description: expect.stringContaining('The one the user means, else staging'),
  });
  expect(required).not.toContain('account');
});

test('a tool that one account alone allows has none, and its description begins with that account', async () => {
  const { tools } = await connect(of([{ ...prod, policy: readOnly }, staging]));
  const descriptionOf = (name: string) => tools.find((tool) => tool.name === name)?.description;
  expect(argumentOf(tools, 'list_parts').account).toBeDefined();
  expect(descriptionOf('list_parts')).toBe(listParts.description);
  expect(argumentOf(tools, 'restore_instance').account).toBeUndefined();
  expect(descriptionOf('restore_instance')).toBe(`For the account staging only. ${restoreInstance.description}`);
});

test('a caller sees its own accounts and no trace of others', async () => {
  const scopes = ['cloudops:read', 'cloudops:write', 'cloudops:account:staging'];
  const seen = JSON.stringify(await connect(of([prod, staging, { name: 'test' }]), { name: 'a', scopes }));
  expect(seen).not.toMatch(/prod|live customers|"test"/);
  const none = await connect(of([prod, staging]), { name: 'a', scopes: ['cloudops:read', 'cloudops:write'] });
  expect(none.tools).toEqual([]);
  expect(none.instructions).toContain('Your token names no account');
});

test('all that an agent reads about accounts', async () => {
  const lines: string[] = [];
  for (const byDefault of [undefined, 'staging', 'prod']) {
    const { tools, instructions, call } = await connect(of([prod, staging], byDefault));
    const args = { ...restoreInstance.example, planOnly: true };
    lines.push(`# The default is ${byDefault ?? 'none'}`, '');
    lines.push(`instructions: ${instructions.split('\n').find((line) => line.startsWith('Accounts:'))}`);
    lines.push(`argument: ${JSON.stringify(argumentOf(tools, 'restore_instance'))}`, '');
    for (const account of [undefined, 'production', 'stagin', 'prod']) {
      const { text } = await call(restoreInstance, { ...args, account }, { signal: never });
      const about = text.split('\n').filter((line) => /^(- account|Where|account|to act|next)\b/.test(line));
      lines.push(`account ${account ?? 'not given'}:`, ...about.map((line) => `    ${line}`), '');
    }
  }
  for (const [what, named] of [
    ['Only staging allows changes', [{ ...prod, policy: readOnly }, staging]],
    ['There is one', [prod]],
  ] as const) {
    const { tools, instructions } = await connect(of(named));
    lines.push(`# ${what}`, '', `instructions: ${instructions.split('\n').find((line) => /[Aa]ccount/.test(line))}`);
    lines.push(...tools.map(({ name, description }) => `${name}: ${description}`), '');
  }
  await expect(lines.join('\n')).toMatchFileSnapshot('golden/accounts.txt');
});

const atLength = (name: string) => ({ name, description: 'for a purpose '.repeat(10) });
const briefly = (name: string) => ({ name, description: `for some ${name}s` });
const inWords = (...descriptions: readonly string[]) =>
  descriptions.map((description, index) => ({ name: ['prod', 'staging'][index] ?? '', description }));

test.each([
  ['two', [prod, staging]],
  ['two that just fit', inWords('live customers, handle with some care', 'trials and tests')],
  ['two in Japanese', inWords('本番のお客様向け', '検証用の環境です')],
  ['two in Japanese that just fit', inWords('本番のお客様用', '検証用の環境')],
  ['two in Russian', inWords('действующие клиенты', 'проверки')],
  ['two in pictures', inWords('🚀🚀🚀🚀🚀🚀', '🔥🔥🔥🔥🔥🔥')],
  ['two in numbers and signs', inWords('a-1/b.2:c+3#d', '0192-3847-5610')],
  ['three', ['customer', 'trial', 'demo'].map(briefly)],
  ['four with long descriptions', ['a1', 'b2', 'c3', 'd4'].map(atLength)],
])('%s take 45 tokens a tool at most, with a default too', async (_what, named) => {
  const { tools: plain } = await connect();
  for (const byDefault of [undefined, named[0]?.name]) {
    const { tools } = await connect(of(named, byDefault));
    const added = countTokens(JSON.stringify(tools)) - countTokens(JSON.stringify(plain));
    expect(added / tools.length).toBeLessThanOrEqual(45);
  }
});

test('what a caller is offered depends on its scopes alone', () => {
  const offered = { operations: [listParts, restoreInstance], accounts: of([prod, staging]) };
  const to = (...scopes: string[]) => offerTo({ name: `caller ${scopes.length}`, scopes }, offered);
  const shown = ({ operations, accounts }: Offer) => [
    operations.map(({ name }) => name),
    accounts.all.map(({ name }) => name),
  ];
  expect(shown(to('cloudops:read', 'cloudops:account:none'))).toEqual([[], []]);
  expect(shown(to('cloudops:read', 'cloudops:account:prod'))).toEqual([['list_parts'], ['prod']]);
  expect(shown(to('cloudops:write', 'cloudops:account:staging'))).toEqual([['restore_instance'], ['staging']]);
  expect(shown(offerTo(undefined, offered))).toEqual([
    ['list_parts', 'restore_instance'],
    ['prod', 'staging'],
  ]);
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client, type ElicitRequestFormParams } from '@modelcontextprotocol/client';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Policy } from '../../src/calls/policy.js';
import { shortestReadMs } from '../../src/changes/decide.js';
import { loadOperationFiles } from '../../src/cli/load-operation-files.js';
import { allOperations, noOwnOperations } from '../../src/config/own-operations.js';
import type { OwnOperations } from '../../src/models/load-operations.js';
import { createServiceCatalog, type ServiceCatalog } from '../../src/models/service-catalog.js';
import { findModels } from '../../src/models/service-sources.js';
import { operations as builtIn } from '../../src/tools/index.js';
import { member, smallModelJson } from '../models/small-model.js';
import { namedAccounts } from '../support/accounts.js';
import { memoryStore, type TestCallerOptions, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { connectOverStdio } from '../support/in-process.js';

/** Whole services: agents find their operations, and call them as if each were a tool. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-services-'));
const required = { required: {} };
const volumeId = member('String', required);
const isAvailable = {
  state: 'success',
  matcher: { output: { path: 'State', expected: 'available', comparator: 'stringEquals' } },
};
const disks = smallModelJson(
  {
    DescribeVolume: {
      input: { VolumeId: volumeId },
      output: { VolumeId: 'String', State: 'String', Size: 'Integer' },
      traits: { 'smithy.waiters#waitable': { VolumeAvailable: { acceptors: [isAvailable] } } },
    },
    CreateVolume: { input: { Zone: volumeId, Size: 'Integer', Tags: 'small#Tags' }, output: { VolumeId: 'String' } },
    DeleteVolume: { input: { VolumeId: volumeId } },
    ModifyVolume: { input: { VolumeId: volumeId, Size: 'Integer' } },
    GetPassword: { input: { VolumeId: volumeId }, output: { Password: 'String' } },
    GetPresignedUrl: { input: { VolumeId: volumeId }, output: { VolumeId: 'String', Url: 'String' } },
    SetPassword: { input: { VolumeId: volumeId, Password: volumeId } },
  },
  {
    'small#Tags': { type: 'list', member: { target: 'small#Tag' } },
    'small#Tag': {
      type: 'structure',
      members: { Key: { target: 'smithy.api#String' }, Value: { target: 'smithy.api#String' } },
    },
  },
  'awsJson1_1',
);
const uploads = smallModelJson({
  AbortMultipartUpload: {
    input: { Bucket: volumeId },
    traits: { 'smithy.api#http': { method: 'DELETE', uri: '/', code: 204 } },
  },
});

let cloud: CapturingServer;
beforeAll(async () => {
  writeFileSync(join(folder, 'disks.json'), JSON.stringify(disks));
  writeFileSync(join(folder, 's3.json'), JSON.stringify(uploads));
  cloud = await startServer((request, response) => {
    const operation = request.headers['x-amz-target']?.split('.')[1] ?? '';
    const answers: Readonly<Record<string, object>> = {
      DescribeVolume: { VolumeId: 'vol-1', State: 'available', Size: 10 },
      CreateVolume: { VolumeId: 'vol-2' },
      GetPassword: { Password: 'hunter2' },
      GetPresignedUrl: { VolumeId: 'vol-1', Url: 'https://disks.example.com/?X-Amz-Signature=s' },
    };
    response
      .writeHead(operation === '' ? 204 : 200)
      .end(operation === '' ? '' : JSON.stringify(answers[operation] ?? {}));
  });
});
beforeEach(() => {
  cloud.requests.length = 0;
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await cloud.close();
});

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Options extends TestCallerOptions {
  readonly hasServices?: boolean;
  /** Parts of the catalog that a test replaces. */
  readonly ofCatalog?: Partial<ServiceCatalog>;
  readonly own?: OwnOperations;
  readonly answer?: (question: ElicitRequestFormParams) => Promise<Record<string, string>>;
}

/** A client of a server with the services of the folder. Each has loaded nothing yet. */
async function connect({ hasServices = true, answer, own = noOwnOperations, ofCatalog, ...options }: Options = {}) {
  const { services } = await findModels(folder);
  const operations = allOperations(builtIn, { ...own, ...(hasServices && { services }) });
  const catalog = createServiceCatalog(services, operations, {
    listsSecretNames: true,
    version: '0',
    log: () => undefined,
    cacheFolder: () => undefined,
  });
  const caller = testCaller(cloud.origin, {
    operations,
    cloud: { endpoints: { disks: cloud.origin, storage: cloud.origin } },
    ...(hasServices && { services: { ...catalog, ...ofCatalog } }),
    ...options,
  });
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: 'test', version: '1' }, { capabilities });
  if (answer !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) =>
      'requestedSchema' in params
        ? { action: 'accept' as const, content: await answer(params) }
        : { action: 'cancel' as const },
    );
  closing.push(await connectOverStdio(client, caller));
  const call = async (name: string, args: Record<string, unknown>) => {
    const { structuredContent, content, isError } = await client.callTool({ name, arguments: args });
    const [first] = content;
    return { isError, text: first?.type === 'text' ? first.text : '', ...Object(structuredContent) };
  };
  return { client, caller, call };
}

const requested = () => cloud.requests.map(({ headers }) => headers['x-amz-target']?.split('.')[1]);

describe('the list of tools', () => {
  const names = ['find_operations', 'describe_operation', 'read_operation', 'change_operation'];

  test('has four tools, with true hints, in at most 1,100 tokens', async () => {
    const { client } = await connect();
    const { tools } = await client.listTools();
    const ofServices = tools.filter(({ name }) => names.includes(name));
    expect(ofServices.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
      ['find_operations', true],
      ['describe_operation', true],
      ['read_operation', true],
      ['change_operation', false],
    ]);
    expect(encode(JSON.stringify(ofServices)).length).toBeLessThan(1100);
    expect(tools.map(({ name }) => name)).toContain('list_parts');
    expect(client.getInstructions()).toMatch(/disks, s3/);
  });

  test.each<[string, Options, string[]]>([
    ['no services', { hasServices: false }, []],
    ['accounts that only read', { policy: { readOnly: true, tools: undefined } }, names.slice(0, 3)],
    ['CLOUDOPS_TOOLS without a pattern', { policy: { readOnly: false, tools: ['list_parts'] } }, []],
    ['CLOUDOPS_TOOLS with a pattern', { policy: { readOnly: false, tools: ['disks:Describe*'] } }, names],
  ])('with %s', async (_what, options, expected) => {
    const { client } = await connect(options);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).filter((name) => names.includes(name))).toEqual(expected);
  });
});

describe('find_operations', () => {
  test('finds operations by words, with what each needs and does', async () => {
    const { call } = await connect();
    const { operations, text } = await call('find_operations', { words: 'remove a disk; delete volume' });
    expect(operations[0]).toMatchObject({ operation: 'disks:DeleteVolume', effect: 'delete', required: ['VolumeId'] });
    expect(text).toMatch(/^disks:DeleteVolume - /);
    expect(encode(text).length).toBeLessThan(600);
  });

  test('names the services, if there is none of the name', async () => {
    const { call } = await connect();
    const found = await call('find_operations', { words: 'list disks', service: 'Disk' });
    expect(found).toMatchObject({ isError: true, code: 'InvalidArguments' });
    expect(found.problems.join()).toMatch(/did you mean disks/);
  });

  test('finds only what the caller may use', async () => {
    const words = 'volume';
    const { call } = await connect({ policy: { readOnly: true, tools: undefined } });
    const { operations } = await call('find_operations', { words });
    expect(operations.map(({ effect }: { effect: string }) => effect)).toContain('read');
    expect(new Set(operations.map(({ effect }: { effect: string }) => effect))).toEqual(new Set(['read']));
    const limited = await connect({ policy: { readOnly: false, tools: ['disks:Modify*'] } });
    const found = await limited.call('find_operations', { words });
    expect(found.operations.map(({ operation }: { operation: string }) => operation)).toEqual(['disks:ModifyVolume']);
  });
});

test('find_operations says how far the index is, while it is built', async () => {
  const search = async () => ({ kind: 'building' as const, services: 12, of: 300 });
  const { call } = await connect({ ofCatalog: { search } });
  const { summary, next } = await call('find_operations', { words: 'volume' });
  expect(summary).toContain('12 of 300 services are done');
  expect(next).toMatchObject({ who: 'agent', action: 'wait' });
});

describe('describe_operation', () => {
  test('shows the arguments of the tool, if the operation is one', async () => {
    const { call } = await connect({ policy: { readOnly: false, tools: ['s3:*'] } });
    const { answer } = await call('describe_operation', { name: 's3:AbortMultipartUpload' });
    expect(Object.keys(answer.arguments)).toEqual(expect.arrayContaining(['bucket', 'object', 'uploadId']));
    expect(answer.effect).toBe('delete');
  });

  test('shows arguments, effect, risks and an example', async () => {
    const { call } = await connect({ confirm: 'human' });
    const { answer, summary } = await call('describe_operation', { name: 'disks:CreateVolume' });
    expect(summary).toBe('disks:CreateVolume: call change_operation.');
    expect(answer).toMatchObject({
      effect: 'create',
      risks: 'may cost money, may not be undone',
      arguments: { Zone: 'text', 'Size?': 'whole number', 'Tags?': 'list of {Key?, Value?}' },
      example: { Zone: 'example' },
    });
    const inside = await call('describe_operation', { name: 'disks:CreateVolume', path: 'Tags' });
    expect(inside.answer).toEqual({ 'Key?': 'text', 'Value?': 'text' });
  });

  test('says which fields are masked, and which secrets have a name', async () => {
    const { call } = await connect();
    expect((await call('describe_operation', { name: 'disks:GetPassword' })).answer.masked).toEqual(['Password']);
    const { secretsByName } = (await call('describe_operation', { name: 'disks:SetPassword' })).answer;
    expect(secretsByName).toEqual(['PasswordSecretName']);
  });

  test.each([
    ['disks:CreateVolumes', /did you mean "?CreateVolume/],
    ['disk:CreateVolume', /did you mean disks/],
    ['disks.CreateVolumes', /did you mean "?CreateVolume/],
    ['MakeVolume', /the name of a service and an operation/],
    ['disks:CreateVolume:x', /the model has no operation CreateVolume:x/],
  ])('refuses %s and says what is near', async (name, problem) => {
    const { call } = await connect();
    const { isError, problems } = await call('describe_operation', { name });
    expect(isError).toBe(true);
    expect(problems.join()).toMatch(problem);
  });
});

test.each(['disks.CreateVolume', 'disks create-volume', 'aws disks create-volume', 'Disks:create_volume'])(
  '%s names an operation, too',
  async (name) => {
    const { call } = await connect();
    const { answer } = await call('describe_operation', { name });
    expect(answer).toMatchObject({ effect: 'create', arguments: { Zone: 'text' } });
  },
);

describe('read_operation', () => {
  test('reads at once, only the fields that are asked for', async () => {
    const { call } = await connect();
    const { answer } = await call('read_operation', {
      name: 'disks:DescribeVolume',
      arguments: { VolumeId: 'vol-1' },
      fields: ['State'],
    });
    expect(answer).toEqual({ State: 'available' });
  });

  test('takes fields inside the arguments', async () => {
    const { call } = await connect();
    const args = { VolumeId: 'vol-1', fields: ['State'] };
    const { answer } = await call('read_operation', { name: 'disks:DescribeVolume', arguments: args });
    expect(answer).toEqual({ State: 'available' });
  });

  test('masks what gives access, such as a signed address', async () => {
    const { call } = await connect();
    const { answer } = await call('read_operation', {
      name: 'disks:GetPresignedUrl',
      arguments: { VolumeId: 'vol-1' },
    });
    expect(answer).toMatchObject({ VolumeId: 'vol-1' });
    expect(answer.Url).not.toContain('X-Amz-Signature');
  });

  test('masks secrets', async () => {
    const { call } = await connect();
    const { text } = await call('read_operation', { name: 'disks:GetPassword', arguments: { VolumeId: 'vol-1' } });
    expect(text).not.toContain('hunter2');
  });

  test('takes arguments as JSON text, and says what else is no object', async () => {
    const { call } = await connect();
    const args = { VolumeId: 'vol-1' };
    const name = 'disks:DeleteVolume';
    const planned = await call('change_operation', { name, arguments: JSON.stringify(args), planOnly: true });
    expect(planned.outcome).toBe('planned');
    const refused = await call('change_operation', { name, arguments: 'vol-1', planOnly: true });
    expect(refused.problems.join()).toMatch(/^arguments: .*must be an object/);
  });

  test('names every wrong argument with its place', async () => {
    const { call } = await connect();
    const { problems } = await call('read_operation', {
      name: 'disks:DescribeVolume',
      arguments: { VolumeID: 'vol-1', Sizes: 3 },
    });
    expect(problems).toEqual([
      'arguments.VolumeId: is required',
      'arguments.VolumeID: is not an argument; did you mean arguments.VolumeId?',
      'arguments.Sizes: is not an argument; expected one of: arguments.VolumeId, fields',
    ]);
  });

  test('refuses a change, and change_operation a read, with the tool to call', async () => {
    const { call } = await connect();
    const change = await call('read_operation', { name: 'disks:DeleteVolume', arguments: { VolumeId: 'vol-1' } });
    expect(change).toMatchObject({ isError: true, next: { text: expect.stringContaining('Call change_operation') } });
    const read = await call('change_operation', { name: 'disks:DescribeVolume', arguments: { VolumeId: 'vol-1' } });
    expect(read).toMatchObject({ isError: true, next: { text: expect.stringContaining('Call read_operation') } });
    expect(requested()).toEqual([]);
  });
});

describe('change_operation', () => {
  const deletion = { name: 'disks:DeleteVolume', arguments: { VolumeId: 'vol-1' } };

  test('shows what is there, asks a person who types the name, and is in the journal by its own name', async () => {
    const questions: string[] = [];
    const store = memoryStore();
    const { call, caller } = await connect({
      confirm: 'ask',
      store,
      answer: async ({ message, requestedSchema }) => {
        questions.push(message);
        // A faster answer counts as a program's.
        await setTimeout(shortestReadMs + 50);
        return Object.fromEntries(Object.keys(requestedSchema.properties).map((name) => [name, 'vol-1']));
      },
    });
    const { outcome, changeId } = await call('change_operation', deletion);
    expect(outcome).toBe('accepted');
    expect(questions.join()).toMatch(/Delete volume "vol-1" in disks[\s\S]*available/);
    expect(requested()).toEqual(['DescribeVolume', 'DeleteVolume']);
    const entries = caller.logged.filter(({ event }) => event === 'change');
    expect(entries).toMatchObject([{ fields: { tool: 'disks:DeleteVolume', outcome: 'accepted' } }]);
    expect(await call('get_change', { changeId })).toMatchObject({ outcome: 'accepted' });
  });

  test('is not repeated by accident, in any process', async () => {
    const store = memoryStore();
    const { call } = await connect({ store });
    await call('change_operation', deletion);
    const again = await (await connect({ store })).call('change_operation', deletion);
    expect(again).toMatchObject({ isError: true, code: 'Repeated' });
    expect((await call('change_operation', { ...deletion, allowRepeat: true })).outcome).toBe('accepted');
  });

  test('is carried out by another process, which finds the operation by its name', async () => {
    const store = memoryStore();
    const planned = await (await connect({ store, confirm: 'plan' })).call('change_operation', deletion);
    const { call } = await connect({ store, confirm: 'plan' });
    const confirmed = await call('confirm_change', { changeId: planned.changeId, thing: 'vol-1' });
    expect(confirmed).toMatchObject({ outcome: 'accepted' });
    expect(requested().at(-1)).toBe('DeleteVolume');
  });

  test('leads to the read that shows its progress', async () => {
    const { call } = await connect();
    const creation = { name: 'disks:CreateVolume', arguments: { Zone: 'z-1' } };
    const { next } = await call('change_operation', creation);
    expect(next.text).toContain('read_operation (name disks:DescribeVolume) with VolumeId "vol-2"');
  });

  test('is followed to its end in the cloud', async () => {
    const { call, caller } = await connect();
    const { changeId } = await call('change_operation', { name: 'disks:CreateVolume', arguments: { Zone: 'z-1' } });
    const context = { client: { name: 'test 1' }, signal: new AbortController().signal };
    // The first look begins the follow, and its first read is due after a pause.
    expect(await caller.changes.look(changeId, context)).toMatchObject({ kind: 'seen', isGoing: true });
  });
});

test('with several accounts, calls name theirs beside the arguments', async () => {
  const policy = { readOnly: false, tools: undefined, extensions: ['s3'] };
  const accounts = namedAccounts(cloud.origin, [
    { name: 'prod', policy },
    { name: 'staging', policy },
  ]);
  const { client, call } = await connect({ accounts });
  const { tools } = await client.listTools();
  const takesAccount = tools.filter(({ inputSchema }) => inputSchema.required?.includes('account'));
  expect(takesAccount.map(({ name }) => name)).toEqual(expect.arrayContaining(['read_operation', 'change_operation']));
  const read = { name: 's3:AbortMultipartUpload', arguments: {} };
  expect((await call('change_operation', read)).problems).toEqual([
    expect.stringMatching(/^account: is required/),
    'arguments.bucket: is required',
    'arguments.object: is required',
    'arguments.uploadId: is required',
  ]);
  const upload = { bucket: 'photos', object: 'a.jpg', uploadId: 'u-9' };
  expect(await call('change_operation', { ...read, arguments: upload, account: 'staging' })).toMatchObject({
    account: 'staging',
    outcome: 'accepted',
  });
});

describe('CLOUDOPS_READ_ONLY and CLOUDOPS_TOOLS', () => {
  const open: Policy = { readOnly: false, tools: undefined };
  test.each<[string, Policy, string, boolean]>([
    ['no limit', open, 'disks:DeleteVolume', true],
    ['read only', { ...open, readOnly: true }, 'disks:DeleteVolume', false],
    ['read only', { ...open, readOnly: true }, 'disks:DescribeVolume', true],
    ['disks:Describe*', { ...open, tools: ['disks:Describe*'] }, 'disks:DescribeVolume', true],
    ['disks:Describe*', { ...open, tools: ['disks:Describe*'] }, 'disks:DeleteVolume', false],
    ['disk:*', { ...open, tools: ['disk:*'] }, 'disks:DescribeVolume', false],
    ['list_parts', { ...open, tools: ['list_parts'] }, 'disks:DescribeVolume', false],
  ])('%s', async (_what, policy, name, isAllowed) => {
    const { call } = await connect({ policy });
    const tool = name.includes('Describe') ? 'read_operation' : 'change_operation';
    const { code } = await call(tool, { name, arguments: { VolumeId: 'vol-1' } });
    expect(code).toBe(isAllowed ? undefined : 'NotAllowed');
    const { code: described } = await call('describe_operation', { name });
    expect(described).toBe(isAllowed ? undefined : 'NotAllowed');
  });

  test('a token without the scope may not change anything', async () => {
    const { caller } = await connect();
    const principal = { name: 'alice', scopes: ['cloudops:read'] };
    const client = new Client({ name: 'test', version: '1' });
    closing.push(await connectOverStdio(client, caller, principal));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain('change_operation');
    const args = { name: 'disks:DeleteVolume', arguments: { VolumeId: 'vol-1' } };
    const { structuredContent } = await client.callTool({ name: 'change_operation', arguments: args });
    expect(structuredContent).toMatchObject({ code: 'NotAllowed' });
  });
});

describe('an operation that is also a named tool', () => {
  const upload = { bucket: 'photos', object: 'a.jpg', uploadId: 'u-1' };

  test('is the same change by both names', async () => {
    const file = join(folder, 'own.operations.json');
    const operations = { ModifyVolume: { effect: 'alter', name: 'resize_volume' } };
    writeFileSync(file, JSON.stringify({ model: './disks.json', api: 'disks', operations }));
    const { call } = await connect({ own: await loadOperationFiles(file) });
    const resized = { VolumeId: 'vol-1', Size: 20 };
    expect((await call('resize_volume', resized)).outcome).toBe('accepted');
    const again = await call('change_operation', { name: 'disks:ModifyVolume', arguments: resized });
    expect(again).toMatchObject({ isError: true, code: 'Repeated' });
  });

  test('counts once against the budget of changes', async () => {
    const policy = { readOnly: false, tools: undefined, extensions: ['s3'] };
    const { call } = await connect({ policy, budget: { mostChanges: 1, windowMs: 60_000 } });
    expect((await call('abort_multipart_upload', upload)).outcome).toBe('accepted');
    const again = await call('change_operation', { name: 's3:AbortMultipartUpload', arguments: upload });
    expect(again).toMatchObject({ isError: true, code: 'BudgetSpent' });
  });

  test('is allowed together with the calls that it makes', async () => {
    const { services } = await findModels(folder);
    const operations = allOperations(builtIn, { ...noOwnOperations, services });
    const named = (name: string) => operations.find((operation) => operation.name === name);
    const { find, operation, verify } = named('abort_multipart_uploads')?.many ?? {};
    const inner = [find, operation, verify, named('abort_multipart_upload')?.preflight?.operation];
    expect(inner.map((each) => each?.serviceName)).toEqual([
      's3:ListMultipartUploads',
      's3:AbortMultipartUpload',
      's3:ListParts',
      's3:ListParts',
    ]);
  });

  test.each(['s3:AbortMultipartUpload', 's3:*', 'abort_multipart_upload,disks:*'])(
    'is allowed by both names with %s',
    async (tools) => {
      const { call } = await connect({ policy: { readOnly: false, tools: tools.split(',') } });
      expect((await call('abort_multipart_upload', upload)).outcome).toBe('accepted');
      const args = { name: 's3:AbortMultipartUpload', arguments: { ...upload, uploadId: 'u-2' } };
      expect((await call('change_operation', args)).outcome).toBe('accepted');
    },
  );
});

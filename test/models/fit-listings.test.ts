import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operationReference } from '../../src/mcp/reference.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { schemaProblems } from '../support/schema-problems.js';
import { member, operationsFrom, smallModelJson } from './small-model.js';

/** The list of tools of a model: the more tools a file has, the shorter each of them is listed. */

let cloud: CapturingServer;
beforeAll(async () => {
  cloud = await startServer((_request, response) => response.end('{}'));
});
afterAll(() => cloud.close());

const documentation = 'The name that people see in lists of servers, with at most sixty characters in it.';
const described = (target: string, traits: object = {}) => member(target, { documentation, ...traits });
const things = ['Storage', 'Backup', 'Network', 'Subnet', 'Maintenance', 'Snapshot', 'License', 'Domain'];
const parts = ['Name', 'Enabled', 'Limit', 'Rules', 'Group', 'Deleted', 'Size', 'Sources'];
/** Names of optional arguments: the first is a text, the second a flag, the third a number, the fourth a list, and so on. */
const optional = things.flatMap((thing) =>
  ['', 'Default'].flatMap((before) => parts.map((part) => `${before}${thing}${part}`)),
);
/** An operation with two required arguments, a secret, and `count` more. */
const withArguments = (count: number) => ({
  input: {
    ServerIdentifier: described('String', { required: {} }),
    Engine: described('small#Engine', { required: {} }),
    MasterPassword: described('String'),
    ...Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        optional[index] ?? `Option${index}`,
        described(['String', 'Boolean', 'Integer', 'small#Rules'][index % 4] ?? 'String'),
      ]),
    ),
  },
});
const shapes = {
  'small#Engine': {
    type: 'enum',
    members: Object.fromEntries(['A', 'B', 'C', 'D', 'E'].map((name) => [name, { target: 'smithy.api#Unit' }])),
  },
  'small#Rules': { type: 'list', member: { target: 'small#Rule' } },
  'small#Rule': {
    type: 'structure',
    members: { Source: { target: 'smithy.api#String' }, Days: { target: 'smithy.api#Integer' } },
  },
};

/** Makes a tool of each operation: `sizes` are counts of optional arguments. */
function toolsOf(sizes: readonly number[], more: object = {}): readonly Operation[] {
  const names = sizes.map((_, index) => `CreateServer${index}`);
  const model = smallModelJson(
    {
      ...Object.fromEntries(sizes.map((size, index) => [`CreateServer${index}`, withArguments(size)])),
      GetServer: { input: { ServerName: 'String' } },
    },
    shapes,
    'awsJson1_0',
  );
  const change = { effect: 'create', costsMoney: true, ...more };
  const operations = {
    ...Object.fromEntries(names.map((name) => [name, change])),
    // The read that `follow` names.
    ...('follow' in more && { GetServer: { effect: 'read' } }),
  };
  return operationsFrom(model, operations, { api: 'servers' });
}

const listed = ({ name, title, description, schemas }: Operation) => ({
  name,
  title,
  description,
  inputSchema: schemas?.input,
});
const propertiesOf = (tool: Operation | undefined): object => Object(tool?.schemas?.input.properties);
const sizesOfThirty = (size: number) => Array.from({ length: 30 }, () => size);

test.each([
  ['few arguments', sizesOfThirty(2)],
  ['ten arguments', sizesOfThirty(10)],
  ['fifty arguments', sizesOfThirty(50)],
  ['few and many arguments', sizesOfThirty(2).map((size, index) => (index % 5 === 0 ? 60 : size))],
])('30 tools with %s cost at most 6,000 tokens, and hosts take them', async (_what, sizes) => {
  const tools = toolsOf(sizes);
  expect(encode(JSON.stringify(tools.map(listed))).length).toBeLessThanOrEqual(6000);
  for (const { schemas } of tools) expect(schemaProblems(schemas?.input ?? {})).toEqual([]);
});

test('large tools are shortened first', async () => {
  const [large, small] = toolsOf([60, ...sizesOfThirty(3).slice(21)]);
  expect(propertiesOf(large)).toHaveProperty('others');
  expect(propertiesOf(large)).not.toHaveProperty('StorageName');
  expect(propertiesOf(small)).toMatchObject({
    StorageName: { type: 'string', description: expect.stringMatching(/^The name that people see/) },
  });
});

test('the reference has every argument with its whole text', async () => {
  const [tool] = toolsOf(sizesOfThirty(50));
  expect(tool).toBeDefined();
  const reference = tool === undefined ? '' : operationReference(tool);
  expect(reference.split(documentation)).toHaveLength(54);
  expect(reference).toContain('SubnetEnabled');
});

describe('folded arguments', () => {
  const args = { ServerIdentifier: 's-1', Engine: 'A' };
  const folded = () => toolsOf([120]);
  const call = async (more: object) => {
    const [tool] = folded();
    if (tool === undefined) throw new Error('there is none');
    const caller = testCaller('', { cloud: { endpoints: { servers: cloud.origin } } });
    const result = await caller.call(tool, { ...args, ...more }, { signal: never });
    await caller.close();
    return result;
  };
  const bodyOfLast = () => JSON.parse(cloud.requests.at(-1)?.body ?? '');

  test('are the optional ones', async () => {
    const [tool] = folded();
    const names = Object.keys(propertiesOf(tool));
    expect(names).toEqual(['ServerIdentifier', 'Engine', 'others', 'planOnly', 'replaces', 'allowRepeat']);
  });

  test('are sent like the others, given together or one by one', async () => {
    const expected = { ...args, StorageName: 'a', StorageLimit: 7, StorageRules: [{ Source: 'x', Days: 2 }] };
    const { Engine: _, ServerIdentifier: __, ...some } = expected;
    expect(await call({ others: JSON.stringify(some) })).toMatchObject({ ok: true });
    expect(bodyOfLast()).toEqual(expected);
    expect(await call({ others: some, allowRepeat: true })).toMatchObject({ ok: true });
    expect(bodyOfLast()).toEqual(expected);
    expect(await call({ ...some, allowRepeat: true })).toMatchObject({ ok: true });
    expect(bodyOfLast()).toEqual(expected);
  });

  test('are all in the plan', async () => {
    const { text } = await call({ others: '{"StorageName":"a thing","StorageEnabled":true}', planOnly: true });
    expect(text).toContain('a thing');
    expect(text).toContain('"StorageEnabled": true');
  });

  test.each([
    ['an unknown name', { others: '{"Colour":"red"}' }, /^Colour: is not an argument/],
    ['a wrong value', { others: '{"StorageLimit":"many"}' }, /^StorageLimit: .*must be a whole number/],
    ['no JSON', { others: 'red' }, /^others: is not an argument/],
    ['a value given twice', { others: '{"StorageName":"a"}', StorageName: 'b' }, /^others: is not an argument/],
  ])('with %s are refused', async (_what, more, problem) => {
    const sent = cloud.requests.length;
    expect(await call(more)).toMatchObject({
      failure: { code: 'InvalidArguments', problems: [expect.stringMatching(problem)] },
    });
    expect(cloud.requests).toHaveLength(sent);
  });

  test('are arguments of the change for the read after it', async () => {
    const follow = { read: 'GetServer', arguments: { ServerName: 'input.StorageName' } };
    const [tool] = toolsOf([120], { follow });
    expect(tool?.rename?.({ others: '{"StorageName":"a"}' })).toEqual({ StorageName: 'a' });
  });
});

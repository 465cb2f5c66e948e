import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { accountsFileSchema } from '../../src/config/accounts.js';
import { openAccounts } from '../../src/config/open-accounts.js';
import { listParts } from '../../src/tools/list-parts.js';
import { load, problems } from '../support/config.js';

/** Accounts of a file: what they may say, what they have from the environment, and what is refused. */

const env = {
  CLOUDOPS_ACCOUNTS_FILE: '/accounts.json',
  CLOUDOPS_DEVOPS_URL: 'https://devops.example.com',
  CLOUDOPS_ACCESS_KEY_ID: 'AKENV',
  CLOUDOPS_SECRET_ACCESS_KEY: 'MARKER',
};
const keyFiles = { '/id': 'AKPROD', '/secret': 'MARKER' };
const prodKeys = { accessKeyIdFile: '/id', secretAccessKeyFile: '/secret' };
const filesWith = (content: unknown) => ({
  ...keyFiles,
  '/accounts.json': typeof content === 'string' ? content : JSON.stringify(content),
});
const accounts = (content: unknown, more: Record<string, string> = {}) => {
  const result = load({ ...env, ...more }, filesWith(content));
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config.accounts;
};
const refused = (content: unknown, more: Record<string, string> = {}) =>
  problems({ ...env, ...more }, filesWith(content));

const two = {
  $schema: 'node_modules/cloudops-mcp/docs/accounts.schema.json',
  accounts: {
    prod: {
      description: 'live customers',
      devopsUrl: 'https://prod.example.com',
      ...prodKeys,
      readOnly: false,
      confirm: 'human',
      regions: ['jp-east-1', 'jp-west-1'],
      tools: ['restore_instance'],
      maxChanges: '5/1h',
    },
    staging: { credentialProcess: ['keys', '--for', 'a,b'], region: 'jp-west-1' },
  },
};

test('an account has its own settings, and those of the environment that it does not say', () => {
  expect(accounts(two, { CLOUDOPS_CONFIRM: 'plan' })).toMatchObject({
    areNamed: true,
    byDefault: undefined,
    all: [
      {
        name: 'prod',
        description: 'live customers',
        values: {
          CONFIRM: 'human',
          MAX_CHANGES: { mostChanges: 5, windowMs: 3_600_000 },
          TOOLS: ['restore_instance'],
          REGION: 'jp-east-1',
          REGIONS: ['jp-east-1', 'jp-west-1'],
          DEVOPS_URL: 'https://prod.example.com',
        },
        keys: { kind: 'keys', credentials: { accessKeyId: 'AKPROD' }, files: { accessKeyId: '/id' } },
      },
      {
        name: 'staging',
        values: {
          CONFIRM: 'plan',
          MAX_CHANGES: undefined,
          REGION: 'jp-west-1',
          DEVOPS_URL: 'https://devops.example.com',
        },
        keys: { kind: 'process', command: ['keys', '--for', 'a,b'] },
      },
    ],
  });
});

test('calls get the rules and the cloud of an account as its settings say', async () => {
  const opened = openAccounts(accounts(two, { CLOUDOPS_CONFIRM_DELETE: 'click', CLOUDOPS_STORAGE_STYLE: 'virtual' }), {
    env: {},
    now: () => new Date(),
    log: () => undefined,
    sandbox: undefined,
  });
  const [prod, staging] = opened.all;
  expect(prod).toMatchObject({
    name: 'prod',
    description: 'live customers',
    policy: { readOnly: false, tools: ['restore_instance'], regions: ['jp-east-1', 'jp-west-1'], extensions: [] },
    confirm: 'human',
    confirmDelete: 'click',
    budget: { mostChanges: 5, windowMs: 3_600_000 },
  });
  expect(prod?.missingFor('devops')).toEqual([]);
  expect(staging).toMatchObject({ policy: { tools: undefined }, confirm: 'ask', budget: undefined });
  const services = { storage: 's3', catalog: 'catalog', devops: 'devops' };
  expect(await prod?.cloud()).toMatchObject({
    region: 'jp-east-1',
    regionIsConfigured: false,
    endpoints: { devops: 'https://prod.example.com' },
    signingServices: services,
    storageHeaders: 'ext',
    storageStyle: 'virtual',
  });
});

test('values may be text, as in the environment', () => {
  const { all } = accounts({ accounts: { a: { readOnly: 'yes', tools: 'list_parts, list_multipart_uploads,' } } });
  expect(all[0]?.values).toMatchObject({ READ_ONLY: true, TOOLS: ['list_parts', 'list_multipart_uploads'] });
});

test('an account without keys has those of the environment, whole; one with keys has none of them', () => {
  const { all } = accounts({ accounts: { one: {}, other: prodKeys } }, { CLOUDOPS_SESSION_TOKEN: 'token' });
  expect(all[0]?.keys).toMatchObject({ credentials: { accessKeyId: 'AKENV', sessionToken: 'token' } });
  expect(all[1]?.keys).toMatchObject({ credentials: { accessKeyId: 'AKPROD', sessionToken: undefined } });
});

test.each<readonly [string, unknown, string | undefined]>([
  ['the one that is named', { default: 'b', accounts: { a: {}, b: {} } }, 'b'],
  ['the only one', { accounts: { a: {} } }, 'a'],
  ['none of several', { accounts: { a: {}, b: {} } }, undefined],
])('the account of calls that name none: %s', (_what, content, byDefault) => {
  expect(accounts(content).byDefault).toBe(byDefault);
});

describe('refused, by the name of the field', () => {
  test.each<readonly [string, unknown, Record<string, string>, readonly string[]]>([
    ['no JSON', '{"accounts": {', {}, ['not JSON']],
    [
      'a name that is there twice',
      '{"accounts": {"prod": {"readOnly": true, "confirm": "human"}, "a": {"tools": ["list_parts", "x: {"]}, "pro\\u0064" : {}}}',
      {},
      ['The accounts file: accounts.prod is there twice.'],
    ],
    [
      'fields that are there twice',
      '{"accounts": {"a": {"readOnly": true, "description": "\\"}{\\"readOnly\\":", "readOnly": false, "confirm": "ask", "confirm": "off"}}, "accounts": {}}',
      {},
      ['accounts.a.readOnly is there twice', 'accounts.a.confirm is there twice', 'file: accounts is there twice'],
    ],
    ['a field __proto__', '{"__proto__": {}, "accounts": {"a": {}}}', {}, ['__proto__ is not a setting of the file']],
    ['an account __proto__', '{"accounts": {"__proto__": {}, "a": {}}}', {}, ['file: __proto__ must be a name']],
    [
      'a setting __proto__',
      '{"accounts": {"a": {"__proto__": {"readOnly": true}}}}',
      {},
      ['accounts.a.__proto__ is not'],
    ],
    [
      'an API __proto__',
      '{"accounts": {"a": {"endpoints": {"__proto__": "https://x.example.com"}}}}',
      {},
      ['accounts.a.endpoints.__proto__'],
    ],
    ['a list', [], {}, ['must be an object']],
    ['no accounts', { accounts: {} }, {}, ['has no accounts']],
    ['a name that is none', { accounts: { 'Prod 1': {}, '': {} } }, {}, ['"Prod 1"', '""']],
    ['a default that is not there', { default: 'c', accounts: { a: {} } }, {}, ['default is c']],
    [
      'a misspelt field',
      { accounts: { a: { readonly: true } } },
      {},
      ['accounts.a.readonly is not a setting of an account (did you mean readOnly?).'],
    ],
    [
      'keys inline',
      { accounts: { a: { secretAccessKey: 'MARKER', accessKeyId: 'MARKER' } } },
      {},
      ['use secretAccessKeyFile', 'use accessKeyIdFile'],
    ],
    ['half of the keys', { accounts: { a: { accessKeyIdFile: '/id' } } }, {}, ['needs both']],
    ['a token alone', { accounts: { a: { sessionTokenFile: '/id' } } }, {}, ['needs both']],
    ['two sources', { accounts: { a: { ...prodKeys, profile: 'p' } } }, {}, ['accounts.a: set one']],
    [
      'a file that is not there',
      { accounts: { a: { ...prodKeys, accessKeyIdFile: '/x' } } },
      {},
      ['accounts.a.access'],
    ],
    [
      'another type',
      { accounts: { a: { readOnly: 'maybe', tools: 5 } } },
      {},
      ['a.readOnly is "maybe"; it must be true or false', 'a.tools must'],
    ],
    [
      'values',
      { accounts: { a: { region: 'a/b', maxChanges: '5/2d' } } },
      {},
      ['accounts.a.region', 'accounts.a.maxCh'],
    ],
    ['plain http', { accounts: { a: { devopsUrl: 'http://api.example.com' } } }, {}, ['accounts.a.devopsUrl is not']],
    ['a region outside', { accounts: { a: { regions: ['jp-west-1'] } } }, {}, ['accounts.a.regions does not']],
    ['no tools', { accounts: { a: { readOnly: true, tools: ['restore_instance'] } } }, {}, ['accounts.a.tools and']],
    [
      'more than the environment allows',
      {
        accounts: {
          a: { readOnly: false, tools: ['list_parts', 'restore_instance'], regions: ['jp-east-1', 'jp-east-2'] },
        },
      },
      { CLOUDOPS_READ_ONLY: '1', CLOUDOPS_TOOLS: 'list_parts', CLOUDOPS_REGIONS: 'jp-east-1' },
      ['accounts.a.readOnly', 'names restore_instance', 'names jp-east-2'],
    ],
    ['less consent', { accounts: { a: { confirm: 'off' } } }, { CLOUDOPS_CONFIRM: 'plan' }, ['may not be off']],
    [
      'deletions by a click',
      { accounts: { a: { confirmDelete: 'click' } } },
      { CLOUDOPS_CONFIRM_DELETE: 'type' },
      ['accounts.a.confirmDelete may not be click while CLOUDOPS_CONFIRM_DELETE is type.'],
    ],
  ])('%s', (_what, content, more, named) => {
    const found = refused(content, more);
    for (const name of named) expect(found.join('\n')).toContain(name);
    expect(found).toHaveLength(named.length);
    expect(found.join('\n')).not.toContain('MARKER');
  });

  test('a wrong structure does not hide wrong values, names or contradictions', () => {
    const content = {
      default: 'none',
      accounts: { a: { region: 'a/b', regoin: 'x' }, B: { description: 1 }, c: { regions: ['jp-west-1'] } },
    };
    expect(refused(content)).toEqual([
      expect.stringContaining('accounts.a.region is "a/b"'),
      expect.stringContaining('accounts.a.regoin is not a setting'),
      expect.stringContaining('accounts.B.description must be a text'),
      expect.stringContaining('B must be a name'),
      expect.stringContaining('default is none'),
      expect.stringContaining('accounts.c.regions does not include jp-east-1'),
    ]);
  });

  test('less consent is fine where the environment says nothing, and more always', () => {
    expect(refused({ accounts: { a: { confirm: 'off' } } })).toEqual([]);
    expect(refused({ accounts: { a: { confirm: 'human' } } }, { CLOUDOPS_CONFIRM: 'plan' })).toEqual([]);
  });
});

test('one source of keys in the environment', () => {
  for (const other of [{ CLOUDOPS_CREDENTIAL_PROCESS: '["keys"]' }, { CLOUDOPS_CREDENTIAL_SOURCE: 'instance' }]) {
    const found = problems({ CLOUDOPS_PROFILE: 'p', ...other });
    expect(found).toEqual([expect.stringContaining('CLOUDOPS_PROFILE')]);
  }
});

test.each(['keys --json', '[]', '[""]', '["a", 1]', '{"a": 1}', '["a\\u0000"]'])('%s is no command', (text) => {
  expect(problems({ CLOUDOPS_CREDENTIAL_PROCESS: text })).toEqual([expect.stringContaining('must be a JSON array')]);
});

test.each(['-1', '5', '5/h', '5/0m', '5/25h', '5/1441m', '5/1d', '1.5/1h'])('%s is no budget', (text) => {
  expect(problems({ CLOUDOPS_MAX_CHANGES: text })).toEqual([expect.stringContaining('CLOUDOPS_MAX_CHANGES')]);
});

test('a state key file may hold several keys, none of them short', () => {
  const [one, other] = ['a'.repeat(32), 'b'.repeat(40)];
  const of = (text: string) => load({ CLOUDOPS_STATE_KEY_FILE: '/key' }, { '/key': text });
  expect(of(`${one}\n${other}\n`)).toMatchObject({ ok: true, config: { values: { STATE_KEY: [one, other] } } });
  expect(of(`${one}\nMARKER\n`)).toEqual({
    ok: false,
    problems: [expect.stringMatching(/^CLOUDOPS_STATE_KEY_FILE must have at least 32 characters in each line/)],
  });
});

const schema = new Ajv2020({ strict: false }).compile(z.toJSONSchema(accountsFileSchema(), { io: 'input' }));

/** A JSON value in which one field, at any depth, is left out, renamed or replaced. */
const mutated = (value: unknown): fc.Arbitrary<unknown> => {
  if (typeof value !== 'object' || value === null) return fc.jsonValue({ maxDepth: 1 });
  if (Array.isArray(value)) return fc.oneof(fc.constant([]), fc.jsonValue({ maxDepth: 1 }), fc.constant([...value, 1]));
  const fields = Object.entries(value);
  return fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    ...fields.map(([name, field]) =>
      fc.oneof(
        fc.constant(Object.fromEntries(fields.filter(([other]) => other !== name))),
        fc.string().map((other) => Object.fromEntries(fields.map(([key, each]) => [key === name ? other : key, each]))),
        mutated(field).map((other) => ({ ...value, [name]: other })),
      ),
    ),
  );
};

describe('the endpoint of an API that a file of operations names', () => {
  const own = { operations: [{ ...listParts, name: 'list_invoices', service: 'billing' }], problems: [] };
  const withEndpoints = (endpoints: Record<string, string>) => ({
    default: 'a',
    accounts: { a: {}, b: { endpoints } },
  });
  const given = { ...env, CLOUDOPS_ENDPOINT_BILLING_URL: 'https://billing.example.com' };

  test('is that of the account, or else that of the environment', () => {
    const files = filesWith(withEndpoints({ billing: 'https://b.example.com' }));
    const result = load(given, files, own);
    expect(result.ok && result.config.accounts.all.map(({ endpoints }) => endpoints.billing)).toEqual([
      'https://billing.example.com',
      'https://b.example.com',
    ]);
  });

  test.each([
    ['http://b.example.com', 'accounts.b.endpoints.billing is not usable: plain http'],
    ['https://{region}', 'accounts.b.endpoints.billing is not usable: two fixed labels'],
  ])('is refused if the same rules as for built-in APIs forbid it: %s', (url, problem) => {
    expect(problems(given, filesWith(withEndpoints({ billing: url })), own)).toEqual([
      expect.stringContaining(problem),
    ]);
  });

  test('is refused where no operation uses it', () => {
    expect(problems(env, filesWith(withEndpoints({ billing: 'https://b.example.com' })))).toEqual([
      'accounts.b.endpoints.billing is for an API that no file of operations names.',
    ]);
  });
});

test('a tool that does not exist is said once, whatever inherits it', () => {
  const found = refused({ default: 'a', accounts: { a: {}, b: {} } }, { CLOUDOPS_TOOLS: 'list_party' });
  expect(found).toEqual([
    expect.stringMatching(/^CLOUDOPS_TOOLS names "list_party", which is not a tool; the tools are /),
  ]);
});

test('a file with anything wrong in it is refused as a whole, with a reason for each; any other file works as a whole', () => {
  const cut = fc.nat(JSON.stringify(two).length).map((end) => JSON.stringify(two).slice(0, end));
  fc.assert(
    fc.property(
      fc.oneof(
        mutated(two).map((value) => JSON.stringify(value) ?? ''),
        cut,
      ),
      (content) => {
        const result = load(env, filesWith(content));
        if (!result.ok) {
          expect(result.problems.length).toBeGreaterThan(0);
          for (const problem of result.problems) expect(problem.text).toMatch(/accounts|CLOUDOPS_/);
          return;
        }
        const names = Object.keys(JSON.parse(content).accounts);
        const { all } = result.config.accounts;
        expect(all.map(({ name }) => name)).toEqual(names);
        // Keys come whole from one place.
        for (const { keys } of all)
          if (keys.kind === 'keys') expect(['AKENV', 'AKPROD']).toContain(keys.credentials.accessKeyId);
        expect(schema(JSON.parse(content))).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});

import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeConfig } from '../../src/config/describe.js';
import { operations } from '../../src/tools/index.js';
import { load, problems } from '../support/config.js';

const config = (...args: Parameters<typeof load>) => {
  const result = load(...args);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
};

const account = (...args: Parameters<typeof load>) => config(...args).accounts.all[0];

test('without any setting, the defaults', () => {
  const values = {
    REGION: 'jp-east-1',
    ALLOW_HTTP: false,
    STORAGE_HEADERS: 'ext',
    STORAGE_STYLE: 'path',
    STORAGE_SERVICE: 's3',
    CATALOG_SERVICE: 'catalog',
    DEVOPS_SERVICE: 'devops',
    READ_ONLY: false,
    CONFIRM: 'ask',
    CONFIRM_DELETE: 'type',
    VIEWS: 'declared',
    OPEN_BROWSER: 'on',
    PLAN_HOURS: 24,
    TIMEOUT_MS: 60_000,
    MAX_ATTEMPTS: 4,
    LOG_LEVEL: 'info',
    HTTP_RATE: 50,
    SANDBOX: false,
  };
  expect(config({})).toEqual({
    operations,
    services: new Map(),
    values: { ...values, JOURNAL: join(userInfo().homedir, '.local', 'state', 'cloudops-mcp', 'journal.db') },
    accounts: {
      all: [
        {
          name: 'default',
          explicit: {},
          values,
          endpoints: {},
          keys: { kind: 'keys', credentials: {}, files: {} },
        },
      ],
      byDefault: 'default',
      areNamed: false,
    },
    telemetry: false,
    insecureTls: false,
    proxies: {},
    otherVariables: {},
    origins: [],
  });
});

test.each([
  'list_parts; restore_instance',
  'list_parts\nrestore_instance\n',
  '"list_parts","restore_instance"',
  '["list_parts", "restore_instance"]',
])('a list is taken as people write it: %j', (list) => {
  const expected = { values: { TOOLS: ['list_parts', 'restore_instance'] } };
  expect(config({ CLOUDOPS_TOOLS: list })).toMatchObject(expected);
});

test.each([
  [{ CLOUDOPS_TOOLS: 'list_parts,' }, { values: { TOOLS: ['list_parts'] } }],
  [{ CLOUDOPS_LOG_LEVEL: 'Warning' }, { values: { LOG_LEVEL: 'warn' } }],
  [
    { CLOUDOPS_HTTP_ALLOWED_HOSTS: ' a.example.com,, B.example.com ,' },
    { values: { HTTP_ALLOWED_HOSTS: ['a.example.com', 'b.example.com'] } },
  ],
  [{ CLOUDOPS_REGION: '"jp-west-1"' }, { values: { REGION: 'jp-west-1' } }],
  [{ CLOUDOPS_JOURNAL: "'/var/lib/j.db'" }, { values: { JOURNAL: '/var/lib/j.db' } }],
  [{ CLOUDOPS_LOG_LEVEL: '""' }, { values: { LOG_LEVEL: 'info' } }],
  [{ CLOUDOPS_JOURNAL: '~/j.db', HOME: '/home/op' }, { values: { JOURNAL: '/home/op/j.db' } }],
  [{ CLOUDOPS_SECRETS_DIR: '~/secrets', HOME: '/home/op' }, { values: { SECRETS_DIR: '/home/op/secrets' } }],
  [
    { CLOUDOPS_SANDBOX_STATE: '~/s.json', HOME: '', USERPROFILE: '/home/op' },
    { values: { SANDBOX_STATE: '/home/op/s.json' } },
  ],
  [{ XDG_STATE_HOME: '/state', HOME: '/home/op' }, { values: { JOURNAL: '/state/cloudops-mcp/journal.db' } }],
  [
    { XDG_STATE_HOME: 'state', HOME: '/home/op' },
    { values: { JOURNAL: '/home/op/.local/state/cloudops-mcp/journal.db' } },
  ],
  [
    { CLOUDOPS_HTTP_PUBLIC_URL: 'https://tools.example.com/ops/', CLOUDOPS_STATE_KEY: 'k'.repeat(32) },
    { values: { HTTP_PUBLIC_URL: 'https://tools.example.com/ops' } },
  ],
])('%j is read as people and clients mean it', (env, expected) => {
  expect(config(env)).toMatchObject(expected);
});

test('empty values count as none', () => {
  const env = { CLOUDOPS_REGION: 'jp-west-2', CLOUDOPS_TOOLS: '', CLOUDOPS_READ_ONLY: ' ', PATH: '/bin' };
  expect(config(env)).toMatchObject({ values: { REGION: 'jp-west-2', READ_ONLY: false, TOOLS: undefined } });
});

test.each([
  ['1', true],
  ['true', true],
  ['ON', true],
  ['0', false],
  ['false', false],
  ['off', false],
])('a switch set to %s is %s', (value, on) => {
  expect(config({ CLOUDOPS_READ_ONLY: value }).values.READ_ONLY).toBe(on);
});

test('credentials also come from files, without the line end', () => {
  const files = { '/run/id': 'AKID\n', '/run/secret': 'sec ret\n' };
  const env = { CLOUDOPS_ACCESS_KEY_ID_FILE: '/run/id', CLOUDOPS_SECRET_ACCESS_KEY_FILE: '/run/secret' };
  expect(account(env, files)?.keys).toMatchObject({
    credentials: { accessKeyId: 'AKID', secretAccessKey: 'sec ret' },
    files: { accessKeyId: '/run/id', secretAccessKey: '/run/secret' },
  });
});

describe('a journal in a database', () => {
  const url = 'postgres://cloudops:MARKER@db.example.com:5433/journals?sslmode=verify-full';

  test('its address may hold a password and comes from the environment or a file; only host and database are shown', () => {
    const direct = config({ CLOUDOPS_JOURNAL: url });
    const fromFile = config({ CLOUDOPS_JOURNAL_FILE: '/run/journal' }, { '/run/journal': `${url}\n` });
    expect([direct.values.JOURNAL, fromFile.values.JOURNAL]).toEqual([url, url]);
    expect([direct.journalFile, fromFile.journalFile]).toEqual([undefined, '/run/journal']);
    expect(describeConfig(direct, 'operator', [])).toContain(
      '| CLOUDOPS_JOURNAL | postgres://db.example.com:5433/journals | environment',
    );
    expect(describeConfig(fromFile, 'operator', [])).toContain('| CLOUDOPS_JOURNAL | read from "/run/journal" |');
    expect(describeConfig(direct, 'operator', [])).not.toMatch(/MARKER|sslmode/);
  });
});

test.each(['C:\\logs\\journal.db', 'C:/logs/journal.db', '/srv/service=cloudops/journal', './j'])(
  'a journal in the file %s is no connection string',
  (path) => {
    expect(config({ CLOUDOPS_JOURNAL: path }).values.JOURNAL).toBe(path);
  },
);

describe('regions', () => {
  test.each(['RegionOne', 'US', 'us_east_1', 'garage', 'eu.west:1', 'dc1-A', '~'])(
    'of stores that are not AWS are named as they like: %s',
    (region) => {
      const env = { CLOUDOPS_REGION: region, CLOUDOPS_REGIONS: `${region},jp-east-1` };
      expect(config(env).values).toMatchObject({ REGION: region, REGIONS: [region, 'jp-east-1'] });
    },
  );

  test('that calls may name are a list; any without one', () => {
    expect(config({}).values.REGIONS).toBeUndefined();
    const env = { CLOUDOPS_REGIONS: 'jp-east-1, jp-west-2' };
    expect(config(env).values.REGIONS).toEqual(['jp-east-1', 'jp-west-2']);
  });
});

test.each([
  ['0', true],
  ['1', false],
  ['', false],
])('NODE_TLS_REJECT_UNAUTHORIZED=%s: certificates are accepted unchecked: %s', (value, insecure) => {
  expect(config({ NODE_TLS_REJECT_UNAUTHORIZED: value }).insecureTls).toBe(insecure);
});

test('proxies come from the usual variables; an empty lower-case one does not hide the upper-case one', () => {
  const env = { https_proxy: '', HTTPS_PROXY: 'http://proxy:3128', no_proxy: 'internal' };
  expect(config(env).proxies).toEqual({ httpsProxy: 'http://proxy:3128', noProxy: 'internal' });
});

test('a secret may hold what a placeholder is made of', () => {
  expect(problems({ CLOUDOPS_SECRET_ACCESS_KEY: `a$${'{b}'}c$` })).toEqual([]);
});

describe('endpoints', () => {
  test.each([
    'https://storage.example.com',
    'https://{region}.storage.example.com:8443/base/path/',
    'https://{region}.storage.internal',
    'https://s3-{region}x.example.com./{region}',
    'https://storage.example.com/{region}',
    'http://localhost:8080',
    'http://127.0.0.1:9000/x',
    'http://[::1]:9000',
  ])('accepts %s', (url) => {
    expect(problems({ CLOUDOPS_STORAGE_URL: url })).toEqual([]);
  });

  test('plain http elsewhere has to be allowed', () => {
    expect(problems({ CLOUDOPS_STORAGE_URL: 'http://storage.internal', CLOUDOPS_ALLOW_HTTP: '1' })).toEqual([]);
  });
});

test('the effective configuration names every setting, its value and its origin, and no secret', () => {
  const env = {
    CLOUDOPS_SESSION_TOKEN: 'MARKER',
    CLOUDOPS_SECRET_ACCESS_KEY_FILE: '/run/secret',
    CLOUDOPS_REGION: 'jp-west-2',
    CLOUDOPS_READ_ONLY: '1',
  };
  const text = describeConfig(config(env, { '/run/secret': 'MARKER' }), 'operator', []);
  expect(text).not.toContain('MARKER');
  for (const row of [
    '| CLOUDOPS_SESSION_TOKEN | set, not shown | environment |',
    '| CLOUDOPS_SECRET_ACCESS_KEY | read from "/run/secret" | environment |',
    '| CLOUDOPS_REGION | jp-west-2 | environment |',
    '| CLOUDOPS_READ_ONLY | 1 | environment |',
    '| CLOUDOPS_MAX_ATTEMPTS | 4 | default |',
    '| CLOUDOPS_TOOLS | not set | default |',
  ])
    expect(text).toContain(row);
});

test('callers over HTTP are shown how calls behave, but no key ID, path or address', () => {
  const env = {
    CLOUDOPS_ACCESS_KEY_ID: 'AKID-MARKER',
    CLOUDOPS_SECRET_ACCESS_KEY_FILE: '/run/MARKER',
    CLOUDOPS_STORAGE_URL: 'https://marker.example.com/MARKER',
    CLOUDOPS_CATALOG_URL: 'https://marker.example.com/MARKER',
    CLOUDOPS_DEVOPS_URL: 'https://marker.example.com/MARKER',
    CLOUDOPS_SECRETS_DIR: '/run/MARKER',
    CLOUDOPS_JOURNAL: '/var/MARKER',
    CLOUDOPS_STATE_KEY: 'MARKER'.repeat(6),
    CLOUDOPS_SANDBOX_STATE: '/var/MARKER',
    CLOUDOPS_SANDBOX_SEED: 'MARKER',
    CLOUDOPS_HTTP_TOKENS_FILE: '/run/MARKER',
    CLOUDOPS_HTTP_METRICS_PORT: '10.9.8.7:9464',
    CLOUDOPS_READ_ONLY: '1',
  };
  const text = describeConfig(config(env, { '/run/MARKER': 'MARKER' }), 'caller', []);
  expect(text).not.toMatch(/marker|10\.9\.8\.7|_FILE|_URL/i);
  expect(text).toContain('| CLOUDOPS_READ_ONLY | 1 | environment |');
  expect(text).toContain('| CLOUDOPS_TIMEOUT_MS | 60000 | default |');
});

describe('the page for decisions', () => {
  const key = 'k'.repeat(32);
  const page = 'https://cloudops.example.com';

  test('has an origin, and plans wait for it as long as is set', () => {
    const loaded = config({
      CLOUDOPS_HTTP_PUBLIC_URL: `${page}/`,
      CLOUDOPS_STATE_KEY: key,
      CLOUDOPS_CONFIRM: 'approval',
      CLOUDOPS_PLAN_HOURS: '2',
    });
    expect(loaded.values).toMatchObject({ HTTP_PUBLIC_URL: page, PLAN_HOURS: 2, CONFIRM: 'approval' });
  });

  test.each<readonly [string, Record<string, string>]>([
    ['approval without a page', { CLOUDOPS_CONFIRM: 'approval', CLOUDOPS_STATE_KEY: key }],
    [
      'approval with an issuer, and no claim by which a person is known in all clients',
      {
        CLOUDOPS_CONFIRM: 'approval',
        CLOUDOPS_STATE_KEY: key,
        CLOUDOPS_HTTP_PUBLIC_URL: page,
        CLOUDOPS_HTTP_ISSUER: 'https://id.example.com',
        CLOUDOPS_HTTP_AUDIENCE: 'cloudops',
      },
    ],
    ['such a claim without an issuer', { CLOUDOPS_HTTP_PERSON_CLAIM: 'oid' }],
    ['a page without a state key', { CLOUDOPS_HTTP_PUBLIC_URL: page }],
    ['a page over plain http', { CLOUDOPS_HTTP_PUBLIC_URL: 'http://cloudops.example.com', CLOUDOPS_STATE_KEY: key }],
  ])('%s is refused', (_what, env) => {
    expect(problems(env)).toHaveLength(1);
  });
});

import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { problems } from '../support/config.js';

/** Settings that are refused. What is said of each is in golden/problems.txt. */

const journals: readonly string[] = [
  'postgres://u:MARKER@host:port/d',
  'postgre://u:MARKER@host/d',
  'postgres:/u:MARKER@host/d',
  'postgres:u:MARKER@host/d',
  'postgresql+psycopg://u:MARKER@host/d',
  'jdbc:postgresql://u:MARKER@host/d',
  'p2://u:MARKER@host/d',
  'p://u:MARKER@host/d',
  'host=db.example.com password=MARKER',
  'user = u password = MARKER',
  "password='MARKER' dbname=d",
  'Server=db.example.com;User Id=u;Password=MARKER',
];

const endpoints: readonly string[] = [
  'storage.example.com',
  'ftp://storage.example.com',
  'https://a:MARKER@storage.example.com',
  'https://storage.example.com/?x=1',
  'https://storage.example.com/{zone}',
  'https://{region}',
  'https://{region}.com',
  'https://{region}.com.',
  'https://{region}%2ecom',
  'https://{region}..com',
  'https://{region}/path.example.com',
  'https://storage.{region}:8443',
  'https://storage.example.{region}',
  'https://{region}.example.{region}',
  'http://storage.example.com',
  'http://127.0.0.1.example.com',
  'http://localhost.example.com',
];

interface Refused {
  readonly env: Record<string, string>;
  readonly files?: Record<string, string>;
}

/** A placeholder as most clients write it. */
const braced = (name: string) => `$\{${name}}`;

const refused: readonly Refused[] = [
  { env: { CLOUDOPS_READ_ONLY: 'ture' } },
  ...journals.map((journal) => ({ env: { CLOUDOPS_JOURNAL: journal } })),
  { env: { CLOUDOPS_JOURNAL_FILE: '/run/entries' }, files: { '/run/entries': '{"MARKER":1}\n' } },
  { env: { CLOUDOPS_REGIONS: 'jp-west-2' } },
  { env: { CLOUDOPS_REGIONS: 'jp-east-1,eu/west' } },
  { env: { CLOUDOPS_REGION: 'eu west' } },
  { env: { CLOUDOPS_STORAGE_STYLE: 'host' } },
  { env: { CLOUDOPS_STORAGE_STYLE: 'virtual', CLOUDOPS_STORAGE_URL: 'https://192.0.2.7:9000' } },
  { env: { CLOUDOPS_REGION: 'evil.example', CLOUDOPS_STORAGE_URL: 'https://s3.{region}.example.com' } },
  { env: { CLOUDOPS_REGIONS: 'jp-east-1,RegionOne', CLOUDOPS_DEVOPS_URL: 'https://devops.example.com/{region}' } },
  { env: { CLOUDOPS_ACCESS_KEY_ID: 'AK ID' } },
  { env: { CLOUDOPS_SESSION_TOKEN: 'MARKER\nx' } },
  { env: { CLOUDOPS_READ_ONLY: '1', CLOUDOPS_TOOLS: 'restore_instance' } },
  { env: { HTTPS_PROXY: 'user:MARKER@proxy:3128' } },
  { env: { https_proxy: 'http://user:MARKER%@proxy:3128' } },
  { env: { HTTP_PROXY: 'proxy.example.com' } },
  // What a client should have filled in.
  { env: { CLOUDOPS_SECRET_ACCESS_KEY: '__encrypted__:MARKER' } },
  { env: { CLOUDOPS_SECRET_ACCESS_KEY: `$${'{user_config.secret_MARKER}'}` } },
  { env: { CLOUDOPS_MAX_ATTEMPTS: '$MARKER_ATTEMPTS' } },
  ...[
    '$s3_MARKER',
    '$env:MARKER',
    '{env:MARKER}',
    '{{ MARKER }}',
    '%MARKER%',
    braced('{ secrets.MARKER }'),
    '$(cat MARKER)',
    `"${braced('MARKER')}"`,
  ].map((secret) => ({ env: { CLOUDOPS_SECRET_ACCESS_KEY: secret } })),
  // Paths in which a part stands for something else.
  ...[`${braced('HOME')}/j.db`, '%APPDATA%\\j.db', '{env:HOME}/j.db', '$(pwd)/j.db', '`pwd`/j.db', '~root/j.db'].map(
    (path) => ({
      env: { CLOUDOPS_JOURNAL: path },
    }),
  ),
  { env: { CLOUDOPS_SANDBOX_STATE: `${braced('HOME')}/state.jsonl` } },
  { env: { CLOUDOPS_HTTP_TOKENS_FILE: '{{HOME}}/tokens' } },
  { env: { CLOUDOPS_TOOLS: ',' } },
  ...endpoints.map((endpoint) => ({ env: { CLOUDOPS_STORAGE_URL: endpoint } })),
];

describe('what cannot be used', () => {
  test('is reported as reviewed', async () => {
    const settings = new Map<string, string[]>();
    for (const { env, files } of refused) {
      const said = problems(env, files).join('\n');
      settings.set(said, [...(settings.get(said) ?? []), JSON.stringify(env)]);
    }
    const shown = [...settings].map(([said, envs]) => `${said}\n${envs.map((env) => `  ${env}\n`).join('')}`);
    await expect(shown.join('\n')).toMatchFileSnapshot(fileURLToPath(new URL('golden/problems.txt', import.meta.url)));
  });

  test.each(refused)('%j is one problem, which names the setting and shows no secret', ({ env, files }) => {
    const [setting = ''] = Object.keys(env);
    const [problem, ...others] = problems(env, files);
    expect(problem).toContain(setting.toUpperCase().replace(/_FILE$/, ''));
    expect(problem).not.toContain('MARKER');
    expect(others).toEqual([]);
  });
});

test.each(['DECISIONS_WEBHOOK', 'HTTP_ISSUER', 'HTTP_PUBLIC_URL'])('CLOUDOPS_%s has an example of its kind', (name) => {
  const [problem] = problems({ [`CLOUDOPS_${name}`]: 'notaurl' });
  expect(problem).toContain('it is not a URL such as https://example.com');
});

test('a setting that cannot be parsed does not hide that others contradict each other', () => {
  const env = { CLOUDOPS_TIMEOUT_MS: 'soon', CLOUDOPS_HTTP_AUDIENCE: 'https://a', CLOUDOPS_HTTP_ISSUER: 'ftp://b' };
  expect(problems(env)).toEqual([
    expect.stringContaining('CLOUDOPS_TIMEOUT_MS'),
    expect.stringContaining('CLOUDOPS_HTTP_ISSUER'),
  ]);
});

test('every problem is reported at once, and no secret is in the report', () => {
  const env = {
    CLOUDOPS_SECRET_ACCESS_KEY: 'MARKER',
    CLOUDOPS_SECRET_ACCESS_KEY_FILE: '/run/none',
    CLOUDOPS_SECRET_KEY: 'MARKER',
    CLOUDOPS_STORAGE_URL: 'https://user:MARKER@host',
    CLOUDOPS_TOOLS: 'list_parts,list_prats',
    CLOUDOPS_MAX_ATTEMPTS: '0',
    CLOUDOPS_LOG_LEVEL: 'verbose',
  };
  const found = problems(env);
  expect(found).toHaveLength(7);
  expect(found.join('\n')).not.toContain('MARKER');
  for (const name of Object.keys(env)) expect(found.join('\n')).toContain(name);
});

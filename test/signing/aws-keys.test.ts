import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { KeysUnavailable } from '../../src/signing/keys.js';
import { type KeySettings, openKeys } from '../../src/signing/open-keys.js';
import { type CapturedRequest, type CapturingServer, startServer } from '../support/http-server.js';

/** Keys from services of AWS: each source asks a server on loopback, and what the server answers in an error is never shown. */

/** The ID of the keys that the server gives, and when they expire. */
let keyId: string;
let expiresAt: Date;
/** Answers in place of the keys. */
let instead: ((request: CapturedRequest, response: ServerResponse) => void) | undefined;
let server: CapturingServer;
let folder: string;
let laterMs: number;
let logged: unknown[];

const hour = 3_600_000;
const minute = 60_000;

beforeEach(async () => {
  keyId = 'AK1';
  expiresAt = new Date(Date.now() + hour);
  instead = undefined;
  laterMs = 0;
  logged = [];
  server = await startServer((request, response) => {
    const isForToken = request.url === '/latest/api/token';
    if (instead !== undefined && !isForToken) instead(request, response);
    else give(request, response);
  });
  folder = mkdtempSync(join(tmpdir(), 'cloudops-aws-keys-'));
  // The SDK reads these itself.
  vi.stubEnv('HOME', folder);
  vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', server.origin);
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${server.origin}/container`);
  vi.stubEnv('AWS_CONTAINER_AUTHORIZATION_TOKEN', 'token-of-the-container');
  vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::1:role/pod');
  vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(folder, 'token'));
});
afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  await server.close();
  rmSync(folder, { recursive: true });
});

/** Gives keys as the service does that was asked. */
function give({ url, body }: CapturedRequest, response: ServerResponse): void {
  const secret = `secret-of-${keyId}`;
  const [path] = url.split('?');
  if (path === '/latest/api/token') return void response.end('token-of-the-instance');
  if (path === '/latest/meta-data/iam/security-credentials/') return void response.end('ops-role');
  if (path === '/federation/credentials') {
    const roleCredentials = { accessKeyId: keyId, secretAccessKey: secret, sessionToken: 't', expiration: expiresAt };
    return void response.end(
      JSON.stringify({ roleCredentials: { ...roleCredentials, expiration: expiresAt.getTime() } }),
    );
  }
  if (path === '/token') return void response.end('{"accessToken":"NEW-ACCESS","expiresIn":3600,"refreshToken":"R2"}');
  if (path !== '/') {
    const keys = { AccessKeyId: keyId, SecretAccessKey: secret, Token: 't', Expiration: expiresAt.toISOString() };
    return void response.end(JSON.stringify({ Code: 'Success', ...keys }));
  }
  const action = new URLSearchParams(body).get('Action');
  response
    .writeHead(200, { 'content-type': 'text/xml' })
    .end(
      `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result><Credentials><AccessKeyId>${keyId}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>t</SessionToken><Expiration>${expiresAt.toISOString()}</Expiration></Credentials></${action}Result></${action}Response>`,
    );
}

const write = (name: string, text: string) => {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex');
const ssoToken = (more: object = {}) =>
  JSON.stringify({ accessToken: 'ACCESS', expiresAt: new Date(Date.now() + hour).toISOString(), ...more });

/** Opens the keys of these settings. The profile files are in the folder's `.aws`. */
function open(settings: KeySettings) {
  return openKeys(settings, {
    env: { HOME: folder, AWS_ENDPOINT_URL_STS: server.origin, AWS_ENDPOINT_URL_SSO: server.origin },
    now: () => new Date(Date.now() + laterMs),
    log: (_level, _event, fields) => logged.push(fields),
  }).keys;
}
const profile: KeySettings = { kind: 'profile', name: 'p' };
const keyLines = (id: string) => `aws_access_key_id = ${id}\naws_secret_access_key = secret-of-${id}\n`;

type Source = () => { readonly settings: KeySettings; readonly requests: readonly string[] };

/** Each source: its settings, and the requests that it makes: method and path. */
const sources: Record<string, Source> = {
  'a container': () => ({ settings: { kind: 'platform', platform: 'container' }, requests: ['GET /container'] }),
  'a container of a profile without keys': () => {
    write('.aws/config', '[profile p]\nregion = eu-west-1\ncredential_source = EcsContainer\n');
    return { settings: profile, requests: ['GET /container'] };
  },
  'an instance': () => ({
    settings: { kind: 'platform', platform: 'instance' },
    requests: [
      'PUT /latest/api/token',
      'GET /latest/meta-data/iam/security-credentials/',
      'GET /latest/meta-data/iam/security-credentials/ops-role',
    ],
  }),
  'a role by web identity': () => {
    write('token', 'token-of-the-pod');
    return { settings: { kind: 'platform', platform: 'web-identity' }, requests: ['POST /'] };
  },
  'a role by web identity of a profile': () => {
    write('token', 'token-of-the-pod');
    const lines = `role_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = ${join(folder, 'token')}\n`;
    write('.aws/config', `[profile p]\n${lines}role_session_name = ops\n`);
    return { settings: profile, requests: ['POST /'] };
  },
  'a role of a profile': () => {
    write('.aws/config', '[profile p]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = q\n');
    write('.aws/credentials', `[q]\n${keyLines('AK-SOURCE')}`);
    return { settings: profile, requests: ['POST /'] };
  },
  'single sign-on by a session': () => {
    write(`.aws/sso/cache/${sha1('s')}.json`, ssoToken());
    const session = 'sso_region = us-east-1\nsso_start_url = https://s.example.com/start\n';
    const lines = 'sso_session = s\nsso_account_id = 123456789012\nsso_role_name = ops\n';
    write('.aws/config', `[profile p]\n${lines}[sso-session s]\n${session}`);
    return { settings: profile, requests: ['GET /federation/credentials'] };
  },
  'single sign-on without a session': () => {
    write(`.aws/sso/cache/${sha1('https://s.example.com/start')}.json`, ssoToken());
    const session = 'sso_region = us-east-1\nsso_start_url = https://s.example.com/start\n';
    write('.aws/config', `[profile p]\n${session}sso_account_id = 123456789012\nsso_role_name = ops\n`);
    return { settings: profile, requests: ['GET /federation/credentials'] };
  },
};

async function expectOwnWords(source: Source, respond: (response: ServerResponse) => void) {
  const told: unknown[] = [];
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, method).mockImplementation((...words) => void told.push(words));
  const { settings } = source();
  instead = (_request, response) => respond(response);
  const error: unknown = await open(settings)
    .current()
    .catch((reason: unknown) => reason);
  expect(String(error)).toMatch(/Error: (?:the|single) .* gave (?:no keys|keys that cannot be used)/);
  expect(error instanceof KeysUnavailable && error.remedy.text).toMatch(/^[A-Z].{20}/);
  expect(String(error) + JSON.stringify(logged)).not.toMatch(/MARKER|providers|ACCESS|token-of/);
  expect(told).toEqual([]);
  vi.restoreAllMocks();
}

describe.each(Object.entries(sources))('keys of %s', (_name, source) => {
  test('are those that the service gives, and are asked for once', async () => {
    const { settings, requests } = source();
    const keys = open(settings);
    const found = await Promise.all([keys.current(), keys.current()]);
    expect(found[0]).toStrictEqual({ accessKeyId: 'AK1', secretAccessKey: 'secret-of-AK1', sessionToken: 't' });
    expect(server.requests.map(({ method, url }) => `${method} ${url.split('?')[0]}`)).toEqual(requests);
    expect(JSON.stringify(logged)).not.toContain('secret-of');
  });

  test('are refused with our own words, whatever the service answers', () =>
    expectOwnWords(source, (response) => response.writeHead(403).end('{"message":"MARKER","Code":"MARKER"}')));
});

/** One source that asks a service nearby, and one that signs its requests. */
describe.each(Object.entries(sources).filter(([name]) => ['a container', 'a role of a profile'].includes(name)))(
  'keys of %s',
  (_name, source) => {
    test('are replaced before they expire and after, and after a refusal', async () => {
      const keys = open(source().settings);
      expect(await keys.current()).toMatchObject({ accessKeyId: 'AK1' });

      keyId = 'AK2';
      expiresAt = new Date(Date.now() + 2 * hour);
      laterMs = hour - 2 * minute;
      expect(await keys.current()).toMatchObject({ accessKeyId: 'AK1' });
      await expect.poll(() => keys.current()).toMatchObject({ accessKeyId: 'AK2' });

      keyId = 'AK3';
      expiresAt = new Date(Date.now() + 4 * hour);
      laterMs = 2 * hour + minute;
      const third = await keys.current();
      expect(third).toMatchObject({ accessKeyId: 'AK3' });

      keyId = 'AK4';
      laterMs += minute;
      expect(await keys.renewed(third)).toMatchObject({ accessKeyId: 'AK4' });
      expect(await keys.current()).toMatchObject({ accessKeyId: 'AK4' });
    });

    test('stay in use while the service fails, until they have expired', async () => {
      const keys = open(source().settings);
      await keys.current();
      instead = (_request, response) => response.writeHead(500).end('MARKER');
      laterMs = hour - minute;
      const asked = server.requests.length;
      expect(await keys.current()).toMatchObject({ accessKeyId: 'AK1' });
      await expect.poll(() => server.requests.length).toBeGreaterThan(asked);
      expect(await keys.current()).toMatchObject({ accessKeyId: 'AK1' });
      laterMs = hour;
      await expect(keys.current()).rejects.toThrow('gave no keys');
    });

    test.each<readonly [string, (response: ServerResponse) => void]>([
      ['is down', (response) => response.socket?.destroy()],
      ['answers nonsense', (response) => response.end('MARKER')],
      ['gives no keys', (response) => response.end('{}')],
    ])('are refused with our own words if the service %s', (_what, respond) => expectOwnWords(source, respond));

    test('are waited for ten seconds at most', async () => {
      const { settings } = source();
      let isAsked = () => {};
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve;
      });
      instead = () => isAsked();
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const outcome = open(settings)
        .current()
        .catch((reason: unknown) => String(reason));
      await asked;
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await outcome).toMatch(/gave no keys|did not answer within 10 seconds/);
    });
  },
);

test.each<readonly [string, readonly unknown[] | undefined]>([
  ['AWS_CONTAINER_CREDENTIALS_FULL_URI', ['/container']],
  ['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI', ['/container']],
  ['AWS_EC2_METADATA_DISABLED', undefined],
  ['NO_OTHER', ['/latest/api/token', expect.stringContaining('/iam/'), expect.stringContaining('/iam/')]],
])('a profile without keys takes those nearby, as %s says', async (variable, paths) => {
  write('.aws/config', '[profile p]\nregion = eu-west-1\n');
  const env = { HOME: folder, [variable]: 'True' };
  const { keys } = openKeys(profile, { env, now: () => new Date(), log: () => undefined });
  if (paths === undefined) await expect(keys.current()).rejects.toThrow('has no keys and no credential_process');
  else expect(await keys.current()).toMatchObject({ accessKeyId: 'AK1' });
  expect(server.requests.map(({ url }) => url)).toEqual(paths ?? []);
});

describe('a role', () => {
  const roleLines = 'role_arn = arn:aws:iam::1:role/r\n';
  const sent = ({ body }: CapturedRequest) => Object.fromEntries(new URLSearchParams(body));
  const signer = ({ headers }: CapturedRequest) =>
    /Credential=([^/]+)\/\d+\/([^/]+)/.exec(headers.authorization ?? '')?.slice(1);

  test('is assumed with the settings of the profile', async () => {
    const lines = 'external_id = x\nrole_session_name = ops\nduration_seconds = 900\nsource_profile = p\n';
    write('.aws/config', `[profile p]\nregion = eu-west-1\n${roleLines}${lines}${keyLines('AK-OWN')}`);
    await open(profile).current();
    expect(server.requests.map(sent)).toMatchObject([
      { RoleArn: 'arn:aws:iam::1:role/r', RoleSessionName: 'ops', ExternalId: 'x', DurationSeconds: '900' },
    ]);
    expect(server.requests.map(signer)).toEqual([['AK-OWN', 'eu-west-1']]);
  });

  test.each([
    ['role_session_name = ops\n', 'ops'],
    ['', expect.stringMatching(/./)],
  ])('by web identity is assumed with the session name of the profile: %j', async (line, RoleSessionName) => {
    write('token', 'token-of-the-pod');
    const lines = `${roleLines}web_identity_token_file = ${join(folder, 'token')}\n${line}`;
    write('.aws/config', `[profile p]\nregion = eu-west-1\n${lines}`);
    await open(profile).current();
    const WebIdentityToken = 'token-of-the-pod';
    expect(server.requests.map(sent)).toMatchObject([
      { RoleArn: 'arn:aws:iam::1:role/r', RoleSessionName, WebIdentityToken },
    ]);
  });

  test('may be the source of another', async () => {
    const other = `[profile q]\n${roleLines}source_profile = r\n[profile r]\n${keyLines('AK-FIRST')}`;
    write('.aws/config', `[profile p]\nrole_arn = arn:aws:iam::1:role/last\nsource_profile = q\n${other}`);
    await open(profile).current();
    expect(server.requests.map(signer)).toEqual([
      ['AK-FIRST', 'us-east-1'],
      ['AK1', 'us-east-1'],
    ]);
    expect(server.requests.map((request) => sent(request).RoleArn)).toEqual([
      'arn:aws:iam::1:role/r',
      'arn:aws:iam::1:role/last',
    ]);
  });

  test('is assumed with keys of a program, which runs without a shell, once, and what it complains of is not shown', async () => {
    const printed = JSON.stringify({ Version: 1, AccessKeyId: 'AK-PROGRAM', SecretAccessKey: '$HOME' });
    write(
      'keys.js',
      `console.error('MARKER'); console.log(${JSON.stringify(printed)}); process.exitCode = Number(process.argv[2]);`,
    );
    const program = (code: number) =>
      `[profile p]\n${roleLines}source_profile = q\n[profile q]\ncredential_process = '${process.execPath}' '${join(folder, 'keys.js')}' ${code}\n`;
    write('.aws/config', program(0));
    const keys = open(profile);
    const refused = await keys.current();
    // A program may open a browser, so the role waits for its pause.
    laterMs = minute / 2;
    await keys.renewed(refused);
    expect(server.requests).toHaveLength(1);
    laterMs = minute;
    await keys.renewed(refused);
    expect(server.requests.map((request) => signer(request)?.[0])).toEqual(['AK-PROGRAM', 'AK-PROGRAM']);

    write('.aws/config', program(7));
    const error: unknown = await open(profile)
      .current()
      .catch((reason: unknown) => reason);
    expect(String(error)).toContain('credential_process of "q" ended with exit code 7');
    expect(String(error) + JSON.stringify(logged)).not.toContain('MARKER');
  });

  test('is assumed with the keys that its source has by then', async () => {
    const printed = '{ Version: 1, AccessKeyId: "AK" + process.hrtime.bigint(), SecretAccessKey: "s" }';
    write('keys.js', `console.log(JSON.stringify(${printed}))`);
    const command = `credential_process = "${process.execPath}" "${join(folder, 'keys.js')}"\n`;
    write('.aws/config', `[profile p]\n${roleLines}source_profile = q\n[profile q]\n${command}`);
    const keys = open(profile);
    const refused = await keys.current();
    laterMs = minute;
    await keys.renewed(refused);
    expect(new Set(server.requests.map((request) => signer(request)?.[0])).size).toBe(2);
  });

  const inEnvironment = { AWS_ACCESS_KEY_ID: 'AK-ENV', AWS_SECRET_ACCESS_KEY: 's' };
  const older = { AWS_SECURITY_TOKEN: 'old', AWS_DEFAULT_REGION: 'r2' };
  test.each<readonly [string, Readonly<Record<string, string>>, string, string | undefined, string]>([
    ['Environment', inEnvironment, 'AK-ENV', undefined, 'us-east-1'],
    ['Environment', { ...inEnvironment, AWS_SESSION_TOKEN: 'new', AWS_REGION: 'r1' }, 'AK-ENV', 'new', 'r1'],
    ['Environment', { ...inEnvironment, ...older, AWS_SESSION_TOKEN: 'new' }, 'AK-ENV', 'old', 'r2'],
    ['EcsContainer', { AWS_REGION: 'r1', AWS_DEFAULT_REGION: 'r2' }, 'AK1', 't', 'r1'],
    ['ec2instancemetadata', {}, 'AK1', 't', 'us-east-1'],
  ])('is assumed with keys of the credential_source %s, and %j', async (source, env, id, token, region) => {
    write('.aws/config', `[profile p]\n${roleLines}credential_source = ${source}\n`);
    await openKeys(profile, {
      env: { HOME: folder, AWS_ENDPOINT_URL: server.origin, ...env },
      now: () => new Date(),
      log: () => undefined,
    }).keys.current();
    const [last] = server.requests.slice(-1);
    expect(last && signer(last)).toEqual([id, region]);
    expect(last?.headers['x-amz-security-token']).toBe(token);
  });

  test('is refused without usable keys in the environment', async () => {
    write('.aws/config', `[profile p]\n${roleLines}credential_source = Environment\n`);
    await expect(open(profile).current()).rejects.toThrow(
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY hold no usable key',
    );
  });

  test('is refused with the code of the error, and without its text', async () => {
    write('.aws/config', `[profile p]\n${roleLines}source_profile = p\n${keyLines('AK-OWN')}`);
    instead = (_request, response) =>
      response
        .writeHead(403, { 'content-type': 'text/xml' })
        .end('<ErrorResponse><Error><Code>AccessDenied</Code><Message>MARKER</Message></Error></ErrorResponse>');
    await expect(open(profile).current()).rejects.toThrow(
      'the role "arn:aws:iam::1:role/r" gave no keys (AccessDenied, HTTP status 403)',
    );
  });

  test.each(['http://sts.example.com', 'ftp://127.0.0.1', 'sts'])('is not assumed at %s', async (endpoint) => {
    write('.aws/config', `[profile p]\n${roleLines}source_profile = p\nendpoint_url = ${endpoint}\n${keyLines('AK')}`);
    const { keys } = openKeys(profile, { env: { HOME: folder }, now: () => new Date(), log: () => undefined });
    await expect(keys.current()).rejects.toThrow('the endpoint of sts has to begin with https://');
  });
});

test('containers and instances are asked with their tokens', async () => {
  await open({ kind: 'platform', platform: 'container' }).current();
  await open({ kind: 'platform', platform: 'instance' }).current();
  const headers = server.requests.map((request) => request.headers);
  expect(headers[0]).toMatchObject({ authorization: 'token-of-the-container' });
  expect(headers.slice(2)).toEqual([
    expect.objectContaining({ 'x-aws-ec2-metadata-token': 'token-of-the-instance' }),
    expect.objectContaining({ 'x-aws-ec2-metadata-token': 'token-of-the-instance' }),
  ]);
});

test('a token of web identity is read again for each renewal', async () => {
  write('token', 'first');
  const keys = open({ kind: 'platform', platform: 'web-identity' });
  const refused = await keys.current();
  write('token', 'second');
  laterMs = minute;
  await keys.renewed(refused);
  const tokens = server.requests.map(({ body }) => new URLSearchParams(body).get('WebIdentityToken'));
  expect(tokens).toEqual(['first', 'second']);
});

test('a token of web identity that is not there is the reason', async () => {
  await expect(open({ kind: 'platform', platform: 'web-identity' }).current()).rejects.toThrow(
    'the role of AWS_ROLE_ARN gave no keys (ENOENT: there is no such file)',
  );
});

describe('single sign-on', () => {
  const lines = 'sso_session = s\nsso_account_id = 1\nsso_role_name = ops\n';
  const session = '[sso-session s]\nsso_region = us-east-1\nsso_start_url = https://s.example.com/start\n';
  beforeEach(() => write('.aws/config', `[profile p]\n${lines}${session}`));

  test('that has ended is refused with the command that signs in, and works five seconds after that', async () => {
    const keys = open(profile);
    const error: unknown = await keys.current().catch((reason: unknown) => reason);
    expect(String(error)).toBe('Error: single sign-on of the profile "p" gave no keys');
    expect(JSON.stringify(error)).toContain('Sign in again: aws sso login --profile');
    write(`.aws/sso/cache/${sha1('s')}.json`, ssoToken());
    laterMs = 5000;
    expect(await keys.current()).toMatchObject({ accessKeyId: 'AK1' });
    expect(server.requests.map(({ headers }) => headers['x-amz-sso_bearer_token'])).toEqual(['ACCESS']);
  });

  test('goes on by the refresh token, as the AWS command line does', async () => {
    const registration = { clientId: 'c', clientSecret: 's', refreshToken: 'R1' };
    write(`.aws/sso/cache/${sha1('s')}.json`, ssoToken({ expiresAt: new Date(0).toISOString(), ...registration }));
    await open(profile).current();
    expect(server.requests.map(({ url }) => url.split('?')[0])).toEqual(['/token', '/federation/credentials']);
    expect(server.requests[1]?.headers).toMatchObject({ 'x-amz-sso_bearer_token': 'NEW-ACCESS' });
  });
});

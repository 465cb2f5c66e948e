import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import { openAccounts } from '../../src/config/open-accounts.js';
import { filesOfProfiles } from '../../src/signing/aws-profile.js';
import { KeysUnavailable } from '../../src/signing/keys.js';
import { openKeys } from '../../src/signing/open-keys.js';
import { defaultAccount } from '../../src/transport/request.js';

/** Profiles are read as botocore 1.43 reads them, which the AWS command line uses. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-profiles-'));
afterAll(() => rmSync(folder, { recursive: true }));
const config = join(folder, 'config');
const credentials = join(folder, 'credentials');
const env = {
  AWS_CONFIG_FILE: config,
  AWS_SHARED_CREDENTIALS_FILE: credentials,
  AWS_EC2_METADATA_DISABLED: 'true',
};

function open(name: string, configText: string, credentialsText = '') {
  writeFileSync(config, configText);
  writeFileSync(credentials, credentialsText);
  // Files that were written a moment ago have been still for long.
  const now = () => new Date(Date.now() + 60_000);
  return openKeys({ kind: 'profile', name }, { env, now, log: () => undefined });
}

test('its keys are in either file, and those in credentials win', async () => {
  const both = '[prod]\naws_access_key_id = AKCRED\naws_secret_access_key = s2\naws_session_token = t\n';
  const { keys, profile } = open(
    'prod',
    '[profile prod]\naws_access_key_id = AKCONF\naws_secret_access_key = s1\nregion = jp-west-1\nendpoint_url = https://s3.example.com\n',
    both,
  );
  expect(await keys.current()).toEqual({ accessKeyId: 'AKCRED', secretAccessKey: 's2', sessionToken: 't' });
  expect(await profile?.()).toMatchObject({ region: 'jp-west-1', endpointUrl: 'https://s3.example.com' });
  expect(keys.id).toBe('profile prod');
});

test.each<readonly [string, string, string, object]>([
  ['a profile with any name', '[profile __proto__]\naws_access_key_id=AK\naws_secret_access_key=s\n', '__proto__', {}],
  ['a name in quotation marks', '[profile "a b"]\naws_access_key_id=AK\naws_secret_access_key=s\n', 'a b', {}],
  ['the default profile', '[default]\naws_access_key_id=AK\naws_secret_access_key=s\n', 'default', {}],
  ['names in capitals, and colons', '[profile p]\nAWS_ACCESS_KEY_ID: AK\naws_secret_access_key : s\n', 'p', {}],
  ['a byte order mark', '\uFEFF[profile p]\r\naws_access_key_id = AK\r\naws_secret_access_key = s\r\n', 'p', {}],
  [
    'comments, and signs of comments in values',
    '# a\n[profile p]\n  ; b\naws_access_key_id = AK\naws_secret_access_key = s ; #x\n# c\n',
    'p',
    { secretAccessKey: 's ; #x' },
  ],
  [
    'a value that goes on in an indented line',
    '[profile p]\naws_access_key_id = AK\naws_secret_access_key = s\n\n  t\n',
    'p',
    { secretAccessKey: 's\n\nt' },
  ],
  [
    'the older name of the token, which wins',
    '[profile p]\naws_access_key_id=AK\naws_secret_access_key=s\naws_session_token=new\naws_security_token=old\n',
    'p',
    { sessionToken: 'old' },
  ],
  [
    'settings of all sections',
    '[DEFAULT]\naws_secret_access_key = s\n[profile p]\naws_access_key_id = AK\n[DEFAULT]\nregion = r\n',
    'p',
    {},
  ],
  [
    'settings of all sections, which its own replace',
    '[DEFAULT]\naws_access_key_id = OTHER\n[profile p]\naws_access_key_id = AK\naws_secret_access_key = s\n',
    'p',
    {},
  ],
  ['an indented section', '  [profile p]\n    aws_access_key_id = AK\n    aws_secret_access_key = s\n', 'p', {}],
  [
    'a value that resembles a section, and a mark inside',
    '[profile p]\naws_access_key_id = AK\naws_secret_access_key = s[1]\uFEFF\uFEFF=:x\n',
    'p',
    { secretAccessKey: 's[1]\uFEFF\uFEFF=:x' },
  ],
  ['lines of old Macs', '[profile p]\raws_access_key_id = AK\raws_secret_access_key = s\r', 'p', {}],
  ['an empty token', '[profile p]\naws_access_key_id=AK\naws_secret_access_key=s\naws_session_token=\n', 'p', {}],
])('its keys are read with %s', async (_what, text, name, more) => {
  const { keys } = open(name, text);
  expect(await keys.current()).toStrictEqual({ accessKeyId: 'AK', secretAccessKey: 's', ...more });
});

test.each([
  ['a section twice', '[profile p]\n[profile q]\n[profile p]\n', 'line 3 begins the section "profile p" a second time'],
  ['a setting twice', '[profile p]\nregion = a\nRegion = b\n', 'line 3 sets "region" a second time'],
  ['a line without a value', '[profile p]\nMARKER\n', 'line 2 is neither a section nor a setting with its value'],
  ['a nested line without a value', '[profile p]\ns3 =\n  a = 1\n  MARKER\n', 'a line below "s3" has no "="'],
  ['a setting first', 'region = MARKER\n[profile p]\n', 'line 1 stands before the first section'],
])('a file with %s is refused whole, with the line', async (_what, text, problem) => {
  await expect(open('p', text).keys.current()).rejects.toThrow(`cannot be used: ${problem}`);
  await expect(open('p', '', text).keys.current()).rejects.not.toThrow('MARKER');
});

/** Each origin of keys wins over those behind it. The last is the only one that is not there. */
test.each<readonly [string, string, string]>([
  ['keys of `credentials` over a program', '[p]\naws_access_key_id=AK\naws_secret_access_key=s\n', 'AK'],
  ['a program over half a key', '[p]\naws_secret_access_key=s\n', 'credential_process of "p" cannot be started'],
  ['a program over keys of `config`', '', 'credential_process of "p" cannot be started'],
])('%s', async (_what, inCredentials, outcome) => {
  const text = `[profile p]\ncredential_process = /nowhere/keys\n${keyLines}`;
  const found = await open('p', text, inCredentials)
    .keys.current()
    .then(({ accessKeyId }) => accessKeyId, String);
  expect(found).toContain(outcome);
});

test('its program is run, without a shell', async () => {
  const printed = JSON.stringify({ Version: 1, AccessKeyId: 'AKPROG', SecretAccessKey: 'a $HOME b' });
  writeFileSync(join(folder, 'keys.js'), `console.log(${JSON.stringify(printed)})`);
  const { keys } = open(
    'prod',
    `[profile prod]\ncredential_process = "${process.execPath}" ${join(folder, 'keys.js')}\n`,
  );
  expect(await keys.current()).toEqual({ accessKeyId: 'AKPROG', secretAccessKey: 'a $HOME b' });
});

test('its program is named by the profile, and run once for many calls', async () => {
  const ran = join(folder, 'ran');
  const print = (id: string) => JSON.stringify({ Version: 1, AccessKeyId: id, SecretAccessKey: 's' });
  const program = (id: string) => {
    const code = `require('node:fs').appendFileSync(${JSON.stringify(ran)}, 'x'); console.log(${JSON.stringify(print(id))})`;
    writeFileSync(join(folder, `${id}.js`), code);
    return `[profile prod]\ncredential_process = "${process.execPath}" ${join(folder, `${id}.js`)}\n`;
  };
  const { keys } = open('prod', program('AK1'));
  expect((await keys.current()).accessKeyId).toBe('AK1');
  expect((await keys.current()).accessKeyId).toBe('AK1');
  expect(readFileSync(ran, 'utf8')).toBe('x');
  writeFileSync(config, program('AK20'));
  expect((await keys.current()).accessKeyId).toBe('AK20');
  writeFileSync(config, '[profile prod]\ncredential_process = /nowhere/keys\n');
  await expect(keys.current()).rejects.toThrow('credential_process of "prod" cannot be started (ENOENT)');
});

test('after a refusal, its keys are others only if the files hold others', async () => {
  const lines = (id: string) => `[prod]\naws_access_key_id = ${id}\naws_secret_access_key = s\n`;
  const { keys } = open('prod', '', lines('AK1'));
  const refused = await keys.current();
  expect(await keys.renewed(refused)).toBeUndefined();
  writeFileSync(credentials, lines('AK20'));
  expect(await keys.renewed(refused)).toEqual({ accessKeyId: 'AK20', secretAccessKey: 's' });
});

test.each(['my_role_arn = r', 'role_arn_note = r', 'other_sso_region = r'])(
  'one with %s, which only resembles a setting that signs in elsewhere, is used',
  async (line) => {
    const { keys } = open('prod', `[profile prod]\n${line}\n${keyLines}`);
    expect((await keys.current()).accessKeyId).toBe('AK');
  },
);

const keyLines = 'aws_access_key_id = AK\naws_secret_access_key = MARKER\n';
test.each([
  ['role that asks for a code', 'role_arn = arn:aws:iam::1:role/r\nsource_profile = p\nmfa_serial = m\n'],
  ['login in a browser', 'login_session = arn:aws:iam::1:user/u\n'],
])('one with a %s is refused, with the command that gets its keys', async (_what, lines) => {
  const { keys } = open('prod', `[profile prod]\n${lines}`);
  await expect(keys.current()).rejects.toThrow(/aws configure export-credentials --format process/);
});

const role = 'role_arn = arn:aws:iam::1:role/r\n';
test.each([
  ['is not there', '[profile other]\n', 'there is no profile "prod"'],
  ['is a member of Object', '[profile other]\n', 'there is no profile "constructor"'],
  ['is not marked as a profile', `[prod]\n${keyLines}`, 'there is no profile "prod"'],
  ['has another word', `[profile prod b]\n${keyLines}`, 'there is no profile "prod"'],
  ['has no end of its quotation', `[profile "prod]\n${keyLines}`, 'there is no profile "prod"'],
  ['has no name', `[profile]\n${keyLines}`, 'there is no profile "prod"'],
  ['has no keys', '[profile prod]\nregion = jp-east-1\n', 'has no keys and no credential_process'],
  ['has half of them', '[profile prod]\naws_access_key_id = AK\n', 'has no aws_secret_access_key'],
  ['has the other half', '[profile prod]\naws_secret_access_key = MARKER\n', 'has no aws_access_key_id'],
  ['has an empty ID', '[profile prod]\naws_access_key_id =\naws_secret_access_key = MARKER\n', 'no aws_access_key_id'],
  [
    'has an ID in two lines',
    '[profile prod]\naws_access_key_id = A\n K\naws_secret_access_key = MARKER\n',
    'in a header',
  ],
  ['has an odd quotation mark', '[profile prod]\ncredential_process = "a b\n', 'quotation mark without its pair'],
  ['ends with a backslash', '[profile prod]\ncredential_process = a \\\n', 'ends with a backslash'],
  ['has an empty program', '[profile prod]\ncredential_process =\n', 'credential_process of "prod" is empty'],
  ['has a role alone', `[profile prod]\n${role}`, 'needs either source_profile or credential_source'],
  [
    'has a role with two sources',
    `[profile prod]\n${role}source_profile = prod\ncredential_source = Environment\n`,
    'needs either source_profile or credential_source',
  ],
  [
    'has a role whose source is missing',
    `[profile prod]\n${role}source_profile = x\n`,
    'there is no profile "x", which source_profile of "prod" names',
  ],
  [
    'has a role whose source has no keys',
    `[profile prod]\n${role}source_profile = x\n[profile x]\n`,
    '"x" has no keys',
  ],
  ['is its own source without keys', `[profile prod]\n${role}source_profile = prod\n`, 'is its own source_profile'],
  [
    'is its own source with half of a key',
    `[profile prod]\n${role}source_profile = prod\naws_access_key_id = AK\n`,
    'has no aws_secret_access_key',
  ],
  [
    'is its own source with the other half',
    `[profile prod]\n${role}source_profile = prod\naws_secret_access_key = MARKER\n`,
    'has no aws_access_key_id',
  ],
  [
    'is its own source by another',
    `[profile prod]\n${role}source_profile = x\n[profile x]\n${role}source_profile = prod\n`,
    'is its own source_profile',
  ],
  [
    'has an unknown source',
    `[profile prod]\n${role}credential_source = Moon\n`,
    'credential_source of the profile "prod"',
  ],
  ['has a token without a role', '[profile prod]\nweb_identity_token_file = /t\n', 'has no role_arn'],
  ['has a role of SSO alone', '[profile prod]\nsso_role_name = r\n', 'has no sso_region'],
  [
    'names a session that is missing',
    '[profile prod]\nsso_session = s\nsso_account_id = 1\nsso_role_name = r\n',
    'there is no section [sso-session "s"]',
  ],
  [
    'names a profile as its session',
    '[profile prod]\nsso_session = s\nsso_account_id = 1\nsso_role_name = r\n[profile s]\n',
    'there is no section [sso-session "s"]',
  ],
  [
    'contradicts its session',
    '[profile prod]\nsso_session = s\nsso_account_id = 1\nsso_region = a\n[sso-session s]\nsso_region = b\n',
    'sso_region of the profile "prod" is not that of its sso-session',
  ],
])('one that %s is refused', async (what, text, reason) => {
  const { keys } = open(what.includes('Object') ? 'constructor' : 'prod', text);
  const error: unknown = await keys.current().catch((problem: unknown) => problem);
  expect(String(error)).toContain(reason);
  expect(String(error)).not.toContain('MARKER');
  expect(error instanceof KeysUnavailable && error.remedy.text).toMatch(/^[A-Z].*\.$/);
});

test('the files are where the usual variables say, or in the home folder', () => {
  expect(filesOfProfiles({ HOME: '/home/a' })).toEqual({
    config: join('/home/a', '.aws/config'),
    credentials: join('/home/a', '.aws/credentials'),
  });
  expect(filesOfProfiles({ HOME: '/home/a', AWS_CONFIG_FILE: '~/c' }).config).toBe(join('/home/a', 'c'));
  const env = { DIR: '/d', AWS_CONFIG_FILE: '$DIR/c', AWS_SHARED_CREDENTIALS_FILE: `$${'{DIR}'}/$NONE/c` };
  expect(filesOfProfiles(env)).toEqual({ config: '/d/c', credentials: '/d/$NONE/c' });
});

describe('region and endpoint of a profile', () => {
  const cloudOf = async (lines: string, settings: Record<string, string> = {}) => {
    writeFileSync(config, `[profile prod]\n${lines}`);
    writeFileSync(credentials, `[prod]\n${keyLines}`);
    const loaded = loadConfig({ env: { CLOUDOPS_PROFILE: 'prod', ...env, ...settings }, readFile: () => '' });
    if (!loaded.ok) throw new Error(loaded.problems.join());
    const { accounts, otherVariables } = loaded.config;
    const dependencies = { env: otherVariables, now: () => new Date(), log: () => undefined, sandbox: undefined };
    return openAccounts(accounts, dependencies).all[0]?.cloud();
  };
  const both = 'region = jp-west-1\nendpoint_url = https://s3.example.com\n';

  test('are used where the settings give none; the endpoint is that of storage', async () => {
    expect(await cloudOf(both)).toMatchObject({
      account: defaultAccount,
      region: 'jp-west-1',
      regionIsConfigured: true,
      endpoints: { storage: 'https://s3.example.com', devops: undefined },
    });
    const settings = { CLOUDOPS_REGION: 'jp-east-2', CLOUDOPS_STORAGE_URL: 'https://ours.example.com' };
    expect(await cloudOf(both, settings)).toMatchObject({
      region: 'jp-east-2',
      endpoints: { storage: 'https://ours.example.com' },
    });
  });

  const services = (name: string) =>
    `services = ${name}\n[services mine]\ns3 =\n  endpoint_url = https://services.example.com\nec2 =\n  endpoint_url = https://ec2.example.com\n`;
  test.each<readonly [string, string, Record<string, string>, string | undefined]>([
    ['of the profile', both, {}, 'https://s3.example.com'],
    [
      'in a section for services, before that of the profile',
      both + services('mine'),
      {},
      'https://services.example.com',
    ],
    [
      'in a section for services, however it is spaced',
      both + services('mine').replaceAll(' = https', '=https').replace('=https', '  =   https'),
      {},
      'https://services.example.com',
    ],
    [
      'in a section for services, without spaces',
      both + services('mine').replaceAll(' = https', '=https'),
      {},
      'https://services.example.com',
    ],
    [
      'of the environment, before those',
      both + services('mine'),
      { AWS_ENDPOINT_URL: 'https://env.example.com' },
      'https://env.example.com',
    ],
    [
      'of the environment for S3, before all others',
      both + services('other'),
      { AWS_ENDPOINT_URL: 'https://env.example.com', AWS_ENDPOINT_URL_S3: 'https://env-s3.example.com' },
      'https://env-s3.example.com',
    ],
    ['which is to be ignored', `${both}ignore_configured_endpoint_urls = true\n`, {}, undefined],
    ['which the environment ignores', both, { AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'True' }, undefined],
    ['nowhere', 'region = jp-west-1\n', {}, undefined],
  ])('the endpoint is the one %s', async (_where, lines, variables, storage) => {
    expect(await cloudOf(lines, variables)).toMatchObject({ endpoints: { storage } });
  });

  test('a section for services that is not there is a refusal', async () => {
    await expect(cloudOf(`${both}${services('other')}[profile other]\n`)).rejects.toThrow(
      'there is no section [services "other"]',
    );
  });

  test.each([
    'region = ../evil',
    'endpoint_url = http://s3.example.com',
    'endpoint_url = https://user:pass@s3.example.com',
    'endpoint_url = file:///etc',
  ])('have the rules of settings: %s', async (lines) => {
    await expect(cloudOf(`${lines}\n`)).rejects.toMatchObject({ code: 'NotConfigured' });
  });
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import { openAccounts } from '../../src/config/open-accounts.js';
import { filesOfProfiles, splitCommand } from '../../src/signing/aws-profile.js';
import { openKeys } from '../../src/signing/open-keys.js';
import { defaultAccount } from '../../src/transport/request.js';

/** Profiles are read as other AWS tools read them; those that sign in elsewhere are left to these tools. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-profiles-'));
afterAll(() => rmSync(folder, { recursive: true }));
const config = join(folder, 'config');
const credentials = join(folder, 'credentials');
const env = { AWS_CONFIG_FILE: config, AWS_SHARED_CREDENTIALS_FILE: credentials };

function open(name: string, configText: string, credentialsText = '') {
  writeFileSync(config, configText);
  writeFileSync(credentials, credentialsText);
  // Files that were written a moment ago have been still for long.
  const now = () => new Date(Date.now() + 60_000);
  return openKeys({ kind: 'profile', name }, { env, now, log: () => undefined });
}

test('its keys are in either file, and those in credentials win', async () => {
  const both = '[prod]\naws_access_key_id = AKCRED\naws_secret_access_key = s2 ; a comment\naws_session_token = t\n';
  const { keys, profile } = open(
    'prod',
    '[profile prod]\naws_access_key_id = AKCONF\naws_secret_access_key = s1\nregion = jp-west-1\nendpoint_url = https://s3.example.com\n',
    both,
  );
  expect(await keys.current()).toEqual({ accessKeyId: 'AKCRED', secretAccessKey: 's2', sessionToken: 't' });
  expect(await profile?.()).toMatchObject({ region: 'jp-west-1', endpointUrl: 'https://s3.example.com' });
  expect(keys.id).toBe('profile prod');
});

test.each(['[profile __proto__]', '[__proto__]', '  [profile __proto__] # odd'])(
  'a profile that no tool can use leaves the others usable: %s',
  async (header) => {
    const keysOf = (id: string) => `aws_access_key_id = ${id}\naws_secret_access_key = s\n`;
    const text = `${header}\n${keysOf('AKODD')}[profile prod]\n${keysOf('AKPROD')}`;
    expect(await open('prod', text).keys.current()).toMatchObject({ accessKeyId: 'AKPROD' });
    await expect(open('__proto__', text).keys.current()).rejects.toThrow('there is no profile "__proto__"');
    const inCredentials = `[prod]\n${keysOf('AKCRED')}${header}\n${keysOf('AKODD')}`;
    expect(await open('prod', '', inCredentials).keys.current()).toMatchObject({ accessKeyId: 'AKCRED' });
  },
);

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
  ['role_arn', `role_arn = arn:aws:iam::1:role/r\nsource_profile = other\n${keyLines}`],
  ['SSO', 'sso_session = s\nsso_account_id = 1\n'],
  ['web identity', 'web_identity_token_file = /token\n'],
])('one with %s is refused, with the command that gets its keys', async (_what, lines) => {
  const { keys } = open('prod', `[profile prod]\n${lines}`);
  await expect(keys.current()).rejects.toThrow(/aws configure export-credentials --format process/);
});

test.each([
  ['is not there', '[profile other]\n', /there is no profile "prod"/],
  ['is that of a member of Object', '[profile other]\n', /there is no profile/],
  ['has no keys', '[profile prod]\nregion = jp-east-1\n', /has no keys and no credential_process/],
  ['has half of them', '[profile prod]\naws_access_key_id = AK\n', /has no keys/],
  ['has the other half', '[profile prod]\naws_secret_access_key = s\n', /has no keys/],
  ['has a program with an odd quotation mark', '[profile prod]\ncredential_process = "a b\n', /quotation mark/],
])('one that %s is refused', async (what, text, reason) => {
  const { keys } = open(what.includes('Object') ? 'constructor' : 'prod', text);
  await expect(keys.current()).rejects.toThrow(reason);
});

test.each([
  ['a b  c', ['a', 'b', 'c']],
  ['"/a b/c" --x "y z"', ['/a b/c', '--x', 'y z']],
  ['a\\b "" $HOME ;', ['a\\b', '', '$HOME', ';']],
  ['a"b c"d', ['ab cd']],
  ['', []],
  ['"a', undefined],
])('the words of %j', (text, words) => {
  expect(splitCommand(text)).toEqual(words);
});

test('the files are where the usual variables say, or in the home folder', () => {
  expect(filesOfProfiles({ HOME: '/home/a' })).toEqual({
    config: join('/home/a', '.aws/config'),
    credentials: join('/home/a', '.aws/credentials'),
  });
  expect(filesOfProfiles({ HOME: '/home/a', AWS_CONFIG_FILE: '~/c' }).config).toBe(join('/home/a', 'c'));
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

  test.each([
    'region = ../evil',
    'endpoint_url = http://s3.example.com',
    'endpoint_url = https://user:pass@s3.example.com',
    'endpoint_url = file:///etc',
  ])('have the rules of settings: %s', async (lines) => {
    await expect(cloudOf(`${lines}\n`)).rejects.toMatchObject({ code: 'NotConfigured' });
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KeysUnavailable, refusedKeyCodes } from '../../src/signing/keys.js';
import { type KeySettings, openKeys } from '../../src/signing/open-keys.js';
import { words } from '../../src/util/safe-text.js';

/** Keys are taken from where the settings say: as they are, from files that may be replaced, or from a program. */

type Parts = Extract<KeySettings, { kind: 'keys' }>['credentials'];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-open-keys-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function open(settings: KeySettings) {
  const logged: unknown[] = [];
  const { keys } = openKeys(settings, {
    env: {},
    // Files that were written a moment ago have been still for long.
    now: () => new Date(Date.now() + 60_000),
    log: (_level, _event, fields) => logged.push(fields),
  });
  return { keys, logged };
}
const whole = { accessKeyId: 'AK', secretAccessKey: 'a secret' };

describe('keys of settings', () => {
  test.each<readonly [string, Parts]>([
    ['an ID and a secret', whole],
    ['a session token', { ...whole, sessionToken: 'token' }],
    ['a secret with spaces, which is in no header', { ...whole, secretAccessKey: 'a b é' }],
  ])('are used as they are: %s', async (_what, credentials) => {
    const { keys, logged } = open({ kind: 'keys', credentials, files: { accessKeyId: undefined } });
    expect(keys.id).toBe('key AK');
    const found = await keys.current();
    expect(found).toStrictEqual(credentials);
    expect(await keys.renewed(found)).toBeUndefined();
    expect(logged).toEqual([]);
  });

  test.each<readonly [string, Parts]>([
    ['nothing', {}],
    ['no ID', { secretAccessKey: 'a secret' }],
    ['no secret', { accessKeyId: 'AK' }],
    ['an empty session token', { ...whole, sessionToken: '' }],
    ['an ID that begins with a space', { ...whole, accessKeyId: ' AK' }],
    ['an ID that ends with a line break', { ...whole, accessKeyId: 'AK\n' }],
    ['a session token that is not ASCII', { ...whole, sessionToken: 'tokén' }],
  ])('are refused if they are %s', (_what, credentials) => {
    expect(() => open({ kind: 'keys', credentials, files: {} })).toThrow(
      new KeysUnavailable(words('keys are missing'), words('Write the key, and nothing else, into the file.')),
    );
  });
});

test.each([
  ['ExpiredToken', true],
  ['ExpiredTokenException', true],
  ['invalidaccesskeyid', true],
  ['InvalidTokenX', false],
  ['NotExpiredToken', false],
  ['AccessDenied', false],
])('the code %s tells that keys were refused: %s', (code, isRefusal) => {
  expect(refusedKeyCodes.test(code)).toBe(isRefusal);
});

describe('keys in files', () => {
  /** Opens keys of which these parts are in files with these texts; those of the settings are older. */
  function openFiles(texts: Readonly<Record<string, string>>) {
    const files: Record<string, string> = {};
    for (const [part, text] of Object.entries(texts)) {
      const path = join(folder, part);
      writeFileSync(path, text);
      files[part] = path;
    }
    const credentials = { accessKeyId: 'OLD', secretAccessKey: 'old secret' };
    return { files, ...open({ kind: 'keys', credentials, files }) };
  }

  test.each<readonly [string, Record<string, string>, object]>([
    ['both', { accessKeyId: 'AK\n', secretAccessKey: ' a secret\n' }, whole],
    ['the secret', { secretAccessKey: 'a secret' }, { ...whole, accessKeyId: 'OLD' }],
    [
      'the ID and a token',
      { accessKeyId: 'AK', sessionToken: 'token\n' },
      { accessKeyId: 'AK', secretAccessKey: 'old secret', sessionToken: 'token' },
    ],
    [
      'the longest',
      { secretAccessKey: 's'.repeat(64 * 1024) },
      { accessKeyId: 'OLD', secretAccessKey: 's'.repeat(64 * 1024) },
    ],
  ])('are read from there: %s', async (_what, texts, expected) => {
    const { keys, files } = openFiles(texts);
    expect(await keys.current()).toStrictEqual(expected);
    expect(keys.id).toBe(files.accessKeyId === undefined ? 'key OLD' : `file ${files.accessKeyId}`);
  });

  test.each<readonly [string, Record<string, string>, string]>([
    ['is empty', { secretAccessKey: '\n' }, 'a file of keys is empty'],
    ['is too large', { secretAccessKey: 's'.repeat(64 * 1024 + 1) }, 'a file of keys is larger than 64 KiB'],
  ])('stay as they were while a file %s, and the log says why', async (_what, texts, problem) => {
    const { keys, logged } = openFiles(texts);
    expect(await keys.current()).toStrictEqual({ accessKeyId: 'OLD', secretAccessKey: 'old secret' });
    expect(logged).toEqual([{ problem, files: Object.keys(texts).map((part) => join(folder, part)) }]);
  });

  test('stay as they were while a folder is in the place of a file', async () => {
    const credentials = { accessKeyId: 'OLD', secretAccessKey: 'old secret' };
    const { keys, logged } = open({ kind: 'keys', credentials, files: { secretAccessKey: folder } });
    expect(await keys.current()).toStrictEqual(credentials);
    expect(logged).toEqual([{ problem: 'a file of keys cannot be read (it is a folder)', files: [folder] }]);
  });

  test.each(['accessKeyId', 'secretAccessKey', 'sessionToken'])(
    'are others after they were refused only if the files hold others, such as another %s',
    async (part) => {
      const texts = { accessKeyId: 'AK', secretAccessKey: 'a-secret', sessionToken: 'token' };
      const { keys, files } = openFiles(texts);
      const refused = await keys.current();
      expect(await keys.renewed(refused)).toBeUndefined();
      writeFileSync(files[part] ?? '', 'another');
      expect(await keys.renewed(refused)).toEqual({ ...texts, [part]: 'another' });
    },
  );
});

import { expect, test } from 'vitest';
import { areSameKeys, fixedKeys } from '../../src/signing/keys.js';

const keys = { accessKeyId: 'AK', secretAccessKey: 's', sessionToken: 't' };

test.each<readonly [string, object, boolean]>([
  ['nothing', {}, true],
  ['the ID', { accessKeyId: 'BK' }, false],
  ['the secret', { secretAccessKey: 'u' }, false],
  ['the session token', { sessionToken: 'u' }, false],
  ['a session token that is not there', { sessionToken: undefined }, false],
])('keys that differ in %s are the same: %s', (_what, other, same) => {
  expect(areSameKeys(keys, { ...keys, ...other })).toBe(same);
  expect(areSameKeys({ ...keys, ...other }, keys)).toBe(same);
});

test('fixed keys are named by their ID, and there are no others', async () => {
  const source = fixedKeys(keys);
  expect(source.id).toBe('key AK');
  expect(await source.current()).toBe(keys);
  expect(await source.renewed(keys)).toBeUndefined();
});

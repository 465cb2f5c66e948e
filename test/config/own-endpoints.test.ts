import { describe, expect, test } from 'vitest';
import { listParts } from '../../src/tools/list-parts.js';
import { say } from '../../src/util/safe-text.js';
import { problems } from '../support/config.js';

/** A service that operations of one's own bring along has an endpoint of its own, like any setting. */

const own = { operations: [{ ...listParts, name: 'list_bills', service: 'billing' }], problems: [] };
const variable = 'CLOUDOPS_ENDPOINT_BILLING_URL';

describe('one that no operation has', () => {
  const others = [
    'CLOUDOPS_ENDPOINT_BILING_URL',
    'XCLOUDOPS_ENDPOINT_A_URL',
    'CLOUDOPS_ENDPOINT_A_URLS',
    'CLOUDOPS_ENDPOINT',
  ];
  const env = Object.fromEntries(others.map((name) => [name, 'https://a.example.com']));
  const named = (sentences: readonly string[]) => sentences.map((sentence) => sentence.split(' ')[0]);

  test('says that no file names its API', () => {
    expect(problems({ CLOUDOPS_ENDPOINT_CATALOGS_URL: 'https://a.example.com' })).toEqual([
      expect.stringMatching(/: no file of CLOUDOPS_OPERATIONS and no model of CLOUDOPS_MODELS has its API$/),
    ]);
  });

  test.each(['', ' '])('is not set if it is empty: "%s"', (value) => {
    expect(problems({ CLOUDOPS_ENDPOINT_CATALOGS_URL: value, CLOUDOPS_REGOIN: value })).toEqual([]);
  });

  test('is no setting', () => {
    const found = problems(env, {}, own);
    expect(named(found)).toEqual(others.filter((name) => !name.startsWith('X')));
    expect(found[0]).toContain(` ${variable}?`);
    expect(found).toContain(
      'CLOUDOPS_ENDPOINT_BILING_URL is not a setting; did you mean CLOUDOPS_ENDPOINT_BILLING_URL?',
    );
  });

  test('may be one of operations that could not be loaded, which is problem enough', () => {
    const notLoaded = { operations: [], problems: [say`The file cannot be read.`] };
    expect(named(problems(env, {}, notLoaded))).toEqual(['CLOUDOPS_ENDPOINT_A_URLS', 'CLOUDOPS_ENDPOINT', 'The']);
  });
});

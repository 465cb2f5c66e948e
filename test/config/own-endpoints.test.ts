import { describe, expect, test } from 'vitest';
import type { Environment } from '../../src/config/environment.js';
import { gather } from '../../src/config/sources.js';
import { listParts } from '../../src/tools/list-parts.js';
import { type SafeText, say, words } from '../../src/util/safe-text.js';

/** A service that operations of one's own bring along has an endpoint of its own, like any setting. */

const billing = { ...listParts, name: 'list_bills', service: 'billing' };
const variable = 'CLOUDOPS_ENDPOINT_BILLING_URL';

function gathered(env: Environment, options: Record<string, string> = {}, failed?: SafeText) {
  const problems: string[] = [];
  const own = failed === undefined ? { operations: [billing], problems: [] } : { operations: [], problems: [failed] };
  const { endpoints, origins } = gather(
    { env, own, commandLine: { settings: options, problems: [] }, readFile: () => '' },
    (problem) => problems.push(words(problem).text),
  );
  return { endpoints, origins, problems };
}

test.each([
  ['the environment', { [variable]: ' https://a.example.com ' }, {}, 'https://a.example.com', 'environment'],
  [
    'the command line',
    {},
    { ENDPOINT_BILLING_URL: 'https://b.example.com' },
    'https://b.example.com',
    'option --endpoint-billing-url',
  ],
  [
    'the command line, before the environment',
    { [variable]: 'https://a.example.com' },
    { ENDPOINT_BILLING_URL: 'https://b.example.com' },
    'https://b.example.com',
    'option --endpoint-billing-url',
  ],
])('comes from %s', (_what, env, options, url, from) => {
  expect(gathered(env, options)).toEqual({
    endpoints: { ENDPOINT_BILLING_URL: url },
    origins: [{ name: variable, value: url, secret: false, isPath: false, from }],
    problems: [],
  });
});

test('need not be set', () => {
  expect(gathered({})).toEqual({ endpoints: {}, origins: [], problems: [] });
});

describe('one that no operation has', () => {
  const others = [
    'CLOUDOPS_ENDPOINT_BILING_URL',
    'XCLOUDOPS_ENDPOINT_A_URL',
    'CLOUDOPS_ENDPOINT_A_URLS',
    'CLOUDOPS_ENDPOINT',
  ];
  const env = Object.fromEntries(others.map((name) => [name, 'https://a.example.com']));
  const named = (problems: readonly string[]) => problems.map((problem) => problem.split(' ')[0]);

  test('is no setting', () => {
    const { problems } = gathered(env);
    expect(named(problems)).toEqual(others.filter((name) => !name.startsWith('X')));
    expect(problems[0]).toContain(`did you mean ${variable}?`);
  });

  test('may be one of operations that could not be loaded, which is problem enough', () => {
    expect(named(gathered(env, {}, say`the file cannot be read`).problems)).toEqual([
      'CLOUDOPS_ENDPOINT_A_URLS',
      'CLOUDOPS_ENDPOINT',
    ]);
  });
});

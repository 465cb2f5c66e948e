import { expect, test } from 'vitest';
import { accessOf } from '../../src/cli/http-command.js';
import { load } from '../support/config.js';

/** The hosts that a server on `0.0.0.0` allows. */
async function hostsOf(settings: Record<string, string>) {
  const env = { CLOUDOPS_STATE_KEY: 'k'.repeat(48), CLOUDOPS_HTTP_ISSUER: 'https://id.example.com', ...settings };
  const result = load({ ...env, CLOUDOPS_HTTP_CLIENT_ID: 'id' });
  if (!result.ok) throw new Error(result.problems.join(' '));
  return (await accessOf('0.0.0.0', result.config, () => new Date())).hosts;
}

const audience = { CLOUDOPS_HTTP_AUDIENCE: 'https://cloudops.example.com/mcp' };
const page = { CLOUDOPS_HTTP_PUBLIC_URL: 'https://decide.example.com' };

test.each([
  ['the audience alone', audience, ['cloudops.example.com']],
  ['the audience and the page', { ...audience, ...page }, ['cloudops.example.com', 'decide.example.com']],
  ['the page, if the audience is no URL', { ...page, CLOUDOPS_HTTP_AUDIENCE: 'cloudops' }, ['decide.example.com']],
  [
    'the named hosts and the page',
    { ...audience, ...page, CLOUDOPS_HTTP_ALLOWED_HOSTS: 'a.example.com' },
    ['a.example.com', 'decide.example.com'],
  ],
  ['each host once', { ...page, CLOUDOPS_HTTP_AUDIENCE: 'https://decide.example.com/mcp' }, ['decide.example.com']],
])('the allowed hosts are %s', async (_what, settings, hosts) => {
  expect(await hostsOf(settings)).toEqual(hosts);
});

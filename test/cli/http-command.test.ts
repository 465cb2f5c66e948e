import { expect, test } from 'vitest';
import { accessOf } from '../../src/cli/http-command.js';
import { load } from '../support/config.js';

/** Who may reach a server on `0.0.0.0`, and how. */
async function accessWith(settings: Record<string, string>) {
  const env = { CLOUDOPS_STATE_KEY: 'k'.repeat(48), CLOUDOPS_HTTP_ISSUER: 'https://id.example.com', ...settings };
  const result = load({ ...env, CLOUDOPS_HTTP_CLIENT_ID: 'id' });
  if (!result.ok) throw new Error(result.problems.join(' '));
  return accessOf('0.0.0.0', result.config, () => new Date());
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
  expect((await accessWith(settings)).hosts).toEqual(hosts);
});

test.each([
  ['api://cloudops', {}, 'api://cloudops/'],
  ['api://cloudops/', {}, 'api://cloudops/'],
  ['api://cloudops', { CLOUDOPS_HTTP_SCOPE_PREFIX: 'https://id.example.com/' }, 'https://id.example.com/'],
  ['https://cloudops.example.com/mcp', {}, ''],
])('with the audience %s and %j, scopes begin with "%s"', async (named, settings, scopePrefix) => {
  const access = await accessWith({ ...page, CLOUDOPS_HTTP_AUDIENCE: named, ...settings });
  expect(access.resource).toMatchObject({ scopePrefix });
});

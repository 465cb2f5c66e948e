import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { accessOf, withOwnPage } from '../../src/cli/http-command.js';
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

/** The address of the page of a server, if somebody can sign in on this machine. */
function pageOf(host: string, port: number, { mayHaveOwnPage = true, settings = {} } = {}) {
  const result = load({ CLOUDOPS_STATE_KEY: 'k'.repeat(48), CLOUDOPS_HTTP_TOKENS_FILE: 'tokens', ...settings });
  if (!result.ok) throw new Error(result.problems.join(' '));
  return withOwnPage(result.config, { host, port }, { mayHaveOwnPage }).publicUrl;
}

test.each<[string, string | undefined, string | undefined]>([
  ['its own', pageOf('127.0.0.1', 8080), 'http://127.0.0.1:8080'],
  ['its own in IPv6', pageOf('::1', 8080), 'http://[::1]:8080'],
  ['the public URL, if it is set', pageOf('127.0.0.1', 8080, { settings: page }), 'https://decide.example.com'],
  ['none, if its port is not known', pageOf('127.0.0.1', 0), undefined],
  ['none, if nobody could sign in', pageOf('127.0.0.1', 8080, { mayHaveOwnPage: false }), undefined],
])('the address of the page is %s', (_what, url, expected) => {
  expect(url).toBe(expected);
});

test.each<[string, string, Record<string, string>, boolean]>([
  ['a token that decides, on loopback', '1'.repeat(64), {}, true],
  ['no token that decides', '', {}, false],
  ['a proxy that other machines reach', '1'.repeat(64), { CLOUDOPS_HTTP_ALLOWED_HOSTS: 'a.example.com' }, false],
])('with %s, a server knows whether it may have a page of its own', async (_what, decider, settings, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-tokens-'));
  const file = join(folder, 'tokens');
  const lines = [`alice ${'0'.repeat(64)}`, ...(decider === '' ? [] : [`bob ${decider} cloudops:approve`])];
  writeFileSync(file, lines.join('\n'));
  const result = load({ CLOUDOPS_HTTP_TOKENS_FILE: file, ...settings });
  if (!result.ok) throw new Error(result.problems.join(' '));
  const { mayHaveOwnPage } = await accessOf('127.0.0.1', result.config, () => new Date());
  rmSync(folder, { recursive: true });
  expect(mayHaveOwnPage).toBe(expected);
});

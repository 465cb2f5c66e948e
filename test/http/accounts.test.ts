import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { reasonAgainst } from '../../src/http/change-on-page.js';
import { authenticateByTokensFile, parseTokens } from '../../src/http/tokens-file.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { namedAccounts } from '../support/accounts.js';
import { newChange } from '../support/changes.js';
import { answerOf, message, post, serveInProcess, toolCall } from '../support/http-in-process.js';
import { startServer } from '../support/http-server.js';

/** Scopes say which accounts a caller uses over HTTP. */

const digest = (token: string) => createHash('sha256').update(token).digest('hex');
const text = [
  `ann ${digest('ann')} cloudops:read cloudops:write cloudops:account:prod`,
  `bob ${digest('bob')} cloudops:read cloudops:write`,
  `eve ${digest('eve')} cloudops:read cloudops:write cloudops:audit cloudops:account:staging`,
].join('\n');
const authenticate = authenticateByTokensFile({
  text,
  read: async () => text,
  now: () => new Date(),
  log: () => undefined,
});
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const restore = { ...restoreInstance.example };

test('each caller lists, calls and reads its own accounts; another one is like one that does not exist', async () => {
  const cloud = await startServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"instance":{"id":"i-2"}}');
  });
  const accounts = namedAccounts(cloud.origin, [{ name: 'prod' }, { name: 'staging' }], 'staging');
  const server = await serveInProcess({
    authenticate,
    caller: { accounts },
  });
  const call = async (who: string, args: object) => {
    const response = await post(server.url, toolCall('restore_instance', { ...restore, ...args }), bearer(who));
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([200, null]);
    return JSON.stringify(await answerOf(response));
  };
  expect(await call('ann', {})).toContain('"account":"prod"');
  expect(await call('bob', {})).toContain('"account":"staging"');
  expect(await call('bob', { account: 'prod' })).toBe(
    (await call('bob', { account: 'none' })).replaceAll('none', 'prod'),
  );
  expect(await call('eve', { account: 'prod' })).toContain('InvalidArguments');
  const journalOf = async (who: string) => {
    const read = message('resources/read', { uri: 'cloudops://journal' });
    return JSON.stringify(await answerOf(await post(server.url, read, bearer(who))));
  };
  expect((await journalOf('eve')).match(/restore_instance\W+ in account \W+staging\W+:/g)).toHaveLength(1);
  expect(await journalOf('eve')).toContain('bob');
  const configuration = message('resources/read', { uri: 'cloudops://configuration' });
  expect((await post(server.url, configuration, bearer('eve'))).status).toBe(200);
  expect(await server.metrics()).toMatch(
    /cloudops_calls_total\{tool="restore_instance",outcome="accepted",account="prod"\} 1/,
  );
  expect(await server.metrics()).not.toContain('"none-');
  await server.close();
  await cloud.close();
});

test.each([
  ['cloudops:read cloudops:account:prod', true],
  ['cloudops:read cloudops:account:', false],
  ['cloudops:read cloudops:account:Prod', false],
  ['cloudops:read cloudops:accounts', false],
])('a line of the tokens file may have %s: %s', (scopes, right) => {
  expect(parseTokens(`a ${digest('a')} ${scopes}`).problems).toHaveLength(right ? 0 : 1);
});

test('whoever decides may use the account of the plan, besides being one who may decide', () => {
  const accounts = namedAccounts('', [{ name: 'prod', confirm: 'approval' }, { name: 'staging' }], 'staging');
  const change = {
    ...newChange({ args: { ...restore, account: 'prod' }, caller: 'ann', personId: 'ann', mode: 'approval' }),
    ...{ state: 'waiting' as const, madeAt: 0, expiresAt: 0, ageMs: 0, isExpired: false },
  };
  const reasonFor = (...scopes: string[]) =>
    reasonAgainst(change, { person: 'eve', personId: 'eve', mayApprove: true, scopes }, accounts);
  expect(reasonFor('cloudops:account:prod')).toBeUndefined();
  for (const scopes of [[], ['cloudops:account:staging'], ['cloudops:account:none']])
    expect(reasonFor(...scopes)?.text).toBe('You have no access to the account of this change.');
});

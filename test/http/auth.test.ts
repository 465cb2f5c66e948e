import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { authenticateByTokensFile } from '../../src/http/tokens-file.js';
import { memoryStore } from '../support/caller.js';
import { answerOf, message, post, serveInProcess, toolCall } from '../support/http-in-process.js';
import { startServer } from '../support/http-server.js';
import { offeredBy, openPolicy } from '../support/operations.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const restore = { backupId: 'a'.repeat(32), instanceId: 'restored' };

const toolNames = async (response: Response) =>
  ((await answerOf(response)).result?.tools as { name: string }[] | undefined)?.map(({ name }) => name);

/** Authenticates by a tokens file that never changes. */
const authenticateByText = (text: string) =>
  authenticateByTokensFile({ text, read: async () => text, now: () => new Date(), log: () => undefined });

describe('static tokens', () => {
  const text = `alice ${sha256('token-of-alice')}\nreader ${sha256('token-of-reader')} cloudops:read\n`;
  const authenticate = authenticateByText(text);

  test.each([
    ['no token', {}, 'Bearer'],
    ['another scheme', { authorization: 'Basic YWxpY2U6eA==' }, 'Bearer'],
    [
      'a wrong token',
      bearer('wrong'),
      'Bearer error="invalid_token", error_description="The token is not valid here."',
    ],
    ['the digest itself', bearer(sha256('token-of-alice')), 'Bearer error="invalid_token"'],
    ['a token in the query alone', {}, 'Bearer'],
  ])('%s is refused with a challenge', async (what, headers, expected) => {
    const server = await serveInProcess({ authenticate });
    const url = new URL(what.includes('query') ? '?access_token=token-of-alice' : '', server.url);
    const response = await post(url, message('tools/list'), headers);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain(expected);
    await server.close();
  });

  test('the name of a token is in the journal and the log, the token itself nowhere', async () => {
    const cloud = await startServer((_request, response) => response.end('{"instance":{}}'));
    const store = memoryStore();
    const server = await serveInProcess({ authenticate, cloud: cloud.origin, caller: { store } });
    await answerOf(await post(server.url, toolCall('restore_instance', restore), bearer('token-of-alice')));
    expect(await store.newest({ limit: 50 })).toMatchObject([{ caller: 'alice', state: 'accepted' }]);
    expect(server.callerLogged).toContainEqual({
      level: 'info',
      event: 'call',
      fields: expect.objectContaining({ caller: 'alice' }),
    });
    expect(JSON.stringify([server.logged, server.callerLogged, await store.newest({ limit: 50 })])).not.toContain(
      'token-of-alice',
    );
    await server.close();
    await cloud.close();
  });

  test.each([
    ['a caller that may audit', 'auditor', ['alice', 'reader']],
    ['any other caller', 'alice', ['alice']],
  ])('the journal shows %s: %s sees %j', async (_who, viewer, shown) => {
    const cloud = await startServer((_request, response) => response.end('{"instance":{}}'));
    const names = ['alice', 'reader', 'auditor'];
    const lines = names.map(
      (name) => `${name} ${sha256(name)} cloudops:write${name === 'auditor' ? ' cloudops:audit' : ''}`,
    );
    const server = await serveInProcess({ authenticate: authenticateByText(lines.join('\n')), cloud: cloud.origin });
    for (const name of ['alice', 'reader']) {
      const call = toolCall('restore_instance', { ...restore, instanceId: `of-${name}` });
      await answerOf(await post(server.url, call, bearer(name)));
    }
    const { result } = await answerOf(
      await post(server.url, message('resources/read', { uri: 'cloudops://journal' }), bearer(viewer)),
    );
    const callers = [...JSON.stringify(result).matchAll(/caller: \\"(\w+)/g)].map(([, name]) => name);
    expect(callers.toSorted()).toEqual(shown);
    await server.close();
    await cloud.close();
  });

  test.each([
    ['a caller that may audit', 'cloudops:read cloudops:audit', true],
    ['any other caller', 'cloudops:read cloudops:write', false],
  ])('what others did on the sandbox is shown to %s: %s, %s', async (_who, scopes, shown) => {
    const server = await serveInProcess({ authenticate: authenticateByText(`a ${sha256('a')} ${scopes}`) });
    const listed = await answerOf(await post(server.url, message('resources/list'), bearer('a')));
    const read = message('resources/read', { uri: 'cloudops://sandbox' });
    const { result } = await answerOf(await post(server.url, read, bearer('a')));
    expect([JSON.stringify(listed).includes('cloudops://sandbox'), result !== undefined]).toEqual([shown, shown]);
    await server.close();
  });

  test('a plan is for the caller that asked for it', async () => {
    const server = await serveInProcess({
      authenticate: authenticateByText(`a ${sha256('a')}\nb ${sha256('b')}`),
      caller: { confirm: 'plan' },
    });
    const plan = await answerOf(await post(server.url, toolCall('restore_instance', restore), bearer('a')));
    const { changeId } = z.object({ changeId: z.string() }).parse(plan.result?.structuredContent);
    const confirm = toolCall('confirm_change', { changeId, thing: restore.instanceId });
    expect(JSON.stringify(await answerOf(await post(server.url, confirm, bearer('b'))))).toContain('UnknownChange');
    expect(JSON.stringify(await answerOf(await post(server.url, confirm, bearer('a'))))).not.toContain('UnknownChange');
    await server.close();
  });

  test('a caller that may only read sees and calls nothing else', async () => {
    const server = await serveInProcess({ authenticate });
    const headers = bearer('token-of-reader');
    expect(await toolNames(await post(server.url, message('tools/list'), headers))).toEqual(
      offeredBy({ ...openPolicy, readOnly: true }).map(({ name }) => name),
    );
    // A server without services knows the scopes of their tools all the same.
    for (const name of ['describe_operation', 'read_operation'])
      expect((await post(server.url, toolCall(name, {}), headers)).status).toBe(200);
    expect((await post(server.url, toolCall('change_operation', {}), headers)).status).toBe(403);
    const refused = await post(server.url, toolCall('restore_instance', restore), headers);
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain(
      'error="insufficient_scope", scope="cloudops:read cloudops:write"',
    );
    await server.close();
  });
});

import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createLimitedLog } from '../../src/http/limits.js';
import { authenticateByTokensFile } from '../../src/http/tokens-file.js';
import { message, post, serveInProcess } from '../support/http-in-process.js';

test('a caller who sends too many requests is in the log, also if another caller with the same address sends more', async () => {
  const server = await serveInProcess({
    rate: 1,
    now: () => new Date(0),
    authenticate: async (name) => ({ kind: 'authenticated', principal: { name, scopes: ['cloudops:read'] } }),
  });
  const send = async (name: string, count: number) => {
    for (let sent = 0; sent < count; sent += 1)
      await post(server.url, message('ping'), { authorization: `Bearer ${name}` });
  };
  await send('noisy', 12);
  await send('quiet', 3);
  const refused = server.logged.filter((line) => line.includes('"refused"')).map((line) => JSON.parse(line));
  const entry = { level: 'warn', event: 'refused', address: '127.0.0.1', reason: 'rate', status: 429 };
  expect(refused).toEqual([
    ...Array(5).fill({ ...entry, caller: 'noisy' }),
    { ...entry, caller: 'quiet', unlogged: 5 },
  ]);
  await server.close();
});

describe('failed logins', () => {
  const token = 'the token of alice';
  const bearer = (text: string) => ({ authorization: `Bearer ${text.replaceAll(' ', '-')}` });
  const text = `alice ${createHash('sha256').update(token.replaceAll(' ', '-')).digest('hex')}`;
  const now = () => new Date(0);
  const authenticate = authenticateByTokensFile({ text, read: async () => text, now, log: () => undefined });

  test('are logged with address and reason, never with the token, ten at once', async () => {
    const server = await serveInProcess({ authenticate, now });
    for (let count = 0; count < 12; count += 1)
      expect((await post(server.url, message('ping'), bearer('wrong'))).status).toBe(401);
    await post(server.url, message('ping'), { authorization: 'Basic YTpi' });
    const logged = server.logged.filter((line) => line.includes('login failed'));
    expect(logged.map((line) => JSON.parse(line))).toEqual(
      Array(10).fill({ level: 'warn', event: 'login failed', address: '127.0.0.1', reason: 'unknown token' }),
    );
    expect(server.logged.join()).not.toContain('wrong');
    expect((await post(server.url, message('ping'), bearer(token))).status).toBe(200);
    await server.close();
  });

  test('from many addresses do not flood the log, which says how many it left out', () => {
    let time = 0;
    const logged: object[] = [];
    const failed = createLimitedLog(
      () => new Date(time),
      (_level, _event, fields = {}) => logged.push(fields),
      'login failed',
    );
    const from = (remoteAddress: string) => ({ socket: { remoteAddress } });
    for (let host = 0; host < 250; host += 1) failed(from(`192.0.2.${host}`), 'x');
    expect(logged).toHaveLength(10);
    time = 1000;
    failed(from('198.51.100.1'), 'x');
    expect(logged.at(-1)).toEqual({ address: '198.51.100.1', reason: 'x', unlogged: 240 });
  });
});

import { createHmac } from 'node:crypto';
import { afterAll, expect, test, vi } from 'vitest';
import { createAnnouncer } from '../../src/consent/announcement.js';
import { createHttpClient } from '../../src/transport/http-client.js';
import { say } from '../../src/util/say.js';
import { startServer } from '../support/http-server.js';

/** How people learn that a plan waits. */

const announcement = {
  tool: 'restore_instance',
  caller: 'alice',
  headline: say`Create DevOps server ${'<!channel> & co\u202e'}.`,
  decideAt: 'https://cloudops.example.com/decisions/0123456789abcdef/',
};
const now = () => new Date('2026-11-21T12:00:00Z');

const httpClient = createHttpClient();
afterAll(() => httpClient.close());

async function announceTo(statuses: readonly number[], key?: string) {
  const left = [...statuses];
  const hook = await startServer((_request, response) => response.writeHead(left.shift() ?? 200).end());
  const logged: { event: string; fields: unknown }[] = [];
  const pauses: number[] = [];
  const announce = createAnnouncer({
    openClient: async () => httpClient,
    webhook: { url: `${hook.origin}/SECRET`, key },
    now,
    log: (_level, event, fields) => logged.push({ event, fields }),
    pause: async (milliseconds) => pauses.push(milliseconds),
  });
  announce(announcement);
  const settled = (count: number) => vi.waitFor(() => expect(hook.requests).toHaveLength(count));
  return { hook, logged, pauses, settled };
}

test('by a line of the log, and a message with headline and link in which nothing is a sign of Slack', async () => {
  const { hook, logged, settled } = await announceTo([200], 'k'.repeat(32));
  await settled(1);
  const [request] = hook.requests;
  const { text } = JSON.parse(request?.body ?? '');
  expect(text).toBe(
    'Create DevOps server "&lt;!channel&gt; &amp; co\\u202e". <https://cloudops.example.com/decisions/0123456789abcdef/|Decide>',
  );
  const mac = createHmac('sha256', 'k'.repeat(32)).update(`1795262400.${request?.body}`).digest('hex');
  expect(request?.headers).toMatchObject({
    'x-cloudops-timestamp': '1795262400',
    'x-cloudops-signature': `sha256=${mac}`,
  });
  const { tool, caller, decideAt } = announcement;
  expect(logged).toEqual([{ event: 'decision needed', fields: { tool, caller, decideAt } }]);
  await hook.close();
});

test('again, after pauses, where it was not taken; the address is not in the log', async () => {
  const { hook, logged, pauses, settled } = await announceTo([503, 429, 500, 502]);
  await settled(4);
  await vi.waitFor(() => expect(logged).toHaveLength(2));
  expect(pauses).toEqual([1000, 5000, 30_000]);
  expect(logged[1]).toEqual({ event: 'webhook', fields: { error: 'HTTP status 502' } });
  expect(JSON.stringify(logged)).not.toContain('SECRET');
  await hook.close();
});

test.each([302, 400, 404])('once where the answer is %i', async (status) => {
  const { hook, logged } = await announceTo([status]);
  await vi.waitFor(() => expect(logged).toHaveLength(2));
  expect(hook.requests).toHaveLength(1);
  await hook.close();
});

import { createHmac } from 'node:crypto';
import { afterAll, expect, test, vi } from 'vitest';
import { createAnnouncer } from '../../src/changes/announcement.js';
import { createHttpClient, type HttpClient, type HttpRequest } from '../../src/transport/http-client.js';
import { say } from '../../src/util/safe-text.js';
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
    'content-type': 'application/json',
    'x-cloudops-timestamp': '1795262400',
    'x-cloudops-signature': `sha256=${mac}`,
  });
  const { tool, caller, decideAt } = announcement;
  expect(logged).toEqual([{ event: 'decision needed', fields: { tool, caller, decideAt } }]);
  await hook.close();
});

test.each([
  ['https://evil.co/x', 'https:\u200b//evil.\u200bco/x'],
  ['www.evil.co', 'www.\u200bevil.\u200bco'],
  ['@here', '@\u200bhere'],
  ['#general :tada:', '#\u200bgeneral :\u200btada:\u200b'],
  ['[x](mailto:a)', '[x]\u200b(mailto:\u200ba)'],
  ['*bold* ~gone~ `code`', '∗bold∗ ∼gone∼ ˋcodeˋ'],
  ['_slanted_ __a__', 'ˍslantedˍ ˍˍaˍˍ'],
  ['my_bucket', 'my_bucket'],
  ['report. 2026', 'report. 2026'],
])('a name %s is text, which links, mentions and formats nothing', async (name, shown) => {
  const { announce, sent } = scripted([200]);
  announce({ ...announcement, headline: say`Delete ${name}.` });
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  const { text } = JSON.parse(String(sent[0]?.body));
  expect(text).toBe(`Delete "${shown}". <${announcement.decideAt}|Decide>`);
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

/** A webhook that has its answers ready: statuses, or the code of a failure. */
function scripted(answers: readonly (number | 'ECONNREFUSED')[], key?: string) {
  const left = [...answers];
  const sent: HttpRequest[] = [];
  const logged: unknown[] = [];
  const client: HttpClient = {
    send: async (request) => {
      sent.push(request);
      const answer = left.shift();
      return typeof answer === 'string'
        ? { kind: 'failure', code: 'ConnectFailed', detail: answer, mayHaveArrived: false }
        : { kind: 'response', status: answer ?? 200, headers: {}, body: '' };
    },
    close: async () => undefined,
  };
  const announce = createAnnouncer({
    openClient: async () => client,
    webhook: { url: 'https://hooks.example.com/a/SECRET?b=1#c', key },
    now,
    log: (level, event, fields) => logged.push([level, event, fields]),
    pause: async () => undefined,
  });
  return { announce, sent, logged };
}
const told = ['info', 'decision needed', expect.anything()];

test.each<readonly [number | 'ECONNREFUSED', string | undefined]>([
  [199, 'HTTP status 199'],
  [200, undefined],
  [299, undefined],
  [300, 'HTTP status 300'],
  ['ECONNREFUSED', 'ConnectFailed'],
])('an answer of %s is no success, with this reason: %s', async (answer, error) => {
  const { announce, sent, logged } = scripted([answer, answer, answer, answer]);
  announce(announcement);
  await vi.waitFor(() => expect(sent).toHaveLength(error === undefined ? 1 : 4));
  const problems = error === undefined ? [] : [['warn', 'webhook', { error }]];
  await vi.waitFor(() => expect(logged).toEqual([told, ...problems]));
});

test('the message goes to the whole address, over a connection of its own, unsigned without a key', async () => {
  const { announce, sent } = scripted([200]);
  announce(announcement);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toMatchObject({
    method: 'POST',
    origin: 'https://hooks.example.com',
    path: '/a/SECRET?b=1',
    newConnection: true,
  });
  expect(Object.keys(sent[0]?.headers ?? {}).sort()).toEqual(['content-type', 'x-cloudops-timestamp']);
});

test('without a webhook the log alone tells', () => {
  const logged: unknown[] = [];
  const openClient = async () => httpClient;
  createAnnouncer({ webhook: undefined, openClient, now, log: (...entry) => logged.push(entry) })(announcement);
  expect(logged).toEqual([told]);
});

test('twenty times in ten minutes for each caller: one that takes its plans back at once could make any number', async () => {
  let time = 0;
  const hook = await startServer((_request, response) => response.end());
  const logged: unknown[] = [];
  const announce = createAnnouncer({
    openClient: async () => httpClient,
    webhook: { url: hook.origin, key: undefined },
    now: () => new Date(time),
    log: (level, _event, fields) => level === 'warn' && logged.push(fields),
  });
  const announceAs = (caller: string, count: number) => {
    for (let each = 0; each < count; each += 1) announce({ ...announcement, caller });
  };
  const arrived = (count: number) => vi.waitFor(() => expect(hook.requests).toHaveLength(count));
  announceAs('mallory', 25);
  announceAs('alice', 1);
  await arrived(21);
  expect(logged).toHaveLength(5);
  expect(logged[0]).toMatchObject({ caller: 'mallory', error: 'too many announcements of this caller in ten minutes' });
  time = 10 * 60_000;
  announceAs('mallory', 1);
  await arrived(22);
  await hook.close();
});

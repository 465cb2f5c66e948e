import { createHmac } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { createAnnouncer } from '../../src/changes/announcement.js';
import type { HttpClient, HttpRequest } from '../../src/transport/http-client.js';
import { say } from '../../src/util/safe-text.js';

/** How people learn that a plan waits. */

const announcement = {
  tool: 'restore_instance',
  caller: 'alice',
  headline: say`Create DevOps server ${'<!channel> & co\u202e'}.`,
  decideAt: 'https://cloudops.example.com/decisions/0123456789abcdef/',
};
const now = () => new Date('2026-11-21T12:00:00Z');

/** A webhook that has its answers ready: statuses, or the code of a failure. Then it takes everything. */
function announceTo(
  answers: readonly (number | 'ECONNREFUSED')[] = [],
  options: { key?: string; time?: () => Date } = {},
) {
  const left = [...answers];
  const sent: HttpRequest[] = [];
  const logged: unknown[] = [];
  const pauses: number[] = [];
  const client: HttpClient = {
    send: async (request) => {
      sent.push(request);
      const answer = left.shift() ?? 200;
      return typeof answer === 'string'
        ? { kind: 'failure', code: 'ConnectFailed', detail: answer, mayHaveArrived: false }
        : { kind: 'response', status: answer, headers: {}, body: '' };
    },
    close: async () => undefined,
  };
  const announce = createAnnouncer({
    openClient: async () => client,
    webhook: { url: 'https://hooks.example.com/a/SECRET?b=1#c', key: options.key },
    now: options.time ?? now,
    log: (level, event, fields) => logged.push([level, event, fields]),
    pause: async (milliseconds) => pauses.push(milliseconds),
  });
  return { announce, sent, logged, pauses };
}
const told = ['info', 'decision needed', expect.anything()];

test('by a line of the log, and a signed message with headline and link in which nothing is a sign of Slack', async () => {
  const { announce, sent, logged } = announceTo([], { key: 'k'.repeat(32) });
  announce(announcement);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  const [{ headers, body = '', ...request } = { headers: {} }] = sent;
  expect(JSON.parse(String(body)).text).toBe(
    'Create DevOps server "&lt;!channel&gt; &amp; co\\u202e". <https://cloudops.example.com/decisions/0123456789abcdef/|Decide>',
  );
  const mac = createHmac('sha256', 'k'.repeat(32)).update(`1795262400.${body}`).digest('hex');
  expect(headers).toEqual({
    'content-type': 'application/json',
    'x-cloudops-timestamp': '1795262400',
    'x-cloudops-signature': `sha256=${mac}`,
  });
  const whole = { method: 'POST', origin: 'https://hooks.example.com', path: '/a/SECRET?b=1', newConnection: true };
  expect(request).toEqual(whole);
  const { tool, caller, decideAt } = announcement;
  expect(logged).toEqual([['info', 'decision needed', { tool, caller, decideAt }]]);
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
  const { announce, sent } = announceTo();
  announce({ ...announcement, headline: say`Delete ${name}.` });
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  const { text } = JSON.parse(String(sent[0]?.body));
  expect(text).toBe(`Delete "${shown}". <${announcement.decideAt}|Decide>`);
});

test('again, after pauses, where it was not taken; the address is not in the log', async () => {
  const { announce, sent, logged, pauses } = announceTo([503, 429, 500, 502]);
  announce(announcement);
  await vi.waitFor(() => expect(logged).toEqual([told, ['warn', 'webhook', { error: 'HTTP status 502' }]]));
  expect(sent).toHaveLength(4);
  expect(pauses).toEqual([1000, 5000, 30_000]);
  expect(JSON.stringify(logged)).not.toContain('SECRET');
});

test.each<readonly [number | 'ECONNREFUSED', string | undefined]>([
  [199, 'HTTP status 199'],
  [200, undefined],
  [299, undefined],
  [300, 'HTTP status 300'],
  ['ECONNREFUSED', 'ConnectFailed'],
])('an answer of %s is no success, with this reason: %s', async (answer, error) => {
  const { announce, sent, logged } = announceTo([answer, answer, answer, answer]);
  announce(announcement);
  await vi.waitFor(() => expect(sent).toHaveLength(error === undefined ? 1 : 4));
  const problems = error === undefined ? [] : [['warn', 'webhook', { error }]];
  await vi.waitFor(() => expect(logged).toEqual([told, ...problems]));
});

test('unsigned without a key', async () => {
  const { announce, sent } = announceTo();
  announce(announcement);
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  expect(Object.keys(sent[0]?.headers ?? {}).sort()).toEqual(['content-type', 'x-cloudops-timestamp']);
});

test('without a webhook the log alone tells', () => {
  const logged: unknown[] = [];
  const openClient = () => Promise.reject(new Error('unused'));
  createAnnouncer({ webhook: undefined, openClient, now, log: (...entry) => logged.push(entry) })(announcement);
  expect(logged).toEqual([told]);
});

test('twenty times in ten minutes for each caller: one that takes its plans back at once could make any number', async () => {
  let time = 0;
  const { announce, sent, logged } = announceTo([], { time: () => new Date(time) });
  const announceAs = (caller: string, count: number) => {
    for (let each = 0; each < count; each += 1) announce({ ...announcement, caller });
  };
  announceAs('mallory', 25);
  announceAs('alice', 1);
  await vi.waitFor(() => expect(sent).toHaveLength(21));
  const refused = { caller: 'mallory', error: 'too many announcements of this caller in ten minutes' };
  expect(logged.filter((entry) => JSON.stringify(entry) === JSON.stringify(['warn', 'webhook', refused]))).toHaveLength(
    5,
  );
  time = 10 * 60_000;
  announceAs('mallory', 1);
  await vi.waitFor(() => expect(sent).toHaveLength(22));
});

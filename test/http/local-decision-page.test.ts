import { connect } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { serveLocalPage } from '../../src/http/local-decision-page.js';
import { operations } from '../../src/tools/index.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { readOutcome } from '../../ui/change/read-change.js';
import { memoryStore, testCaller } from '../support/caller.js';
import { newChange } from '../support/changes.js';
import { answered, scriptedClient } from '../support/scripted-client.js';

/** The page in the browser of this machine, tested without a browser. */

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function setUp(confirm: 'ask' | 'human' | 'approval' | 'plan' = 'human') {
  let waitedMs = 0;
  const now = () => new Date(Date.now() + waitedMs);
  const { openClient, requests } = scriptedClient(async () => answered(200, { instance: { instanceId: 'one' } }));
  const memory = memoryStore(now);
  let isReadable = true;
  const find: typeof memory.find = async (id) => {
    if (!isReadable) throw new Error('EIO');
    return memory.find(id);
  };
  const store = { ...memory, find };
  const opened: string[] = [];
  let hasBrowser = true;
  const removed = vi.fn(async () => undefined);
  const show = vi.fn((id: string) => void shown(id));
  const shown = (id: string) => page.show(id);
  const caller = testCaller('http://127.0.0.1:1', {
    confirm,
    openClient,
    now,
    store,
    planLifetimeMs: 3_600_000,
    page: { kind: 'local', show },
  });
  const { accounts, changes } = caller.server;
  const logged: unknown[] = [];
  const page = await serveLocalPage({
    store,
    changes,
    accounts,
    operations,
    now,
    open: async (url) => {
      if (!hasBrowser) throw new Error('no browser');
      opened.push(url);
      return { remove: removed };
    },
    log: (_level, event, fields) => void logged.push({ event, fields }),
  });
  closing.push(() => page.close());
  const ask = async (instanceId: string, more: object = {}, context: object = {}) => {
    const given = { backupId: 'a'.repeat(32), instanceId, ...more };
    const ended = await caller.call(restoreInstance, given, context);
    waitedMs += 2000;
    return ended;
  };
  const get = async (changeId: unknown) => answerOf(await caller.get(String(changeId)));
  /** The address of the page that was opened, up to the path of the list. */
  const base = () => (opened[0] ?? '').replace(/decisions\/.*/, '');
  const post = async (path: string, body: object = {}) => {
    const { origin } = new URL(base());
    const headers = { 'content-type': 'application/json', origin };
    const response = await fetch(base() + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') ? Object(JSON.parse(text)) : {} };
  };
  const list = async () => (await fetch(`${base()}decisions`)).text();
  const click = (id: unknown, decision: string) =>
    post(`decisions/${id}/tool`, { name: 'decide_change', arguments: { ticket: id, decision } });
  const pass = (milliseconds: number) => {
    waitedMs += milliseconds;
  };
  const setBrowser = (isThere: boolean) => {
    hasBrowser = isThere;
  };
  const setReadable = (readable: boolean) => {
    isReadable = readable;
  };
  return {
    page,
    setBrowser,
    setReadable,
    pass,
    ask,
    get,
    click,
    list,
    base,
    opened,
    removed,
    show,
    requests,
    store,
    logged,
  };
}

const answerOf = (ended: unknown) => Object(Object(ended).structured ?? Object(ended).failure);

test('a plan that nobody else could decide on opens the page, is decided there, and the agent learns it by its ID', async () => {
  const { ask, get, click, list, base, opened, requests, store, logged } = await setUp();
  const plan = answerOf(await ask('one'));
  expect(plan).toMatchObject({ outcome: 'waiting', changeId: expect.any(String) });
  expect(String(plan.next.text)).toContain('a browser tab');
  await vi.waitFor(() => expect(opened).toEqual([expect.stringMatching(new RegExp(`/decisions/${plan.changeId}/$`))]));
  const shown = await list();
  expect(shown).toMatch(/1 change waits.*one/s);
  expect(shown).toContain('On this machine');
  expect(shown).not.toContain('Sign out');
  expect((await click(plan.changeId, 'accept')).status).toBe(200);
  expect(requests).toHaveLength(1);
  expect(await get(plan.changeId)).toMatchObject({ outcome: 'accepted' });
  expect(await store.find(plan.changeId)).toMatchObject({ state: 'accepted', decision: { way: 'page' } });
  // The address must stay secret, because a decision needs nothing else.
  const [, secret = ''] = new URL(base()).pathname.split('/');
  expect(secret).toMatch(/^[\w-]{22}$/);
  expect(JSON.stringify([plan, logged])).not.toContain(secret);
});

test('a plan that is turned down binds', async () => {
  const { ask, get, click, opened, requests } = await setUp('ask');
  const { changeId } = answerOf(await ask('one'));
  await vi.waitFor(() => expect(opened).toHaveLength(1));
  await click(changeId, 'decline');
  expect(await get(changeId)).toMatchObject({ code: 'Declined' });
  expect(readOutcome((await click(changeId, 'accept')).body._meta)).toMatchObject({
    kind: 'late',
    sentence: expect.stringMatching(/^Too late: a person on the page declined \d+ s before you\./),
  });
  expect(requests).toEqual([]);
});

test.each<readonly [string, 'human' | 'approval' | 'plan', object]>([
  [
    'a client that asks its user',
    'human',
    { client: { elicitor: { isDirect: true, ask: async () => ({ kind: 'declined' }) } } },
  ],
  ['a client that shows the plan with its buttons', 'human', { client: { views: true } }],
  ['changes that somebody else approves', 'approval', {}],
  ['changes that the agent confirms', 'plan', {}],
])('%s: it stays closed', async (_what, confirm, context) => {
  const { ask, show } = await setUp(confirm);
  await ask('one', {}, context);
  expect(show).not.toHaveBeenCalled();
});

test('a page that somebody sees tells of other changes; a new one is opened only when it is gone', async () => {
  const { pass, ask, click, opened, removed } = await setUp();
  const { changeId } = answerOf(await ask('one'));
  await vi.waitFor(() => expect(opened).toHaveLength(1));
  const otherWaits = async () => (await click(changeId, 'look')).body.otherWaits;
  expect(await otherWaits()).toBe(false);
  await ask('two');
  expect(await otherWaits()).toBe(true);
  await click(changeId, 'accept');
  pass(4_000);
  expect(await otherWaits()).toBe(true);
  await ask('three');
  expect(opened).toHaveLength(1);
  expect(removed).toHaveBeenCalledTimes(1);
  pass(8_000);
  await ask('four');
  await vi.waitFor(() => expect(opened).toHaveLength(2));
});

test('changes of other processes, to which other settings may apply, are not shown and not decided here', async () => {
  const { ask, click, list, opened, store } = await setUp();
  const options = { byForm: false, byClick: false, onPage: true, byConfirmation: false };
  const other = newChange({ options });
  await store.add(other, { lifetimeMs: 60_000 });
  const { changeId } = answerOf(await ask('one'));
  await vi.waitFor(() => expect(opened).toHaveLength(1));
  const shown = await list();
  expect([shown.includes(changeId), shown.includes(other.id)]).toEqual([true, false]);
  expect((await click(other.id, 'accept')).status).toBe(404);
  expect((await store.find(other.id))?.state).toBe('waiting');
});

test('after a browser that could not be opened, the next plan opens it on the same server', async () => {
  const { page, setBrowser, ask, click, opened, requests } = await setUp();
  setBrowser(false);
  await expect(page.show('one')).rejects.toThrow('no browser');
  setBrowser(true);
  const { changeId } = answerOf(await ask('one'));
  await vi.waitFor(() => expect(opened).toHaveLength(1));
  await click(changeId, 'accept');
  expect(requests).toHaveLength(1);
});

test('nothing else on the machine gets in: not another page, a form, or who does not know the address', async () => {
  const { ask, base, opened } = await setUp();
  const { changeId } = answerOf(await ask('one'));
  await vi.waitFor(() => expect(opened).toHaveLength(1));
  const { origin } = new URL(base());
  const statusOf = async (url: string, headers: Record<string, string> = {}) =>
    (
      await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin, ...headers },
        body: '{}',
      })
    ).status;
  const call = `${base()}decisions/${changeId}/call`;
  expect(await statusOf(call)).toBe(200);
  expect(await statusOf(call, { origin: 'https://attacker.example' })).toBe(403);
  expect(await statusOf(call, { origin: 'http://127.0.0.1:1' })).toBe(403);
  expect(await statusOf(call, { 'content-type': 'text/plain' })).toBe(415);
  expect(await statusOf(`${origin}/decisions/${changeId}/call`)).toBe(404);
  expect((await fetch(`${origin}/decisions`)).status).toBe(404);
  expect((await fetch(base())).status).toBe(404);
});

test('has 64 connections at most: other users of the machine can open them too', async () => {
  const { ask, opened } = await setUp();
  await ask('one');
  const { port } = new URL(opened[0] ?? '');
  let closed = 0;
  const sockets = Array.from({ length: 100 }, () =>
    connect(Number(port), '127.0.0.1')
      .on('error', () => undefined)
      .once('close', () => {
        closed += 1;
      })
      .resume(),
  );
  await vi.waitFor(() => expect(closed).toBe(36));
  for (const socket of sockets) socket.destroy();
  await vi.waitFor(async () => expect((await fetch(opened[0] ?? '')).status).toBe(200));
});

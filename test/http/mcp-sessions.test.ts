import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Authenticate } from '../../src/http/auth.js';
import { createMcpSessions } from '../../src/http/mcp-sessions.js';
import type { SharedMessages } from '../../src/http/replica-messages.js';
import { describeClient } from '../../src/mcp/client.js';
import { changeKey } from '../../src/mcp/views/contract/change-data.js';
import { createMemoryJournal } from '../support/caller.js';
import { answerOf, message, post, serveInProcess } from '../support/http-in-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { type Message, openSession, type RawClient } from '../support/http-session.js';

/** Replies of people, and the time that they take. Faster replies count as a program's. */
const accept = { action: 'accept', content: { decision: 'Create server "restored" (costs money)' } };
const decline = { action: 'decline' };
const reading = 2000;

const restore = { backupId: 'a'.repeat(32), instanceId: 'restored' };
const scopes = ['cloudops:read', 'cloudops:write'];
/** Tokens are the names of their callers. */
const byName: Authenticate = async (name) => ({ kind: 'authenticated', principal: { name, scopes } });

let time: number;
let cloud: CapturingServer;
const close: (() => Promise<void>)[] = [];
beforeEach(async () => {
  time = Date.now();
  cloud = await startServer((_request, response) => response.end('{"instance":{"instanceId":"restored"}}'));
  close.push(() => cloud.close());
});
afterEach(async () => {
  for (const each of close.splice(0).reverse()) await each();
});

type Options = Parameters<typeof serveInProcess>[0];

async function serve({ caller = {}, ...options }: NonNullable<Options> = {}) {
  const server = await serveInProcess({
    cloud: cloud.origin,
    caller: { confirm: 'human', now: () => new Date(time), ...caller },
    ...options,
  });
  close.push(() => server.close());
  return server;
}

/** Makes a call and waits for its question, which is not answered yet. */
async function ask(client: RawClient, args: object = restore, more: Parameters<RawClient['call']>[2] = {}) {
  const call = await client.call('restore_instance', args, more);
  expect(call.first.method).toBe('elicitation/create');
  time += reading;
  return { ...call, question: call.first.id };
}

const outcomeOf = (result: Message | undefined) => result?.result?.structuredContent;
const failed = async ({ rest }: { rest(): Promise<Message | undefined> }) => outcomeOf(await rest());

describe('a client of 2025-11-25 that shows forms', () => {
  test('is asked on the stream of its call, and the answer that it posts carries the change out', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const { first, question, rest } = await ask(client);
    expect(first.params?.message).toContain('"restored"');
    expect(cloud.requests).toHaveLength(0);
    expect(await client.answer(question, accept)).toBe(202);
    expect(await failed({ rest })).toMatchObject({ outcome: 'accepted', consent: expect.stringContaining('asked') });
    expect(cloud.requests).toHaveLength(1);
    expect(await rest()).toBeUndefined();
  });

  test.each([
    ['declines', decline, 'Declined'],
    ['closes the form', { action: 'cancel' }, 'Declined'],
    ['accepts without the choice', { action: 'accept', content: {} }, 'Declined'],
    ['chooses what is not offered', { action: 'accept', content: { decision: 'Create server "other"' } }, 'Declined'],
    ['answers what is no answer', { action: 'perhaps' }, 'Declined'],
  ])('and whose user %s sends nothing', async (_name, reply, code) => {
    const server = await serve();
    const client = await openSession(server.url);
    const { question, rest } = await ask(client);
    await client.answer(question, reply);
    expect(await failed({ rest })).toMatchObject({ code, mayHaveHappened: false });
    expect(cloud.requests).toHaveLength(0);
  });

  test('an answer that comes as an error is none', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const { question, rest } = await ask(client);
    const error = { code: -32_603, message: 'the form cannot be shown' };
    expect((await client.send({ jsonrpc: '2.0', id: question, error })).status).toBe(202);
    expect(await failed({ rest })).toMatchObject({ code: 'Declined' });
  });

  test('an answer that comes before anybody can have read the question is a program’s', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const { question, rest } = await ask(client);
    time -= reading;
    await client.answer(question, accept);
    expect(await failed({ rest })).toMatchObject({ code: 'NobodyAsked' });
    expect(cloud.requests).toHaveLength(0);
  });

  test('IDs of questions cannot be guessed from others', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const ids = new Set<unknown>();
    for (const instanceId of ['a', 'b', 'c']) {
      const { question, rest } = await ask(client, { ...restore, instanceId });
      ids.add(question);
      expect(question).toMatch(/^[0-9a-f-]{36}$/);
      await client.answer(question, { action: 'accept', content: { decision: `Create server "${instanceId}"` } });
      await rest();
    }
    expect(ids.size).toBe(3);
  });

  test('is named in the journal', async () => {
    const journal = createMemoryJournal();
    const server = await serve({ caller: { journal } });
    const client = await openSession(server.url);
    const { question, rest } = await ask(client);
    await client.answer(question, accept);
    await rest();
    expect(await journal.list({})).toMatchObject([{ client: 'raw 1', consent: 'asked' }]);
  });
});

describe('nothing is sent twice, and nothing without the answer', () => {
  test('an answer that comes twice', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const { question, rest } = await ask(client);
    expect(await Promise.all([client.answer(question, accept), client.answer(question, accept)])).toEqual([202, 202]);
    await rest();
    expect(await client.answer(question, accept)).toBe(202);
    expect(cloud.requests).toHaveLength(1);
  });

  test('yes after no', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const { question, rest } = await ask(client);
    await client.answer(question, decline);
    expect(await failed({ rest })).toMatchObject({ code: 'Declined' });
    expect(await client.answer(question, accept)).toBe(202);
    expect(cloud.requests).toHaveLength(0);
  });

  test.each([
    ['another question', (id: string) => [id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))]],
    ['a number', () => [0]],
    ['the call itself', () => [1]],
  ])('an answer to %s', async (_name, wrong) => {
    const server = await serve();
    const client = await openSession(server.url);
    const { question, rest } = await ask(client);
    for (const id of wrong(String(question))) expect(await client.answer(id, accept)).toBe(202);
    expect(cloud.requests).toHaveLength(0);
    await client.answer(question, decline);
    expect(await failed({ rest })).toMatchObject({ code: 'Declined' });
  });

  test.each<[string, (server: { url: URL }) => Promise<RawClient>]>([
    ['another session of the same caller', ({ url }) => openSession(url, { token: 'alice' })],
    ['another caller', ({ url }) => openSession(url, { token: 'mallory' })],
  ])('an answer from %s, which leaves the question open', async (_name, other) => {
    const server = await serve({ authenticate: byName });
    const client = await openSession(server.url, { token: 'alice' });
    const { question, rest } = await ask(client);
    const stranger = await other(server);
    expect(await stranger.answer(question, accept)).toBe(202);
    await client.answer(question, decline);
    expect(await failed({ rest })).toMatchObject({ code: 'Declined' });
    expect(cloud.requests).toHaveLength(0);
  });

  test.each<[string, (session: string) => Record<string, string>]>([
    ['without the session', () => ({ 'mcp-session-id': '' })],
    ['with an altered session', (id) => ({ 'mcp-session-id': `${id.slice(0, -4)}AAAA` })],
    ['from another caller with a stolen session', () => ({ authorization: 'Bearer mallory' })],
  ])('an answer %s', async (_name, headers) => {
    const server = await serve({ authenticate: byName });
    const client = await openSession(server.url, { token: 'alice' });
    const { question, rest } = await ask(client);
    expect(await client.answer(question, accept, headers(client.session ?? ''))).toBe(202);
    expect(cloud.requests).toHaveLength(0);
    await client.answer(question, decline);
    expect(await failed({ rest })).toMatchObject({ code: 'Declined' });
    expect(cloud.requests).toHaveLength(0);
  });

  test('an answer after the connection of the call was lost', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const { question, drop } = await ask(client);
    drop();
    await vi.waitFor(() => expect(server.callerLogged.map(({ event }) => event)).toContain('call'));
    expect(await client.answer(question, accept)).toBe(202);
    expect(cloud.requests).toHaveLength(0);
    expect(await server.metrics()).toMatch(/cloudops_concurrent_calls 0\n/);
    // The unanswered question does not block the next question.
    const again = await ask(client);
    await client.answer(again.question, accept);
    expect(await failed(again)).toMatchObject({ outcome: 'accepted' });
  });

  test('an answer after the client gave the call up, which ends its stream', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const { question, rest } = await ask(client, restore, { id: 7 });
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    expect((await client.send(cancelled)).status).toBe(202);
    expect(await rest()).toBeUndefined();
    await client.answer(question, accept);
    expect(cloud.requests).toHaveLength(0);
  });

  test('the end of a call that waits for its turn, about which nobody is asked', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const first = await ask(client, { ...restore, instanceId: 'first' }, { id: 6 });
    const queued = client.call('restore_instance', restore, { id: 7 }).catch((error: Error) => error.message);
    await vi.waitFor(() => expect(server.callerLogged.filter(({ event }) => event === 'consent')).toHaveLength(2));
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    await client.send(cancelled);
    expect(await queued).toBe('the answer ended before it said anything');
    await client.answer(first.question, decline);
    await first.rest();
    await vi.waitFor(() => expect(server.callerLogged.filter(({ event }) => event === 'call')).toHaveLength(2));
    expect(cloud.requests).toHaveLength(0);
  });

  test('the end of another call, or of one of another session, ends nothing', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const { question, rest } = await ask(client, restore, { id: 7 });
    const cancelled = (requestId: unknown) => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId },
    });
    for (const id of [8, '7', undefined]) await client.send(cancelled(id));
    await (await openSession(server.url)).send(cancelled(7));
    await client.answer(question, accept);
    expect(await failed({ rest })).toMatchObject({ outcome: 'accepted' });
  });

  test('the end of a call after its question was answered, which comes too late', async () => {
    let arrived = () => {};
    const sent = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    let release = () => {};
    const slow = await startServer((_request, response) => {
      release = () => response.end('{"instance":{"instanceId":"restored"}}');
      arrived();
    });
    close.push(() => slow.close());
    const server = await serve({ cloud: slow.origin });
    const client = await openSession(server.url);
    const { question, rest } = await ask(client, restore, { id: 7 });
    await client.answer(question, accept);
    await sent;
    await client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    release();
    expect(await failed({ rest })).toMatchObject({ outcome: 'accepted' });
    expect(slow.requests).toHaveLength(1);
  });

  test('a server that stops', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    const { rest } = await ask(client);
    const ended = rest().catch(() => undefined);
    await server.stop(0);
    expect(await ended).toBeUndefined();
    expect(cloud.requests).toHaveLength(0);
  });
});

describe('a session', () => {
  const begun = (url: URL, capabilities: object = {}) => openSession(url, { capabilities });

  test('is an ID of visible ASCII that tells nothing of client or caller', async () => {
    const server = await serve({ authenticate: byName });
    const { session = '' } = await openSession(server.url, { token: 'alice' });
    expect(session).toMatch(/^[\x21-\x7e]{100,1000}$/);
    expect(Buffer.from(session, 'base64url').toString('latin1')).not.toMatch(/alice|raw|form/);
  });

  test('begins with an answer to initialize, and with nothing else', async () => {
    const server = await serve();
    const bad = await post(server.url, message('initialize', { capabilities: 7 }));
    expect((await answerOf(bad)).error).toBeDefined();
    const ping = await post(server.url, message('ping'));
    expect([bad, ping].map(({ headers }) => headers.get('mcp-session-id'))).toEqual([null, null]);
    expect((await begun(server.url)).session).toBeDefined();
  });

  test('does not expire', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    time += 365 * 24 * 3_600_000;
    expect((await ask(client)).question).toBeDefined();
  });

  test('that is missing or none of this server’s is served as if it had not come, and the refusal says to reconnect', async () => {
    const server = await serve({ authenticate: byName });
    const client = await openSession(server.url, { token: 'alice' });
    const other = await serve({ authenticate: byName, caller: { stateKey: 'o'.repeat(32) } });
    const foreign = await openSession(other.url, { token: 'alice' });
    const mallorys = await openSession(server.url, { token: 'mallory' });
    const ids = ['', 'session', 'A'.repeat(3000), `${client.session}A`, foreign.session, mallorys.session];
    for (const id of ids) {
      const headers = { 'mcp-session-id': id ?? '' };
      const tools = await answerOf(await client.send(message('tools/list'), headers));
      expect(tools.result).toBeDefined();
      const { first } = await client.call('restore_instance', restore, { headers });
      expect(outcomeOf(first)).toMatchObject({ code: 'NeedsHuman', next: { who: 'user', action: 'configure' } });
    }
    expect(cloud.requests).toHaveLength(0);
  });

  test('with a client that cannot ask says so, and not to reconnect', async () => {
    const server = await serve();
    const { first } = await (await begun(server.url)).call('restore_instance', restore);
    expect(outcomeOf(first)).toMatchObject({ code: 'NeedsHuman', next: expect.not.stringContaining('reconnect') });
  });

  test('without which the mode ask falls back to a planId', async () => {
    const server = await serve({ caller: { confirm: 'ask' } });
    const client = await openSession(server.url);
    const { first } = await client.call('restore_instance', restore, { headers: { 'mcp-session-id': '' } });
    expect(outcomeOf(first)).toMatchObject({ outcome: 'planned', planId: expect.any(String) });
  });

  test('holds what the client declared', () => {
    const sessions = createMcpSessions(
      () => ['k'.repeat(32)],
      () => 'id',
    );
    const client = describeClient(
      {
        elicitation: { form: {}, url: {} },
        extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
      },
      { name: 'n'.repeat(5000), version: '1' },
    );
    expect(sessions.find('alice', sessions.begin('alice', client))).toEqual({ id: 'id', client });
    expect(client).toMatchObject({ form: true, url: true, views: true, name: expect.stringMatching(/^n{100}$/) });
  });
});

describe('views over HTTP', () => {
  const apps = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
  const offered = async (client: RawClient) => {
    const { result } = await answerOf(await client.send(message('tools/list')));
    return JSON.stringify(result).includes('ui://cloudops/change');
  };

  test.each([
    ['a client that declares them', apps, {}, true],
    ['a client that does not', {}, {}, false],
    // https://github.com/nicobailon/pi-mcp-adapter/issues/465: it shows views, and declares sampling and elicitation only.
    ['a client that shows them without declaring them', { sampling: {}, elicitation: {} }, {}, false],
    ['that client, where they are offered to all', { sampling: {}, elicitation: {} }, { viewsForAll: true }, true],
  ])('%s: %j', async (_name, capabilities, more, expected) => {
    const server = await serve({ serverOptions: more });
    expect(await offered(await openSession(server.url, { capabilities }))).toBe(expected);
  });

  test('a click decides where the client shows views and no forms', async () => {
    const server = await serve();
    const client = await openSession(server.url, { capabilities: apps });
    const { first } = await client.call('restore_instance', restore);
    const meta = first.result?._meta as { [changeKey]?: { ticket?: string } } | undefined;
    const ticket = Object.values(meta ?? {}).flatMap((value) => value?.ticket ?? [])[0];
    expect(ticket).toBeDefined();
    time += reading;
    const decided = await client.call('decide_change', { ticket, decision: 'accept' });
    expect(outcomeOf(decided.first)).toMatchObject({ outcome: 'accepted' });
    expect(cloud.requests).toHaveLength(1);
  });
});

describe('a call that waits for a person', () => {
  test('leaves its place to others, and answers need none', async () => {
    const server = await serve({
      authenticate: byName,
      limits: { concurrentCalls: 1, waitingCalls: 0, callsOfCaller: 1 },
    });
    const clients = await Promise.all(['alice', 'bob', 'carol'].map((token) => openSession(server.url, { token })));
    const asked = await Promise.all(
      clients.map((client, index) => ask(client, { ...restore, instanceId: `s${index}` })),
    );
    expect(await server.metrics()).toMatch(/cloudops_concurrent_calls 0\n/);
    for (const [index, client] of clients.entries()) {
      expect((await client.send(message('ping'))).status).toBe(200);
      const call = asked[index];
      await client.answer(call?.question, {
        action: 'accept',
        content: { decision: `Create server "s${index}" (costs money)` },
      });
      expect(outcomeOf(await call?.rest())).toMatchObject({ outcome: 'accepted' });
    }
    expect(cloud.requests).toHaveLength(3);
  });

  test('is one of eight of its caller; the ninth is refused, and others are not kept back', async () => {
    const server = await serve({ authenticate: byName });
    const client = await openSession(server.url, { token: 'alice' });
    const first = await ask(client, { ...restore, instanceId: 's0' }, { id: 100 });
    const queued = Array.from({ length: 7 }, (_, index) =>
      client.call('restore_instance', { ...restore, instanceId: `s${index + 1}` }, { id: index + 1 }),
    );
    // A question counts as soon as the server knows that it must be asked.
    await vi.waitFor(() => expect(server.callerLogged.filter(({ event }) => event === 'consent')).toHaveLength(8));
    const { first: ninth } = await client.call('restore_instance', { ...restore, instanceId: 's9' }, { id: 9 });
    expect(outcomeOf(ninth)).toMatchObject({ code: 'TooManyQuestions', mayHaveHappened: false });
    const bob = await openSession(server.url, { token: 'bob' });
    expect((await ask(bob)).question).toBeDefined();
    // Questions are asked one by one, so that the first answer lets the second question through.
    await client.answer(first.question, decline);
    await first.rest();
    const second = await Promise.race(queued);
    expect(second.first.method).toBe('elicitation/create');
    second.drop();
    for (const call of queued)
      void call.then(
        ({ drop }) => drop(),
        () => undefined,
      );
  });
});

describe('replies that come to another replica', () => {
  /** Shared messages in memory instead of a database. */
  function createShared() {
    const rows = new Map<string, string | undefined>();
    const reads: (readonly string[])[] = [];
    const shared: SharedMessages = {
      announce: async (key) => void rows.set(key, undefined),
      put: async (key, text) => void (rows.has(key) && rows.get(key) === undefined && rows.set(key, text)),
      read: async (keys) => {
        reads.push(keys);
        return keys.flatMap((key) => ({ key, message: rows.get(key) ?? '' })).filter(({ message }) => message !== '');
      },
      forget: async (key) => void rows.delete(key),
      close: async () => undefined,
    };
    return { rows, reads, shared };
  }
  const fleet = async (shared: SharedMessages | undefined) => {
    const journal = createMemoryJournal();
    return [await serve({ shared, caller: { journal } }), await serve({ shared, caller: { journal } })] as const;
  };
  /** The same client, but its address leads to another replica. */
  const at =
    (client: RawClient, { url }: { url: URL }) =>
    (sent: object) =>
      post(url, sent, { 'mcp-session-id': client.session ?? '' });

  test('carry the change out, once, and leave nothing behind', async () => {
    const { rows, shared } = createShared();
    const [first, second] = await fleet(shared);
    const client = await openSession(first.url);
    const { question, rest } = await ask(client);
    const send = at(client, second);
    expect((await send({ jsonrpc: '2.0', id: question, result: accept })).status).toBe(202);
    expect([...rows.values()].join()).not.toContain('Create server');
    expect((await send({ jsonrpc: '2.0', id: question, result: accept })).status).toBe(202);
    expect(await failed({ rest })).toMatchObject({ outcome: 'accepted' });
    expect(cloud.requests).toHaveLength(1);
    expect(rows.size).toBe(0);
  });

  test('of which the first counts', async () => {
    const [first, second] = await fleet(createShared().shared);
    const client = await openSession(first.url);
    const { question, rest } = await ask(client);
    await at(client, second)({ jsonrpc: '2.0', id: question, result: decline });
    await at(client, second)({ jsonrpc: '2.0', id: question, result: accept });
    expect(await failed({ rest })).toMatchObject({ code: 'Declined' });
    expect(cloud.requests).toHaveLength(0);
  });

  test('can be the end of the call', async () => {
    const [first, second] = await fleet(createShared().shared);
    const client = await openSession(first.url);
    const { rest } = await ask(client, restore, { id: 7 });
    await at(client, second)({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    expect(await rest()).toBeUndefined();
    expect(cloud.requests).toHaveLength(0);
  });

  test('are not waited for any longer than the call lasts', async () => {
    const { rows, shared } = createShared();
    const [first] = await fleet(shared);
    const client = await openSession(first.url);
    const { drop } = await ask(client);
    expect(rows.size).toBe(2);
    drop();
    await vi.waitFor(() => expect(rows.size).toBe(0));
  });

  test('are read only if they were sealed by a replica', async () => {
    const { rows, reads, shared } = createShared();
    const [first] = await fleet(shared);
    const client = await openSession(first.url);
    const { question, rest } = await ask(client);
    for (const key of rows.keys()) rows.set(key, JSON.stringify({ jsonrpc: '2.0', id: question, result: accept }));
    reads.length = 0;
    // The second poll begins only after the messages of the first poll were handled.
    await vi.waitFor(() => expect(reads.length).toBeGreaterThan(1), 5000);
    expect(cloud.requests).toHaveLength(0);
    await client.answer(question, decline);
    expect(await failed({ rest })).toMatchObject({ code: 'Declined' });
  });

  test('are dropped where replicas share nothing', async () => {
    const [first, second] = await fleet(undefined);
    const client = await openSession(first.url);
    const { question, rest } = await ask(client);
    expect((await at(client, second)({ jsonrpc: '2.0', id: question, result: accept })).status).toBe(202);
    expect(cloud.requests).toHaveLength(0);
    await client.answer(question, decline);
    await rest();
  });

  test('are refused for now while what is shared cannot be reached, and answers to the asking replica still arrive', async () => {
    const unreachable = async () => Promise.reject(new Error('unreachable'));
    const down = {
      announce: unreachable,
      put: unreachable,
      read: unreachable,
      forget: unreachable,
      close: async () => {},
    };
    const [first, second] = await fleet(down);
    const client = await openSession(first.url);
    const { question, rest } = await ask(client);
    expect((await at(client, second)({ jsonrpc: '2.0', id: question, result: accept })).status).toBe(503);
    await client.answer(question, accept);
    expect(await failed({ rest })).toMatchObject({ outcome: 'accepted' });
  });
});

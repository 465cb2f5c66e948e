import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Authenticate } from '../../src/http/auth.js';
import { changeKey } from '../../src/mcp/views/view-contract.js';
import { answerOf, message, post, serveInProcess } from '../support/http-in-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { type Message, openSession } from '../support/http-session.js';

/** The time that a person takes to read a plan (milliseconds). Faster clicks count as a program's. */
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

const reconnect = { code: 'NeedsHuman', next: { who: 'user', action: 'configure' } };
const cannotAsk = { code: 'NeedsHuman', next: { who: 'user', action: 'decide' } };

const outcomeOf = (message: Message | undefined) => message?.result?.structuredContent;

/** The secret of a click, which only the view gets. */
function ticketOf(message: Message | undefined): string | undefined {
  const meta = message?.result?._meta as { [changeKey]?: { ticket?: string } } | undefined;
  return Object.values(meta ?? {}).flatMap((value) => value?.ticket ?? [])[0];
}

/** A client that shows views. */
const apps = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };

describe('a session', () => {
  const begun = (url: URL, capabilities: object = {}) => openSession(url, { capabilities });

  test('is an ID of visible ASCII that tells nothing of client or caller', async () => {
    const server = await serve({ authenticate: byName });
    const { session = '' } = await openSession(server.url, { token: 'alice' });
    expect(session).toMatch(/^[\x21-\x7e]{100,1000}$/);
    expect(Buffer.from(session, 'base64url').toString('latin1')).not.toMatch(/alice|raw|form/);
  });

  test('does not expire', async () => {
    const server = await serve();
    const client = await openSession(server.url);
    time += 365 * 24 * 3_600_000;
    expect(outcomeOf(await client.call('restore_instance', restore))).toMatchObject(cannotAsk);
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
      expect(outcomeOf(await client.call('restore_instance', restore, headers))).toMatchObject(reconnect);
    }
    expect(cloud.requests).toHaveLength(0);
  });

  test.each([
    ['no forms', {}],
    ['forms, which are not for this protocol over HTTP,', { elicitation: {} }],
  ])('of a client that shows %s leads to a refusal that does not say to reconnect', async (_what, capabilities) => {
    const server = await serve();
    const client = await begun(server.url, capabilities);
    expect(outcomeOf(await client.call('restore_instance', restore))).toMatchObject(cannotAsk);
  });

  test.each([
    ['ask', reconnect],
    ['human', reconnect],
    ['approval', reconnect],
    ['plan', { outcome: 'planned', changeId: expect.any(String) }],
    ['off', { outcome: 'accepted' }],
  ] as const)('without which the mode %s is no weaker than with it', async (confirm, outcome) => {
    const server = await serve({ caller: { confirm } });
    const client = await openSession(server.url);
    const answer = await client.call('restore_instance', restore, { 'mcp-session-id': '' });
    expect(outcomeOf(answer)).toMatchObject(outcome);
  });
});

test('a call that waits for a decision leaves its place to others', async () => {
  const server = await serve({
    // Whoever waits for a place waits for longer than the call for its decision.
    limits: { concurrentCalls: 1, waitMs: 120_000 },
    caller: { statusWaitMs: 60_000 },
  });
  const client = await openSession(server.url, { capabilities: apps });
  const planned = await client.call('restore_instance', restore);
  const waiting = client.call('get_change', { changeId: outcomeOf(planned)?.changeId });
  time += reading;
  const decided = await client.call('decide_change', { ticket: ticketOf(planned), decision: 'accept' });
  expect(outcomeOf(decided)).toMatchObject({ outcome: 'accepted' });
  expect(outcomeOf(await waiting)).toMatchObject({ outcome: 'accepted' });
});

describe('a protocol version', () => {
  const initialize = (protocolVersion: string) =>
    message('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } });

  test.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2024-11-05', '2024-11-05'],
    // Clients of this version may send batches, which are refused.
    ['2025-03-26', '2025-11-25'],
  ])('%s is answered with %s', async (asked, answered) => {
    const server = await serve();
    const { result } = await answerOf(await post(server.url, initialize(asked)));
    expect(result).toMatchObject({ protocolVersion: answered });
  });

  test('with batches is refused in later requests', async () => {
    const server = await serve();
    const headers = { 'mcp-protocol-version': '2025-03-26' };
    expect((await post(server.url, message('tools/list'), headers)).status).toBe(400);
  });
});

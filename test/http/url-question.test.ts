import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, test } from 'vitest';
import { browserOf, type Decisions, type DecisionsSetup, restore, serveDecisions } from '../support/decisions.js';

/** Clients that send their user to an address, and show them no form. */

type Action = 'accept' | 'decline' | 'cancel';
interface Sent {
  readonly mode?: string | undefined;
  readonly message: string;
  readonly url?: string;
}
type Elicitation = { form?: Record<string, never>; url?: Record<string, never> };
type OnSent = (sent: Sent) => Promise<Action>;
type Call = (args?: object) => Promise<Record<string, unknown>>;

let served: Decisions;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await served.close();
});

const info = { name: 'test', version: '1' };
const requestInit = { headers: { authorization: 'Bearer alice' } };
const clients: readonly [string, (elicitation: Elicitation, onSent: OnSent) => Promise<Call>][] = [
  [
    'SDK 1.x',
    async (elicitation, onSent) => {
      const client = new ClientV1(info, { capabilities: { elicitation } });
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({ action: await onSent(params) }));
      const transport = new HttpV1(served.url, { requestInit });
      await client.connect(transport as Parameters<typeof client.connect>[0]);
      closing.push(() => client.close());
      return async (args = {}) => {
        const result = await client.callTool({ name: 'restore_instance', arguments: { ...restore, ...args } });
        return Object(result.structuredContent);
      };
    },
  ],
  [
    'SDK 2.x, 2026-07-28',
    async (elicitation, onSent) => {
      const client = new ClientV2(info, {
        capabilities: { elicitation },
        versionNegotiation: { mode: { pin: '2026-07-28' } },
      });
      client.setRequestHandler('elicitation/create', async ({ params }) => ({ action: await onSent(params) }));
      await client.connect(new HttpV2(served.url, { requestInit }));
      closing.push(() => client.close());
      return async (args = {}) => {
        const result = await client.callTool({ name: 'restore_instance', arguments: { ...restore, ...args } });
        return Object(result.structuredContent);
      };
    },
  ],
];

describe.each(clients)('%s', (_name, connect) => {
  const start = async (elicitation: Elicitation, action: Action, setup: DecisionsSetup = {}, afterMs = 3000) => {
    served = await serveDecisions({ confirm: 'human', ...setup });
    const sent: Sent[] = [];
    const call = await connect(elicitation, async (params) => {
      sent.push(params);
      served.pass(afterMs);
      return action;
    });
    return { call, sent };
  };
  const nonceIn = ({ url = '' }: Sent = { message: '' }) => /([0-9a-f]{16})\/$/.exec(url)?.[1] ?? '';

  test('who opens the page has agreed to nothing; the agent is told that the plan waits, and later what came of it', async () => {
    const { call, sent } = await start({ url: {} }, 'accept');
    const answer = await call();
    expect(answer).toMatchObject({ outcome: 'waiting', planId: expect.any(String) });
    expect(sent).toMatchObject([{ mode: 'url', message: expect.stringContaining('"wiki"'), url: answer.decideAt }]);
    expect(served.requests).toEqual([]);
    const browser = browserOf(served);
    await browser.signIn('bob');
    await browser.decide(nonceIn(sent[0]), 'accept');
    expect(await call({ planId: answer.planId })).toMatchObject({ outcome: 'accepted' });
    expect(served.requests).toHaveLength(1);
    expect(sent).toHaveLength(1);
  });

  test('a decision that comes soon is the answer of the same call', async () => {
    const { call, sent } = await start({ url: {} }, 'accept', { statusWaitMs: 10_000 });
    const called = call();
    await expect.poll(() => sent.length, { timeout: 5000 }).toBe(1);
    const browser = browserOf(served);
    await browser.signIn('bob');
    await browser.decide(nonceIn(sent[0]), 'accept');
    expect(await called).toMatchObject({ outcome: 'accepted', answer: { instance: { instanceId: 'wiki' } } });
  });

  test('who does not want to open it has refused: nobody can decide any more, and no planId works', async () => {
    const { call, sent } = await start({ url: {} }, 'decline', { confirm: 'ask', statusWaitMs: 60_000 });
    expect(await call()).toMatchObject({ code: 'Declined' });
    const browser = browserOf(served);
    await browser.signIn('bob');
    await browser.decide(nonceIn(sent[0]), 'accept');
    expect(served.requests).toEqual([]);
    expect(await (await browser.get('/decisions')).text()).toMatch(/Decided lately.*; declined/s);
    expect(await served.journal.list({})).toMatchObject([{ consent: 'asked', ending: { outcome: 'declined' } }]);
  });

  test.each<readonly [string, Action, number]>([
    ['closes the question', 'cancel', 3000],
    ['is a program that declines', 'decline', 0],
  ])('who %s leaves the plan waiting', async (_what, action, afterMs) => {
    const { call } = await start({ url: {} }, action, {}, afterMs);
    expect(await call()).toMatchObject({ outcome: 'waiting', decideAt: expect.any(String) });
    expect(await served.journal.list({})).toEqual([]);
  });

  test.each<readonly [string, Elicitation, DecisionsSetup]>([
    ['where somebody else decides', { url: {} }, { confirm: 'approval' }],
    ['where the planId is enough', { url: {} }, { confirm: 'plan' }],
  ])('%s, nobody is sent anywhere', async (_where, elicitation, setup) => {
    const { call, sent } = await start(elicitation, 'accept', setup);
    await call();
    expect(sent).toEqual([]);
  });

  test('a client that shows forms as well is asked by one', async () => {
    const { call, sent } = await start({ form: {}, url: {} }, 'decline');
    await call();
    expect(sent).toMatchObject([{ mode: 'form' }]);
  });
});

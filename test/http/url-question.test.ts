import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, test } from 'vitest';
import {
  browserOf,
  type Decisions,
  type DecisionsSetup,
  restore,
  serveDecisions,
  tooLong,
} from '../support/decisions.js';

/** Clients that send their user to an address, because they show no form, or because the plan is too long for a form. */

type Action = 'accept' | 'decline' | 'cancel';
interface Sent {
  readonly mode?: string | undefined;
  readonly message: string;
  readonly url?: string;
}
type Elicitation = { form?: Record<string, never>; url?: Record<string, never> };
type OnSent = (sent: Sent) => Promise<Action>;
type Call = (args?: object, name?: string) => Promise<Record<string, unknown>>;

let served: Decisions;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await served.close();
});

const info = { name: 'test', version: '1' };
const requestInit = { headers: { authorization: 'Bearer alice' } };

describe('a client of 2025', () => {
  /** Calls a tool. Fails if the client gets a question. */
  const connect = async (elicitation: Elicitation): Promise<Call> => {
    const client = new ClientV1(info, { capabilities: { elicitation } });
    client.setRequestHandler(ElicitRequestSchema, () => expect.unreachable());
    const transport = new HttpV1(served.url, { requestInit });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    closing.push(() => client.close());
    return async (args = restore, name = 'restore_instance') => {
      const result = await client.callTool({ name, arguments: { ...args } });
      return Object(result.structuredContent);
    };
  };

  describe.each<readonly [string, Elicitation]>([
    ['forms', { form: {} }],
    ['addresses', { url: {} }],
    ['forms and addresses', { form: {}, url: {} }],
  ])('that declares %s', (_what, elicitation) => {
    test.each(['ask', 'human', 'approval'] as const)('gets the address of the page: %s', async (confirm) => {
      served = await serveDecisions({ confirm });
      const call = await connect(elicitation);
      const planned = await call();
      expect(planned).toMatchObject({ outcome: 'waiting', decideAt: expect.any(String), changeId: expect.any(String) });
      expect(await call({ changeId: planned.changeId, thing: 'wiki' }, 'confirm_change')).toMatchObject({
        code: 'NotConfirmable',
      });
      expect(served.requests).toEqual([]);
      const browser = browserOf(served);
      await browser.signIn('bob');
      served.pass(3000);
      await browser.decide(String(planned.changeId), 'accept');
      expect(await call({ changeId: planned.changeId }, 'get_change')).toMatchObject({ outcome: 'accepted' });
      expect(served.requests).toHaveLength(1);
    });

    test('is refused in the mode human without a page', async () => {
      served = await serveDecisions({ confirm: 'human', hasPage: false });
      expect(await (await connect(elicitation))()).toMatchObject({ code: 'NeedsHuman', mayHaveHappened: false });
      expect(served.requests).toEqual([]);
    });
  });
});

describe('a client of 2026-07-28', () => {
  const connect = async (elicitation: Elicitation, onSent: OnSent): Promise<Call> => {
    const client = new ClientV2(info, {
      capabilities: { elicitation },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    client.setRequestHandler('elicitation/create', async ({ params }) => ({ action: await onSent(params) }));
    await client.connect(new HttpV2(served.url, { requestInit }));
    closing.push(() => client.close());
    return async (args = restore, name = 'restore_instance') => {
      const result = await client.callTool({ name, arguments: { ...args } });
      return Object(result.structuredContent);
    };
  };
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
  const idIn = ({ url = '' }: Sent = { message: '' }) => /([\w-]{22})\/$/.exec(url)?.[1] ?? '';

  test('who opens the page has agreed to nothing; the agent is told that the plan waits, and later what came of it', async () => {
    const { call, sent } = await start({ url: {} }, 'accept');
    const answer = await call();
    expect(answer).toMatchObject({ outcome: 'waiting', changeId: expect.any(String) });
    expect(sent).toMatchObject([{ mode: 'url', message: expect.stringContaining('"wiki"'), url: answer.decideAt }]);
    expect(served.requests).toEqual([]);
    const browser = browserOf(served);
    await browser.signIn('bob');
    await browser.decide(idIn(sent[0]), 'accept');
    expect(await served.get(answer.changeId)).toMatchObject({ outcome: 'accepted' });
    expect(served.requests).toHaveLength(1);
    expect(sent).toHaveLength(1);
  });

  test('who does not want to open it has refused: nobody can decide any more', async () => {
    const { call, sent } = await start({ url: {} }, 'decline', { confirm: 'ask', statusWaitMs: 60_000 });
    expect(await call()).toMatchObject({ code: 'Declined' });
    const browser = browserOf(served);
    await browser.signIn('bob');
    await browser.decide(idIn(sent[0]), 'accept');
    expect(served.requests).toEqual([]);
    expect(await (await browser.get('/decisions')).text()).toMatch(/Recently decided.*>Declined</s);
    expect(await served.store.newest({ limit: 9 })).toMatchObject([{ state: 'declined', decision: { way: 'asked' } }]);
  });

  describe.each<readonly [string, Elicitation]>([
    ['a form and addresses', { form: {}, url: {} }],
    ['a form alone', { form: {} }],
  ])('with %s, a plan that is too long for a form', (_what, elicitation) => {
    const waiting = async (setup: DecisionsSetup) => {
      const { call, sent } = await start(elicitation, 'accept', setup);
      const answer = await call({ ...tooLong.args }, tooLong.tool);
      expect(answer).toMatchObject({ outcome: 'waiting', changeId: expect.any(String), decideAt: expect.any(String) });
      expect(sent.map(({ mode, url }) => [mode, url])).toEqual(
        elicitation.url === undefined ? [] : [['url', answer.decideAt]],
      );
      const browser = browserOf(served);
      await browser.signIn('bob');
      return { sent, id: String(answer.changeId), browser };
    };

    test.each(['ask', 'human'] as const)('waits on the page, which shows all of it: %s', async (confirm) => {
      const { id, browser, sent } = await waiting({ confirm });
      const questions = sent.length;
      served.pass(3000);
      const shown = await browser.shown(id);
      const { resourceGroupName: _inPath, ...body } = tooLong.args;
      expect(shown.result.structuredContent.plan.body).toEqual(body);
      // The model's question for the state decides nothing.
      expect(await served.get(id)).toMatchObject({ outcome: 'waiting', changeId: id });
      expect(served.requests).toEqual([]);
      await browser.decide(id, 'accept');
      expect(await served.get(id)).toMatchObject({ outcome: 'accepted' });
      expect(served.requests).toHaveLength(1);
      expect(sent).toHaveLength(questions);
      expect(await served.store.newest({ limit: 9 })).toMatchObject([{ decision: { way: 'page', person: 'bob' } }]);
    });

    test('is refused where there is no page', async () => {
      const { call, sent } = await start(elicitation, 'accept', { confirm: 'ask', hasPage: false });
      expect(await call(tooLong.args, tooLong.tool)).toMatchObject({ code: 'NeedsHuman' });
      expect(sent).toEqual([]);
    });
  });
});

import { Client, type ElicitRequest, InMemoryTransport } from '@modelcontextprotocol/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { CallTool, ChangeTools } from '../../src/call-stack.js';
import type { FormResponse, Visit } from '../../src/calls/context.js';
import { createReadTasks } from '../../src/mcp/read-tasks.js';
import { createServer } from '../../src/server.js';
import { operations } from '../../src/tools/index.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { say } from '../../src/util/safe-text.js';
import { accountsWith, never } from '../support/caller.js';
import { type Era, eras } from '../support/in-process.js';

/** How a question reaches the user of a client, and how the answer is read, in both protocol eras. */

type Answer = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string> };
type Capability = { form?: Record<string, never>; url?: Record<string, never> };
interface Setup {
  readonly era: Era;
  readonly elicitation?: Capability | undefined;
  readonly answer?: () => Answer | Promise<Answer>;
  /** For a deletion. */
  readonly nameToType?: string;
  readonly name?: string;
  readonly version?: string;
}

const proof = 'the proof of the question';
const accept = say`Yes, do it`;
const address = 'https://cloudops.example.com/decisions/0123456789abcdef';
/** No test here reads a change. */
const noChange = async () => Promise.reject(new Error('no change is read here'));
const changes: ChangeTools = {
  get: noChange,
  withdraw: noChange,
  confirm: noChange,
  click: noChange,
  findByProof: noChange,
  look: noChange,
  resume: noChange,
  state: noChange,
};
const close: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const each of close.splice(0)) await each();
});

/** A real client, and a server whose calls ask their user and nothing else. */
async function connect({ era, elicitation, answer, nameToType, name = 'test', version = '1' }: Setup) {
  const calls: {
    asks: boolean;
    client: string;
    proof?: string;
    reply?: FormResponse | Visit | 'later' | undefined;
  }[] = [];
  const call: CallTool = async (_operation, _args, { client: { name: client, elicitor, guide }, brought }) => {
    if (brought?.kind === 'answer') {
      const reply = elicitor === undefined ? brought.visit : brought.responseTo(accept, nameToType);
      calls.push({ asks: elicitor !== undefined, client, proof: brought.proof, reply });
      return { kind: 'succeeded', success: { summary: say`Done.`, warnings: [], requestIds: {} } };
    }
    const reply = await (elicitor?.ask(say`Really?`, accept, never, nameToType) ??
      guide?.(say`Please decide there.`, address, never));
    calls.push({ asks: elicitor !== undefined, client, reply });
    if (reply === 'later') {
      const answer = elicitor === undefined ? { address } : { accept, nameToType };
      return { kind: 'inputRequired', message: say`Really?`, answer, state: proof };
    }
    return { kind: 'succeeded', success: { summary: say`Done.`, warnings: [], requestIds: {} } };
  };
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const texts = { configuration: () => '', journal: async () => '' };
  const reads = createReadTasks(() => new Date());
  const accounts = accountsWith({ readOnly: false, tools: undefined });
  const handle = serveStdio(
    () =>
      createServer({
        version: '0',
        operations,
        accounts,
        call,
        changes,
        reads,
        noteUnknownClient: () => undefined,
        ...texts,
      }),
    { transport: serverSide },
  );
  const capabilities = elicitation === undefined ? {} : { elicitation };
  const client = new Client({ name, version }, { capabilities, versionNegotiation: { mode: era } });
  const questions: ElicitRequest['params'][] = [];
  if (elicitation !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      questions.push(params);
      return answer?.() ?? { action: 'cancel' };
    });
  await client.connect(clientSide);
  close.push(
    () => client.close(),
    () => handle.close(),
  );
  const progress: unknown[] = [];
  const run = () =>
    client.callTool(
      { name: 'restore_instance', arguments: { ...restoreInstance.example } },
      {
        timeout: 60 * 60_000,
        onprogress: (told) => progress.push(told.message),
      },
    );
  return { run, calls, questions, progress };
}

describe.each(eras)('with a client of %s', (_name, era) => {
  test.each<readonly [Capability | undefined, boolean]>([
    [undefined, false],
    [{}, true],
    [{ form: {} }, true],
    [{ form: {}, url: {} }, true],
    [{ url: {} }, false],
  ])('that declares %j, the user can be asked: %s', async (elicitation, asks) => {
    const { run, calls } = await connect({ era, elicitation });
    await run();
    expect(calls[0]?.asks).toBe(asks);
  });

  test('a question has its text and one choice, so that accepting without a change of the form agrees', async () => {
    const { run, questions } = await connect({ era, elicitation: {} });
    await run();
    const nothing = 'Do nothing';
    expect(questions).toMatchObject([
      {
        mode: 'form',
        message: say`Really?`,
        requestedSchema: {
          type: 'object',
          properties: { decision: { type: 'string', enum: ['Yes, do it', nothing], default: 'Yes, do it' } },
          required: ['decision'],
        },
      },
    ]);
  });

  test.each<readonly [Answer, FormResponse['kind'], string | undefined]>([
    [{ action: 'accept', content: { decision: 'Yes, do it' } }, 'agreed', undefined],
    [{ action: 'accept', content: { decision: 'Do nothing' } }, 'declined', undefined],
    [{ action: 'accept', content: { decision: 'Do nothing', reason: 'too large' } }, 'declined', 'too large'],
    [{ action: 'accept', content: { decision: 'Yes, do it', reason: ' ' } }, 'agreed', undefined],
    [{ action: 'accept', content: { decision: 'Yes, do it', reason: 'too large' } }, 'declined', 'too large'],
    [{ action: 'accept', content: { decision: 'Yes' } }, 'notAsked', undefined],
    [{ action: 'accept', content: {} }, 'notAsked', undefined],
    [{ action: 'accept' }, 'notAsked', undefined],
    [{ action: 'decline', content: { decision: 'Yes, do it' } }, 'declined', undefined],
    [{ action: 'cancel', content: { decision: 'Yes, do it' } }, 'cancelled', undefined],
  ])('the answer %j is read as %s', async (answer, kind, reason) => {
    const { run, calls } = await connect({ era, elicitation: {}, answer: () => answer });
    await run();
    expect(calls.at(-1)?.reply).toEqual({ kind, ...(reason !== undefined && { reason }) });
  });

  test('a question about a deletion has only the field for the name', async () => {
    const { run, questions } = await connect({ era, elicitation: {}, nameToType: 'delete 3' });
    await run();
    const name = { type: 'string', title: 'Type delete 3' };
    expect(questions).toMatchObject([{ requestedSchema: { properties: { name }, required: ['name'] } }]);
    expect(Object.keys(Object(questions[0]).requestedSchema.properties)).toEqual(['name']);
  });

  test.each<readonly [Answer, FormResponse['kind']]>([
    [{ action: 'accept', content: { name: 'a.mov' } }, 'agreed'],
    [{ action: 'accept', content: { name: ' a.mov\n' } }, 'agreed'],
    [{ action: 'accept', content: { name: 'A.mov' } }, 'wrongName'],
    [{ action: 'accept', content: { name: '' } }, 'wrongName'],
    [{ action: 'accept', content: {} }, 'wrongName'],
    // A field that the form does not have changes nothing.
    [{ action: 'accept', content: { name: 'a.mov', decision: 'Do nothing' } }, 'agreed'],
    [{ action: 'accept', content: { decision: 'Yes, do it' } }, 'wrongName'],
    [{ action: 'accept' }, 'notAsked'],
    [{ action: 'decline', content: { name: 'a.mov' } }, 'declined'],
    [{ action: 'cancel', content: { name: 'a.mov' } }, 'cancelled'],
  ])('to a question about a deletion, the answer %j is read as %s', async (answer, kind) => {
    const { run, calls } = await connect({ era, elicitation: {}, nameToType: 'a.mov', answer: () => answer });
    await run();
    expect(calls.at(-1)?.reply).toEqual({ kind });
  });

  test.each([
    ['test', '1.2', 'test 1.2'],
    ['x'.repeat(100), '1', 'x'.repeat(100)],
  ])('which is %s %s, the call is that of %s', async (name, version, client) => {
    const { run, calls } = await connect({ era, name, version });
    await run();
    expect(calls[0]?.client).toBe(client);
  });
});

describe.each(eras)('an address, which a client of %s shows where it shows no form', (_name, era) => {
  const url = { url: {} };

  test.each<readonly [Answer['action'], Visit]>([
    ['accept', 'opened'],
    ['decline', 'declined'],
    ['cancel', 'cancelled'],
  ])('is sent with its text, and "%s" means that it was %s', async (action, visit) => {
    const { run, calls, questions } = await connect({
      era,
      elicitation: url,
      answer: () => ({ action }),
    });
    await run();
    expect(questions).toMatchObject([{ mode: 'url', url: address }]);
    expect(calls.at(-1)).toMatchObject({ asks: false, reply: visit });
    if (calls.length > 1) expect(calls.at(-1)?.proof).toBe(proof);
  });

  test('is not sent where the client shows a form', async () => {
    const { run, calls, questions } = await connect({ era, elicitation: { form: {}, url: {} } });
    await run();
    expect(calls[0]?.asks).toBe(true);
    expect(questions).toMatchObject([{ mode: 'form' }]);
  });

  test('is not sent where the client shows neither', async () => {
    const { run, calls } = await connect({ era });
    await run();
    expect(calls).toMatchObject([{ asks: false, reply: undefined }]);
  });
});

test('a client that fails to show an address has opened none', async () => {
  const answer = () => Promise.reject(new Error('no browser'));
  const { run, calls, questions } = await connect({ era: 'legacy', elicitation: { url: {} }, answer });
  await run();
  expect(questions).toMatchObject([{ message: 'Please decide there.', elicitationId: expect.any(String) }]);
  expect(calls).toMatchObject([{ reply: 'cancelled' }]);
});

describe('up to 2025-11-25, the call waits', () => {
  test('and a client that fails to ask has asked nobody', async () => {
    const answer = () => Promise.reject(new Error('no window'));
    const { run, calls } = await connect({ era: 'legacy', elicitation: {}, answer });
    await run();
    expect(calls).toMatchObject([{ reply: { kind: 'notAsked' } }]);
  });

  /** A user who takes their time, and a clock that stands still meanwhile. */
  async function waiting() {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
    let answer = (_answer: Answer) => {};
    const given = new Promise<Answer>((resolve) => {
      answer = resolve;
    });
    const asked = new Promise<{ run: Promise<unknown>; session: Awaited<ReturnType<typeof connect>> }>((resolve) => {
      const session = connect({
        era: 'legacy',
        elicitation: {},
        answer: async () => {
          resolve({ run, session: await session });
          return given;
        },
      });
      const run = session.then((connected) => connected.run());
    });
    return { ...(await asked), answer: (one: Answer) => answer(one) };
  }

  test('and says so every ten seconds, until there is an answer', async () => {
    const { run, session, answer } = await waiting();
    const { calls, progress } = session;
    await vi.advanceTimersByTimeAsync(9_999);
    expect(progress).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(progress).toEqual(Array(3).fill('waiting for the answer of the user'));
    answer({ action: 'accept', content: { decision: 'Yes, do it' } });
    await run;
    expect(calls).toMatchObject([{ reply: { kind: 'agreed' } }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('ten minutes at most', async () => {
    const { run, session } = await waiting();
    await vi.advanceTimersByTimeAsync(10 * 60_000 - 1);
    expect(session.calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await run;
    expect(session.calls).toMatchObject([{ reply: { kind: 'unanswered' } }]);
  });
});

describe('from 2026-07-28 on, another call brings the answer', () => {
  const era: Era = { pin: '2026-07-28' };
  const agree = (): Answer => ({ action: 'accept', content: { decision: 'Yes, do it' } });

  test('with the proof of the question', async () => {
    const { run, calls } = await connect({ era, elicitation: {}, answer: agree });
    await run();
    expect(calls).toMatchObject([{ reply: 'later' }, { reply: { kind: 'agreed' }, proof }]);
  });
});

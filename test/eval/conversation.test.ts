import { describe, expect, test } from 'vitest';
import { type Conversation, converse, type Limits } from '../../eval/conversation.js';
import { judge } from '../../eval/judge.js';
import type { Message, ModelReply } from '../../eval/model.js';
import type { Event } from '../../eval/record.js';
import { situations } from '../../eval/situations.js';

/** How a model, its tools and a person take turns, and where that ends. */

const limits: Limits = { turns: 5, calls: 7, tokens: 1000, minutes: 1 };

const reply = (more: Partial<ModelReply>): ModelReply => ({
  message: { role: 'assistant' },
  text: '',
  calls: [],
  tokens: { count: 1, isEstimate: false },
  ...more,
});
const calls = (...ids: readonly string[]) => reply({ calls: ids.map((id) => ({ id, tool: 'read', args: {} })) });

async function talk(ask: Conversation['ask'], more: Partial<Conversation> = {}) {
  const events: Event[] = [];
  const ended = await converse(
    {
      ask,
      person: { task: 'Do it.', lines: [], otherwise: { early: 'Go on.', late: 'Stop.' }, closing: 'Well?' },
      instructions: 'Tools do things.',
      skill: undefined,
      tools: [],
      call: async () => 'result',
      click: async () => undefined,
      limits,
      signal: new AbortController().signal,
      ...more,
    },
    events,
  );
  return { ...ended, events };
}

test('results and what the person says go back to the model, in order', async () => {
  const seen: (readonly Message[])[] = [];
  const replies = [calls('a', 'b'), reply({ text: 'Read.' }), reply({ text: 'wiki: nothing' })];
  const { stopped, tokens, events } = await talk(async (messages) => {
    seen.push([...messages]);
    return replies[seen.length - 1] ?? reply({});
  });
  expect(stopped).toBeUndefined();
  expect(tokens).toEqual({ count: 3, isEstimate: false });
  expect(seen.at(-1)).toEqual([
    { role: 'system', content: expect.stringContaining('Tools do things.') },
    { role: 'user', content: 'Do it.' },
    { role: 'assistant' },
    { role: 'tool', tool_call_id: 'a', content: 'result' },
    { role: 'tool', tool_call_id: 'b', content: 'result' },
    { role: 'assistant' },
    { role: 'user', content: 'Well?' },
  ]);
  const kinds = ['person', 'call', 'result', 'call', 'result', 'model', 'closing', 'person', 'model'];
  expect(events.map(({ kind }) => kind)).toEqual(kinds);
});

test('arguments that are no object reach no tool', async () => {
  const called: string[] = [];
  const call = async (tool: string) => String(called.push(tool));
  const replies = [reply({ calls: [{ id: 'a', tool: 'read', args: undefined }] })];
  const { events } = await talk(async () => replies.shift() ?? reply({ text: 'Well.' }), { call });
  expect(called).toEqual([]);
  expect(events).toContainEqual({ kind: 'result', tool: 'read', text: expect.stringContaining('no JSON object') });
});

test('a long result is cut, and says so', async () => {
  let last: Message | undefined;
  const replies = [calls('a')];
  const ask = async (messages: readonly Message[]) => {
    last = messages.findLast(({ role }) => role === 'tool') ?? last;
    return replies.shift() ?? reply({});
  };
  await talk(ask, { call: async () => 'x'.repeat(60_001) });
  expect(last?.content).toMatch(/^x{60000}\n\(cut after 60000 characters\)$/);
});

describe('is stopped', () => {
  const waits: Conversation['ask'] = (_messages, _tools, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  test.each<[string, Conversation['ask'], Partial<Limits>, string]>([
    ['a model that calls forever', async () => calls('a'), {}, 'after 5 answers of the model'],
    ['a model that calls a lot', async () => calls('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), {}, 'after 7 calls'],
    [
      'a model that costs a lot',
      async () => ({ ...calls('a'), tokens: { count: 600, isEstimate: true } }),
      {},
      'after 1200 tokens',
    ],
    ['a model that is slow', waits, { minutes: 0.001 }, 'after 0.001 minutes'],
  ])('%s', async (_what, ask, more, stopped) => {
    const ended = await talk(ask, { limits: { ...limits, ...more } });
    expect(ended.stopped).toBe(stopped);
    expect(ended.events.filter(({ kind }) => kind === 'call').length).toBeLessThanOrEqual(limits.calls);
  });

  test('by the person who runs it', async () => {
    await expect(talk(waits, { signal: AbortSignal.timeout(1) })).rejects.toThrow(/timeout/);
  });
});

test.each(situations)('$name: a model that only says "Done." is wrong', async (situation) => {
  const { person } = situation;
  const made = await talk(async () => reply({ text: 'Done.' }), { person });
  expect(made.stopped).toBeUndefined();
  expect(judge(situation, { ...made, journal: [] })).toMatchObject({ right: false, harm: [] });
});

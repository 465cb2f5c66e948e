import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { createModel, type ModelOptions } from '../../eval/model.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** The client of chat completions: what it sends, what it reads, and what it says when the address is of no use. */

const key = 'sk-secret-0123456789';
const never = new AbortController().signal;

let server: CapturingServer | undefined;
afterEach(() => server?.close());

type Respond = (response: ServerResponse, count: number) => void;

/** Asks an address that answers so. Pauses take no time, and are noted. */
async function ask(respond: Respond, options: Partial<ModelOptions> = {}) {
  server = await startServer((_request, response, count) => respond(response, count));
  const pauses: number[] = [];
  const model = createModel(
    { baseUrl: `${server.origin}/v1/`, model: 'm', key, more: {}, answerMs: 5_000, ...options },
    async (ms) => void pauses.push(ms),
  );
  const reply = model([{ role: 'user', content: 'Hello' }], [], never);
  return { reply, pauses, requests: server.requests };
}

const answering =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Respond =>
  (response) =>
    void response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));

const message = { role: 'assistant', content: 'Hi' };
const usage = { prompt_tokens: 3, completion_tokens: 4 };

test('sends model, messages and tools with the key, and further fields as they are given', async () => {
  const { reply, requests } = await ask(answering(200, { choices: [{ message }], usage }), {
    more: { temperature: 0 },
  });
  expect(await reply).toMatchObject({ text: 'Hi', calls: [], tokens: { count: 7, isEstimate: false } });
  expect(requests).toMatchObject([
    { method: 'POST', url: '/v1/chat/completions', headers: { authorization: `Bearer ${key}` } },
  ]);
  expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
    temperature: 0,
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [],
  });
});

test('sends no key where none is given', async () => {
  const { reply, requests } = await ask(answering(200, { choices: [{ message }] }), { key: undefined });
  await reply;
  expect(requests[0]?.headers).not.toHaveProperty('authorization');
});

test('gives the message back as it came, with what only its service understands', async () => {
  const called = { id: 'c', type: 'function', function: { name: 't', arguments: '{"a":1}' }, extra_content: { s: 1 } };
  const own = { role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls: [called] };
  const { reply } = await ask(answering(200, { choices: [{ message: own }] }));
  expect(await reply).toMatchObject({ message: own, text: '', calls: [{ id: 'c', tool: 't', args: { a: 1 } }] });
});

test.each([
  ['{"a":1', undefined],
  ['[1]', undefined],
  ['"text"', undefined],
  ['', {}],
])('arguments %j are read as %j', async (text, args) => {
  const tool_calls = [{ id: 'c', function: { name: 't', arguments: text } }];
  const { reply } = await ask(answering(200, { choices: [{ message: { ...message, tool_calls } }] }));
  expect((await reply).calls).toEqual([{ id: 'c', tool: 't', args }]);
});

test('reads text in parts', async () => {
  const content = [{ type: 'text', text: 'a' }, { type: 'image' }, { type: 'text', text: 'b' }];
  const { reply } = await ask(answering(200, { choices: [{ message: { ...message, content } }] }));
  expect((await reply).text).toBe('ab');
});

test('estimates tokens that are not reported', async () => {
  const { reply } = await ask(answering(200, { choices: [{ message }] }));
  const { tokens } = await reply;
  expect(tokens.isEstimate).toBe(true);
  expect(tokens.count).toBeGreaterThan(10);
});

describe('repeats', () => {
  test.each([429, 500, 503])('%i, as long as Retry-After says', async (status) => {
    const right = answering(200, { choices: [{ message }] });
    const { reply, pauses } = await ask((response, count) =>
      count < 3 ? answering(status, '', { 'retry-after': '7' })(response, count) : right(response, count),
    );
    expect((await reply).text).toBe('Hi');
    expect(pauses).toEqual([7000, 7000]);
  });

  test('not longer than half a minute, and four times at most', async () => {
    const { reply, pauses } = await ask(answering(429, 'slow down', { 'retry-after': '3600' }));
    await expect(reply).rejects.toThrow(/refuses the request \(429: "slow down"\), 4 times in a row/);
    expect(pauses).toEqual([30_000, 30_000, 30_000]);
  });
});

describe('says what is wrong', () => {
  test.each<[string, Respond, Partial<ModelOptions>, RegExp]>([
    ['a wrong key', answering(401, 'bad key'), {}, /refuses the key \(401: "bad key"\)/],
    ['no key', answering(401, ''), { key: undefined }, /wants a key \(401\)\. Set EVAL_API_KEY/],
    ['a wrong address or model', answering(404, 'no m'), {}, /no model "m" \(404: "no m"\)\. .*\/v1\.$/],
    ['a redirect', answering(302, '', { location: 'http://127.0.0.1:1/' }), {}, /redirects \(302\)/],
    ['a request that is refused', answering(400, 'tools?'), {}, /refuses the request \(400: "tools\?"\)\.$/],
    ['a page instead of JSON', answering(200, '<html>'), {}, /no chat completion: "<html>"/],
    ['an answer without choices', answering(200, { choices: [] }), {}, /no chat completion/],
    ['an answer that is too large', answering(200, 'x'.repeat(1024 * 1024 + 1)), {}, /more than 1 MiB/],
    [
      'a connection that breaks',
      (response) => void response.socket?.destroy(),
      {},
      /cannot be reached \(UND_ERR_SOCKET\)/,
    ],
    ['no answer in time', () => undefined, { answerMs: 100 }, /no answer within 0\.1 s/],
    [
      'nobody there',
      answering(200, ''),
      { baseUrl: 'http://127.0.0.1:1' },
      /^http:\/\/127\.0\.0\.1:1\/chat\/completions cannot/,
    ],
  ])('%s', async (_what, respond, options, problem) => {
    const { reply, requests } = await ask(respond, options);
    await expect(reply).rejects.toThrow(problem);
    expect(requests.length).toBeLessThanOrEqual(1);
  });

  test.each([200, 400, 401])('never the key, even if a service repeats it with %i', async (status) => {
    const { reply } = await ask(answering(status, `You sent ${key}. ${'x'.repeat(1000)}`));
    const text = await reply.then(String, String);
    expect(text).toContain('(the key)');
    expect(text).not.toContain(key);
    expect(text.length).toBeLessThan(500);
  });
});

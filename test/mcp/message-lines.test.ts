import { once } from 'node:events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMessageLines, type ErrorAnswer } from '../../src/mcp/messages.js';

const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });

/** Writes chunks, and returns the messages that come through, and the answers. */
async function linesOf(chunks: readonly (string | Buffer)[]) {
  const answers: ErrorAnswer[] = [];
  let tooLong = 0;
  const lines = createMessageLines({
    answer: (answer) => answers.push(answer),
    onTooLong: () => {
      tooLong += 1;
    },
  });
  let text = '';
  lines.on('data', (data) => {
    text += data;
  });
  const ended = once(lines, 'end');
  for (const chunk of chunks) lines.write(chunk);
  lines.end();
  await ended;
  const messages: unknown[] = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  return { messages, answers, tooLong };
}

test('each line is a message, however the client cuts what it writes', async () => {
  const text = Buffer.from(
    `\uFEFF${JSON.stringify(ping(1))}\r\n\n${JSON.stringify({ ...ping(2), params: { a: 'é\n' } })}\n`,
  );
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(text.length)), async (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), text.length];
      const chunks = places.slice(1).map((end, index) => text.subarray(places[index], end));
      const { messages, answers } = await linesOf(chunks);
      expect({ messages, answers }).toEqual({ messages: [ping(1), { ...ping(2), params: { a: 'é\n' } }], answers: [] });
    }),
  );
});

test('a list is as many messages, and what cannot be read among them is answered', async () => {
  const { messages, answers } = await linesOf([`${JSON.stringify([ping(1), { ...ping(2), params: [] }, ping(3)])}\n`]);
  expect(messages).toEqual([ping(1), ping(3)]);
  expect(answers).toMatchObject([{ id: 2, error: { code: -32600 } }]);
});

test.each([
  ['text that is not JSON', 'hello\n', { id: null, error: { code: -32700 } }],
  ['an empty list', '[]\n', { id: null, error: { code: -32600 } }],
])('%s is answered', async (_what, line, answer) => {
  expect(await linesOf([line])).toMatchObject({ messages: [], answers: [answer] });
});

const long = 'x'.repeat(10_000_001);

/** `…` stands for the long text. */
test.each<readonly [string, string, readonly (string | number)[]]>([
  ['a request', '{"jsonrpc":"2.0","id":"seven","method":"m","params":{"a":"…"}}', ['seven']],
  ['a request as SDKs write it', '{"method":"m","params":{"a":"…"},"jsonrpc":"2.0","id":77}', [77]],
  [
    'a request whose ID is before its version',
    '{"params":["…"],"id":"x, }","jsonrpc":"2.0","method":"m"} \r',
    ['x, }'],
  ],
  ['an ID in the arguments', '{"method":"m","params":{"arguments":{"id":1,"a":"…"}},"jsonrpc":"2.0","id":2}', [2]],
  ['an ID in the arguments only', '{"method":"m","params":{"id":1,"a":"…","b":{"id":3}}}', []],
  ['an ID in a text', String.raw`{"method":"m","params":{"a":"…,\"id\":3"}}`, []],
  ['a notification', '{"jsonrpc":"2.0","method":"m","params":{"a":"…"}}', []],
])('%s that is too large is skipped, and the next message is read', async (_what, line, ids) => {
  const { messages, answers, tooLong } = await linesOf([`${line.replace('…', long)}\n${JSON.stringify(ping(8))}\n`]);
  expect(messages).toEqual([ping(8)]);
  expect(answers.map(({ id }) => id)).toEqual(ids);
  expect(tooLong).toBe(1);
});

test('a response that is too large goes on as an error, because its question would wait forever', async () => {
  const { messages, answers } = await linesOf([`{"jsonrpc":"2.0","id":4,"result":{"a":"${long}"}}\n`]);
  expect(messages).toMatchObject([{ id: 4, error: { code: -32600 } }]);
  expect(answers).toEqual([]);
});

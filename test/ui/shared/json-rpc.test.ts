import { expect, test, vi } from 'vitest';
import { createPeer, RequestFailed } from '../../../ui/shared/json-rpc.js';

const peer = () => {
  const sent: unknown[] = [];
  const notified: unknown[] = [];
  const made = createPeer((message) => sent.push(message), {
    onRequest(method) {
      if (method === 'fail') return Promise.reject(new Error('a secret of this side'));
      return method === 'ping' ? Promise.resolve({}) : undefined;
    },
    onNotification: (...notification) => notified.push(notification),
  });
  return { ...made, sent, notified };
};

test('a request gets the result with its ID', async () => {
  const { request, receive, sent } = peer();
  const [first, second] = [request('a', { x: 1 }, 1000), request('b', {}, 1000)];
  expect(sent).toEqual([
    { jsonrpc: '2.0', id: 1, method: 'a', params: { x: 1 } },
    { jsonrpc: '2.0', id: 2, method: 'b', params: {} },
  ]);
  receive({ jsonrpc: '2.0', id: 2, result: { of: 'b' } });
  receive({ jsonrpc: '2.0', id: 1, result: { of: 'a' } });
  expect([await first, await second]).toEqual([{ of: 'a' }, { of: 'b' }]);
});

test('an error is thrown with its code', async () => {
  const { request, receive } = peer();
  const failed = request('a', {}, 1000);
  receive({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no such method' } });
  await expect(failed).rejects.toMatchObject({ kind: 'error', code: -32601 });
});

test('a request without an answer ends', async () => {
  vi.useFakeTimers();
  const failed = peer().request('a', {}, 1000);
  const ended = expect(failed).rejects.toBeInstanceOf(RequestFailed);
  await vi.advanceTimersByTimeAsync(1000);
  await ended;
  vi.useRealTimers();
});

test('a request that waits when the connection is closed ends at once', async () => {
  const { request, close } = peer();
  const waiting = request('slow', {}, 60_000);
  close();
  await expect(waiting).rejects.toMatchObject({ kind: 'unanswered' });
});

test('requests of the other side are answered, also those that are not known or fail', async () => {
  const { receive, sent } = peer();
  receive({ jsonrpc: '2.0', id: 'x', method: 'ping' });
  receive({ jsonrpc: '2.0', id: 'y', method: 'sampling/createMessage' });
  receive({ jsonrpc: '2.0', id: 'z', method: 'fail' });
  await vi.waitFor(() => expect(sent).toHaveLength(3));
  expect(sent).toMatchObject([
    { id: 'x', result: {} },
    { id: 'y', error: { code: -32601 } },
    { id: 'z', error: { code: -32603 } },
  ]);
  expect(JSON.stringify(sent)).not.toContain('secret');
});

test('what is not JSON-RPC is ignored', () => {
  const { receive, sent, notified } = peer();
  for (const message of [
    undefined,
    null,
    7,
    'text',
    [],
    {},
    { jsonrpc: '1.0', method: 'a' },
    { jsonrpc: '2.0', id: 9, result: {} },
  ])
    receive(message);
  expect([sent, notified]).toEqual([[], []]);
  receive({ jsonrpc: '2.0', method: 'n', params: { y: 2 } });
  expect(notified).toEqual([['n', { y: 2 }]]);
});

import { expect, test, vi } from 'vitest';
import { createInbox } from '../../src/http/client-replies.js';
import type { SharedMessages } from '../../src/http/replica-messages.js';

/** The waits of calls for replies that may arrive at another replica. */

const from = { caller: 'alice', session: 's' };
const expected = { kind: 'answer', id: 'question-1' } as const;

/** A store in which an announcement is under way until `endAnnouncing` is called. */
function slowStore() {
  const keys = new Set<string>();
  const underWay: (() => void)[] = [];
  const shared: SharedMessages = {
    announce: (key) =>
      new Promise((resolve) => {
        underWay.push(() => {
          keys.add(key);
          resolve();
        });
      }),
    put: async () => undefined,
    read: async () => [],
    forget: async (key) => void keys.delete(key),
    close: async () => undefined,
  };
  const endAnnouncing = () => {
    for (const end of underWay.splice(0)) end();
  };
  return { keys, shared, endAnnouncing };
}

const inboxOf = (shared: SharedMessages) =>
  createInbox({ shared, stateKeys: () => ['k'.repeat(64)], log: () => undefined });

test('a wait that ends while it is announced leaves nothing behind', async () => {
  const { keys, shared, endAnnouncing } = slowStore();
  const wait = inboxOf(shared).expectReply(from, expected, () => undefined);
  wait.end();
  endAnnouncing();
  await wait.announced;
  await vi.waitFor(() => expect([...keys]).toEqual([]));
});

test('a later wait for the same reply stays announced', async () => {
  const { keys, shared, endAnnouncing } = slowStore();
  const inbox = inboxOf(shared);
  const first = inbox.expectReply(from, expected, () => undefined);
  first.end();
  const second = inbox.expectReply(from, expected, () => undefined);
  endAnnouncing();
  await second.announced;
  await new Promise(setImmediate);
  expect(keys.size).toBe(1);
  second.end();
  await vi.waitFor(() => expect(keys.size).toBe(0));
});

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditScope, writeScope } from '../../src/calls/policy.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** The very same request is not sent again by itself, whatever arguments led to it; and what a caller learns of the first. */

const args = { backupId: 'a'.repeat(32), instanceId: 'marker-1' };

let cloud: CapturingServer;
beforeEach(async () => {
  cloud = await startServer((_request, response) => {
    response.setHeader('x-request-id', 'request-1');
    response.end('{"instance":{}}');
  });
});
afterEach(() => cloud.close());

describe('two calls that come to the same bytes for the same account', () => {
  test.each<readonly [string, object, object]>([
    ['the region named, and left to its default', {}, { region: 'jp-east-1' }],
    ['a number as a number, and as text', { diskSize: 200 }, { diskSize: '200' }],
    ['null, and nothing', { description: null }, {}],
    ['arguments in another order', {}, { instanceId: args.instanceId, backupId: args.backupId }],
  ])('%s: the second is refused', async (_what, first, second) => {
    const { call, close } = testCaller(cloud.origin);
    expect((await call(restoreInstance, { ...args, ...first }, { signal: never })).ok).toBe(true);
    const again = await call(restoreInstance, { ...second, ...args, ...second }, { signal: never });
    expect(again).toMatchObject({ ok: false, failure: { code: 'Repeated', mayHaveHappened: false } });
    expect(cloud.requests).toHaveLength(1);
    await close();
  });

  test.each([
    [true, 'not refused', true, 2],
    [false, 'refused', undefined, 1],
    [false, 'not refused if the call allows it', true, 2],
  ])('of an operation whose repeatable is %s, the second is %s', async (repeatable, _what, allowRepeat, sent) => {
    const { call, close } = testCaller(cloud.origin);
    const operation: Operation = { ...restoreInstance, repeatable };
    const again = { ...args, ...(!repeatable && allowRepeat && { allowRepeat }) };
    await call(operation, args, { signal: never });
    expect((await call(operation, again, { signal: never })).ok).toBe(sent === 2);
    expect(cloud.requests).toHaveLength(sent);
    await close();
  });
});

test.each([
  [true, 'a second one, billed separately.'],
  [false, 'a second one.'],
])('a repetition is billed separately only if the change costs money: %s', async (costsMoney, condition) => {
  const { change } = restoreInstance;
  if (change === undefined) throw new Error('no change');
  const operation = { ...restoreInstance, change: { ...change, costsMoney } };
  const { call, close } = testCaller(cloud.origin, { operations: [operation as Operation] });
  await call(operation, args, { signal: never });
  const { text } = await call(operation, args, { signal: never });
  expect(text).toContain(`they ask for ${condition}`);
  await close();
});

describe('what is said of the first change', () => {
  const principal = (name: string, ...scopes: string[]) => ({ name, scopes: [writeScope, ...scopes] });

  test.each([
    ['its own caller reads it', principal('alice'), true],
    ['another caller learns that there is one', principal('bob'), false],
    ['one whose name begins alike does too', principal('alice2'), false],
    ['who may audit reads it', principal('carol', auditScope), true],
    ['who is alone with the server reads it', undefined, true],
  ] as const)('%s', async (_what, viewer, isShown) => {
    for (const raced of [false, true]) {
      const memory = memoryStore();
      // If two calls race, only the check of `begin` finds the first.
      const store = raced ? { ...memory, duplicateOf: async () => undefined } : memory;
      const { call, close } = testCaller(cloud.origin, { store });
      await call(restoreInstance, args, { signal: never, principal: principal('alice') });
      const { text, ...refused } = await call(restoreInstance, args, { signal: never, principal: viewer });
      expect(refused).toMatchObject({ ok: false, failure: { code: 'Repeated' } });
      const known = { outcome: 'accepted', sentAt: expect.any(String), requestIds: { 'x-request-id': 'request-1' } };
      expect('failure' in refused && refused.failure.earlier).toEqual(isShown ? known : undefined);
      expect(text.includes('request-1')).toBe(isShown);
      expect(text).toContain(
        isShown ? 'the same call was accepted before' : 'another caller sent the same change before',
      );
      expect(text).not.toContain('alice');
      await close();
    }
  });
});

test('if the journal cannot be read for repetitions, the log names the error, and a repetition is not sent', async () => {
  const unreadable = { ...memoryStore(), duplicateOf: () => Promise.reject(new Error('disk gone')) };
  const logged: unknown[] = [];
  const log = (...entry: readonly unknown[]) => logged.push(entry);
  const { call, close } = testCaller(cloud.origin, { store: unreadable, log });
  await call(restoreInstance, args, { signal: never });
  expect(logged).toContainEqual(['warn', 'journal', { tool: 'restore_instance', error: 'disk gone' }]);
  for (const allowRepeat of [false, true]) {
    const again = await call(restoreInstance, { ...args, allowRepeat }, { signal: never });
    expect(again).toMatchObject({ ok: false, failure: { code: 'Repeated', mayHaveHappened: false } });
  }
  expect(cloud.requests).toHaveLength(1);
  await close();
});

import { expect, test } from 'vitest';
import type { Change } from '../../src/changes/change.js';
import { createNotices } from '../../src/changes/watch-store.js';
import { changeAt } from '../support/changes.js';

const began = Date.parse('2026-11-20T12:00:00Z');
const interrupted = (changes: Partial<Change> = {}) => changeAt(began, { state: 'unknown', ...changes });
const noticesOf = (...recoveries: readonly (readonly Change[] | Error)[]) => {
  const left = [...recoveries];
  const logged: unknown[][] = [];
  const recover = async () => {
    const next = left.shift() ?? [];
    if (next instanceof Error) throw next;
    return next;
  };
  return {
    notices: createNotices(
      { recover },
      (...entry) => logged.push(entry),
      () => undefined,
    ),
    logged,
  };
};

test('the sentence names the change and its time', async () => {
  const { notices, logged } = noticesOf([interrupted({ id: 'a', caller: 'ana' })]);
  expect((await notices.take('ana')).map(({ text }) => text)).toEqual([
    expect.stringContaining('A change of 2026-11-20T12:00:00.000Z ("restore_instance": "A server \\"s\\" is created."'),
  ]);
  expect(logged).toEqual([
    ['warn', 'unresolved', expect.objectContaining({ id: 'a', tool: 'restore_instance', changeTime: began })],
  ]);
});

test('each notice goes once to its caller, though several calls ask at once', async () => {
  const { notices } = noticesOf([interrupted({ caller: 'ana' }), interrupted({ caller: 'bo' })]);
  const told = await Promise.all(['ana', 'ana', 'bo'].map(notices.take));
  expect(told.map((texts) => texts.length)).toEqual([1, 0, 1]);
  expect(await notices.take('bo')).toEqual([]);
});

test('a caller without a name gets the notices of all callers, also those of later recoveries', async () => {
  const { notices } = noticesOf([interrupted({ caller: 'ana' })], [interrupted({ caller: 'bo' })]);
  expect(await notices.take(undefined)).toHaveLength(1);
  expect(await notices.take(undefined)).toHaveLength(1);
});

test('a change that was not sent is no news, because its caller was told so or asked for nothing', async () => {
  const { notices, logged } = noticesOf([interrupted({ state: 'not sent' })]);
  expect(await notices.take(undefined)).toEqual([]);
  expect(logged).toEqual([]);
});

test('without a call, a timer looks; each change counts once, and errors are logged at a low level', async () => {
  const { notices, logged } = noticesOf([], new Error('full'), [interrupted({ caller: 'ana' })], []);
  // The first recovery is under way, so this call begins no other.
  for (let look = 0; look < 3; look += 1) await notices.recover();
  expect([...notices.endedByTool]).toEqual([['restore_instance', 1]]);
  expect(await notices.take('ana')).toHaveLength(1);
  expect([...notices.endedByTool]).toEqual([['restore_instance', 1]]);
  expect(logged.map(([level, event]) => [level, event])).toEqual([
    ['debug', 'journal'],
    ['warn', 'unresolved'],
  ]);
});

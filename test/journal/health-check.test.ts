import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { OtherVersion } from '../../src/journal/conflict.js';
import { reportJournal } from '../../src/journal/health-check.js';
import { watchJournal } from '../../src/journal/watch-journal.js';
import { words } from '../../src/util/safe-text.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A journal with the problem or the warnings of the moment. */
function broken() {
  const journal = {
    problem: '',
    warnings: [words('Replication is asynchronous.')],
    checks: 0,
    healthCheck: async () => {
      journal.checks += 1;
      if (journal.problem !== '') throw Object.assign(new Error(), { code: journal.problem });
      return journal.warnings;
    },
  };
  const logged: string[] = [];
  const log = (level: string, event: string, fields: object = {}) => {
    logged.push([level, ...(event === 'journal' ? [] : [event]), ...Object.values(fields)].join(' '));
  };
  return { journal, logged, log };
}

test('is ready as soon as changes can be recorded, and stays so in an outage, which metrics show', async () => {
  const { journal, log, logged } = broken();
  journal.problem = 'ECONNREFUSED';
  const watch = watchJournal(journal, log);
  const after = async (milliseconds: number) => {
    await vi.advanceTimersByTimeAsync(milliseconds);
    return [watch.isReady(), watch.lastCheckSucceeded()];
  };
  expect(await after(10_000)).toEqual([false, false]);
  journal.problem = '';
  expect(await after(3_000)).toEqual([true, true]);
  journal.problem = 'ECONNREFUSED';
  expect(await after(60_000)).toEqual([true, false]);
  journal.problem = '';
  expect(await after(3_000)).toEqual([true, true]);
  expect(await after(90_000)).toEqual([true, true]);
  expect(logged.map((line) => line.replace(/ Every change.*/, ''))).toEqual([
    'error ECONNREFUSED',
    'warn Replication is asynchronous.',
    'info Changes can be recorded again.',
    'error ECONNREFUSED',
    'info Changes can be recorded again.',
  ]);
  const { checks } = journal;
  watch.stop();
  await after(600_000);
  expect(journal.checks).toBe(checks);
});

test('tells operators its warnings and its problem, and is not ready while another version writes', async () => {
  const { journal, log } = broken();
  const until = Date.parse('2026-11-20T12:10:00Z');
  const healthCheck = vi.fn(journal.healthCheck);
  const watch = watchJournal({ healthCheck }, log);
  await vi.advanceTimersByTimeAsync(3_000);
  expect([watch.isReady(), watch.lastCheck()]).toEqual([true, { warnings: journal.warnings }]);
  healthCheck.mockRejectedValueOnce(new OtherVersion(until));
  await vi.advanceTimersByTimeAsync(27_000);
  expect([watch.isReady(), watch.lastCheckSucceeded()]).toEqual([false, false]);
  expect(watch.lastCheck().problem?.text).toContain('changes are refused until 2026-11-20T12:10:00.000Z');
  journal.problem = 'EACCES';
  await vi.advanceTimersByTimeAsync(3_000);
  expect(watch.isReady()).toBe(true);
  expect(watch.lastCheck().problem?.text).toBe('changes cannot be recorded: the log says why');
  watch.stop();
});

test('is checked at once if a call could not use it, but not twice at a time, nor while the next check is near', async () => {
  const { journal, log, logged } = broken();
  const watch = watchJournal(journal, log);
  await vi.advanceTimersByTimeAsync(1_000);
  journal.problem = '25006';
  watch.checkNow();
  watch.checkNow();
  await vi.advanceTimersByTimeAsync(0);
  expect([watch.lastCheckSucceeded(), journal.checks, logged.at(-1)]).toEqual([
    false,
    2,
    expect.stringMatching(/^error 25006/),
  ]);
  watch.checkNow();
  await vi.advanceTimersByTimeAsync(2_999);
  expect(journal.checks).toBe(2);
  journal.problem = '';
  await vi.advanceTimersByTimeAsync(1);
  expect([watch.lastCheckSucceeded(), journal.checks]).toEqual([true, 3]);
  watch.checkNow();
  await vi.advanceTimersByTimeAsync(29_999);
  expect(journal.checks).toBe(4);
  watch.stop();
  watch.checkNow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(journal.checks).toBe(4);
});

test('is not looked at again after the end, also if that came during a look', async () => {
  const { journal, log } = broken();
  const { healthCheck } = journal;
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const watch = watchJournal({ healthCheck: () => ended.then(healthCheck) }, log);
  watch.stop();
  end();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(journal.checks).toBe(1);
});

test('a server that is not watched logs once, at its start, what refuses every change', async () => {
  const { journal, log, logged } = broken();
  await reportJournal(journal, log);
  journal.problem = 'EROFS';
  await reportJournal(journal, log);
  expect(logged).toEqual(['warn Replication is asynchronous.', expect.stringMatching(/^error EROFS Every change/)]);
});

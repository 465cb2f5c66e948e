import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createFileJournal } from '../../src/journal/file.js';
import {
  createNotices,
  interruptedText,
  type RecoveryOptions,
  recoverInterrupted,
} from '../../src/journal/recovery.js';
import { startRuntime } from '../../src/runtime.js';
import { createMemoryJournal } from '../support/caller.js';
import { load } from '../support/config.js';
import { endingOf, intentAt } from '../support/journal.js';

const started = Date.parse('2026-11-20T12:00:00Z');
const now = started + 3600_000;
const timeoutMs = 60_000;
/** The longest time that a call and its ending take. */
const longestMs = 2 * 60_000;
const own = { pid: process.pid, host: 'here' };
/** No system gives this one to a process. */
const noPid = 2 ** 31 - 1;

const recover = async (changes: Partial<RecoveryOptions>) => {
  const logged: string[] = [];
  const recovered = await recoverInterrupted({
    journal: createMemoryJournal(),
    process: own,
    started: new Date(started),
    uptimeMs: () => now - started,
    now: () => new Date(now),
    timeoutMs,
    log: (_level, event) => logged.push(event),
    errorLevel: 'warn',
    ...changes,
  });
  return { recovered, logged };
};

test('a change of this process is its own, also if the clock was set back since the start', async () => {
  const journal = createMemoryJournal();
  await journal.begin(intentAt(now - 1_000, { process: own }), { allowRepeat: false });
  const aheadMs = 3600_000;
  const uptimeMs = () => 60_000;
  const { recovered } = await recover({ journal, started: new Date(now + aheadMs), uptimeMs });
  expect(recovered).toEqual([]);
});

test.each<[what: string, process: { pid: number; host: string }, time: number, isInterrupted: boolean]>([
  ['this process, since it started', own, started, false],
  ['this process, however long it takes', own, started + 1, false],
  ['one with the same number, before', own, started - 1, true],
  ['one that is gone from this host', { pid: noPid, host: 'here' }, now, true],
  ['one that runs on this host', { pid: process.ppid, host: 'here' }, now, false],
  ['one that runs on this host, longer than a call', { pid: process.ppid, host: 'here' }, now - longestMs - 1, true],
  ['one on another host, as long as a call', { pid: noPid, host: 'there' }, now - longestMs, false],
  ['one on another host, longer than a call', { pid: process.pid, host: 'there' }, now - longestMs - 1, true],
])('what %s left open', async (_what, process, time, isInterrupted) => {
  const journal = createMemoryJournal();
  const intent = intentAt(time, { process });
  await journal.begin(intent, { allowRepeat: false });
  const { recovered, logged } = await recover({ journal });
  expect(recovered.map(({ id }) => id)).toEqual(isInterrupted ? [intent.id] : []);
  expect(logged).toEqual(isInterrupted ? ['unresolved'] : []);
  const [{ ending } = {}] = await journal.list({});
  expect(ending).toEqual(
    isInterrupted
      ? { id: intent.id, time: new Date(now).toISOString(), outcome: 'unknown', code: 'ProcessEnded' }
      : undefined,
  );
  expect((await recover({ journal })).recovered).toEqual([]);
});

test('what has an outcome is left as it is', async () => {
  const journal = createMemoryJournal();
  const intent = intentAt(started, { process: { pid: noPid, host: 'here' } });
  await journal.begin(intent, { allowRepeat: false });
  await journal.end(endingOf(started, intent.id, 'accepted'));
  expect((await recover({ journal })).recovered).toEqual([]);
});

test('a journal that cannot be read or written is logged, and nothing is told', async () => {
  const journal = createMemoryJournal();
  await journal.begin(intentAt(started, { process: { pid: noPid, host: 'here' } }), { allowRepeat: false });
  const failing = () => Promise.reject(new Error('full'));
  expect(await recover({ journal: { ...journal, tryEnd: failing } })).toEqual({
    recovered: [],
    logged: ['journal'],
  });
  expect(await recover({ journal: { ...journal, listUnfinished: failing } })).toEqual({
    recovered: [],
    logged: ['journal'],
  });
});

test('the log names the change that was left open, and why it cannot be ended, until it is ended', async () => {
  const journal = createMemoryJournal();
  const intent = intentAt(started, { process: { pid: noPid, host: 'here' }, caller: 'ana' });
  const { id, tool, account, caller, target, time } = intent;
  await journal.begin(intent, { allowRepeat: false });
  const entries: unknown[] = [];
  const log: RecoveryOptions['log'] = (...entry) => entries.push(entry);
  await recover({ journal: { ...journal, tryEnd: () => Promise.reject(new Error('full')) }, log, errorLevel: 'debug' });
  await recover({ journal, log });
  expect(entries).toEqual([
    ['debug', 'journal', { id, tool, error: 'full' }],
    ['warn', 'unresolved', { id, tool, account, caller, target, changeTime: time }],
  ]);
});

test('a change that got an outcome since it was listed keeps it, and is neither logged nor told', async () => {
  const journal = createMemoryJournal();
  const intent = intentAt(started, { process: { pid: noPid, host: 'here' } });
  await journal.begin(intent, { allowRepeat: false });
  const listUnfinished = async () => {
    const unfinished = await journal.listUnfinished();
    await journal.end(endingOf(started, intent.id, 'accepted'));
    return unfinished;
  };
  expect(await recover({ journal: { ...journal, listUnfinished } })).toEqual({ recovered: [], logged: [] });
  expect(await journal.list({})).toMatchObject([{ ending: { outcome: 'accepted' } }]);
});

test('if one ending cannot be written, the other changes are ended and told, and the next recovery tries again', async () => {
  const journal = createMemoryJournal();
  const intents = ['a', 'b', 'c'].map((digest) =>
    intentAt(started, { id: digest, digest, process: { pid: noPid, host: 'here' } }),
  );
  for (const intent of intents) await journal.begin(intent, { allowRepeat: false });
  const tryEnd: typeof journal.tryEnd = (ending) =>
    ending.id === 'b' ? Promise.reject(new Error('full')) : journal.tryEnd(ending);
  const { recovered, logged } = await recover({ journal: { ...journal, tryEnd } });
  expect(recovered.map(({ id }) => id)).toEqual(['a', 'c']);
  expect(logged).toEqual(['unresolved', 'journal', 'unresolved']);
  expect((await recover({ journal })).recovered.map(({ id }) => id)).toEqual(['b']);
});

test.each([
  ['of another user', 'EPERM', false],
  ['gone', 'ESRCH', true],
])('a process that is %s (%s)', async (_what, code, isInterrupted) => {
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error(code), { code });
  });
  const journal = createMemoryJournal();
  await journal.begin(intentAt(now, { process: { pid: 1, host: 'here' } }), { allowRepeat: false });
  expect((await recover({ journal })).recovered).toHaveLength(isInterrupted ? 1 : 0);
  kill.mockRestore();
});

test('the sentence names the change and its time', () => {
  expect(interruptedText(intentAt(started)).text).toContain(
    'A change of 2026-11-20T12:00:00.000Z ("restore_instance": "A server \\"s\\" is created."',
  );
});

test('each notice goes once to its caller, though several calls ask at once', async () => {
  const interrupted = [intentAt(started, { id: '1', caller: 'ana' }), intentAt(started, { id: '2', caller: 'bo' })];
  const recoveries = [interrupted, [], [], []];
  const notices = createNotices(async () => recoveries.shift() ?? []);
  const told = await Promise.all(['ana', 'ana', 'bo'].map(notices.take));
  expect(told.map((texts) => texts.length)).toEqual([1, 0, 1]);
  expect(await notices.take('bo')).toEqual([]);
});

test('a caller without a name gets the notices of all callers, also those of later recoveries', async () => {
  const recoveries = [[intentAt(started, { caller: 'ana' })], [intentAt(started, { caller: 'bo' })]];
  const notices = createNotices(async () => recoveries.shift() ?? []);
  expect(await notices.take(undefined)).toHaveLength(1);
  expect(await notices.take(undefined)).toHaveLength(1);
});

test('without a call, a look ends the changes of processes that are gone; their caller is told, and each counts once', async () => {
  const recoveries = [[], [intentAt(started, { id: '1', caller: 'ana' })], []];
  const levels: string[] = [];
  const notices = createNotices(async (errorLevel) => {
    levels.push(errorLevel);
    return recoveries.shift() ?? [];
  });
  // The first recovery is under way, so this call begins no other.
  notices.recoverIfIdle();
  await notices.settled();
  notices.recoverIfIdle();
  await notices.settled();
  expect([...notices.endedByTool]).toEqual([['restore_instance', 1]]);
  expect(await notices.take('ana')).toHaveLength(1);
  await notices.settled();
  expect([...notices.endedByTool]).toEqual([['restore_instance', 1]]);
  expect(levels).toEqual(['warn', 'debug', 'warn']);
});

test('a server without calls ends the change of a server on another host within a minute after it counts as gone, and stops looking when it ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-recovery-'));
  const path = join(folder, 'journal.jsonl');
  const loaded = load({ CLOUDOPS_SANDBOX: '1', CLOUDOPS_JOURNAL: path });
  const config = loaded.ok ? loaded.config : expect.fail('the configuration is wrong');
  let time = started;
  const journal = createFileJournal(path, () => new Date(time));
  const begin = (digest: string, process = { pid: 1, host: 'there' }) =>
    journal.begin(intentAt(time, { digest, process }), { allowRepeat: false });
  const outcomes = async () => (await journal.list({})).map(({ ending }) => ending?.outcome);
  // The start ends this change, so that the test knows when the recovery of the start is over.
  await begin('here', { pid: noPid, host: hostname() });
  await begin('first');

  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    const runtime = await startRuntime(
      config,
      '1',
      () => undefined,
      () => new Date(time),
    );
    const ended = (count: number) =>
      vi.waitFor(() => expect([...runtime.interruptedChanges()]).toEqual([['restore_instance', count]]));
    await ended(1);
    expect(await outcomes()).toEqual(['unknown', undefined]);

    time += config.timeoutMs + 60_001;
    vi.advanceTimersByTime(60_000);
    await ended(2);
    expect(await outcomes()).toEqual(['unknown', 'unknown']);

    await runtime.close(0);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
    rmSync(folder, { recursive: true });
  }
});

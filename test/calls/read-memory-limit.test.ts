import { describe, expect, test, vi } from 'vitest';
import { createReadMemoryLimit, defaultReadLimits } from '../../src/calls/read-memory-limit.js';

/** The memory limit of reads: a limit per call, a total of all calls, and a wait when the total is reached. */

/** Each wait listens for the end of its call. */
const call = () => new AbortController().signal;

const limits = { ...defaultReadLimits, bytes: 16, bytesOfAll: 20, bytesOfPage: 5, waitMs: 5000 };

describe('one call', () => {
  test('has as many bytes as one call may, however many pages they come in', async () => {
    const share = createReadMemoryLimit({ ...limits, bytesOfAll: 40 }).share(call());
    for (const bytes of [5, 5, 6]) {
      expect(await share.enter()).toBe(true);
      expect(share.admit(bytes)).toBe(true);
      share.leave();
    }
    await share.enter();
    expect([share.admit(1), share.exceeded]).toEqual([false, 'call']);
  });

  test('may have a page that is larger than its reservation, while there is room', async () => {
    const share = createReadMemoryLimit(limits).share(call());
    await share.enter();
    expect([share.admit(4), share.admit(4), share.admit(8), share.exceeded]).toEqual([true, true, true, undefined]);
  });
});

describe('calls at the same time', () => {
  test('keep what they have read until they end, and have no more than all may', async () => {
    const memory = createReadMemoryLimit(limits);
    const [first, second] = [memory.share(call()), memory.share(call())];
    await first.enter();
    expect(first.admit(14)).toBe(true);
    first.leave();
    await second.enter();
    expect([second.admit(6), second.admit(1), second.exceeded]).toEqual([true, false, 'others']);
    first[Symbol.dispose]();
    second[Symbol.dispose]();
    const third = memory.share(call());
    await third.enter();
    expect(third.admit(16)).toBe(true);
  });

  test('wait for their turn while there is no room, in order', async () => {
    const memory = createReadMemoryLimit(limits);
    const full = Array.from({ length: 4 }, () => memory.share(call()));
    for (const share of full) await share.enter();
    const order: number[] = [];
    const waiting = [1, 2].map(async (number) => {
      const share = memory.share(call());
      expect(await share.enter()).toBe(true);
      order.push(number);
      return share;
    });
    await Promise.resolve();
    expect(order).toEqual([]);
    full[0]?.leave();
    await waiting[0];
    expect(order).toEqual([1]);
    full[1]?.leave();
    await waiting[1];
    expect(order).toEqual([1, 2]);
  });

  test('go without after five seconds', async () => {
    vi.useFakeTimers();
    const memory = createReadMemoryLimit(limits);
    for (let count = 0; count < 4; count += 1) await memory.share(call()).enter();
    const entered = memory.share(call()).enter();
    await vi.advanceTimersByTimeAsync(4999);
    expect(await Promise.race([entered, 'waits'])).toBe('waits');
    await vi.advanceTimersByTimeAsync(1);
    expect(await entered).toBe(false);
    vi.useRealTimers();
  });

  test('that wait for each other: the newest goes without at once, and the oldest reads on', async () => {
    const memory = createReadMemoryLimit(limits);
    const shares = Array.from({ length: 4 }, () => memory.share(call()));
    for (const share of shares) {
      await share.enter();
      share.admit(5);
      share.leave();
    }
    const [oldest, ...others] = shares.map((share) => share.enter());
    expect(await others.pop()).toBe(false);
    shares.at(-1)?.[Symbol.dispose]();
    expect(await oldest).toBe(true);
    // While one of them reads, the others wait for it.
    expect(await Promise.race([...others, 'waits'])).toBe('waits');
  });

  test('that were given up wait no longer', async () => {
    const memory = createReadMemoryLimit(limits);
    for (let count = 0; count < 4; count += 1) await memory.share(call()).enter();
    const controller = new AbortController();
    const entered = memory.share(controller.signal).enter();
    controller.abort();
    expect(await entered).toBe(true);
  });
});

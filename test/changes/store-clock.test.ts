import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ClockReading, readClock, systemClock } from '../../src/changes/system.js';

/** The clock of a file. */

const noon = Date.parse('2026-11-20T12:00:00Z');
const hour = 3_600_000;
const last: ClockReading = { boot: 'a', uptime: 1000, wall: noon, time: noon };
const read = (boot: string | undefined, uptime: number, wall: number, before = last) =>
  readClock(before, { boot, uptimeMs: () => uptime, wallMs: () => wall }).time - before.time;

describe('on a system that tells when it started', () => {
  test.each([
    ['nothing happened', noon + 500],
    ['the clock was set back by two days', noon - 48 * hour],
    ['the clock was set forward by two days', noon + 48 * hour],
  ])('time passes as the system runs, when %s', (_what, wall) => {
    expect(read('a', 1500, wall)).toBe(500);
  });

  test('after a restart, the wall clock tells how long it was off', () => {
    expect(read('b', 10, noon + hour)).toBe(hour);
    expect(read('b', 10, noon - hour)).toBe(0);
  });

  test('a container with its own uptime does not turn time back', () => {
    expect(read('a', 10, noon + 500)).toBe(0);
  });
});

test('elsewhere the wall clock tells, and a time in the future counts as now', () => {
  const before = { ...last, boot: null };
  expect(read(undefined, 0, noon + hour, before)).toBe(hour);
  expect(read(undefined, 0, noon - hour, before)).toBe(0);
});

test('whatever happens to the clocks, time never goes back, and within a start it passes exactly', () => {
  const step = fc.record({
    passed: fc.integer({ min: 0, max: 10 * hour }),
    set: fc.integer({ min: -100 * hour, max: 100 * hour }),
    restarts: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const state = { boot: 0, uptime: 0, wall: noon };
      const clock = () => ({ boot: `${state.boot}`, uptimeMs: () => state.uptime, wallMs: () => state.wall });
      let reading = readClock(undefined, clock());
      for (const { passed, set, restarts } of steps) {
        if (restarts) {
          state.boot += 1;
          state.uptime = 0;
        }
        state.uptime += passed;
        state.wall += passed + set;
        const next = readClock(reading, clock());
        const elapsed = next.time - reading.time;
        if (restarts) expect(elapsed).toBe(Math.max(0, passed + set));
        else expect(elapsed).toBe(passed);
        reading = next;
      }
    }),
  );
});

test('this system has an uptime and a wall clock', () => {
  const clock = systemClock(() => new Date(noon));
  expect(clock.wallMs()).toBe(noon);
  expect(clock.uptimeMs()).toBeGreaterThan(0);
  expect(Number.isInteger(clock.uptimeMs())).toBe(true);
  if (process.platform === 'linux') expect(clock.boot).toMatch(/^[0-9a-f-]{36}$/);
});

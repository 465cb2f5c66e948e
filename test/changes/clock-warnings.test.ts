import { expect, test } from 'vitest';
import { clockWarnings, createClockWarning } from '../../src/changes/postgres.js';

/** Clocks that differ by more than a second are told of, once. */

test.each<readonly [number, readonly string[]]>([
  [0, []],
  [1000, []],
  [-1000, []],
  [1001, ['the clock of this server is 1 s ahead of that of the journal']],
  [-1501, ['the clock of this server is 2 s behind that of the journal']],
])('a server whose clock is off by %i ms', (offsetMs, warnings) => {
  expect(clockWarnings(offsetMs)).toEqual(warnings);
});

test('the log has a difference once, and again after it was gone', () => {
  const logged: unknown[] = [];
  const warn = createClockWarning((...entry) => logged.push(entry));
  for (const offset of [5000, 6000, 0, 7000]) warn(offset);
  const problems = [5, 7].map((seconds) => `the clock of this server is ${seconds} s ahead of that of the journal`);
  expect(logged).toEqual(problems.map((problem) => ['warn', 'clock', { problem }]));
});

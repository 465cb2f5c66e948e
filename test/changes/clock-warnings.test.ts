import { expect, test } from 'vitest';
import { clockWarnings } from '../../src/changes/postgres.js';

/** Clocks that differ by more than a second are told of. */

test.each<readonly [number, readonly string[]]>([
  [0, []],
  [1000, []],
  [-1000, []],
  [1001, ['the clock of this server is 1 s ahead of that of the journal']],
  [-1501, ['the clock of this server is 2 s behind that of the journal']],
])('a server whose clock is off by %i ms', (offsetMs, warnings) => {
  expect(clockWarnings(offsetMs)).toEqual(warnings);
});

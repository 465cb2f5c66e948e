import { expect, test, vi } from 'vitest';
import { awaitOutcomes } from '../../src/journal/watch-journal.js';

test.each([
  ['until all are written', [2, 1, 0], 60_000, 3],
  ['no longer than it may', [1, 1, 1, 1, 1], 250, 4],
  ['not at all if none is left', [0], 60_000, 1],
  ['not at all if the time is over', [1], -1, 1],
])('outcomes are awaited %s', async (_what, counts, graceMs, looks) => {
  const unwritten = vi.fn(() => counts.shift() ?? 1);
  await awaitOutcomes({ unwritten }, graceMs);
  expect(unwritten).toHaveBeenCalledTimes(looks);
});

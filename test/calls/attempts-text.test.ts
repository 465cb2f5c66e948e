import { expect, test } from 'vitest';
import { attemptsText } from '../../src/calls/attempts-text.js';

const attempt = (result: string, waitedMs?: number) => ({ result, ...(waitedMs !== undefined && { waitedMs }) });

test.each([
  ['nothing', [], undefined],
  [
    'refusals before a success',
    [attempt('429', 1000), attempt('429', 2000), attempt('200')],
    'refused twice as too busy (429; waited 1000 ms, 2000 ms), then accepted once (200)',
  ],
  [
    'failures of several kinds',
    [attempt('ConnectionLost', 10), attempt('500', 20), attempt('403', 0), attempt('503')],
    'not answered once (ConnectionLost; waited 10 ms), then failed once (500; waited 20 ms), then refused once (403; waited 0 ms), then refused once as too busy (503)',
  ],
  [
    'many',
    [attempt('500', 1), attempt('500', 1), attempt('500', 1), attempt('500')],
    'failed 4 times (500; waited 1 ms, 1 ms, 1 ms)',
  ],
])('attempts are told in words: %s', (_what, attempts, text) => {
  expect(attemptsText(attempts)?.text).toBe(text);
});

import { expect, test } from 'vitest';
import * as z from 'zod';
import { faultFacts } from '../../src/calls/failure.js';
import { guardAsyncFunction, guardFunction } from '../../src/operations/guard.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';

/** What the log gets if a function of an operations file throws. */

const parseSecret = () => JSON.parse('S3cretPassw0rd!99');

test.each<readonly [string, () => unknown]>([
  ['throws', guardFunction('set_key: summarize', parseSecret, z.unknown(), {})],
  ['rejects', guardAsyncFunction('set_key: summarize', async () => parseSecret(), z.unknown(), {})],
])(
  'a function that %s is logged with the kind of its error, without the message, which may quote a secret',
  async (_how, run) => {
    const error = await new Promise((resolve) => resolve(run())).catch((thrown: unknown) => thrown);
    // Whoever checks the file at a terminal reads the message.
    expect(String(error)).toContain('S3cret');
    expect(faultFacts(restoreInstance, error)).toEqual({
      tool: 'restore_instance',
      error: 'OperationFault',
      fault: 'set_key: summarize threw SyntaxError',
    });
  },
);

test('a wrong value is logged with its place and the rule', () => {
  const summarize = guardFunction('set_key: summarize', () => 5, z.string('must be a text'), {});
  expect(() => summarize()).toThrow(
    expect.objectContaining({ logText: 'set_key: summarize returned a wrong value: must be a text' }),
  );
});

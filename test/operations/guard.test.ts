import { expect, test } from 'vitest';
import * as z from 'zod';
import { faultFacts } from '../../src/calls/failure.js';
import { guardAsyncFunction, guardFunction } from '../../src/operations/guard.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { memoryStore, testCaller } from '../support/caller.js';
import { answered, scriptedClient } from '../support/scripted-client.js';

/** What becomes of a function of an operations file that throws, or does not end. */

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

test('a promise that never resolves is a fault after its time limit, and the change that was sent has an ending', async () => {
  const never: () => Promise<never> = () => new Promise(() => undefined);
  const faults: string[] = [];
  const observer = { failed: ({ message }: Error) => void faults.push(message) };
  const extract = guardAsyncFunction('restore_instance: extract', never, z.unknown(), observer, 10);
  const { openClient } = scriptedClient(async () => answered(200, { instance: {} }));
  const store = memoryStore();
  const { call } = testCaller('http://127.0.0.1:1', { openClient, store });
  const operation: Operation = { ...restoreInstance, extract };
  const args = { backupId: 'a'.repeat(32), instanceId: 'wiki' };
  const { signal } = new AbortController();
  expect(await call(operation, args, { signal })).toMatchObject({
    ok: true,
    structured: { outcome: 'accepted', warnings: expect.arrayContaining([expect.stringMatching(/cannot be read/)]) },
  });
  expect(await store.newest({ limit: 2 })).toMatchObject([{ state: 'accepted' }]);
  expect(faults).toEqual(['restore_instance: extract took more than 0.01 seconds']);
});

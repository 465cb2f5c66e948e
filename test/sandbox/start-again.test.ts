import { expect, test } from 'vitest';
import { startRuntime } from '../../src/runtime.js';
import { load } from '../support/config.js';

test('a sandbox whose start has failed starts again for the next caller', async () => {
  let isClockBroken = false;
  const now = () => {
    if (isClockBroken) throw new Error('no clock');
    return new Date();
  };
  const loaded = load({ CLOUDOPS_SANDBOX: '1', CLOUDOPS_JOURNAL: '/dev/null' });
  const config = loaded.ok ? loaded.config : expect.fail('the configuration is wrong');
  const runtime = await startRuntime(config, '1', () => undefined, now);
  try {
    const { sandbox } = runtime.server;
    isClockBroken = true;
    await expect(sandbox?.()).rejects.toThrow('SenderUnavailable');
    isClockBroken = false;
    await expect(sandbox?.()).resolves.toContain('# Sandbox');
  } finally {
    await runtime.close(0);
  }
});

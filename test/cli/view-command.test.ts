import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/run.js';
import { fakeTerminal } from '../support/terminal.js';

test('a call that fails is told to the person at the terminal, and not to a model', async () => {
  const { terminal, printed } = fakeTerminal({ env: { CLOUDOPS_JOURNAL: '/dev/null' } });
  const args = ['view', 'restore_instance', '{"backupId":"x"}', '--no-open', '--sandbox'];
  expect(await runCommandLine(args, terminal)).toBe(2);
  expect(printed.stderr).toMatch(/^restore_instance was not sent: its arguments need correcting\./);
  expect(printed.stderr).toContain('backupId');
  expect(printed.stderr).not.toMatch(/to act|mayHaveHappened|the user/);
});

import { expect, test } from 'vitest';
import { commandLog } from '../../src/cli/terminal-log.js';
import { fakeTerminal } from '../support/terminal.js';

test('a command without a log level shows the fault that its answer refers to, and no other event', () => {
  const { terminal, printed } = fakeTerminal({});
  const log = commandLog({ origins: [], logLevel: 'info' }, terminal);
  log('info', 'call', { tool: 'get_thing' });
  log('error', 'unexpected', { tool: 'get_thing', error: 'OperationFault', fault: 'get_thing: summarize threw' });
  expect(printed.stderr.replaceAll(/\s+/g, ' ')).toBe(
    'error: unexpected: tool "get_thing", error "OperationFault", fault "get_thing: summarize threw" ',
  );
});

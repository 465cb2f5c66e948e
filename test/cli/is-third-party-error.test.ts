import { expect, test } from 'vitest';
import { isForeign } from '../../src/cli/is-third-party-error.js';

const errorAt = (...frames: readonly string[]) =>
  Object.assign(new Error('x'), { stack: ['Error: x', ...frames.map((frame) => `    at ${frame}`)].join('\n') });

const ours = 'send (file:///opt/cloudops-mcp/dist/chunks/send-1.js:1:200)';

test.each([
  [
    'this package alone',
    errorAt(ours, 'async file:///opt/cloudops-mcp/dist/main.js:3:1', 'node:internal/timers:581:17'),
    false,
  ],
  ['Node alone', errorAt('Socket.emit (node:events:519:28)', 'new Promise (<anonymous>)'), false],
  ['a file of operations', errorAt('Timeout._onTimeout (file:///home/me/platform.mjs:3:9)', ours), true],
  ['an older module of one', errorAt('go (/home/me/old.cjs:3:9)', ours), true],
  ['a folder on Windows', errorAt('go (C:\\me\\old.cjs:3:9)', ours), true],
  ['what is no error', 'x', true],
])('an error of %s', (_what, error, expected) => {
  expect(isForeign(error, '/opt/cloudops-mcp/dist/main.js')).toBe(expected);
});

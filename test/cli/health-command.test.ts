import { expect, test } from 'vitest';
import { addressIn } from '../../src/cli/health-command.js';

test.each([
  [
    ['node', '--liftoff-only', 'dist/main.js', 'http', '--host', '0.0.0.0', '--port', '9000'],
    { host: '127.0.0.1', port: '9000' },
  ],
  [['/sbin/docker-init', '--', 'node', 'dist/main.js', 'http', '--host=::', '--read-only'], { host: '::1' }],
  [['cloudops-mcp', 'http', '--http-rate', '5', '--port=1'], { port: '1' }],
  [['cloudops-mcp', '--read-only'], {}],
  [['/sbin/init', 'http', '--port', '1'], {}],
  [[''], {}],
])('the server of a container that was started with %j is asked at %j', (args, address) => {
  expect(addressIn(args)).toEqual(address);
});

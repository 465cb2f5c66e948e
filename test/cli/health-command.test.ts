import { expect, test } from 'vitest';
import { addressIn } from '../../src/cli/health-command.js';

test.each([
  [
    ['node', '--liftoff-only', 'dist/main.js', 'http', '--host', '0.0.0.0', '--port', '9000'],
    { host: '127.0.0.1', port: '9000' },
  ],
  [['/sbin/docker-init', '--', 'node', 'dist/main.js', 'http', '--host=::', '--sandbox'], { host: '::1' }],
  [['cloudops-mcp', 'http', '--port=1'], { port: '1' }],
  [['cloudops-mcp', '--sandbox'], {}],
  [['/sbin/init', 'http', '--port', '1'], {}],
  [[''], {}],
])('the server of a container that was started with %j is asked at %j', (args, address) => {
  expect(addressIn(args)).toEqual(address);
});

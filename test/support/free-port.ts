import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Returns a free port for a server that starts later. It is below the ports that systems give to connections and to servers without a port, so that
 * none of the thousands of connections of other tests gets it meanwhile.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_000);
  const probe = createServer();
  const isFree = once(probe.listen(port, '127.0.0.1'), 'listening').then(
    () => true,
    () => false,
  );
  if (!(await isFree)) return freePort();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

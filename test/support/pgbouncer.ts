import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.js';
import { unprivileged } from './postgres.js';

/** Where Debian's package puts it. */
const program = '/usr/sbin/pgbouncer';

const missing = 'PgBouncer is not installed: apt-get install -y --no-install-recommends pgbouncer';

/** True if tests with a real PgBouncer can run. On CI, they must. */
export function hasPgBouncer(): boolean {
  const isThere = existsSync(program);
  if (!isThere && process.env.CI === 'true') throw new Error(missing);
  if (!isThere) process.stderr.write(`Tests are skipped. ${missing}\n`);
  return isThere;
}

export interface PgBouncer {
  /** The address of a database through it. */
  through(address: string): string;
  stop(): Promise<void>;
}

/**
 * A PgBouncer in front of the server that an address names, with transaction pooling: each transaction of a client may get another
 * connection.
 */
export async function startPgBouncer(address: string): Promise<PgBouncer> {
  const { hostname, port: behind, username, password } = new URL(address);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-pgbouncer-'));
  const users = join(folder, 'users');
  const settings = join(folder, 'settings');
  writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`);
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${behind}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 4
`,
  );
  const user = unprivileged();
  if (user.uid !== undefined && user.gid !== undefined)
    for (const path of [folder, users, settings]) chownSync(path, user.uid, user.gid);
  const child = spawn(program, ['-q', settings], { ...user, stdio: 'ignore' });
  const ended = once(child, 'exit');
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  while (!(await isOpen(port))) {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}`);
    await delay(20);
  }
  return {
    through: (given) => Object.assign(new URL(given), { port: String(port) }).href,
    stop: async () => {
      process.off('exit', kill);
      kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

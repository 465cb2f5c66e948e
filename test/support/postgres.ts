import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';

/** Where Debian's package puts the server's programs, by version. */
const versions = '/usr/lib/postgresql';
const programs = (existsSync(versions) ? readdirSync(versions) : [])
  .map((version) => join(versions, version, 'bin'))
  .findLast((folder) => existsSync(join(folder, 'initdb')));

const missing = 'PostgreSQL is not installed: apt-get install -y --no-install-recommends postgresql';

/** True if tests with a real PostgreSQL can run. On CI, they must. */
export function hasPostgres(): boolean {
  if (programs === undefined && process.env.CI === 'true') throw new Error(missing);
  if (programs === undefined) process.stderr.write(`Tests are skipped. ${missing}\n`);
  return programs !== undefined;
}

export interface Postgres {
  /** Address of a database; each is made when it is first named. */
  url(database: string): string;
  /** Makes a database as a copy of another one, which nobody may be connected to. */
  copy(from: string, database: string): void;
  /** Runs SQL and returns its rows, a line each, columns apart by `|`. */
  sql(database: string, statement: string): string;
  /** Dumps a database as SQL, without settings of this server version. */
  dump(database: string): string;
  /** Ends the server at once, like a crash. Flushed data is there when it starts again. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Ends the server and deletes its files. */
  remove(): void;
}

/** Rows of an hour of soak take more than Node's default of one mebibyte. */
const mostBytes = 256 * 1024 * 1024;

/** As it stands in an address. No text that the product writes may hold it. */
export const password = 'p%40ss-MARKER';

/**
 * A PostgreSQL server on loopback, with a port and a folder of its own, that is gone with the tests, or with this process.
 * With a certificate it also takes connections by TLS.
 */
export async function startPostgres(certificate?: { readonly key: Buffer; readonly cert: Buffer }): Promise<Postgres> {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-postgres-'));
  const data = join(folder, 'data');
  const port = await freePort();
  // The server refuses to run as root.
  const user = unprivileged();
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  // The server keeps the standard streams of pg_ctl open, so that a pipe would never end.
  const given = { ...user, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: 'C' }, stdio: 'ignore' } as const;
  const run = async (program: string, ...args: readonly string[]) => {
    const [code] = await once(spawn(join(programs ?? '', program), args, given), 'exit');
    if (code !== 0) throw new Error(`${program} ${args.at(-1)} ended with ${code}`);
  };
  // The database does not flush by itself, so that only explicitly flushed data is durable.
  const ssl = certificate === undefined ? {} : { ssl: 'on', ssl_key_file: 'server.key', ssl_cert_file: 'server.pem' };
  const settings = {
    ...ssl,
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    synchronous_commit: 'off',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `-c ${name}=${value}`]);
  const start = () => run('pg_ctl', '-D', data, '-w', '-l', join(folder, 'log'), ...options, 'start');
  const stopping = ['-D', data, '-w', '-m', 'immediate', 'stop'];
  const stop = () => run('pg_ctl', ...stopping);
  const remove = () => {
    process.removeListener('exit', remove);
    if (existsSync(join(data, 'postmaster.pid'))) spawnSync(join(programs ?? '', 'pg_ctl'), stopping, given);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', remove);
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, decodeURIComponent(password));
  await run(
    'initdb',
    '-D',
    data,
    '-U',
    'cloudops',
    '-A',
    'scram-sha-256',
    `--pwfile=${passwordFile}`,
    '-E',
    'UTF8',
    '-N',
  );
  if (certificate !== undefined) {
    writeFileSync(join(data, 'server.pem'), certificate.cert);
    writeFileSync(join(data, 'server.key'), certificate.key, { mode: 0o600 });
    if (user.uid !== undefined && user.gid !== undefined) chownSync(join(data, 'server.key'), user.uid, user.gid);
  }
  await start();
  const url = (database: string) => `postgres://cloudops:${password}@127.0.0.1:${port}/${database}`;
  const sql = (database: string, statement: string) => {
    const args = ['-XAtq', '-v', 'ON_ERROR_STOP=1', url(database), '-c', statement];
    return execFileSync(join(programs ?? '', 'psql'), args, { encoding: 'utf8', maxBuffer: mostBytes }).trim();
  };
  const dump = (database: string) => {
    const args = ['--no-owner', '--inserts', '--no-comments', url(database)];
    const text = execFileSync(join(programs ?? '', 'pg_dump'), args, { encoding: 'utf8' });
    return text.replace(/^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\.*)?\n/gm, '');
  };
  const made = new Set<string>();
  return {
    url: (database) => {
      if (!made.has(database)) sql('postgres', `create database ${database}`);
      made.add(database);
      return url(database);
    },
    copy: (from, database) => {
      sql('postgres', `create database ${database} template ${from} strategy file_copy`);
      made.add(database);
    },
    sql,
    dump,
    stop,
    start,
    remove,
  };
}

/** The user for servers that refuse to run as root, for `spawn`. */
export function unprivileged(): { uid?: number; gid?: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return process.getuid?.() === 0 ? { uid: id('-u'), gid: id('-g') } : {};
}

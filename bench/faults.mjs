// Shows what happens to changes under each fault of a journal. Run it with npm run bench -- faults [--seconds 20] [--only text]. Two
// servers attempt the same changes at the same time. "Twice" counts changes that were sent more than once, "lost" changes that were
// sent and are not in the journal, "told falsely" answers that the cloud's own record contradicts. Cases with PgBouncer and a standby
// run if these are installed. PostgreSQL refuses to run as root, so root becomes `postgres`. Mounting full disks needs root.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { importSource, writeSource } from '../scripts/source.mjs';

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, only: { type: 'string', default: '' } },
});
const lasts = Number(options.seconds) * 1000;
const folder = mkdtempSync(join(tmpdir(), 'cloudops-faults-'));
chmodSync(folder, 0o755);
const children = new Set();
/** What makes the run fail. */
const failures = [];
/** Processes to end before the folder is removed. */
const endings = [];
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const end of endings) end();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const module = await writeSource(
  `import { openStore } from './src/changes/open-store.ts';
   export { createNotices } from './src/changes/watch-store.ts';
   export { testCaller } from './test/support/caller.ts';
   export { answered } from './test/support/scripted-client.ts';
   export { restoreInstance } from './src/tools/restore-instance.ts';
   export const openJournal = (place, now) => openStore(place, now).openChanges();`,
  folder,
);
const { openJournal } = await import(module);
const { startPostgres } = await importSource("export { startPostgres } from './test/support/postgres.ts'");

const worker = fileURLToPath(new URL('faults-worker.mjs', import.meta.url));
/** True for an answer that says that a request was not sent that the cloud got, or accepted that it did not get. */
const isFalse = ({ kind, wasSent, outcome, mayHaveHappened }) =>
  kind !== 'sent' && (wasSent ? mayHaveHappened === false || outcome === 'not sent' : outcome === 'accepted');
/** The states of a change that was or may have been sent. The cloud of this bench rejects nothing. */
const sentStates = ['begun', 'accepted', 'partly', 'unknown'];

let runs = 0;
/** Runs two servers on a journal for `seconds` while a fault happens. */
async function measure(name, place, fault, { offsets = [0, 0], read = place } = {}) {
  if (!name.includes(options.only)) return;
  runs += 1;
  const sent = join(folder, `sent-${runs}`);
  writeFileSync(sent, '');
  const start = (offset) => {
    const child = spawn(process.execPath, [worker, module, place, sent, String(runs), String(offset)], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    child.stdin.on('error', () => undefined);
    children.add(child);
    child.on('exit', () => children.delete(child));
    return child;
  };
  const servers = offsets.map(start);
  const replace = (index) => {
    servers[index].kill('SIGKILL');
    servers[index] = start(offsets[index]);
  };
  await delay(2000);
  const ended = delay(lasts);
  await fault?.({ servers, replace, ended });
  await ended;
  await delay(8000);
  for (const child of servers) child.kill('SIGKILL');
  const records = readFileSync(sent, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const counts = new Map();
  for (const { key, kind } of records) if (kind === 'sent') counts.set(key, (counts.get(key) ?? 0) + 1);
  const journal = await openJournal(read, () => new Date());
  const known = new Set();
  for await (const { what, state } of journal.read({}))
    if (sentStates.includes(state)) known.add(/"(run-[\d-]+)"/.exec(what)?.[1]);
  await journal.close();
  const refused = records.filter(({ kind }) => kind === 'JournalUnavailable').length;
  const falsely = records.filter(isFalse);
  if (falsely.length > 0) failures.push(`${name}: told falsely: ${JSON.stringify(falsely[0])}`);
  if (counts.size === 0) failures.push(`${name}: nothing was sent, so it shows nothing`);
  const slowest = Math.max(0, ...records.map(({ ms }) => ms));
  const twice = [...counts.values()].filter((count) => count > 1).length;
  const lost = [...counts.keys()].filter((key) => !known.has(key)).length;
  console.log(
    `| ${name} | ${counts.size} | ${twice} | ${lost} | ${falsely.length} | ${refused} | ${(slowest / 1000).toFixed(1)} s |`,
  );
}

/** Forwards connections to a port that can change, like a virtual IP. */
async function startRelay(first) {
  let to = first;
  const sockets = new Set();
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    near.pipe(far).on('close', () => near.destroy());
    far.pipe(near).on('close', () => far.destroy());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    lead: (port) => {
      to = port;
      for (const socket of sockets) socket.destroy();
    },
    /** Holds back bytes that were not forwarded yet. */
    hold: () => {
      for (const socket of sockets) socket.pause();
    },
    close: () => server.close(),
  };
}

/** Mounts a small disk; undefined without the right to mount one. */
function mountDisk(mebibytes) {
  const at = mkdtempSync(join(folder, 'disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0777`, 'tmpfs', at], {
    stdio: 'ignore',
  });
  if (status !== 0) {
    console.error('a full disk is left out: mounting one takes root');
    return undefined;
  }
  endings.push(() => spawnSync('umount', ['-l', at]));
  const filling = join(at, 'filling');
  return {
    at,
    /** Fills the rest of the disk to the last byte. */
    fill: () => {
      for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2))
        for (;;) {
          try {
            appendFileSync(filling, Buffer.alloc(bytes));
          } catch {
            break;
          }
        }
    },
    free: () => rmSync(filling),
  };
}

async function again(ended, pauseMs, action) {
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    action();
    await delay(pauseMs);
  }
}

console.log('| fault | sent | twice | lost | told falsely | refused | slowest answer |');
console.log('| --- | --- | --- | --- | --- | --- | --- |');

const file = (name) => join(mkdtempSync(join(folder, 'file-')), name);
await measure('file: none', file('journal.db'));
await measure('file: servers are killed every two seconds', file('journal.db'), ({ replace, ended }) =>
  again(ended, 2000, () => replace(Math.floor(Math.random() * 2))),
);
await measure('file: the clock is set back by two days', file('journal.db'), async ({ servers }) => {
  await delay(lasts / 2);
  for (const { stdin } of servers) stdin.write(String(-2 * 24 * 60 * 60 * 1000));
});
await measure('file: the clock is set forward by two days, and back', file('journal.db'), async ({ servers }) => {
  await delay(lasts / 3);
  for (const { stdin } of servers) stdin.write(String(2 * 24 * 60 * 60 * 1000));
  await delay(lasts / 3);
  for (const { stdin } of servers) stdin.write('0');
});
const fullDisk = 'file: the disk is full for a third of the time';
const disk = fullDisk.includes(options.only) ? mountDisk(64) : undefined;
if (disk !== undefined)
  await measure(fullDisk, join(disk.at, 'journal.db'), async () => {
    await delay(lasts / 3);
    disk.fill();
    await delay(lasts / 3);
    disk.free();
  });

const postgres = await startPostgres();
const port = Number(new URL(postgres.url('first')).port);
const wait = (names) => {
  postgres.sql('postgres', `alter system set synchronous_standby_names = '${names}'`);
  postgres.sql('postgres', 'select pg_reload_conf()');
};
await measure('PostgreSQL: none', postgres.url('none'));
await measure('PostgreSQL: servers are killed every two seconds', postgres.url('killed'), ({ replace, ended }) =>
  again(ended, 2000, () => replace(Math.floor(Math.random() * 2))),
);
await measure('PostgreSQL: connections are ended every half second', postgres.url('ended'), ({ ended }) =>
  again(ended, 500, () =>
    postgres.sql(
      'postgres',
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cloudops-mcp'",
    ),
  ),
);
await measure('PostgreSQL: the database crashes, and is away for five seconds', postgres.url('crashed'), async () => {
  await delay(2000);
  await postgres.stop();
  await delay(5000);
  await postgres.start();
});
await measure('PostgreSQL: its standby hangs', postgres.url('hanging'), async () => {
  wait('away');
  await delay(lasts - 4000);
  const used = postgres.sql('postgres', "select count(*) from pg_stat_activity where datname = 'hanging'");
  console.error(`connections while the standby hangs: ${used}`);
  wait('');
});
await measure('PostgreSQL: clocks 50 s apart', postgres.url('apart'), undefined, { offsets: [0, 50_000] });
await measure('PostgreSQL: clocks eleven minutes apart', postgres.url('apart_far'), undefined, {
  offsets: [0, 660_000],
});

const fullDatabase = 'PostgreSQL: the disk is full for a third of the time, and the database goes down';
const databaseDisk = fullDatabase.includes(options.only) ? mountDisk(300) : undefined;
if (databaseDisk !== undefined) {
  process.env.TMPDIR = databaseDisk.at;
  const small = await startPostgres();
  delete process.env.TMPDIR;
  await measure(fullDatabase, small.url('filled_up'), async () => {
    await delay(lasts / 3);
    databaseDisk.fill();
    const until = Date.now() + lasts / 3;
    // Each switch starts another log file, until the disk is full and the database goes down.
    while (Date.now() < until) {
      try {
        small.sql('filled_up', 'create table if not exists filled (); drop table filled; select pg_switch_wal()');
      } catch {}
      await delay(200);
    }
    databaseDisk.free();
    await small.start().catch(() => undefined);
  });
  small.remove();
}

const bouncer = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path));
const asServer = process.getuid?.() === 0 ? idsOf('postgres') : {};
function idsOf(name) {
  const id = (flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
if (bouncer === undefined) console.error('PgBouncer is not installed: apt-get install pgbouncer');
else {
  const { username, password } = new URL(postgres.url('pooled'));
  const at = await startRelay(port);
  at.close();
  const inner = mkdtempSync(join(folder, 'bouncer-'));
  const settings = join(inner, 'pgbouncer.ini');
  const secret = decodeURIComponent(password);
  writeFileSync(join(inner, 'users'), `"${username}" "${secret}"\n`);
  writeFileSync(
    settings,
    `[databases]\npooled = host=127.0.0.1 port=${port} user=${username} password='${secret}'\n[pgbouncer]\nlisten_addr = 127.0.0.1\n` +
      `listen_port = ${at.port}\nauth_type = plain\nauth_file = ${join(inner, 'users')}\npool_mode = transaction\nunix_socket_dir =\n` +
      'default_pool_size = 4\n',
  );
  if (asServer.uid !== undefined)
    for (const path of [inner, settings, join(inner, 'users')]) chownSync(path, asServer.uid, asServer.gid);
  const start = () => {
    const child = spawn(bouncer, ['-q', settings], { ...asServer, stdio: 'ignore' });
    children.add(child);
    return child;
  };
  let running = start();
  const place = postgres.url('pooled').replace(`:${port}/`, `:${at.port}/`);
  await measure('PgBouncer, by transaction', place, undefined, { read: postgres.url('pooled') });
  await measure(
    'PgBouncer is killed and started again every four seconds',
    place,
    ({ ended }) =>
      again(ended, 4000, () => {
        running.kill('SIGKILL');
        running = start();
      }),
    { read: postgres.url('pooled') },
  );
  running.kill('SIGKILL');
}

/** A standby of the database on its own port, which follows the primary through `port`. */
async function startStandby(name, from = port) {
  const programs = join('/usr/lib/postgresql', readdirSync('/usr/lib/postgresql').at(-1), 'bin');
  const data = join(folder, name);
  const free = await startRelay(port);
  free.close();
  mkdirSync(data, { mode: 0o700 });
  if (asServer.uid !== undefined) chownSync(data, asServer.uid, asServer.gid);
  const { username, password } = new URL(postgres.url('standby'));
  const env = { PATH: process.env.PATH, LC_ALL: 'C', PGPASSWORD: decodeURIComponent(password) };
  // Not synchronous, because this process may be between the standby and its primary.
  const run = async (program, ...args) => {
    const [status] = await once(
      spawn(join(programs, program), args, { ...asServer, env, cwd: folder, stdio: 'ignore' }),
      'exit',
    );
    if (status !== 0) throw new Error(`${program} ended with ${status}`);
  };
  await run(
    'pg_basebackup',
    '-h',
    '127.0.0.1',
    '-p',
    String(from),
    '-U',
    username,
    '-D',
    data,
    '-R',
    '-X',
    'stream',
    '-c',
    'fast',
  );
  const listening = `-c port=${free.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`;
  await run('pg_ctl', '-D', data, '-w', '-l', join(data, 'log'), '-o', listening, 'start');
  endings.push(() =>
    spawnSync(join(programs, 'pg_ctl'), ['-D', data, '-m', 'immediate', 'stop'], { ...asServer, env, cwd: '/' }),
  );
  return { port: free.port, promote: () => run('pg_ctl', '-D', data, '-w', 'promote') };
}
const loss = 'an asynchronous standby takes over, one second behind its lost primary';
if (loss.includes(options.only)) {
  const url = postgres.url('losing');
  const replication = await startRelay(port);
  const standby = await startStandby('behind', replication.port);
  const address = await startRelay(port);
  await measure(
    loss,
    url.replace(`:${port}/`, `:${address.port}/`),
    async () => {
      await delay(lasts / 3);
      replication.hold();
      await delay(1000);
      await postgres.stop();
      replication.lead(1);
      await standby.promote();
      address.lead(standby.port);
    },
    { read: url.replace(`:${port}/`, `:${standby.port}/`) },
  );
  address.close();
  replication.close();
  await postgres.start();
}
const failover = 'failover to a synchronous standby, the old primary fenced';
if (failover.includes(options.only)) {
  const url = postgres.url('failing');
  const standby = await startStandby('standby');
  wait('*');
  const address = await startRelay(port);
  await measure(
    failover,
    url.replace(`:${port}/`, `:${address.port}/`),
    async () => {
      await delay(lasts / 3);
      await postgres.stop();
      await standby.promote();
      address.lead(standby.port);
    },
    { read: url.replace(`:${port}/`, `:${standby.port}/`) },
  );
  address.close();
}
postgres.remove();
for (const failure of failures) console.error(failure);
process.exit(failures.length === 0 ? 0 : 1);

// Measures a change in a journal of years, in SQLite and in PostgreSQL. Run it with npm run bench -- journal [--rounds 3] [--only
// SQLite].
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { importSource, writeSource } from '../scripts/source.mjs';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, only: { type: 'string' }, json: { type: 'boolean' } },
});
const sizes = [1_000, 300_000];
/** The most that a change may take in SQLite: CPU time of its four writes, and memory of the process. */
const goals = { cpuMs: 5, peakMiB: 150 };

const folder = mkdtempSync(join(tmpdir(), 'cloudops-journal-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const module = await writeSource(
  `import { openStore } from './src/changes/open-store.ts';
   import { createSqlite } from './src/changes/sqlite.ts';
   import { systemClock } from './src/changes/system.ts';
   import { restoreInstance } from './src/tools/restore-instance.ts';
   import { testCaller } from './test/support/caller.ts';
   import { answered } from './test/support/scripted-client.ts';
   const now = () => new Date();
   export const openJournal = (place) => openStore(place, now).openChanges();
   export const runSqlite = async (path, sql) => {
     const engine = createSqlite(path, { clock: systemClock(now) });
     await engine.write(({ run }) => run(sql));
     // Otherwise, the log would have all rows a second time.
     await engine.read(({ all }) => all('pragma wal_checkpoint(truncate)'));
     await engine.close();
   };
   /** Makes a server, and reads the row of that change. */
   export const carryOutOne = async (store, instanceId) => {
     const openClient = () => ({ send: async () => answered(200, { instance: {} }), [Symbol.dispose]: () => undefined });
     const httpClient = { send: () => Promise.reject(new Error('no request leaves this process')), close: async () => {} };
     const { call, confirm } = testCaller('https://cloud.example.com', { store, now, confirm: 'plan', openClient, httpClient });
     const context = { principal: { name: 'alice', scopes: ['cloudops:read', 'cloudops:write'] } };
     const planned = await call(restoreInstance, { backupId: 'demobackup0000000000000000000001', instanceId }, context);
     const { changeId } = planned.structured;
     const done = await confirm(changeId, instanceId, context);
     if (done.structured?.outcome !== 'accepted') throw new Error(done.text);
     return store.find(changeId);
   };`,
  folder,
);
const { carryOutOne, openJournal, runSqlite } = await import(module);

/** Repeats the only change of a journal: a third of the changes within the last hour, and the others in the months before. */
const repeat = (
  count,
) => `insert into cloudops_changes (id, state, caller, client, tool, request_key, budget, subject, asks, process, way,
    facts, plan, decision, ending, outcome, at, made, expires, decided, begun, ended, changed)
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count}),
    ages (n, age) as (select n, case when n <= ${Math.floor(count / 3)} then n * 30 else 3600000 + cast(n as bigint) * 29000 end from numbers)
  select 'old-' || n, state, caller, client, tool, request_key || n, budget || n, subject || n, asks, process, way,
    facts, plan, decision, ending, outcome, at - age, made - age, expires - age, decided - age, begun - age, ended - age, changed - age
  from cloudops_changes, ages`;

/** Makes a journal, and returns its place. */
async function makeJournal(place, count, run) {
  const journal = await openJournal(place);
  await carryOutOne(journal, 'bench');
  await journal.close();
  await run(repeat(count));
  return place;
}

const peer = fileURLToPath(new URL('journal-peer.mjs', import.meta.url));
const measure = (place) => JSON.parse(execFileSync(process.execPath, [peer, module, place], { encoding: 'utf8' }));
/** Measures the journals in turn, so that other work slows every journal. */
function measureInTurn(journals) {
  const measured = journals.map(() => []);
  for (let round = 0; round < Number(options.rounds); round += 1)
    for (const [index, { place }] of journals.entries()) measured[index].push(measure(place));
  return journals.map(({ place: _, ...journal }, index) => {
    const of = (name) => measured[index].map((each) => each[name]).sort((one, other) => one - other);
    const medians = Object.keys(measured[index][0]).map((name) => {
      const values = of(name);
      return [name, Number(values[Math.floor(values.length / 2)].toFixed(2))];
    });
    return { ...journal, ...Object.fromEntries(medians) };
  });
}

const results = [];
if (options.only !== 'PostgreSQL') {
  const journals = [];
  for (const rows of sizes) {
    const path = join(folder, `journal-${rows}.db`);
    journals.push({ store: 'SQLite', rows, place: await makeJournal(path, rows, (sql) => runSqlite(path, sql)) });
  }
  results.push(...measureInTurn(journals));
}
if (options.only !== 'SQLite') {
  const { hasPostgres, startPostgres } = await importSource(
    "export { hasPostgres, startPostgres } from './test/support/postgres.ts'",
  );
  if (hasPostgres()) {
    const postgres = await startPostgres();
    const journals = [];
    for (const rows of sizes) {
      const name = `bench_${rows}`;
      const run = (sql) => postgres.sql(name, sql);
      journals.push({ store: 'PostgreSQL', rows, place: await makeJournal(postgres.url(name), rows, run) });
      run('vacuum analyze cloudops_changes');
    }
    // Otherwise, changes would wait until the database has written the rows to disk.
    postgres.sql('postgres', 'checkpoint');
    results.push(...measureInTurn(journals));
    postgres.remove();
  }
}
if (options.json) console.log(JSON.stringify(results, null, 2));
else {
  console.log('| journal | rows | four writes | their CPU time | first look | first change | memory at most |');
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const { store, rows, changeMs, cpuMs, firstLookMs, firstChangeMs, peakMiB } of results)
    console.log(
      `| ${store} | ${rows} | ${changeMs} ms | ${cpuMs} ms | ${firstLookMs} ms | ${firstChangeMs} ms | ${peakMiB} MiB |`,
    );
}
const missed = results.flatMap(({ store, rows, ...figures }) =>
  Object.entries(goals)
    .filter(([name, goal]) => store === 'SQLite' && figures[name] > goal)
    .map(([name, goal]) => `${store} with ${rows} rows: ${name} is ${figures[name]}, more than ${goal}`),
);
for (const miss of missed) console.error(miss);
process.exitCode = missed.length === 0 ? 0 : 1;

// Measures a change in a journal of years, in a file and in PostgreSQL. Run it with npm run bench -- journal [--rounds 3] [--only
// file].
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleLines } from '../scripts/bundle.mjs';
import { importSource } from '../scripts/source.mjs';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, only: { type: 'string' }, json: { type: 'boolean' } },
});
const hour = 60 * 60 * 1000;
const day = 24 * hour;
/** Number of changes within the last hour, and of older ones. */
const sizes = [
  { recent: 1_000, older: 0 },
  { recent: 100_000, older: 0 },
  { recent: 100_000, older: 900_000 },
];

const folder = mkdtempSync(join(tmpdir(), 'cloudops-journal-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const module = join(folder, 'journal.mjs');
writeFileSync(
  module,
  await bundleLines(
    `import { createFileJournal } from './src/journal/file.ts';
     import { createPostgresJournal } from './src/journal/postgres.ts';
     import { openDatabase } from './src/journal/postgres-database.ts';
     import { open } from 'node:fs/promises';
     const now = () => new Date();
     export const openJournal = (place) =>
       place.includes('://') ? createPostgresJournal(openDatabase(place, now), now) : createFileJournal(place, now);
     // The prototype of a file handle is not exported.
     let milliseconds = 0;
     export const flushed = () => milliseconds;
     const handle = await open(process.execPath);
     const prototype = Object.getPrototypeOf(handle);
     await handle.close();
     const { sync } = prototype;
     prototype.sync = async function () {
       const started = performance.now();
       await sync.call(this);
       milliseconds += performance.now() - started;
     };`,
    {
      platform: 'node',
      transform: { target: 'node20' },
      resolve: { mainFields: ['module', 'main'] },
      external: ['pg-native'],
    },
  ),
);

const { keyFormat } = await importSource("export { keyFormat } from './src/journal/idempotency-key.ts'");

/** Lines of changes that ended, one every ten milliseconds, from `time` on. */
function* linesOf(count, time) {
  for (let index = 0; index < count; index += 1) {
    const id = randomUUID();
    const at = new Date(time + index * 10).toISOString();
    const intent = {
      id,
      tool: 'restore_instance',
      target: 'POST https://devops.example.com/v1/instances:restore',
      account: 'default',
      key: 'access-key-1',
      client: 'bench 1',
      caller: 'alice',
      digest: createHash('sha256').update(id).digest('hex'),
      keyFormat,
      process: { pid: 1, host: 'bench' },
      what: `A server "server-${index}" is created from the image "image-${index}".`,
      time: at,
      consent: 'planId',
      nonce: randomUUID(),
    };
    const requestIds = { 'x-request-id': randomUUID() };
    const ending = { id, time: at, key: 'access-key-1', outcome: 'accepted', status: 200, requestIds };
    yield `${JSON.stringify({ intent })}\n${JSON.stringify({ ending })}\n`;
  }
}

/** Writes changes into rotated files of ten MiB. */
function writeFiles(path, count, time) {
  let number = 0;
  let lines = [];
  let bytes = 0;
  const write = () => {
    const stamp = new Date(time + number).toISOString().replace(/[:.]/g, '-');
    number += 1;
    const name = `${path}.${stamp}-${randomUUID().slice(0, 8)}`;
    writeFileSync(name, lines.join(''), { mode: 0o600 });
    utimesSync(name, new Date(time), new Date(time));
    [lines, bytes] = [[], 0];
  };
  for (const line of linesOf(count, time)) {
    lines.push(line);
    bytes += line.length;
    if (bytes > 10 * 1024 * 1024) write();
  }
  if (bytes > 0) write();
}

function fileOf({ recent, older }) {
  const path = join(mkdtempSync(join(folder, 'file-')), 'journal.db');
  writeFiles(path, older, Date.now() - 100 * day);
  writeFiles(path, recent, Date.now() - hour);
  return path;
}

async function databaseOf({ recent, older }, postgres) {
  const name = `bench_${recent}_${older}`;
  const url = postgres.url(name);
  const { openJournal } = await import(module);
  const journal = openJournal(url);
  await journal.list({});
  await journal.close();
  const file = join(folder, 'rows');
  writeFileSync(file, '');
  const append = (count, time) => {
    let rows = [];
    const write = () => {
      appendFileSync(file, rows.join(''));
      rows = [];
    };
    for (const lines of linesOf(count, time)) {
      const [{ intent }, { ending }] = lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const texts = [JSON.stringify(intent), JSON.stringify(ending)].map((text) => text.replaceAll('\\', '\\\\'));
      const { id, digest, nonce } = intent;
      rows.push(
        [id, digest, nonce, intent.time, texts[0], '"alice"', 'accepted', ending.time, texts[1], keyFormat].join('\t'),
        '\n',
      );
      if (rows.length > 20_000) write();
    }
    write();
  };
  append(older, Date.now() - 100 * day);
  append(recent, Date.now() - hour);
  const columns = 'id, digest, nonce, time, intent, caller, outcome, ended, ending, key_format';
  postgres.sql(name, `\\copy cloudops_mutations (${columns}) from '${file}'`);
  postgres.sql(name, 'vacuum analyze cloudops_mutations');
  return url;
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
if (options.only !== 'postgres')
  results.push(...measureInTurn(sizes.map((size) => ({ store: 'file', ...size, place: fileOf(size) }))));
if (options.only !== 'file') {
  const { hasPostgres, startPostgres } = await importSource(
    "export { hasPostgres, startPostgres } from './test/support/postgres.ts'",
  );
  if (hasPostgres()) {
    const postgres = await startPostgres();
    const journals = [];
    for (const size of sizes) journals.push({ store: 'PostgreSQL', ...size, place: await databaseOf(size, postgres) });
    // Otherwise, changes would wait until the database has written the rows to disk.
    postgres.sql('postgres', 'checkpoint');
    results.push(...measureInTurn(journals));
    postgres.remove();
  }
}
if (options.json) console.log(JSON.stringify(results, null, 2));
else {
  console.log(
    '| journal | recent | in all | a change | first change | search of all for open ones | memory at first | at most |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const { store, recent, older, changeMs, firstMs, searchMs, firstMiB, peakMiB } of results)
    console.log(
      `| ${store} | ${recent} | ${recent + older} | ${changeMs} ms | ${firstMs} ms | ${searchMs} ms | ${firstMiB} MiB | ${peakMiB} MiB |`,
    );
}

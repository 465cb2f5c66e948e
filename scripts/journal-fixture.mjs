// Writes the journal of this format of keys into test/fixtures/journal, with planIds: a file, and a dump of the tables with the same
// changes. Every later build must open them. Run it once for each format, with PostgreSQL installed, as node scripts/journal-fixture.mjs
import { writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleLines } from './bundle.mjs';

// The PostgreSQL library must be loaded from a file.
const module = join(tmpdir(), `cloudops-fixture-${process.pid}.mjs`);
writeFileSync(
  module,
  await bundleLines(
    `export { createFileJournal } from './src/journal/file.ts';
     export { createPostgresJournal } from './src/journal/postgres.ts';
     export { openDatabase } from './src/journal/postgres-database.ts';
     export { keyFormat } from './src/journal/idempotency-key.ts';
     export { keptTime, makeKeptCalls } from './test/support/kept-version.ts';
     export { startPostgres } from './test/support/postgres.ts';`,
    {
      platform: 'node',
      transform: { target: 'node20' },
      resolve: { mainFields: ['module', 'main'] },
      external: ['pg-native'],
    },
  ),
);
const { createFileJournal, createPostgresJournal, keptTime, keyFormat, makeKeptCalls, openDatabase, startPostgres } =
  await import(pathToFileURL(module).href);
await rm(module);

const now = () => new Date(keptTime);
const path = join(tmpdir(), `cloudops-fixture-${process.pid}.jsonl`);
const place = (name) => new URL(`../test/fixtures/journal/format-${keyFormat}.${name}`, import.meta.url);
const postgres = await startPostgres();
const inFile = createFileJournal(path, now);
const database = openDatabase(postgres.url('fixture'), now, { databaseTime: () => keptTime });
const inDatabase = createPostgresJournal(database, now);
const planIds = await makeKeptCalls(inFile);
await inFile.close();
// The planIds of the file also stand for the rows, which get its entries.
for await (const { ending, ...intent } of createFileJournal(path, now).read({})) {
  await inDatabase.begin(intent, { allowRepeat: false });
  await inDatabase.end(ending);
}
await inDatabase.close();
writeFileSync(place('plan-ids.json'), `${JSON.stringify(planIds, null, 2)}\n`);
writeFileSync(place('jsonl'), await readFile(path));
await rm(path);
writeFileSync(place('sql'), postgres.dump('fixture'));
postgres.remove();

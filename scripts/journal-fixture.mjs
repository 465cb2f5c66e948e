// Writes test/fixtures/journal, the journals of a release that every later build must open. They are a file, and a dump of the tables
// with the same changes. Run it once for a release with new journals, with PostgreSQL installed, as node scripts/journal-fixture.mjs
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
     export { startPostgres } from './test/support/postgres.ts';`,
    {
      platform: 'node',
      transform: { target: 'node20' },
      resolve: { mainFields: ['module', 'main'] },
      external: ['pg-native'],
    },
  ),
);
const { createFileJournal, createPostgresJournal, openDatabase, startPostgres } = await import(
  pathToFileURL(module).href
);
await rm(module);

const time = Date.parse('2026-11-22T12:00:00Z');
const now = () => new Date(time);
const outcomes = ['accepted', 'rejected', 'unknown', 'not sent', undefined];
const path = join(tmpdir(), `cloudops-fixture-${process.pid}.jsonl`);
const postgres = await startPostgres();
const journals = [
  createFileJournal(path, now),
  createPostgresJournal(openDatabase(postgres.url('fixture'), now, { databaseTime: () => time }), now),
];
for (const journal of journals) {
  for (const [index, outcome] of outcomes.entries()) {
    const number = index + 1;
    const intent = {
      id: `00000000-0000-4000-8000-00000000000${number}`,
      time: now().toISOString(),
      tool: 'restore_instance',
      what: `Create DevOps server "wiki-${number}" from backup "demobackup0000000000000000000001".`,
      target: 'POST https://devops.example.com/v1/instances:restore',
      account: 'default',
      key: 'access-key-1',
      client: 'fixture 1',
      caller: 'alice',
      consent: 'planId',
      digest: `${number}`.repeat(64),
      budget: 'b'.repeat(64),
      nonce: `nonce-${number}`,
      process: { pid: 1, host: 'fixture' },
    };
    const begun = await journal.begin(intent, { allowRepeat: false });
    if (begun.kind !== 'begun') throw new Error(JSON.stringify(begun));
    const requestIds = { 'x-request-id': `request-${number}` };
    if (outcome !== undefined)
      await journal.end({ id: intent.id, time: intent.time, outcome, status: 200, requestIds });
  }
  await journal.close();
}
const place = (name) => new URL(`../test/fixtures/journal/${name}`, import.meta.url);
writeFileSync(place('first-release.jsonl'), await readFile(path));
await rm(path);
writeFileSync(place('first-release.sql'), postgres.dump('fixture'));
postgres.remove();

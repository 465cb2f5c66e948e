import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keysOfJournal } from '../../src/changes/open-store.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { type Changes, createChanges } from '../../src/changes/store.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import type { KeyRing } from '../../src/util/seal.js';
import { changeIdOf, changer, start, successOf } from '../support/changer.js';
import { processOn, wallClock } from '../support/changes.js';
import { answered } from '../support/scripted-client.js';

/** Private values of a change are in no file, and whoever may see the change sees them all the same. */

let folder: string;
let stores: Changes[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-sealed-'));
  stores = [];
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  rmSync(folder, { recursive: true });
});

const key = 'k'.repeat(32);
const given = 'given7';
const answer = 'answered-with-7';
const privateOperation: Operation = { ...restoreInstance, isPrivate: ({ instanceId }) => instanceId === given };

/** A process on the file. The process before it is gone. */
function serve({ confirm = 'plan' as const, keyOfStore = key } = {}) {
  const clock = { time: start };
  const now = () => new Date(clock.time);
  const engine = createSqlite(join(folder, 'journal.db'), { clock: wallClock(now) });
  const store = createChanges(engine, { process: processOn(`host-${stores.length}`), keys: () => [keyOfStore] });
  stores.push(store);
  const reply = async () => answered(200, { instance: { instanceId: given, description: answer } });
  return changer({ confirm, store, clock, operation: privateOperation, reply });
}

/** Everything that is in the files of the store. */
const stored = () =>
  readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'latin1'))
    .join('\n');

test('a private change is planned, confirmed and carried out, and its values are in no file', async () => {
  const first = serve();
  const id = changeIdOf(await first.call({ ...restoreArguments, instanceId: given }));
  expect((await first.changeOf(await first.get(id))).plan.summary.text).toContain(given);

  const other = serve();
  const ended = successOf(await other.confirm(id, given));
  expect(JSON.stringify(other.requests)).toContain(given);
  expect(JSON.stringify(ended)).toContain(answer);
  expect(successOf(await serve().get(id)).answer).toEqual(ended.answer);

  const [entry] = await other.journal();
  expect(entry).toMatchObject({ state: 'accepted', what: `${privateOperation.title} (its values are private).` });
  for (const value of [given, answer]) {
    expect(stored()).not.toContain(value);
    expect(JSON.stringify(entry)).not.toContain(value);
  }
});

test('a change whose values are not private is stored in clear', async () => {
  const server = serve();
  await server.call({ ...restoreArguments, instanceId: 'clear7' });
  expect(stored()).toContain('clear7');
});

test('with another key, a change can be named and withdrawn, and nobody can agree to it', async () => {
  const id = changeIdOf(await serve().call({ ...restoreArguments, instanceId: given }));
  const stranger = serve({ keyOfStore: 's'.repeat(32) });
  expect(JSON.stringify(await stranger.get(id))).not.toContain(given);
  expect(await stranger.confirm(id, given)).toMatchObject({ kind: 'failed' });
  expect(stranger.requests).toEqual([]);
  expect(successOf(await stranger.withdraw(id)).outcome).toBe('withdrawn');
});

test('a plan that names a private change is private itself', async () => {
  const server = serve();
  await server.call({ ...restoreArguments, instanceId: given });
  await server.call({ ...restoreArguments, instanceId: 'clear7' });
  expect(stored()).not.toContain(given);
});

describe('the key beside a journal', () => {
  const keysOf = (stateKeys?: KeyRing) => keysOfJournal(join(folder, 'state', 'journal.db'), stateKeys);
  const keyFile = () => join(folder, 'state', 'journal.db.key');

  test('is made once, with its folder, in a file that others cannot read', () => {
    const made = keysOf();
    expect(keysOf()).toEqual(made);
    expect(readdirSync(join(folder, 'state'))).toEqual(['journal.db.key']);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  });

  test('is not made if there are state keys, and opens what it sealed before they were set', () => {
    expect(keysOf(['state key'])).toEqual(['state key']);
    expect(existsSync(keyFile())).toBe(false);
    const [made] = keysOf();
    expect(keysOf(['state key'])).toEqual(['state key', made]);
  });

  test('is not taken from a file without one', () => {
    keysOf();
    writeFileSync(keyFile(), '\n');
    expect(() => keysOf()).toThrow('has no key');
  });

  test.each([undefined, devNull])('does not exist for the journal %s', (path) => {
    // A run with a fault, such as a mutation, leaves it.
    rmSync(`${path}.key`, { force: true });
    expect(keysOfJournal(path, undefined)).toHaveLength(1);
    expect(existsSync(`${path}.key`)).toBe(false);
  });
});

test('without keys that can be read, private changes are refused and others are read', async () => {
  const engine = createSqlite(join(folder, 'journal.db'), { clock: wallClock(() => new Date(start)) });
  const keys = () => {
    throw new Error('EACCES');
  };
  const store = createChanges(engine, { process: processOn('host'), keys });
  stores.push(store);
  const server = changer({ confirm: 'plan', store, operation: privateOperation });
  expect(await server.call({ ...restoreArguments, instanceId: given })).toMatchObject({
    failure: { code: 'JournalUnavailable' },
  });
  await server.call({ ...restoreArguments, instanceId: 'clear7' });
  await serve().call({ ...restoreArguments, instanceId: given });
  expect(await store.newest({ limit: 9 })).toHaveLength(2);
});

const restoreArguments = { backupId: 'a'.repeat(32) };

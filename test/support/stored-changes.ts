import { randomUUID } from 'node:crypto';
import type { JournalEntry, NewChange } from '../../src/changes/change.js';
import { openStore } from '../../src/changes/open-store.js';
import { thisProcess } from '../../src/changes/processes.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { createChanges } from '../../src/changes/store.js';
import { systemClock } from '../../src/changes/store-clock.js';
import { newChange } from './changes.js';

/** The changes in a journal, oldest first, each as it is now. */
export async function storedChanges(journal: string): Promise<readonly JournalEntry[]> {
  const store = await openStore(journal, () => new Date(), { createsTables: false }).openChanges();
  try {
    const entries = new Map<string, JournalEntry>();
    for await (const entry of store.read({})) entries.set(entry.id, entry);
    return [...entries.values()];
  } finally {
    await store.close();
  }
}

/** A process ID that no process has. */
const goneProcess = 2 ** 22 + 1;

/** Writes a change to a journal that has begun and not ended, as a process leaves it that is gone. Resolves with its ID. */
export async function leaveBegun(journal: string, changes: Partial<NewChange> = {}): Promise<string> {
  const now = () => new Date();
  const process = { ...thisProcess(), id: randomUUID(), pid: goneProcess, started: '1' };
  const store = createChanges(createSqlite(journal, { clock: systemClock(now) }), { now, process });
  const change = newChange({ requestKey: randomUUID(), ...changes });
  await store.add(change, { lifetimeMs: 600_000, approved: { kind: 'approved', way: 'off' } });
  await store.begin(change.id, { ifUnknown: {} });
  await store.close();
  return change.id;
}

import { randomUUID } from 'node:crypto';
import type { Decision, Ending, EndState, JournalEntry, NewChange } from '../../src/changes/change.js';
import { openStore } from '../../src/changes/open-store.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { createChanges } from '../../src/changes/store.js';
import { systemClock, thisProcess } from '../../src/changes/system.js';
import { newChange, processOn, wallClock } from './changes.js';

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
  const store = createChanges(createSqlite(journal, { clock: systemClock(now) }), { process });
  const change = newChange({ requestKey: randomUUID(), ...changes });
  await store.add(change, { lifetimeMs: 600_000, approved: { kind: 'approved', way: 'off' } });
  await store.begin(change.id, { ifUnknown: {} });
  await store.close();
  return change.id;
}

/** What happened to a change that `writeChanges` writes: it was decided, and has begun unless the decision was against it, and has ended. */
export interface WrittenChange {
  readonly at: Date;
  readonly change?: Partial<NewChange>;
  readonly decision?: Decision;
  /** Absent for a change that has begun and not ended. */
  readonly end?: { readonly state: EndState; readonly ending?: Ending };
}

const approvedByOption: Decision = { kind: 'approved', way: 'option' };

/** Writes changes to a journal, each at its time. */
export async function writeChanges(journal: string, changes: readonly WrittenChange[]): Promise<void> {
  let time = new Date(0);
  const now = () => time;
  const store = createChanges(createSqlite(journal, { clock: wallClock(now) }), { process: processOn('test') });
  for (const { at, change: given, decision = approvedByOption, end } of changes) {
    time = at;
    const change = newChange({ requestKey: randomUUID(), budget: randomUUID(), caller: randomUUID(), ...given });
    await store.add(change, { lifetimeMs: 600_000 });
    await store.decide(change.id, decision);
    if (decision.kind !== 'approved') continue;
    await store.begin(change.id, { ifUnknown: {} });
    if (end !== undefined) await store.end(change.id, end.state, end.ending ?? {});
  }
  await store.close();
}

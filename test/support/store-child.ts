import { appendFileSync } from 'node:fs';
import { openStore } from '../../src/changes/open-store.js';
import type { Changes } from '../../src/changes/store.js';
import { newChange } from './changes.js';

/**
 * A process that carries out changes. Before each is "sent", it writes the ID and the request key of the change to a file, which stands for the
 * cloud. `keys` says how many keys it tries, one after the other; without it, it uses new ones until somebody kills it.
 */

const [place = '', cloud = '', keys] = process.argv.slice(2);
const now = () => new Date();

async function carryOut(store: Changes, requestKey: string): Promise<void> {
  const change = newChange({ requestKey });
  const added = await store.add(change, { lifetimeMs: 60_000 });
  if (added.kind !== 'added') throw new Error(added.kind);
  const decided = await store.decide(change.id, { kind: 'approved', way: 'confirmed' });
  if (decided.kind !== 'decided') throw new Error(decided.kind);
  const begun = await store.begin(change.id, { ifUnknown: {} });
  if (begun.kind === 'duplicate') return;
  if (begun.kind !== 'begun') throw new Error(begun.kind);
  appendFileSync(cloud, `${change.id} ${requestKey}\n`);
  await store.end(change.id, 'accepted', { status: 200 });
}

const store = await openStore(place, now).openChanges();
const count = keys === undefined ? Number.POSITIVE_INFINITY : Number(keys);
for (let index = 0; index < count; index += 1)
  await carryOut(store, keys === undefined ? newChange().id : `key ${index}`);
await store.close();

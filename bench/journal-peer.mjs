// Opens a journal in a process of the journal bench, and measures changes. Prints JSON.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [module = '', place = '', count = '300'] = process.argv.slice(2);
const { carryOutOne, openJournal } = await import(pathToFileURL(module).href);
const started = performance.now();
const journal = await openJournal(place);
await journal.newest({ caller: 'alice', limit: 50 });
const firstLookMs = performance.now() - started;

/** A whole change, from the call to its answer. The cloud answers at once. */
const wholeStarted = performance.now();
const model = await carryOutOne(journal, `bench-${randomBytes(4).toString('hex')}`);
const firstChangeMs = performance.now() - wholeStarted;

const budget = { mostChanges: 1_000_000, windowMs: 60 * 60 * 1000 };
/** The four writes of a change: its plan, the decision, the intent and the outcome. */
async function change() {
  const random = () => randomBytes(16).toString('base64url');
  const id = random();
  const added = await journal.add({ ...model, id, tokenSource: id, requestKey: random() }, { lifetimeMs: 600_000 });
  const decided = await journal.decide(id, { kind: 'approved', way: 'confirmed' });
  const begun = await journal.begin(id, { budget, ifUnknown: model.ending });
  await journal.end(id, 'accepted', model.ending);
  if (added.kind !== 'added' || decided.kind !== 'decided' || begun.kind !== 'begun') throw new Error(begun.kind);
}

const cpu = process.cpuUsage();
const times = [];
for (let index = 0; index < Number(count); index += 1) {
  const before = performance.now();
  await change();
  times.push(performance.now() - before);
}
const { user, system } = process.cpuUsage(cpu);
times.sort((one, other) => one - other);
await journal.close();
console.log(
  JSON.stringify({
    firstLookMs,
    firstChangeMs,
    changeMs: times[Math.floor(times.length / 2)],
    cpuMs: (user + system) / 1000 / times.length,
    // Not `maxRSS`, which begins with that of the parent process.
    peakMiB: Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024,
  }),
);
process.exit(0);

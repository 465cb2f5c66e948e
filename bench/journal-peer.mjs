// Opens a journal in a process of the journal bench, and measures changes. Prints JSON.
import { randomBytes, randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const [module = '', place = '', count = '300'] = process.argv.slice(2);
const { openJournal, flushed } = await import(pathToFileURL(module).href);
const idle = process.resourceUsage().maxRSS;
const journal = openJournal(place);
const intent = () => ({
  id: randomUUID(),
  time: new Date().toISOString(),
  tool: 'restore_instance',
  what: 'A server "bench" is created.',
  target: 'POST https://devops.example.com/v1/instances:restore',
  account: 'default',
  key: 'access-key-1',
  client: 'bench 1',
  consent: 'planId',
  digest: randomBytes(32).toString('hex'),
  nonce: randomUUID(),
  process: { pid: process.pid, host: 'bench' },
});
/** Time of a change from intent to outcome in milliseconds, without the time in which the disk flushes. */
async function change() {
  const own = intent();
  const before = flushed();
  const started = performance.now();
  const { kind } = await journal.begin(own, { allowRepeat: false });
  if (kind !== 'begun') throw new Error(kind);
  const time = new Date().toISOString();
  await journal.end({ id: own.id, time, key: 'access-key-1', outcome: 'accepted', status: 200 });
  return performance.now() - started - (flushed() - before);
}
const cpu = process.cpuUsage();
const first = await change();
const { user, system } = process.cpuUsage(cpu);
const peak = process.resourceUsage().maxRSS;
const next = [];
for (let index = 0; index < Number(count); index += 1) next.push(await change());
next.sort((one, other) => one - other);
const started = performance.now();
await journal.listUnfinished();
const open = performance.now() - started;
await journal.close();
console.log(
  JSON.stringify({
    firstMs: first,
    firstCpuMs: (user + system) / 1000,
    changeMs: next[Math.floor(next.length / 2)],
    searchMs: open,
    idleMiB: idle / 1024,
    firstMiB: peak / 1024,
    peakMiB: process.resourceUsage().maxRSS / 1024,
  }),
);

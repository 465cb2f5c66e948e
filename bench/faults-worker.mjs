// One server of the fault matrix. It attempts the same changes as the others at the same time, and again one and five seconds later.
// It writes each change that it may send to a file, and ends when stdin closes.
import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const [module, place, sent, run, offset] = process.argv.slice(2);
const { openJournal } = await import(pathToFileURL(module).href);
const shift = { ms: Number(offset) };
const journal = openJournal(place, () => new Date(Date.now() + shift.ms));
process.stdin.on('end', () => process.exit(0));
process.stdin.on('data', (bytes) => {
  shift.ms = Number(bytes.toString());
});

const everyMs = 100;
const now = () => new Date(Date.now() + shift.ms).toISOString();
async function attempt(key) {
  const started = performance.now();
  const digest = createHash('sha256').update(key).digest('hex');
  const id = randomUUID();
  const intent = { id, time: now(), tool: 'fault', what: key, target: key, account: 'a', client: 'faults' };
  const begun = await journal.begin(
    { ...intent, consent: 'off', digest, process: { pid: process.pid, host: 'faults' } },
    { allowRepeat: false },
  );
  const record = (kind) => appendFileSync(sent, `${JSON.stringify({ key, kind, ms: performance.now() - started })}\n`);
  if (begun.kind !== 'begun') return record(begun.kind);
  record('sent');
  await delay(5);
  return journal.end({ id, time: now(), outcome: 'accepted' });
}
for (;;) {
  await delay(everyMs - (Date.now() % everyMs));
  const key = `${run} ${Math.floor(Date.now() / everyMs)}`;
  for (const pause of [0, 1000, 5000]) void delay(pause).then(() => attempt(key).catch(() => undefined));
}

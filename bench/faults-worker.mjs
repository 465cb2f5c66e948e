// One server of the fault matrix. It plans and carries out the same changes as the others at the same time, and again one and five
// seconds later. A second after each answer it confirms the plan once more. It writes each request that its cloud gets, and each answer
// with whether the cloud had the request of its plan, to a file. It ends when stdin closes.
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const [module, place, sent, run, offset] = process.argv.slice(2);
const { answered, createNotices, openJournal, restoreInstance, testCaller } = await import(pathToFileURL(module).href);
const shift = { ms: Number(offset) };
const now = () => new Date(Date.now() + shift.ms);
const store = await openJournal(place, now);
const notices = createNotices(
  store,
  () => undefined,
  () => undefined,
);
process.stdin.on('end', () => process.exit(0));
process.stdin.on('data', (bytes) => {
  shift.ms = Number(bytes.toString());
});

const everyMs = 100;
const httpClient = { send: () => Promise.reject(new Error('no request leaves this process')), close: async () => {} };

async function attempt(key) {
  const started = performance.now();
  let wasSent = false;
  const record = (kind, fields = {}) =>
    appendFileSync(sent, `${JSON.stringify({ key, kind, ms: performance.now() - started, ...fields })}\n`);
  /** In place of the cloud. Each attempt has its own, so that a request belongs to its plan. */
  const openClient = () => ({
    send: async () => {
      wasSent = true;
      record('sent');
      await delay(5);
      return answered(200, { instance: {} });
    },
    [Symbol.dispose]: () => undefined,
  });
  const { call, confirm } = testCaller('https://cloud.example.com', {
    ...{ store, now, confirm: 'plan', openClient, httpClient },
    pendingNotes: (caller) => notices.take(caller),
  });
  const recordAnswer = ({ ok, structured, failure }) => {
    const { outcome, code, mayHaveHappened } = ok ? structured : failure;
    record(code ?? outcome, { wasSent, outcome, mayHaveHappened });
  };

  const context = { signal: new AbortController().signal };
  const args = { backupId: 'demobackup0000000000000000000001', instanceId: key };
  const planned = await call(restoreInstance, args, context);
  // Only the plan itself has no outcome yet.
  if (!planned.ok) return recordAnswer(planned);
  const { changeId } = planned.structured;
  recordAnswer(await confirm(changeId, key, context));
  await delay(1000);
  recordAnswer(await confirm(changeId, key, context));
}
/** On a busy machine, further attempts would only wait for connections until these time out. */
const mostUnderWay = 40;
let underWay = 0;
async function attemptWithin(key) {
  if (underWay >= mostUnderWay) return;
  underWay += 1;
  await attempt(key).catch(() => undefined);
  underWay -= 1;
}
for (;;) {
  await delay(everyMs - (Date.now() % everyMs));
  const key = `run-${run}-${Math.floor(Date.now() / everyMs)}`;
  for (const pause of [0, 1000, 5000]) void delay(pause).then(() => attemptWithin(key));
}

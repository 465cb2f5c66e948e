// One server of the fault matrix. It plans and carries out the same changes as the others at the same time, and again one and five
// seconds later. A second after each answer it asks again with the planId. It writes each request that its cloud gets, and each answer
// with whether the cloud had the request of its plan, to a file. It ends when stdin closes.
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const [module, place, sent, run, offset] = process.argv.slice(2);
const { answered, openJournal, restoreInstance, testCaller } = await import(pathToFileURL(module).href);
const shift = { ms: Number(offset) };
const now = () => new Date(Date.now() + shift.ms);
const journal = openJournal(place, now);
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
  const { call } = testCaller('https://cloud.example.com', { journal, now, confirm: 'plan', openClient, httpClient });
  const ask = async (planId) => {
    const args = { backupId: 'demobackup0000000000000000000001', instanceId: key, planId };
    const { signal } = new AbortController();
    const { ok, structured, failure } = await call(restoreInstance, args, { signal });
    const { outcome, code, mayHaveHappened, planId: ownPlanId } = ok ? structured : failure;
    // Only the plan itself has no outcome yet. A failure of a change that says nothing about it claims nothing.
    if (planId !== undefined || !ok) record(code ?? outcome, { wasSent, outcome, mayHaveHappened });
    return ownPlanId;
  };
  const planId = await ask();
  if (planId === undefined) return;
  await ask(planId);
  await delay(1000);
  await ask(planId);
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

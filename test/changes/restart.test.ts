import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CallOutcome } from '../../src/calls/outcome.js';
import { plainResult } from '../../src/calls/result-text.js';
import type { ChangeContext } from '../../src/changes/change-context.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { type Changes, createChanges } from '../../src/changes/store.js';
import { leaseMs } from '../../src/changes/system.js';
import type { FinalReply } from '../../src/transport/signed-client.js';
import { never } from '../support/caller.js';
import { accepted, alice, changeIdOf, changer, start } from '../support/changer.js';
import { processOn, wallClock } from '../support/changes.js';
import { answered, unanswered } from '../support/scripted-client.js';

/** A restart keeps every change: those that wait can be decided, those that ended are told as before, and those under way are not forgotten. */

let folder: string;
let clock: { time: number };
let stores: Changes[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cloudops-restart-'));
  clock = { time: start };
  stores = [];
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await rm(folder, { recursive: true });
});

type Reply = () => Promise<FinalReply>;

/** A process on the file. The process before it is gone. */
function serve(confirm: 'ask' | 'plan' | 'off', reply?: Reply) {
  const now = () => new Date(clock.time);
  const engine = createSqlite(join(folder, 'journal.db'), { clock: wallClock(now) });
  const store = createChanges(engine, { process: processOn(`host-${stores.length}`) });
  stores.push(store);
  return changer({ confirm, store, clock, ...(reply && { reply }) });
}

type Server = ReturnType<typeof serve>;

const viewOf = (outcome: CallOutcome) => (outcome.kind === 'succeeded' ? outcome.view : undefined);

/** Decides in the way that an outcome offers. */
const decisions: Readonly<
  Record<string, [context: Partial<ChangeContext>, decide: (to: Server, by: CallOutcome) => unknown]>
> = {
  'confirmed by the agent': [{}, (server, outcome) => server.confirm(changeIdOf(outcome))],
  'decided by a click in a view': [
    { hasView: true },
    async ({ changes }, outcome) => {
      const view = viewOf(outcome);
      if (view?.kind !== 'plan' || view.ticket === undefined) throw new Error('nothing to click on');
      const context = { client: 'test 1', signal: never, principal: alice };
      const change = await changes.findByProof(view.ticket, context);
      if ('code' in change) throw change;
      return changes.click(change, { decision: 'accept', where: 'view' }, context);
    },
  ],
  'decided by the answer to its question': [
    { elicitor: { ask: async () => 'later' } },
    ({ call }, outcome) => {
      if (outcome.kind !== 'inputRequired') throw new Error('no question');
      const responseTo = () => ({ kind: 'agreed' }) as const;
      return call({}, { brought: { kind: 'answer', proof: outcome.state, responseTo, visit: 'cancelled' } });
    },
  ],
};

test.each(Object.entries(decisions))('a plan that waits can be %s', async (_how, [context, decide]) => {
  const before = serve('ask');
  const outcome = await before.call({}, context);
  const after = serve('ask');
  clock.time += 3000;
  await decide(after, outcome);
  expect([before.requests.length, after.requests.length]).toEqual([0, 1]);
  expect((await after.journal()).map(({ state }) => state)).toEqual(['accepted']);
});

const facts = (outcome: CallOutcome) => {
  if (outcome.kind === 'inputRequired') throw new Error('a question');
  return plainResult(outcome.kind === 'failed' ? outcome.failure : outcome.success);
};

test.each<readonly [string, Reply]>([
  ['accepted', async () => answered(200, { instance: { instanceId: 'one' } })],
  ['rejected', async () => answered(409, { error: { code: 'Taken', message: 'In use.' } })],
  ['not sent', async () => unanswered(false)],
  ['unknown', async () => unanswered(true)],
])('a change that ended as %s is told as before, word for word', async (state, reply) => {
  const told = await serve('off', reply).call();
  const { get, store } = serve('off');
  const id = changeIdOf(told);
  expect((await store.find(id))?.state).toBe(state);
  expect(facts(await get(id))).toEqual(facts(told));
});

test('a change that was declined keeps the reason', async () => {
  const before = serve('ask');
  const { elicitor } = before.personOf('declined', { reason: 'too large' });
  const told = await before.call({}, { elicitor });
  const again = await serve('ask').get(changeIdOf(told));
  expect(again).toMatchObject({ failure: { code: 'Declined', outcome: 'declined' } });
  expect(JSON.stringify(again)).toContain('the person gave this reason: \\"too large\\"');
});

describe('a process that is killed', () => {
  test('while it sends a change leaves it unknown, and the change is not sent again', async () => {
    let reached = () => {};
    const sending = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const before = serve('plan', () => {
      reached();
      return new Promise(() => {});
    });
    const id = changeIdOf(await before.call());
    void before.confirm(id);
    await sending;
    clock.time += leaseMs + 1;
    const { get, call, store, requests } = serve('plan');
    await store.recover();
    expect(await get(id)).toMatchObject({
      failure: {
        code: 'OutcomeUnknown',
        outcome: 'unknown',
        mayHaveHappened: true,
        changeId: id,
        next: { text: expect.stringMatching(/^Do not repeat it\. It was sent at 2026-11-21T12:00:00\.000Z/) },
      },
    });
    expect(await call()).toMatchObject({ failure: { code: 'Repeated', earlier: { outcome: 'unknown' } } });
    expect(requests).toEqual([]);
  });

  test('before it sends an approved change leaves it not sent, and the change can be made again', async () => {
    const before = serve('plan');
    const id = changeIdOf(await before.call());
    await before.store.decide(id, { kind: 'approved', way: 'confirmed' });
    clock.time += leaseMs + 1;
    const { get, call, confirm, store, requests } = serve('plan');
    await store.recover();
    expect(await get(id)).toMatchObject({ failure: { outcome: 'not sent', mayHaveHappened: false } });
    expect(await confirm(changeIdOf(await call()))).toMatchObject(accepted);
    expect(requests).toHaveLength(1);
  });
});

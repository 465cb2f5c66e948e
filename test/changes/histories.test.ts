import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EndState } from '../../src/changes/change.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { type Changes, createChanges } from '../../src/changes/store.js';
import { asking, newChange, processOn } from '../support/changes.js';
import { runs } from '../support/runs.js';
import { createModel } from './store-model.js';

/** Random histories of two processes, which share a file, are killed, and have clocks that anybody sets. */

const minute = 60_000;
const who = fc.nat({ max: 1 });
/** One of the changes so far. Later ones are likelier. */
const which = fc.nat({ max: 5 });
const endStates: readonly EndState[] = ['accepted', 'partly', 'rejected', 'not sent', 'unknown'];
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('carryOut' as const),
      who,
      requestKey: fc.constantFrom('a', 'b'),
      waitedMs: fc.constantFrom(0, 9 * minute, 11 * minute),
      state: fc.option(fc.constantFrom(...endStates), { nil: undefined }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('plan' as const),
      who,
      requestKey: fc.constantFrom('a', 'b', 'c'),
      repeats: fc.oneof(fc.boolean(), which),
      asks: fc.boolean(),
      approved: fc.boolean(),
      lifetimeMs: fc.constantFrom(minute, 30 * minute),
      replaces: fc.option(which, { nil: undefined }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('decide' as const),
      who,
      which,
      state: fc.constantFrom('approved' as const, 'approved' as const, 'declined' as const, 'withdrawn' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('begin' as const), who, which }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('end' as const), who, which, state: fc.constantFrom(...endStates) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('upkeep' as const), who }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, minute, 9 * minute, 11 * minute, 70 * minute),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('setClock' as const), ms: fc.integer({ min: -1e9, max: 1e9 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

async function play(steps: readonly Step[], path: string): Promise<void> {
  const clock = { uptime: 0, ahead: Date.parse('2026-11-20T12:00:00Z') };
  const now = () => new Date(clock.uptime + clock.ahead);
  const system = { boot: 'boot', uptimeMs: () => clock.uptime, wallMs: () => now().getTime() };
  const start = () => {
    const process = processOn('host');
    // Only its lease tells that it runs.
    const self = { ...process, space: process.id };
    return { id: self.id, store: createChanges(createSqlite(path, { clock: system }), { process: self }) };
  };
  const processes = [start(), start()];
  const at = (index: number): { readonly id: string; readonly store: Changes } => processes[index] ?? expect.fail();
  const model = createModel();
  const ids: string[] = [];
  const idOf = (back: number) => ids.at(-1 - back) ?? 'none';

  const run: { readonly [Kind in Step['kind']]: (step: Extract<Step, { kind: Kind }>) => Promise<void> } = {
    plan: async ({ who: index, requestKey, asks, approved, lifetimeMs, ...rest }) => {
      const { id: process, store } = at(index);
      const repeats = typeof rest.repeats === 'number' ? idOf(rest.repeats) : rest.repeats;
      const replaces = rest.replaces === undefined ? '' : idOf(rest.replaces);
      const change = newChange({ requestKey, repeats, ...(asks && asking) });
      ids.push(change.id);
      const decision = approved ? { approved: { kind: 'approved', way: 'off' } as const } : {};
      const added = await store.add(change, { lifetimeMs, replaces, ...decision });
      const kind = added.kind === 'added' && added.replaced ? 'replaced' : added.kind;
      expect(kind).toBe(
        model.add({ id: change.id, requestKey, repeats, asks }, { process, lifetimeMs, approved, replaces }),
      );
    },
    carryOut: async ({ who: index, requestKey, waitedMs, state }) => {
      const plan = { who: index, requestKey, repeats: false, asks: false, approved: false, lifetimeMs: 30 * minute };
      await run.plan({ kind: 'plan', ...plan, replaces: undefined });
      await run.pass({ kind: 'pass', ms: waitedMs });
      await run.decide({ kind: 'decide', who: index, which: 0, state: 'approved' });
      await run.begin({ kind: 'begin', who: index, which: 0 });
      if (state !== undefined) await run.end({ kind: 'end', who: index, which: 0, state });
    },
    decide: async ({ who: index, which: back, state }) => {
      const { id: process, store } = at(index);
      const { kind } = await store.decide(idOf(back), { kind: state, way: 'asked' });
      expect(kind).toBe(model.decide(idOf(back), process, state));
    },
    begin: async ({ who: index, which: back }) => {
      const { id: process, store } = at(index);
      const { kind } = await store.begin(idOf(back), { budget: model.budget, ifUnknown: {} });
      expect(kind).toBe(model.begin(idOf(back), process));
    },
    end: async ({ who: index, which: back, state }) => {
      await at(index)
        .store.end(idOf(back), state, {})
        .catch(() => undefined);
      model.end(idOf(back), state);
    },
    kill: async ({ who: index }) => {
      await at(index).store.close();
      processes[index] = start();
    },
    upkeep: async ({ who: index }) => {
      const { id: process, store } = at(index);
      await store.recover();
      model.recover(process);
      await store.erase();
      model.erase();
    },
    pass: async ({ ms }) => {
      clock.uptime += ms;
      model.pass(ms);
    },
    setClock: async ({ ms }) => {
      clock.ahead += ms;
    },
  };
  const runStep = <Kind extends Step['kind']>(each: Extract<Step, { kind: Kind }>) => run[each.kind as Kind](each);

  for (const each of steps) {
    await runStep(each);
    for (const { store } of processes) {
      const states = (await store.newest({ limit: 1000 })).map(({ id, state }) => [id, state]);
      expect(Object.fromEntries(states)).toEqual(model.states());
      expect((await store.waiting({})).map(({ id }) => id).sort()).toEqual(model.waiting().sort());
    }
  }
  for (const { store } of processes) await store.close();
}

test('every history ends as the model says, whatever the clocks say', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-histories-'));
  let count = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => {
        count += 1;
        return play(steps, join(folder, `${count}.db`));
      }),
      { numRuns: runs(500) },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

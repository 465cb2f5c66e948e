import { devNull } from 'node:os';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ConsentMode, consentModes } from '../../src/calls/account.js';
import type { FormResponse } from '../../src/calls/context.js';
import type { CallOutcome } from '../../src/calls/outcome.js';
import type { Change, DecisionWay } from '../../src/changes/change.js';
import { duplicateWindowMs } from '../../src/changes/change-table.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { type Changes, createChanges } from '../../src/changes/store.js';
import { leaseMs } from '../../src/changes/system.js';
import type { HttpClient, HttpFailure, HttpResponse } from '../../src/transport/http-client.js';
import { never } from '../support/caller.js';
import { alice, changeIdOf, changer, start } from '../support/changer.js';
import { processOn, wallClock } from '../support/changes.js';
import { runs } from '../support/runs.js';
import { pageOf } from '../support/told.js';

/**
 * Random histories of calls to two processes on one table, with clients, settings, answers, faults, crashes and a clock. Whatever happens: no request without
 * consent, no change twice, no two requests for the same thing that may both have acted unless the second was asked for as such, and no change that
 * has begun and never ends.
 */

const minute = 60_000;

const faults = {
  none: { kind: 'response', status: 200, headers: {}, body: '{"instance":{}}' },
  'refused by the service': { kind: 'response', status: 400, headers: {}, body: '{"code":"Client.Bad"}' },
  lost: { kind: 'failure', code: 'ConnectionLost', detail: 'lost', mayHaveArrived: true },
  failed: { kind: 'response', status: 500, headers: {}, body: '' },
  'never arrived': { kind: 'failure', code: 'ConnectionRefused', detail: 'refused', mayHaveArrived: false },
} as const satisfies Record<string, HttpResponse | HttpFailure>;
type Fault = keyof typeof faults;
const mayHaveActed: readonly Fault[] = ['none', 'lost', 'failed'];

const step = fc.record({
  kind: fc.constantFrom('call', 'call', 'confirm', 'confirm', 'click', 'withdraw'),
  process: fc.constantFrom(0, 1),
  /** For a call. */
  thing: fc.constantFrom('first', 'first', 'first', 'second'),
  client: fc.constantFrom('asks', 'views', 'neither'),
  option: fc.constantFrom(false, false, false, false, false, true),
  reply: fc.constantFrom<FormResponse['kind'][]>(
    'agreed',
    'declined',
    'declined',
    'cancelled',
    'unanswered',
    'interrupted',
    'notAsked',
  ),
  planOnly: fc.constantFrom(false, false, false, false, false, true),
  allowRepeat: fc.boolean(),
  replaces: fc.constantFrom('none', 'none', 'latest', 'oldest'),
  /** For a decision on an earlier plan. */
  plan: fc.constantFrom('latest', 'latest', 'previous', 'oldest', 'made up'),
  name: fc.constantFrom('right', 'right', 'right', 'wrong'),
  decision: fc.constantFrom('accept', 'accept', 'decline'),
  /** How long a person takes (milliseconds). */
  afterMs: fc.constantFrom(7, 5000, 5000, 5000, 5000, 6 * minute, 11 * minute),
  fault: fc.constantFrom<Fault[]>('none', 'none', 'refused by the service', 'lost', 'failed', 'never arrived'),
  crash: fc.constantFrom('none', 'none', 'none', 'after the intent', 'after sending', 'after the answer'),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

class ProcessEnded extends Error {}

/** Two processes with the same settings, on one table. One that crashes is replaced by another. */
function system(mode: ConsentMode) {
  const clock = { time: start };
  const now = () => new Date(clock.time);
  const engine = createSqlite(devNull, { clock: wallClock(now) });
  const { given: page } = pageOf(mode === 'approval' ? 'signIn' : 'none');
  let requests = 0;
  let current: Pick<Step, 'fault' | 'crash'> = { fault: 'none', crash: 'none' };
  const httpClient: HttpClient = {
    send: async () => {
      if (current.crash === 'after the intent') throw new ProcessEnded();
      if (current.fault !== 'never arrived') requests += 1;
      if (current.crash === 'after sending') throw new ProcessEnded();
      return faults[current.fault];
    },
    close: async () => undefined,
  };
  const table = createChanges(engine, { process: processOn('observer') });
  const startProcess = () => {
    const store = createChanges(engine, { process: processOn('server') });
    const end: Changes['end'] = (...given) =>
      current.crash === 'none' ? store.end(...given) : Promise.reject(new ProcessEnded());
    return changer({
      confirm: mode,
      clock,
      store: { ...store, end },
      httpClient,
      timeoutMs: 5000,
      maximumAttempts: 2,
      ...(page && { page }),
    });
  };
  const processes = [startProcess(), startProcess()];
  return {
    clock,
    table,
    requests: () => requests,
    processOf: ({ process }: Step) => processes[process] ?? startProcess(),
    begin: (given: Step) => {
      current = given;
    },
    /** Ends a process that has crashed. Another one takes note when its lease is over. */
    finish: async ({ process, crash }: Step) => {
      current = { fault: 'none', crash: 'none' };
      if (crash === 'none') return;
      processes[process] = startProcess();
      clock.time += leaseMs + 1;
      await table.recover();
    },
    close: () => table.close(),
  };
}
type System = ReturnType<typeof system>;

interface Plan {
  readonly id: string;
  readonly thing: string;
  readonly allowRepeat: boolean;
  /** The last request for the thing that may have acted, when the plan was made. */
  readonly lastActed: string | undefined;
}

/** What an observer knows of a history. */
interface Model {
  /** Oldest first. */
  readonly plans: Plan[];
  /** IDs of the changes that were sent. */
  readonly sent: Set<string>;
  /** Requests that may have acted. */
  readonly acted: { readonly id: string; readonly thing: string; readonly at: number }[];
  /** What people declined, or only closed. */
  readonly declined: {
    readonly id: string;
    readonly thing: string;
    readonly at: number;
    readonly isDismissed: boolean;
  }[];
}

/** The last request for a thing that may have acted in the last ten minutes. */
const lastActed = ({ acted }: Model, thing: string, now: number) =>
  acted.findLast((each) => each.thing === thing && now - each.at < duplicateWindowMs)?.id;

function planOf({ plans }: Model, which: Step['plan'] | Step['replaces']): Plan | undefined {
  const places = { latest: plans.length - 1, previous: plans.length - 2, oldest: 0, 'made up': -1, none: -1 };
  return plans[places[which]];
}

/** Does a step. Returns the outcome if it was about a change. */
async function act(
  given: Step,
  mode: ConsentMode,
  { clock, processOf }: System,
  model: Model,
): Promise<CallOutcome | undefined> {
  const server = processOf(given);
  const plan = planOf(model, given.plan);
  const id = plan?.id ?? 'x'.repeat(22);
  switch (given.kind) {
    case 'call': {
      const { thing, client, option, reply, planOnly, allowRepeat, replaces, afterMs } = given;
      const replaced = planOf(model, replaces)?.id;
      const args = { instanceId: thing, planOnly, allowRepeat, replaces: replaced };
      const elicitor = client === 'asks' ? server.personOf(reply, { afterMs }).elicitor : undefined;
      return server.call(args, {
        client: { elicitor, views: client === 'views' },
        brought: option ? { kind: 'consent' } : undefined,
      });
    }
    case 'confirm':
      clock.time += given.afterMs;
      return server.confirm(id, given.name === 'right' ? plan?.thing : 'another');
    case 'withdraw':
      return server.withdraw(id);
    case 'click': {
      clock.time += given.afterMs;
      const change = await server.store.find(id);
      if (change === undefined) return undefined;
      const where = mode === 'approval' ? 'page' : 'view';
      const context = { client: { name: 'test 1' }, signal: never, principal: alice };
      const decided = await server.changes.click(change, { where, decision: given.decision }, context);
      return decided.kind === 'decided' ? decided.outcome : undefined;
    }
  }
}

/** Whether a step was consent in a way. */
const consents: Readonly<
  Record<DecisionWay, (given: Step, mode: ConsentMode, change: Change, model: Model) => boolean>
> = {
  off: ({ kind, planOnly }, mode) => mode === 'off' && kind === 'call' && !planOnly,
  option: ({ kind, option, planOnly }, mode) =>
    ['ask', 'plan'].includes(mode) && kind === 'call' && option && !planOnly,
  asked: ({ kind, client, reply, afterMs, planOnly }, mode) =>
    ['ask', 'human'].includes(mode) &&
    kind === 'call' &&
    client === 'asks' &&
    reply === 'agreed' &&
    afterMs >= 1000 &&
    !planOnly,
  clicked: ({ kind, decision }, mode, { options, decision: made }) =>
    ['ask', 'human'].includes(mode) &&
    kind === 'click' &&
    decision === 'accept' &&
    options.byClick &&
    isWithin(made?.answeredAfterMs, 1000, 10 * minute),
  page: ({ kind, decision }, mode, { decision: made }) =>
    mode === 'approval' &&
    kind === 'click' &&
    decision === 'accept' &&
    isWithin(made?.answeredAfterMs, 1000, 24 * 60 * minute),
  confirmed: ({ kind, name }, mode, { subject, madeAt, decidedAt = 0 }, { declined }) => {
    const recent = declined.filter(({ at }) => decidedAt - at < 10 * minute);
    const wasDeclined = recent.some(({ thing, isDismissed }) => thing === subject?.name && !isDismissed);
    return (
      ['ask', 'plan'].includes(mode) &&
      kind === 'confirm' &&
      name === 'right' &&
      decidedAt - madeAt <= 10 * minute &&
      recent.length < 3 &&
      !wasDeclined
    );
  },
  withdrawn: () => false,
  program: () => false,
};

const isWithin = (value: number | undefined, least: number, most: number) =>
  value !== undefined && value >= least && value <= most;

/** Checks a request against all that was known before it, and takes note of it. */
function expectAllowed(
  given: Step,
  mode: ConsentMode,
  change: Change,
  outcome: CallOutcome,
  { model, time }: { readonly model: Model; readonly time: number },
): void {
  // The change of a process that crashed ends when another process takes note.
  const endedAt = given.crash === 'none' ? time : time + leaseMs + 1;
  const { id, decision, subject = { name: '' } } = change;
  expect(decision?.kind).toBe('approved');
  const way = decision?.way ?? 'withdrawn';
  expect(consents[way](given, mode, change, model), way).toBe(true);
  expect(model.sent).not.toContain(id);
  model.sent.add(id);
  if (!mayHaveActed.includes(given.fault)) return;

  // Never two, unless the second was asked for as such, and repeats the one that its plan named.
  const earlier = lastActed(model, subject.name, time);
  const plan = model.plans.find((each) => each.id === id);
  if (earlier !== undefined) expect([plan?.allowRepeat, plan?.lastActed]).toEqual([true, earlier]);
  model.acted.push({ id, thing: subject.name, at: endedAt });
  // It is never told as failed.
  if (outcome.kind === 'failed') expect(outcome.failure).toMatchObject({ mayHaveHappened: true });
}

/** Does a step, and checks what became of it. */
async function live(given: Step, mode: ConsentMode, running: System, model: Model): Promise<void> {
  const { clock, table, requests } = running;
  const before = requests();
  const known = lastActed(model, given.thing, clock.time);
  running.begin(given);
  const outcome = await act(given, mode, running, model);
  const id = outcome === undefined ? 'none' : changeIdOf(outcome);
  const change = await table.find(id);
  if (given.kind === 'call' && change !== undefined)
    model.plans.push({ id, thing: given.thing, allowRepeat: given.allowRepeat, lastActed: known });
  expect(requests() - before).toBeLessThanOrEqual(1);
  if (requests() > before) {
    if (change === undefined || outcome === undefined) throw new Error('a request without a change');
    expectAllowed(given, mode, change, outcome, { model, time: clock.time });
  }
  if (change?.state === 'declined' && !model.declined.some((each) => each.id === id))
    model.declined.push({
      id,
      thing: change.subject?.name ?? '',
      at: clock.time,
      isDismissed: change.decision?.isDismissed === true,
    });
  await running.finish(given);
}

/** Lives a history. Returns the number of requests. */
async function liveAll(mode: ConsentMode, steps: readonly Step[]): Promise<number> {
  const running = system(mode);
  const model: Model = { plans: [], sent: new Set(), acted: [], declined: [] };
  try {
    for (const given of steps) await live(given, mode, running, model);
    const states = new Map((await running.table.newest({ limit: 1000 })).map(({ id, state }) => [id, state]));
    // Nothing has begun and not ended. What may have acted is told as nothing else, and what was not sent is not told as sent.
    for (const [id, state] of states) {
      expect(['approved', 'begun']).not.toContain(state);
      if (model.acted.some((each) => each.id === id)) expect(['accepted', 'unknown']).toContain(state);
      else expect(state).not.toBe('accepted');
    }
    return running.requests();
  } finally {
    await running.close();
  }
}

test.each(consentModes)('%s: in random histories', async (mode) => {
  let requests = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25, size: 'max' }), async (steps) => {
      requests += await liveAll(mode, steps);
    }),
    // With fewer, no history may have a request in a mode in which people rarely agree.
    { numRuns: Math.max(50, runs(500)) },
  );
  expect(requests).toBeGreaterThan(0);
});

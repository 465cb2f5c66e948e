import { devNull } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import type { FormResponse } from '../../src/calls/context.js';
import type { CallOutcome } from '../../src/calls/outcome.js';
import { createSqlite } from '../../src/changes/sqlite.js';
import { type Changes, createChanges } from '../../src/changes/store.js';
import { memoryStore, type TestContext } from '../support/caller.js';
import { accepted, alice, type ChangerOptions, changer, failed, start, successOf } from '../support/changer.js';
import { processOn, wallClock } from '../support/changes.js';

/** What people declined ends questions, and binds agents, for ten minutes. */

const tenMinutes = 10 * 60_000;
const unnamed = { principal: undefined };

function setUp(options: ChangerOptions = {}) {
  const session = changer({ confirm: 'ask', ...options });
  const { call, personOf } = session;
  /** A user who is asked about a server of this name, in a form. */
  const answer = (kind: FormResponse['kind'], instanceId: string, context: TestContext = {}) =>
    call(
      { instanceId },
      {
        ...context,
        client: { ...context.client, elicitor: personOf(kind, { afterMs: kind === 'unanswered' ? 0 : 2000 }).elicitor },
      },
    );
  const decline = (instanceId = 'one', context?: TestContext) => answer('declined', instanceId, context);
  /** A client that cannot ask, whose agent may confirm. */
  const plan = (instanceId = 'one', context?: TestContext) => call({ instanceId }, context);
  return { ...session, answer, decline, plan };
}

const codeOf = (outcome: CallOutcome) => (outcome.kind === 'failed' ? outcome.failure.code : 'none');

describe('three refusals', () => {
  test('end the questions of their caller, whatever its client calls itself, and of no other', async () => {
    const { decline, answer, plan } = setUp();
    for (const name of ['a', 'b', 'c']) await decline(name, { client: { name } });
    expect(await answer('agreed', 'd', { client: { name: 'd' } })).toMatchObject(failed('TooManyRefusals'));
    expect(await plan('d')).toMatchObject(failed('TooManyRefusals'));
    expect(await answer('agreed', 'd', { principal: { ...alice, name: 'bob' } })).toMatchObject(accepted);
  });

  test('end the questions of their client if callers have no names', async () => {
    const { decline, answer } = setUp();
    for (const name of ['a', 'b', 'c']) await decline(name, { ...unnamed, client: { name: 'agent 1' } });
    expect(codeOf(await answer('agreed', 'd', { ...unnamed, client: { name: 'agent 1' } }))).toBe('TooManyRefusals');
    expect(await answer('agreed', 'd', { ...unnamed, client: { name: 'agent 2' } })).toMatchObject(accepted);
  });

  test.each<readonly [FormResponse['kind'], boolean]>([
    ['declined', true],
    ['cancelled', true],
    ['unanswered', true],
    ['interrupted', false],
    ['wrongName', false],
    ['notAsked', false],
  ])('of which one was %s count: %s', async (kind, counts) => {
    const { decline, answer } = setUp();
    await decline('a');
    await decline('b');
    await answer(kind, 'c');
    expect(codeOf(await answer('agreed', 'd'))).toBe(counts ? 'TooManyRefusals' : 'none');
  });

  test('count for ten minutes', async () => {
    const { decline, answer, clock } = setUp();
    for (const name of ['a', 'b', 'c']) await decline(name);
    clock.time = start + tenMinutes;
    expect(codeOf(await answer('agreed', 'd'))).toBe('TooManyRefusals');
    clock.time += 6000;
    expect(await answer('agreed', 'd')).toMatchObject(accepted);
  });

  test.each(['ask', 'human'] as const)(
    '%s: end the plans with buttons, and planOnly shows its plan without any',
    async (confirm) => {
      const { decline, call } = setUp({ confirm });
      for (const name of ['a', 'b', 'c']) await decline(name);
      expect(await call({}, { client: { views: true } })).toMatchObject(failed('TooManyRefusals'));
      const shown = await call({ planOnly: true }, { client: { views: true } });
      expect(successOf(shown)).toMatchObject({
        outcome: 'planned',
        next: { text: expect.not.stringContaining('button') },
      });
      expect(shown).not.toHaveProperty('view.ticket');
      expect(shown).not.toHaveProperty('success.changeId');
    },
  );

  test('end no question at a terminal: whoever sits there made the call', async () => {
    const { decline, call, personOf } = setUp();
    for (const name of ['a', 'b', 'c']) await decline(name);
    const { elicitor } = personOf('agreed');
    expect(await call({}, { client: { elicitor: { ...elicitor, isDirect: true } } })).toMatchObject(accepted);
  });
});

describe('questions whose calls ended before a response', () => {
  test('are withdrawn, and are no refusals', async () => {
    const { answer, journal } = setUp();
    for (const name of ['a', 'b', 'c', 'd']) await answer('interrupted', name);
    expect(await journal()).toMatchObject(Array(4).fill({ state: 'withdrawn', decision: { way: 'withdrawn' } }));
    expect(await answer('agreed', 'e')).toMatchObject(accepted);
  });

  test('are ten in ten minutes at most, so that no agent asks and cancels without end', async () => {
    const { answer, clock, requests } = setUp();
    for (let index = 0; index < 10; index += 1) await answer('interrupted', `name-${index}`);
    const outcome = await answer('agreed', 'another');
    expect(outcome).toMatchObject(failed('TooManyQuestions'));
    expect(JSON.stringify(outcome)).not.toMatch(/refused|declined/);
    expect(requests).toEqual([]);
    clock.time += tenMinutes + 1;
    expect(await answer('agreed', 'another')).toMatchObject(accepted);
  });
});

describe('a refusal', () => {
  test('binds the agents of all clients of its caller, for the same change', async () => {
    const { decline, plan } = setUp();
    await decline('one', { client: { name: 'agent 1' } });
    const reason = 'the user declined this change less than ten minutes ago';
    expect(await plan('one', { client: { name: 'agent 2' } })).toMatchObject(failed('Declined', reason));
    expect(successOf(await plan('two')).outcome).toBe('planned');
    expect(successOf(await plan('one', { principal: { ...alice, name: 'bob' } })).outcome).toBe('planned');
  });

  test('binds an agent that had its plan before', async () => {
    const { decline, plan, confirm, requests } = setUp();
    const { changeId = '' } = successOf(await plan());
    await decline();
    expect(await confirm(changeId)).toMatchObject(failed('Declined', 'ten minutes'));
    expect(requests).toEqual([]);
  });

  test.each<readonly [string, readonly FormResponse['kind'][], boolean]>([
    ['a question that was only closed', ['cancelled'], false],
    ['a question without an answer', ['unanswered'], false],
    ['a question that was closed before one that was declined', ['cancelled', 'declined'], true],
    ['a question that was closed after one that was declined', ['declined', 'cancelled'], true],
  ])('of %s (%j) binds: %s', async (_what, kinds, binds) => {
    const { answer, plan } = setUp();
    for (const kind of kinds) await answer(kind, 'one');
    expect(codeOf(await plan())).toBe(binds ? 'Declined' : 'none');
  });

  test('of a program binds nobody', async () => {
    const { call, plan } = setUp();
    await call({}, { client: { elicitor: { ask: async () => ({ kind: 'declined' }) } } });
    expect(successOf(await plan()).outcome).toBe('planned');
  });

  test('is in the way of nobody who can ask: the user may want it after all', async () => {
    const { decline, answer } = setUp();
    await decline();
    expect(await answer('agreed', 'one')).toMatchObject(accepted);
  });
});

describe('while the store cannot be written', () => {
  const stores: Changes[] = [];
  afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));

  /** A store that is full after the plans are in it. */
  const filling = () => {
    const clock = { time: start };
    const now = () => new Date(clock.time);
    const disk = { isFull: false };
    const engine = createSqlite(devNull, { clock: wallClock(now) });
    const write: typeof engine.write = (...given) =>
      disk.isFull ? Promise.reject(Object.assign(new Error('MARKER'), { code: 'ENOSPC' })) : engine.write(...given);
    const store = createChanges({ ...engine, write }, { process: processOn('test') });
    stores.push(store);
    return { clock, store, disk };
  };

  test('a refusal binds in this process, and is written as soon as that is possible', async () => {
    const { disk, ...shared } = filling();
    const { call, plan, confirm, click, journal, store } = setUp(shared);
    const { changeId = '' } = successOf(await plan());
    const clicked = await call({}, { client: { views: true } });
    disk.isFull = true;
    const declined = await click(clicked, { decision: 'decline' });
    expect(declined).toMatchObject({ outcome: failed('Declined', 'the user clicked', 'not in the journal yet') });
    expect(await click(clicked)).toMatchObject({ kind: 'late', change: { state: 'declined' } });
    expect(await confirm(changeId)).toMatchObject(failed('Declined', 'ten minutes'));
    expect(store.unwritten()).toBe(1);
    disk.isFull = false;
    await expect.poll(() => store.unwritten()).toBe(0);
    expect((await journal()).map(({ state }) => state)).toEqual(['declined']);
    expect(await confirm(changeId)).toMatchObject(failed('Declined', 'ten minutes'));
  });
});

test('while the store cannot be read, nobody is asked and no agent confirms, and the log has the cause', async () => {
  const gone = () => Promise.reject(new Error('gone'));
  const store = { ...memoryStore(() => new Date(start)), refused: gone };
  const { answer, plan, call, logged } = setUp({ store });
  const reason = failed('JournalUnavailable', 'the refusals in it cannot be counted');
  expect(await answer('agreed', 'one')).toMatchObject(reason);
  expect(await plan()).toMatchObject(reason);
  expect(await call({}, { client: { views: true } })).toMatchObject(reason);
  expect(logged).toContainEqual({ level: 'error', event: 'journal', fields: { error: 'gone' } });
  const shown = await call({ planOnly: true }, { client: { views: true } });
  expect(successOf(shown).outcome).toBe('planned');
  expect(shown).not.toHaveProperty('view.ticket');
});

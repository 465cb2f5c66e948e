import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { FoundPlan, Plans } from '../../src/consent/plans.js';
import { createRefusals } from '../../src/consent/refusals.js';
import type { Intent } from '../../src/journal/entry.js';
import { createMemoryJournal } from '../support/caller.js';
import { intentAt } from '../support/journal.js';
import { keptPlanAt } from '../support/kept-plan.js';

/** A refusal counts for ten minutes, once, and also before the journal has it. */

const start = Date.parse('2026-11-20T12:00:00Z');
const tenMinutes = 10 * 60_000;
const agent = { client: 'agent 1', caller: undefined, digest: 'd' };
let time = start;
beforeEach(() => {
  time = start;
});
const now = () => new Date(time);

type Writing = Parameters<typeof createRefusals>[0];

function setUp(journal: Writing = createMemoryJournal(now), listPlans: Plans['list'] = async () => []) {
  let ids = 0;
  const logged: unknown[] = [];
  const newId = () => {
    ids += 1;
    return `again-${ids}`;
  };
  const refusals = createRefusals(journal, { list: listPlans }, now, newId, (...entry) => logged.push(entry));
  const decline = (changes: Partial<Intent> = {}, isDismissed = false) =>
    refusals.decline(intentAt(time, { ...agent, id: 'c-1', nonce: 'n-1', consent: 'asked', ...changes }), isDismissed);
  return { refusals, decline, logged };
}

/** A journal that cannot be written until it can. */
function fullJournal() {
  const written: Intent[] = [];
  const journal = {
    isFull: true,
    decline: async (intent: Intent) => {
      if (journal.isFull) throw Object.assign(new Error('MARKER'), { code: 'ENOSPC' });
      written.push(intent);
      return true;
    },
    listDeclined: async () => written.map(({ digest }) => digest),
  };
  return { journal, written };
}

test('a refusal binds for ten minutes', async () => {
  const { refusals, decline } = setUp();
  expect(await decline()).toBe('declined');
  time += tenMinutes;
  const reason = { code: 'Declined', problems: ['the user declined this change less than ten minutes ago'] };
  expect(await refusals.againstPlanId(agent)).toMatchObject(reason);
  time += 1;
  expect(await refusals.againstPlanId(agent)).toBeUndefined();
});

test('of one nonce the first refusal counts', async () => {
  const { decline } = setUp();
  expect(await decline()).toBe('declined');
  expect(await decline({ id: 'c-2' })).toBe('spent');
  expect(await decline({ id: 'c-3', nonce: 'n-2' })).toBe('declined');
});

test('a question that was only closed does not bind its own change, and no other', async () => {
  const { refusals, decline } = setUp();
  await decline({}, true);
  await decline({ nonce: 'n-2', digest: 'e' });
  expect(await refusals.againstPlanId(agent)).toBeUndefined();
  expect(await refusals.againstPlanId({ ...agent, digest: 'e' })).toMatchObject({ code: 'Declined' });
});

test.each<readonly [string, Partial<Intent>]>([
  ['caller', { caller: 'bo' }],
  ['change', { digest: 'e' }],
])('a question that another %s closed makes up for no refusal', async (_what, changes) => {
  const { refusals, decline } = setUp();
  await decline({ nonce: 'n-2', ...changes }, true);
  await decline();
  expect(await refusals.againstPlanId(agent)).toMatchObject({ code: 'Declined' });
});

test('a question that was closed up to ten minutes ago makes up for its own record, and no longer', async () => {
  const { refusals, decline } = setUp();
  await decline({}, true);
  time += tenMinutes;
  expect(await refusals.againstPlanId(agent)).toBeUndefined();
  time += 1;
  await decline({ nonce: 'n-2' });
  expect(await refusals.againstPlanId(agent)).toMatchObject({ code: 'Declined' });
});

test('a refusal binds unless the question is said to have been only closed', async () => {
  const { refusals } = setUp();
  await refusals.decline(intentAt(time, { ...agent, id: 'c-1', nonce: 'n-1', consent: 'asked' }));
  expect(await refusals.againstPlanId(agent)).toMatchObject({ code: 'Declined' });
});

test('a question that is closed after a person declined it makes up for no refusal', async () => {
  const { refusals, decline } = setUp();
  await decline();
  expect(await decline({ id: 'c-2' }, true)).toBe('spent');
  expect(await refusals.againstPlanId(agent)).toMatchObject({ code: 'Declined' });
});

test('a question that a program closed makes up for no refusal', async () => {
  const { refusals, decline } = setUp();
  await decline({ nonce: 'n-2', consent: 'program' }, true);
  await decline();
  expect(await refusals.againstPlanId(agent)).toMatchObject({ code: 'Declined' });
});

test('a question that is closed while refusals are counted makes up for none', async () => {
  const { journal } = fullJournal();
  journal.isFull = false;
  const { refusals, decline } = setUp(journal);
  await decline();
  const counted = refusals.againstPlanId(agent);
  await decline({ nonce: 'n-2' }, true);
  expect(await counted).toMatchObject({ code: 'Declined' });
});

test('the last thousand questions that were closed are remembered', async () => {
  const { journal } = fullJournal();
  journal.isFull = false;
  const { refusals, decline } = setUp({ ...journal, listDeclined: async () => ['d-0', 'd-1'] });
  for (let index = 0; index <= 1000; index += 1)
    await decline({ nonce: `n-${index}`, digest: `d-${index}`, client: `agent ${index}` }, true);
  const against = (index: number) => refusals.againstPlanId({ ...agent, client: 'other', digest: `d-${index}` });
  expect(await against(0)).toMatchObject({ code: 'Declined' });
  expect(await against(1)).toBeUndefined();
});

describe('the answer of a program', () => {
  const answer = { consent: 'program' } as const;

  test('ends the questions of its client, and of no other', async () => {
    const { refusals, decline } = setUp();
    expect(refusals.isAnsweredByProgram(agent)).toBe(false);
    await decline();
    expect(refusals.isAnsweredByProgram(agent)).toBe(false);
    await decline({ ...answer, nonce: 'n-2' });
    expect(refusals.isAnsweredByProgram(agent)).toBe(true);
    expect(refusals.isAnsweredByProgram({ ...agent, client: 'agent 2' })).toBe(false);
    expect(refusals.isAnsweredByProgram({ ...agent, caller: 'ana' })).toBe(false);
  });

  test('is not a refusal by a person', async () => {
    const { refusals, decline } = setUp();
    for (const nonce of ['n-1', 'n-2', 'n-3']) await decline({ ...answer, nonce });
    expect(await refusals.againstAsking(agent)).toBeUndefined();
    expect(await refusals.againstPlanId(agent)).toBeUndefined();
  });

  test('of the last thousand is remembered', async () => {
    const { journal } = fullJournal();
    journal.isFull = false;
    const { refusals, decline } = setUp(journal);
    for (let index = 0; index <= 1000; index += 1)
      await decline({ ...answer, nonce: `n-${index}`, client: `agent ${index}` });
    const isRemembered = (index: number) => refusals.isAnsweredByProgram({ ...agent, client: `agent ${index}` });
    expect([isRemembered(0), isRemembered(1), isRemembered(1000)]).toEqual([false, true, true]);
  });
});

describe('while the journal cannot be written', () => {
  test('a refusal counts here, and is written under a new id as soon as that is possible', async () => {
    const { journal, written } = fullJournal();
    const { refusals, decline, logged } = setUp(journal);
    expect(await decline()).toBe('unwritten');
    expect(await decline({ id: 'c-2' })).toBe('spent');
    expect([refusals.isSpent('n-1'), refusals.isSpent('n-2')]).toEqual([true, false]);
    expect(await refusals.againstPlanId(agent)).toMatchObject({ code: 'Declined' });
    expect(logged).toEqual([['error', 'journal', { tool: 'restore_instance', id: 'c-1', error: 'ENOSPC' }]]);
    journal.isFull = false;
    await vi.waitFor(() => expect(refusals.isSpent('n-1')).toBe(false));
    expect(written).toMatchObject([{ nonce: 'n-1', id: expect.stringMatching(/^again-\d+$/) }]);
    await refusals.close();
  });

  test('it counts for ten minutes too, for its caller alone', async () => {
    const { refusals, decline } = setUp(fullJournal().journal);
    await decline({ caller: 'ana' });
    expect(await refusals.againstPlanId(agent)).toBeUndefined();
    expect(await refusals.againstPlanId({ ...agent, caller: 'ana' })).toMatchObject({ code: 'Declined' });
    time += tenMinutes;
    expect(await refusals.againstPlanId({ ...agent, caller: 'ana' })).toMatchObject({ code: 'Declined' });
    time += 1;
    expect(await refusals.againstPlanId({ ...agent, caller: 'ana' })).toBeUndefined();
    await refusals.close();
  });

  test('three of a caller count through any client', async () => {
    const { refusals, decline } = setUp(fullJournal().journal);
    for (const client of ['one', 'two', 'three'])
      await decline({ caller: 'ana', client, nonce: client, digest: client });
    const ana = { ...agent, caller: 'ana', client: 'four' };
    expect(await refusals.againstAsking(ana)).toMatchObject({ code: 'TooManyRefusals', problems: [] });
    expect(await refusals.againstPlanId(ana)).toMatchObject({ code: 'TooManyRefusals' });
    expect(await refusals.againstPlanId({ ...agent, client: 'four' })).toBeUndefined();
    await refusals.close();
  });

  test('one without a nonce is told by its id', async () => {
    const { refusals, decline } = setUp(fullJournal().journal);
    expect(await decline({ nonce: undefined })).toBe('unwritten');
    expect(await decline({ nonce: undefined })).toBe('spent');
    expect(await decline({ nonce: undefined, id: 'c-2' })).toBe('unwritten');
    await refusals.close();
  });

  test('with a thousand of them, every consent counts as refused', async () => {
    const { refusals, decline } = setUp(fullJournal().journal);
    for (let index = 0; index < 999; index += 1) await decline({ nonce: `n-${index}` });
    expect(refusals.isSpent('other')).toBe(false);
    await decline({ nonce: 'n-999' });
    expect(refusals.isSpent('other')).toBe(true);
    await refusals.close();
  });
});

test('while the journal cannot be read, nobody is asked and no planId counts, and the log has the cause', async () => {
  const listDeclined = () => Promise.reject(new Error('down'));
  const { refusals, logged } = setUp({ ...createMemoryJournal(now), listDeclined });
  const reason = { code: 'JournalUnavailable', problems: ['the refusals in it cannot be counted'] };
  expect(await refusals.againstAsking(agent)).toMatchObject(reason);
  expect(await refusals.againstPlanId(agent)).toMatchObject(reason);
  const entry = ['error', 'journal', { error: 'down' }];
  expect(logged).toEqual([entry, entry]);
});

test('while only the refusals of all clients cannot be read, no planId counts', async () => {
  const listDeclined: Writing['listDeclined'] = async (_since, _caller, client) => {
    if (client === undefined) throw new Error('down');
    return [];
  };
  const { refusals } = setUp({ ...createMemoryJournal(now), listDeclined });
  expect(await refusals.againstAsking(agent)).toBeUndefined();
  expect(await refusals.againstPlanId(agent)).toMatchObject({ code: 'JournalUnavailable' });
});

describe('a decision that only the plan has', () => {
  const stored: FoundPlan = {
    ...keptPlanAt(start, { nonce: 'n-1', requestKey: 'd' }),
    caller: undefined,
    state: 'decided',
    expiresAt: start + 60 * 60_000,
    decision: { kind: 'declined', person: 'bob', at: start },
  };
  const against = (changes: Partial<FoundPlan> = {}) =>
    setUp(undefined, async () => [{ ...stored, ...changes }]).refusals.againstPlanId(agent);

  test('binds for ten minutes, as one in the journal', async () => {
    time += tenMinutes;
    expect(await against()).toMatchObject({
      code: 'Declined',
      problems: ['the user declined this change less than ten minutes ago'],
    });
    time += 1;
    expect(await against()).toBeUndefined();
  });

  test.each<readonly [string, Partial<FoundPlan>]>([
    ['accepts', { decision: { kind: 'accepted', person: 'bob', at: start } }],
    ['takes the plan back', { decision: { kind: 'withdrawn', at: start } }],
    ['is about another change', { requestKey: 'e' }],
    ['is about the plan of another caller', { caller: 'bo' }],
  ])('binds no planId if it %s', async (_what, changes) => {
    expect(await against(changes)).toBeUndefined();
  });

  test('binds no planId if the question was only closed', async () => {
    const { refusals, decline } = setUp(undefined, async () => [stored]);
    await decline({}, true);
    expect(await refusals.againstPlanId(agent)).toBeUndefined();
  });

  test('is looked for among the plans of the caller only', async () => {
    const list = vi.fn(async () => [stored]);
    await setUp(undefined, list).refusals.againstPlanId(agent);
    expect(list).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ caller: agent.caller }));
  });

  test('is a reason against a planId if the plans cannot be read', async () => {
    const { refusals } = setUp(undefined, () => Promise.reject(new Error('gone')));
    expect(await refusals.againstPlanId(agent)).toMatchObject({ code: 'JournalUnavailable' });
  });
});

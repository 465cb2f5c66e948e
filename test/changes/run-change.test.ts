import { describe, expect, test, vi } from 'vitest';
import type { Failure } from '../../src/calls/outcome.js';
import { writeScope } from '../../src/calls/policy.js';
import type { Change, EndState } from '../../src/changes/change.js';
import type { Changes } from '../../src/changes/store.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { json } from '../../src/tools/request-body.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import type { FinalReply } from '../../src/transport/signed-client.js';
import { say } from '../../src/util/safe-text.js';
import { memoryStore, never, type TestCallerOptions, testCaller } from '../support/caller.js';
import { changeAt } from '../support/changes.js';
import { answered, answeredBy, scriptedClient, unanswered } from '../support/scripted-client.js';

/** A change is in the journal before it is sent, with its outcome after it, and its caller is told the same. */

const args = { backupId: 'a'.repeat(32), instanceId: 'one' };
const now = new Date();
const accepted = answered(200, { instance: { instanceId: 'one' } });

interface Given extends TestCallerOptions {
  readonly reply?: FinalReply;
  readonly operation?: Operation;
  readonly given?: object;
}

async function carryOut({
  reply = accepted,
  operation = restoreInstance as Operation,
  given = {},
  ...options
}: Given = {}) {
  const store = options.store ?? memoryStore(() => now);
  const { openClient, requests } = scriptedClient(async () => reply);
  const { call, logged } = testCaller('http://127.0.0.1:1', {
    openClient,
    operations: [operation],
    now: () => now,
    ...options,
    store,
  });
  const principal = { name: 'alice', scopes: [writeScope] };
  const { ok, ...told } = await call(operation, { ...args, ...given }, { signal: never, principal });
  return { ok, told, requests, logged, entries: await store.newest({ limit: 99 }) };
}

const storeWith = (changes: Partial<Changes>): Changes => ({ ...memoryStore(() => now), ...changes });
const gone = () => Promise.reject(new Error('gone'));

test.each([
  [302, true],
  [303, true],
  [307, false],
  [308, false],
  [408, true],
  [421, false],
  [425, false],
  [429, false],
  [444, true],
  [460, true],
  [499, true],
  [500, true],
])('an answer with status %i may come after the change was made: %s', async (status, mayHaveHappened) => {
  const { told, entries } = await carryOut({ reply: answered(status, {}) });
  expect(told).toMatchObject({ failure: { status, mayHaveHappened } });
  expect(entries).toMatchObject([{ state: mayHaveHappened ? 'unknown' : 'rejected' }]);
});

describe('an operation that gets no content in answer', () => {
  const { output: _, ...rest } = restoreInstance;
  const operation = {
    ...rest,
    unknownDefaults: [],
    answer: 'none',
    summarize: () => say`Done.`,
  } as unknown as Operation;

  test.each([200, 204])('has succeeded with an empty answer: %i', async (status) => {
    const { told } = await carryOut({ operation, reply: answeredBy(status, { kind: 'empty' }) });
    expect(told).toMatchObject({ structured: { outcome: 'accepted', summary: 'Done.', warnings: [] } });
  });

  test.each([
    [{ kind: 'json', value: {} }, 'it is JSON, not empty'],
    [{ kind: 'xml', value: { Result: { Id: 'a' } } }, 'it is XML, not empty'],
  ] as const)('is warned of one that is there: %j', async (body, problem) => {
    const { told } = await carryOut({ operation, reply: answeredBy(200, body) });
    expect(told).toMatchObject({ structured: { warnings: [`The answer cannot be read, because ${problem}.`] } });
  });

  test('does not take a page in between for its success', async () => {
    const { told } = await carryOut({ operation, reply: answeredBy(200, { kind: 'html', text: '<html>' }) });
    expect(told).toMatchObject({ failure: { code: 'UnreadableAnswer', mayHaveHappened: true } });
  });
});

test('the journal has who changes what, for whom, and with which consent', async () => {
  const { entries } = await carryOut();
  expect(entries).toMatchObject([
    {
      id: expect.stringMatching(/^[\w-]{22}$/),
      tool: 'restore_instance',
      what: expect.stringContaining('"one"'),
      target: 'POST http://127.0.0.1:1/devops/v1/instances:restore',
      account: 'default',
      keyId: 'AKIDTEST',
      budget: expect.stringMatching(/^[0-9a-f]{32,}$/),
      client: 'test 1',
      caller: 'alice',
      requestKey: expect.stringMatching(/^[0-9a-f]{32,}$/),
      decision: { kind: 'approved', way: 'off' },
      state: 'accepted',
      begunAt: now.getTime(),
      endedAt: now.getTime(),
    },
  ]);
});

const requestIds = { 'x-request-id': 'r-1' };
const lookFirst = new RegExp(`sent at ${now.toISOString()} to region jp-east-1\\. .*"one".*allowRepeat: true\\.$`);
const page = (attempts = 1) => answeredBy(200, { kind: 'html', text: '<html>' }, attempts);
test.each<readonly [string, FinalReply, EndState, object, object]>([
  ['accepted', accepted, 'accepted', { status: 200, requestIds }, { structured: { outcome: 'accepted', requestIds } }],
  [
    'accepted, in words that cannot be read',
    answeredBy(202, { kind: 'text', text: 'OK' }),
    'accepted',
    { status: 202, requestIds },
    { structured: { outcome: 'accepted', warnings: expect.arrayContaining([expect.stringContaining('plain text')]) } },
  ],
  [
    'a refusal',
    answered(409, { error: { code: 'Taken' } }),
    'rejected',
    { status: 409, code: 'Taken', requestIds },
    { failure: { code: 'Http409', serviceSays: { code: 'Taken' }, status: 409, mayHaveHappened: false, requestIds } },
  ],
  [
    'an error of the service',
    answered(500, {}),
    'unknown',
    { status: 500, code: 'Http500', requestIds },
    { failure: { code: 'Http500', mayHaveHappened: true } },
  ],
  [
    'a page of something in between',
    page(),
    'unknown',
    { status: 200, code: 'UnreadableAnswer', requestIds },
    { failure: { code: 'UnreadableAnswer', mayHaveHappened: true, status: 200, requestIds } },
  ],
  [
    'no answer, though it may have arrived',
    unanswered(true),
    'unknown',
    { code: 'ConnectionLost', requestIds: {} },
    { failure: { code: 'ConnectionLost', mayHaveHappened: true, next: { text: expect.stringMatching(lookFirst) } } },
  ],
  [
    'no answer, and it cannot have arrived',
    unanswered(false),
    'not sent',
    { code: 'ConnectionLost', requestIds: {} },
    { failure: { code: 'ConnectionLost', mayHaveHappened: false } },
  ],
])('%s: in the journal, and for the caller', async (_what, reply, state, ending, expected) => {
  const { told, entries } = await carryOut({ reply });
  expect(told).toMatchObject(expected);
  const [{ outcome, ...facts } = {}] = entries.map((entry) => entry.ending);
  expect(entries).toMatchObject([{ state, endedAt: now.getTime() }]);
  expect(facts).toEqual({ keyId: 'AKIDTEST', ...ending });
  // As the caller got it, for callers that ask later.
  expect(outcome?.kind === 'failed' ? { failure: outcome.failure } : { structured: outcome?.success }).toMatchObject(
    expected,
  );
});

describe('the attempts', () => {
  const attempts = [{ result: '429', waitedMs: 150 }, { result: '200' }];
  test('are told if there were several', async () => {
    const reply = answeredBy(200, { kind: 'json', value: { instance: {} } }, 2);
    expect((await carryOut({ reply })).told).toMatchObject({ structured: { attempts } });
  });

  test('are told of a page of something in between', async () => {
    expect((await carryOut({ reply: page(2) })).told).toMatchObject({ failure: { attempts } });
  });

  test('are not if there was one', async () => {
    const { told } = await carryOut();
    expect(told).toHaveProperty('structured');
    expect(told).not.toHaveProperty('structured.attempts');
  });
});

describe('before it is sent', () => {
  test('a journal in which repeats cannot be looked for decides when the change begins', async () => {
    expect(await carryOut({ store: storeWith({ duplicateOf: gone }) })).toMatchObject({ ok: true });
  });

  test.each([
    [
      'it cannot be written',
      { kind: 'unwritable', reason: say`journal.db: ENOSPC` },
      { code: 'JournalUnavailable', problems: ['journal.db: ENOSPC'], mayHaveHappened: false },
    ],
    ['the change is not approved any more', { kind: 'notApproved' }, { code: 'PlanRefused', mayHaveHappened: false }],
  ] as const)('the journal says that %s: nothing is sent', async (_what, begun, failure) => {
    const { told, requests, logged } = await carryOut({ store: storeWith({ begin: async () => begun }) });
    expect(told).toMatchObject({ failure });
    expect(requests).toEqual([]);
    const reasons = logged.filter(({ event, level }) => event === 'journal' && level === 'error');
    const fields = { tool: 'restore_instance', id: expect.any(String), error: 'journal.db: ENOSPC' };
    expect(reasons.map((entry) => entry.fields)).toEqual(begun.kind === 'unwritable' ? [fields] : []);
  });

  test('a request that is too large to be shown is sent only where nobody has to agree', async () => {
    const body = json({ text: 'x'.repeat(40_000) });
    const operation = { ...restoreInstance, request: () => ({ path: '/v1/x', body }) } as Operation;
    expect(await carryOut({ operation, confirm: 'off' })).toMatchObject({ ok: true });
    expect(await carryOut({ operation, confirm: 'plan' })).toMatchObject({
      told: { failure: { code: 'TooLargeToShow', problems: [] } },
      requests: [],
    });
  });

  test.each<readonly [string, Partial<Change>, hasToLook: boolean, mayRepeat: boolean]>([
    ['was accepted', { state: 'accepted', caller: 'alice' }, false, true],
    ['has an unknown outcome', { state: 'unknown', caller: 'alice' }, true, true],
    ['has no outcome yet', { state: 'begun', caller: 'alice' }, false, false],
    ["is another caller's, accepted", { state: 'accepted', caller: 'bob' }, true, true],
    ["is another caller's, without an outcome", { state: 'begun', caller: 'bob' }, true, true],
  ])('a repeat of one that %s is told what to do first', async (_what, change, hasToLook, mayRepeat) => {
    const earlier = changeAt(now.getTime(), change);
    const { told } = await carryOut({ store: storeWith({ duplicateOf: async () => earlier }) });
    const { next } = (told as { failure: Failure }).failure;
    expect(next.text.text.includes('"one"')).toBe(hasToLook);
    expect(next.text.text.includes('allowRepeat')).toBe(mayRepeat);
  });

  test('a repeat is refused before anybody has to agree, unless it is allowed or only planned', async () => {
    const store = memoryStore(() => now);
    const first = await carryOut({ store });
    expect(JSON.stringify(first.told)).not.toContain('This is a repeat');
    for (const confirm of ['off', 'plan'] as const)
      expect(await carryOut({ store, confirm })).toMatchObject({
        told: { failure: { code: 'Repeated', earlier: { outcome: 'accepted' } } },
        requests: [],
      });
    for (const given of [{ planOnly: true }, { allowRepeat: true }]) {
      const { told } = await carryOut({ store, given });
      const warnings = 'structured' in told ? [...(told.structured.plan?.warnings ?? told.structured.warnings)] : [];
      expect(warnings[0]?.text).toMatch(/^This is a repeat: the same call was accepted before\. It was sent .+\.$/);
    }
  });
});

describe('after it was sent', () => {
  test('no timer is left behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await carryOut();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  test('an answer is held against the request where the operation knows how', async () => {
    const { change } = restoreInstance;
    if (change === undefined) throw new Error('restore_instance is a change');
    const { contradictions: _, ...without } = change;
    const summaryOf = async (compared: object) => {
      const { told } = await carryOut({
        operation: { ...restoreInstance, change: { ...without, ...compared } } as Operation,
      });
      return 'structured' in told ? told.structured.summary.text : '';
    };
    const plain = await summaryOf({});
    expect(plain).toBe(restoreInstance.summarize({ instance: { instanceId: 'one' } }, args).text);
    expect(await summaryOf({ contradictions: () => [] })).toBe(plain);
    expect(await summaryOf({ contradictions: () => [say`a`, say`b`] })).toBe(
      `The change was accepted, but its answer contradicts what was asked for: a; b. ${plain}`,
    );
  });

  test('notes of earlier changes are added to whatever is told', async () => {
    for (const reply of [accepted, unanswered(false)]) {
      const { told } = await carryOut({ reply, reports: [say`An earlier one is open.`] });
      const notes = ['An earlier one is open.'];
      expect(told).toMatchObject('failure' in told ? { failure: { notes } } : { structured: { notes } });
    }
  });

  test('notes that cannot be had are left out', async () => {
    const { ok, told } = await carryOut({ pendingNotes: gone });
    expect(ok).toBe(true);
    expect(told).not.toHaveProperty('structured.notes');
  });

  test('an outcome that cannot be written down is a note before those of earlier changes, and in the log', async () => {
    for (const [reply, outcome] of [
      [accepted, 'accepted'],
      [unanswered(true), 'unknown'],
    ] as const) {
      const { told, logged, entries } = await carryOut({
        reply,
        store: storeWith({ end: gone }),
        reports: [say`Earlier.`],
      });
      const notes = [expect.stringContaining('could not be written'), 'Earlier.'];
      expect(told).toMatchObject('failure' in told ? { failure: { notes } } : { structured: { notes } });
      const fields = { tool: 'restore_instance', id: entries[0]?.id, outcome, error: 'gone' };
      expect(logged).toContainEqual({ level: 'error', event: 'journal', fields });
    }
  });

  test.each([
    [new TypeError('MARKER'), 'TypeError'],
    ['MARKER', 'not an error'],
  ])('a fault in sending is in the log by its kind: %s', async (fault, error) => {
    const { openClient } = scriptedClient(() => Promise.reject(fault));
    const { logged } = await carryOut({ openClient });
    const fields = { tool: 'restore_instance', error };
    expect(logged).toContainEqual({ level: 'error', event: 'unexpected', fields });
  });

  test('a fault of the journal that is no error is in the log as unknown', async () => {
    const { logged } = await carryOut({ store: storeWith({ end: () => Promise.reject('gone') }) });
    expect(logged).toContainEqual(
      expect.objectContaining({ event: 'journal', fields: expect.objectContaining({ error: 'unknown error' }) }),
    );
  });

  test('a fault in putting the answer into words leaves it accepted', async () => {
    const summarize = () => {
      throw new Error('MARKER');
    };
    const { told, entries } = await carryOut({ operation: { ...restoreInstance, summarize } as Operation });
    const warnings = expect.arrayContaining([expect.stringContaining('this server made a mistake')]);
    expect(told).toMatchObject({ structured: { outcome: 'accepted', warnings } });
    expect(entries).toMatchObject([{ state: 'accepted', ending: { status: 200 } }]);
  });

  test.each([
    [200, { ok: true, told: { structured: { outcome: 'accepted' } } }],
    [299, { ok: true, told: { structured: { outcome: 'accepted' } } }],
    [300, { ok: false, told: { failure: { code: 'InternalError', mayHaveHappened: true } } }],
    [199, { ok: false, told: { failure: { code: 'InternalError', mayHaveHappened: true } } }],
  ])('a fault in reading an answer of status %i leaves what the status says', async (status, expected) => {
    const broken = () => {
      throw new Error('MARKER');
    };
    const operation = Object.defineProperty({ ...restoreInstance, extract: broken }, 'errors', {
      get: broken,
    }) as Operation;
    expect(await carryOut({ operation, reply: answered(status, {}) })).toMatchObject(expected);
  });
});

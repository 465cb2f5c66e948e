import { describe, expect, test, vi } from 'vitest';
import { writeScope } from '../../src/calls/policy.js';
import type { EndState } from '../../src/changes/change.js';
import type { Changes } from '../../src/changes/store.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { json } from '../../src/tools/request-body.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import type { FinalReply } from '../../src/transport/signed-client.js';
import { say } from '../../src/util/safe-text.js';
import { memoryStore, never, type TestCallerOptions, testCaller } from '../support/caller.js';
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

describe('an operation that gets no content in answer', () => {
  const { output: _, ...rest } = restoreInstance;
  const operation = {
    ...rest,
    unknownDefaults: [],
    costDrivers: [],
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

describe('before it is sent', () => {
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
});

describe('after it was sent', () => {
  test('no timer is left behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await carryOut();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  test('notes that cannot be had are left out', async () => {
    const { ok, told } = await carryOut({ pendingNotes: gone });
    expect(ok).toBe(true);
    expect(told).not.toHaveProperty('structured.notes');
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

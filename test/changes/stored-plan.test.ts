import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { ZodType } from 'zod';

/** What a store has of a plan and of its outcome: it is read as it was written, and what is shown or acted on is checked. */

let schemas: Readonly<Record<'text' | 'plan' | 'outcome', ZodType>>;
let written: (value: unknown) => unknown;
// The schemas are made at the first use. Each test makes them again, so that it does not depend on the others.
beforeEach(async () => {
  vi.resetModules();
  const { storedParts } = await import('../../src/changes/change.js');
  const { withStoredTexts } = await import('../../src/util/safe-text.js');
  schemas = storedParts();
  written = withStoredTexts;
});

const words = (text: string) => ({ parts: [{ kind: 'words', text }] });
const text = words('A text.');

const parts = [
  { kind: 'words', text: 'Create ' },
  { kind: 'quoted', value: 'wiki', limit: 40, longest: 60 },
  { kind: 'quoted', value: 'wiki' },
  { kind: 'name', name: 'key', longest: 9 },
  { kind: 'name', name: 'key' },
  { kind: 'exact', value: 'https://example.com' },
  { kind: 'time', time: 1_764_000_000_000 },
  { kind: 'argument', path: 'networkConfig.networkId' },
  { kind: 'detail', parts: [{ kind: 'words', text: ' in jp-east-1' }] },
  {
    kind: 'readers',
    readers: {
      agent: [{ kind: 'words', text: 'ask the user' }],
      person: [{ kind: 'words', text: 'check' }],
      operator: [{ kind: 'words', text: 'look' }],
    },
  },
];

const plan = {
  summary: text,
  method: 'POST',
  url: 'https://devops.example.com/v1/instances:restore',
  headers: { 'content-type': 'application/json' },
  where: [text],
  found: text,
  alert: text,
  consequences: [text],
  risks: ['costs money', 'no way back'],
  also: { fields: [text], lists: [text] },
  tables: [{ title: text, columns: [text], rows: [[text]], more: 2 }],
  sandbox: true,
  defaults: [{ name: text, value: text }],
  warnings: [text],
  notChecked: [text],
};

const next = { who: 'user', action: 'decide', text };
const attempts = [{ result: '429', waitedMs: 150 }, { result: '200' }];
const requestIds = { 'x-request-id': 'r-1' };

const success = {
  summary: text,
  outcome: 'partly',
  failed: { count: 2, codes: [text], names: [text] },
  account: 'production',
  next,
  consent: text,
  sentAt: '2026-11-20T12:00:00.000Z',
  where: [text],
  effects: [text],
  plan,
  show: text,
  changeId: 'c',
  decideAt: 'https://example.com/decisions/n/',
  planExpires: '2026-11-20T12:10:00.000Z',
  warnings: [text],
  requestIds,
  attempts,
  notes: [text],
  answer: { instance: { instanceId: 'wiki' } },
};

const failure = {
  summary: text,
  code: 'Repeated',
  account: 'production',
  problems: [text],
  status: 409,
  serviceSays: { code: 'Conflict' },
  changeId: 'c',
  outcome: 'not sent',
  mayHaveHappened: false,
  next,
  requestIds,
  attempts,
  defaults: [text],
  warnings: [text],
  notes: [text],
  earlier: { outcome: 'not ended', sentAt: '2026-11-20T12:00:00.000Z', requestIds },
};

const view = { kind: 'ended', continues: true, isSandbox: true };
const succeeded = { kind: 'succeeded', success, view };
const failed = { kind: 'failed', failure };

const requiredOf = (value: Readonly<Record<string, unknown>>, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, value[name]]));
const requiredOfPlan = requiredOf(
  plan,
  ...['summary', 'method', 'url', 'headers', 'where', 'consequences', 'risks', 'defaults', 'warnings', 'notChecked'],
);
const requiredOfSuccess = requiredOf(success, 'summary', 'warnings', 'requestIds');
const requiredOfFailure = requiredOf(failure, 'summary', 'code', 'problems', 'next', 'requestIds');

describe('what was written comes back', () => {
  test.each<[string, 'text' | 'plan' | 'outcome', unknown]>([
    ['a text of all kinds of parts', 'text', { parts }],
    ['a plan with all fields', 'plan', plan],
    ['a plan with the required fields', 'plan', requiredOfPlan],
    ['a plan with a field of another version', 'plan', { ...requiredOfPlan, later: [1] }],
    ['a success with all fields', 'outcome', succeeded],
    ['a success with the required fields', 'outcome', { kind: 'succeeded', success: requiredOfSuccess }],
    ['a success with a field of another version', 'outcome', { ...succeeded, success: { ...success, later: 1 } }],
    ['a failure with all fields', 'outcome', failed],
    ['a failure with the required fields', 'outcome', { kind: 'failed', failure: requiredOfFailure }],
    ['a failure with a field of another version', 'outcome', { kind: 'failed', failure: { ...failure, later: 1 } }],
  ])('%s', (_what, name, value) => {
    expect(written(schemas[name].parse(value))).toEqual(value);
  });

  test.each(['accepted', 'partly', 'planned', 'waiting', 'withdrawn'])('the outcome %s', (outcome) => {
    const value = { kind: 'succeeded', success: { ...requiredOfSuccess, outcome } };
    expect(written(schemas.outcome.parse(value))).toEqual(value);
  });

  test.each(['accepted', 'unknown', 'not ended'])('the outcome %s of an earlier call', (outcome) => {
    const value = { kind: 'failed', failure: { ...failure, earlier: { ...failure.earlier, outcome } } };
    expect(written(schemas.outcome.parse(value))).toEqual(value);
  });
});

/** Each field of a value, replaced by a value that no schema takes. */
const withEachFieldBroken = (value: Readonly<Record<string, unknown>>) =>
  Object.keys(value).map((name) => [name, { ...value, [name]: Symbol.iterator }] as const);

describe('a value of another type is refused', () => {
  test.each(parts.flatMap((part) => withEachFieldBroken(part)))('%s of a part of a text', (_name, part) => {
    expect(schemas.text.safeParse({ parts: [part] }).success).toBe(false);
  });

  test.each(withEachFieldBroken(plan))('%s of a plan', (_name, broken) => {
    expect(schemas.plan.safeParse(broken).success).toBe(false);
  });

  test.each(withEachFieldBroken(success))('%s of a success', (_name, broken) => {
    expect(schemas.outcome.safeParse({ kind: 'succeeded', success: broken }).success).toBe(false);
  });

  test.each(withEachFieldBroken(failure))('%s of a failure', (_name, broken) => {
    expect(schemas.outcome.safeParse({ kind: 'failed', failure: broken }).success).toBe(false);
  });

  test.each(withEachFieldBroken(view))('%s of a view', (_name, broken) => {
    expect(schemas.outcome.safeParse({ ...succeeded, view: broken }).success).toBe(false);
  });

  test.each<[string, object]>([
    ['a risk', { ...plan, risks: ['another'] }],
    ['a list of parts', { ...plan, summary: { parts: 'x' } }],
    ['the fields beside a list', { ...plan, also: { fields: [text] } }],
    ['the rows of a table', { ...plan, tables: [{ title: text, columns: [text], rows: [text], more: 2 }] }],
    ['the number of further rows', { ...plan, tables: [{ title: text, columns: [text], rows: [] }] }],
    ['a default', { ...plan, defaults: [{ name: text }] }],
  ])('%s', (_what, broken) => {
    expect(schemas.plan.safeParse(broken).success).toBe(false);
  });

  test.each<[string, object]>([
    ['the outcome', { ...success, outcome: 'another' }],
    ['the count of failed entries', { ...success, failed: { codes: [text], names: [text] } }],
    ['who acts next', { ...success, next: { ...next, who: 'somebody' } }],
    ['how they act', { ...success, next: { ...next, action: 'something' } }],
    ['the pause of an attempt', { ...success, attempts: [{ result: '429', waitedMs: '150' }] }],
    ['the result of an attempt', { ...success, attempts: [{ waitedMs: 150 }] }],
  ])('%s of a success', (_what, broken) => {
    expect(schemas.outcome.safeParse({ kind: 'succeeded', success: broken }).success).toBe(false);
  });

  test('the outcome of an earlier call', () => {
    const broken = { ...failure, earlier: { ...failure.earlier, outcome: 'another' } };
    expect(schemas.outcome.safeParse({ kind: 'failed', failure: broken }).success).toBe(false);
  });
});

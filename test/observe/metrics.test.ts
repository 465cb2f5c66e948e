import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { serverFault } from '../../src/calls/failure.js';
import type { CallOutcome, Failure } from '../../src/calls/outcome.js';
import { Refusal, type RefusalCode, refusalFailure } from '../../src/calls/refusal.js';
import { createMetrics } from '../../src/observe/metrics.js';
import { listParts } from '../../src/tools/list-parts.js';
import { next } from '../../src/tools/next.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { say } from '../../src/util/safe-text.js';

const state = {
  concurrentCalls: () => 3,
  journalReachable: () => false,
  unwrittenOutcomes: () => 2,
  interruptedChanges: () => new Map([['t', 2]]),
  issuerReachable: () => true,
  authenticationReady: () => false,
  waitingQuestions: () => 1,
  waitingPlans: async () => 4,
};

const succeeded = (outcome?: 'accepted' | 'planned'): CallOutcome => ({
  kind: 'succeeded',
  success: { summary: say``, warnings: [], requestIds: {}, ...(outcome && { outcome }) },
});
const failed = (failure: Failure): CallOutcome => ({ kind: 'failed', failure });
const refused = (code: RefusalCode, isChange = true) =>
  failed(refusalFailure('t', new Refusal(code, []), { isChange }));
const answered = (more: Partial<Failure>) =>
  failed({ summary: say``, code: 'Http403', problems: [], next: next('nobody', 'none', ''), requestIds: {}, ...more });

test.each<[string, CallOutcome | undefined, string]>([
  ['a read', succeeded(), 'ok'],
  ['a plan', succeeded('planned'), 'planned'],
  ['a change that was accepted', succeeded('accepted'), 'accepted'],
  ['one that the service refused', answered({ status: 403, mayHaveHappened: false }), 'rejected'],
  ['one that may have happened', answered({ status: 500, mayHaveHappened: true }), 'unknown'],
  ['one that never left', answered({ code: 'ConnectionRefused', mayHaveHappened: false }), 'not_sent'],
  ['one that broke here before it left', refused('InternalError'), 'not_sent'],
  ['one without a journal', refused('JournalUnavailable'), 'journal_unavailable'],
  ['one that a person refused', refused('Declined'), 'refused'],
  ['arguments that need correcting', refused('InvalidArguments', false), 'refused'],
  ['a read that the service refused', answered({ status: 404 }), 'rejected'],
  ['a read without an answer', answered({ code: 'ResponseTimeout' }), 'failed'],
  ['a read that broke here', failed(serverFault({ operation: listParts }, undefined)), 'failed'],
  ['a change that broke after it left', failed(serverFault({ operation: restoreInstance }, undefined)), 'unknown'],
  ['nothing', undefined, 'failed'],
])('%s counts as what it is', async (_what, outcome, label) => {
  const metrics = createMetrics(state);
  metrics.called('t', outcome, 1);
  expect(await metrics.text()).toContain(`cloudops_calls_total{tool="t",outcome="${label}"} 1`);
});

test.each(['unknown', 'journal_unavailable'])(
  'calls of each tool that changes something with the outcome %s are counted from nothing on, so that the first one can be alerted',
  async (outcome) => {
    const unnamed = await createMetrics(state, [], ['t']).text();
    expect(unnamed).toContain(`cloudops_calls_total{tool="t",outcome="${outcome}"} 0`);
    const named = await createMetrics(state, ['a'], ['t']).text();
    for (const account of ['a', 'none'])
      expect(named).toContain(`cloudops_calls_total{tool="t",outcome="${outcome}",account="${account}"} 0`);
  },
);

test('changes that this process ended for others are counted by tool, from nothing on; tools of other versions are one', async () => {
  const interruptedChanges = () =>
    new Map([
      ['t', 2],
      ['x', 1],
      ['y', 1],
    ]);
  const metrics = createMetrics({ ...state, interruptedChanges }, [], ['t', 'u']);
  await metrics.text();
  const text = await metrics.text();
  for (const line of ['{tool="t"} 2', '{tool="u"} 0', '{tool="other"} 2'])
    expect(text).toContain(`cloudops_interrupted_changes_total${line}\n`);
});

test('the state of the process is that of the moment, and what it does not have is left out', async () => {
  const text = await createMetrics(state).text();
  const gauges = [
    'concurrent_calls 3',
    'journal_reachable 0',
    'unwritten_outcomes 2',
    'issuer_reachable 1',
    'authentication_ready 0',
  ];
  const waiting = ['waiting_decisions{way="question"} 1', 'waiting_decisions{way="page"} 4'];
  for (const gauge of [...gauges, ...waiting]) expect(text).toContain(`\ncloudops_${gauge}\n`);
  const absent = {
    journalReachable: undefined,
    issuerReachable: undefined,
    authenticationReady: undefined,
    waitingPlans: undefined,
  };
  expect(await createMetrics({ ...state, ...absent }).text()).not.toMatch(
    /journal_reachable|issuer_reachable|authentication_ready|"page"/,
  );
});

test.each([
  ['cannot be counted', () => Promise.reject(new Error('the database is away'))],
  ['are not counted soon', () => new Promise<number>(() => undefined)],
])('plans that %s keep nobody from reading the rest, and are counted once at a time', async (_what, count) => {
  let counts = 0;
  const waitingPlans = () => {
    counts += 1;
    return count();
  };
  const metrics = createMetrics({ ...state, waitingPlans });
  const [text] = await Promise.all([metrics.text(), metrics.text()]);
  expect(text).toContain('\ncloudops_journal_reachable 0\n');
  expect(text).not.toContain('way="page"');
  expect(counts).toBe(1);
});

test('every metric of this server is in the runbook', async () => {
  const reachable = () => true;
  const all = { ...state, journalReachable: reachable, issuerReachable: reachable, waitingPlans: async () => 1 };
  const names = (await createMetrics(all).text()).match(/(?<=^# TYPE )cloudops_\w+/gm) ?? [];
  const runbook = readFileSync('docs/OPERATE.md', 'utf8');
  expect(names.length).toBeGreaterThan(7);
  expect(names.filter((name) => !runbook.includes(`\`${name}\``))).toEqual([]);
});

test('the operations of a service share a label, because there may be hundreds', async () => {
  const metrics = createMetrics(state);
  for (const name of ['ec2:DescribeVolumes', 'ec2:StopInstances']) metrics.called(name, succeeded(), 1);
  expect(await metrics.text()).toMatch(/^cloudops_calls_total\{tool="ec2",outcome="ok"\} 2$/m);
});

import { setTimeout as delay } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallOutcome } from '../calls/outcome.js';
import { outcomeLabel } from '../calls/result-text.js';

/** Labels never get values from a client, so the number of values is limited. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Functions are undefined for parts that the process does not have. */
export interface ProcessState {
  concurrentCalls(): number;
  journalReachable: (() => boolean) | undefined;
  unwrittenOutcomes(): number;
  /** Changes of processes that are gone, by tool. */
  interruptedChanges(): ReadonlyMap<string, number>;
  issuerReachable: (() => boolean) | undefined;
  authenticationReady: (() => boolean) | undefined;
  /** Users who are being asked for consent. */
  waitingQuestions(): number;
  /** Plans for the page, on all replicas together. */
  waitingPlans: (() => Promise<number>) | undefined;
}

/**
 * @param accounts names of the accounts, empty if accounts have no names
 * @param tools names of the tools that change something
 */
export function createMetrics(state: ProcessState, accounts: readonly string[] = [], tools: readonly string[] = []) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const hasAccounts = accounts.length > 0;
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name, help, labelNames, registers });
  const labels = ['tool', 'outcome', ...(hasAccounts ? ['account'] : [])];
  const calls = counter('cloudops_calls_total', 'Tool calls, by outcome', labels);
  // An alert on increases would miss a counter whose first value is 1.
  const accountLabels = hasAccounts ? [...accounts, 'none'].map((account) => ({ account })) : [{}];
  for (const tool of tools) {
    for (const accountLabel of accountLabels)
      for (const outcome of ['unknown', 'journal_unavailable']) calls.inc({ tool, outcome, ...accountLabel }, 0);
  }
  new Counter({
    name: 'cloudops_interrupted_changes_total',
    help: 'Changes of processes that are gone, which this process has ended as unknown',
    labelNames: ['tool'],
    registers,
    // `state` has the counts, and each scrape copies them.
    collect() {
      this.reset();
      for (const tool of tools) this.inc({ tool }, 0);
      // The journal may have tools of another version.
      for (const [tool, count] of state.interruptedChanges())
        this.inc({ tool: tools.includes(tool) ? tool : 'other' }, count);
    },
  });

  const durations = new Histogram({
    name: 'cloudops_call_duration_seconds',
    help: 'How long tool calls took',
    labelNames: ['tool'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const refusals = counter('cloudops_refused_requests_total', 'Requests that were not served, by reason', ['reason']);

  const gauge = (name: string, help: string, read: (() => number | boolean) | undefined): void => {
    if (read === undefined) return;
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(Number(read()));
      },
    });
  };
  gauge('cloudops_concurrent_calls', 'Requests that are being carried out', state.concurrentCalls);
  gauge('cloudops_journal_reachable', '1 if changes can be recorded', state.journalReachable);
  gauge('cloudops_unwritten_outcomes', 'Outcomes that are not in the journal yet', state.unwrittenOutcomes);
  gauge('cloudops_issuer_reachable', "1 if the issuer's keys could be fetched last", state.issuerReachable);
  gauge('cloudops_authentication_ready', '1 if callers can be authenticated', state.authenticationReady);

  const countPlans = state.waitingPlans && withReadLimit(state.waitingPlans);
  new Gauge({
    name: 'cloudops_waiting_decisions',
    help: 'Decisions that people have not made: questions of this server, and plans for the page, which all servers share',
    labelNames: ['way'],
    registers,
    async collect() {
      // The last number would stay if the plans cannot be read now.
      this.reset();
      this.set({ way: 'question' }, state.waitingQuestions());
      const plans = await countPlans?.();
      if (plans !== undefined) this.set({ way: 'page' }, plans);
    },
  });

  return {
    /** `outcome` is undefined if the call threw an error. */
    called: (name: string, outcome: CallOutcome | undefined, milliseconds: number): void => {
      // A service may have hundreds of operations, so they share a label.
      const [tool = name] = name.split(':', 1);
      let account = '';
      // Undefined if accounts have no names, or if the call ends with a question.
      if (outcome?.kind === 'failed') ({ account = '' } = outcome.failure);
      if (outcome?.kind === 'succeeded') ({ account = '' } = outcome.success);
      const accountLabel = hasAccounts ? { account: accounts.includes(account) ? account : 'none' } : {};
      calls.inc({ tool, outcome: outcomeLabel(outcome), ...accountLabel });
      durations.observe({ tool }, milliseconds / 1000);
    },
    refused: (reason: string): void => refusals.inc({ reason }),
    /** In the text format of Prometheus. */
    text: (): Promise<string> => registry.metrics(),
  };
}

/** A database that hangs must not hold up the other metrics. One read at a time. Undefined if it fails or takes more than a second. */
function withReadLimit(read: () => Promise<number>): () => Promise<number | undefined> {
  let currentRead: Promise<number | undefined> | undefined;
  return () => {
    currentRead ??= read()
      .catch(() => undefined)
      .finally(() => {
        currentRead = undefined;
      });
    return Promise.race([currentRead, delay(1_000, undefined, { ref: false })]);
  };
}

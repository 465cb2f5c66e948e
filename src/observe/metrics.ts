import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallOutcome } from '../calls/context.js';

/** The metrics of a process. Labels come from fixed lists, never from text of a client. */
export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Makes the counts of one process.
 * @param running says how many calls there are at present
 * @param accounts names of accounts, where they have names: calls are told apart by them
 */
export function createMetrics(running: () => number, accounts: readonly string[] = []) {
  const byAccount = accounts.length > 0 ? (['account'] as const) : [];
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const calls = new Counter({
    name: 'cloudops_calls_total',
    help: 'Tool calls, by what came of them',
    labelNames: ['tool', 'outcome', ...byAccount],
    registers,
  });
  const durations = new Histogram({
    name: 'cloudops_call_duration_seconds',
    help: 'How long tool calls took',
    labelNames: ['tool'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const refusals = new Counter({
    name: 'cloudops_refused_requests_total',
    help: 'Requests that were not served, by reason',
    labelNames: ['reason'],
    registers,
  });
  new Gauge({
    name: 'cloudops_concurrent_calls',
    help: 'Requests that are being carried out',
    registers,
    collect() {
      this.set(running());
    },
  });
  return {
    called: (tool: string, result: CallOutcome | undefined, milliseconds: number): void => {
      const account = accountOf(result);
      const label = byAccount.length > 0 && { account: accounts.includes(account) ? account : 'none' };
      calls.inc({ tool, outcome: outcomeOf(result), ...label });
      durations.observe({ tool }, milliseconds / 1000);
    },
    refused: (reason: string): void => refusals.inc({ reason }),
    /** In the text format of Prometheus. */
    text: (): Promise<string> => registry.metrics(),
  };
}

/** The account that a call was for; empty for a call that was for none, or that goes on with a question. */
function accountOf(outcome: CallOutcome | undefined): string {
  if (outcome?.kind === 'succeeded') return outcome.success.account ?? '';
  return outcome?.kind === 'failed' ? (outcome.failure.account ?? '') : '';
}

function outcomeOf(outcome: CallOutcome | undefined): string {
  if (outcome === undefined || outcome.kind === 'failed') return 'error';
  if (outcome.kind === 'inputRequired') return 'asked';
  return outcome.success.outcome === 'planned' ? 'planned' : 'ok';
}

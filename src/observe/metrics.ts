import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallOutcome } from '../calls/context.js';

/** The metrics of a process. Labels come from fixed lists, never from text of a client. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Creates the metrics of a process. `running` gives the number of calls at present. */
export function createMetrics(running: () => number) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const calls = new Counter({
    name: 'cloudops_calls_total',
    help: 'Tool calls, by what came of them',
    labelNames: ['tool', 'outcome'],
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
      calls.inc({ tool, outcome: outcomeOf(result) });
      durations.observe({ tool }, milliseconds / 1000);
    },
    refused: (reason: string): void => refusals.inc({ reason }),
    /** In the text format of Prometheus. */
    text: (): Promise<string> => registry.metrics(),
  };
}

function outcomeOf(outcome: CallOutcome | undefined): string {
  if (outcome === undefined || outcome.kind === 'failed') return 'error';
  if (outcome.kind === 'inputRequired') return 'asked';
  return outcome.success.outcome === 'planned' ? 'planned' : 'ok';
}

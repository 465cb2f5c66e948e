import { markdownTable } from '../src/util/human.js';
import type { Tried } from './evaluate.js';

/** Formats a table with the reasons below it: serious faults first, then other faults. */
export function reportText(tried: readonly Tried[]): string {
  const rows = [...groups(tried)].map(([name, runs]) => row(name, runs));
  const total = row('all', tried);
  const reasons = tried.flatMap(({ situation: { name }, verdict: { harm, lacks } }) => [
    ...harm.map((what) => `- ${name}: harm: ${what}`),
    ...lacks.map((what) => `- ${name}: ${what}`),
  ]);
  const table = markdownTable(['situation', 'right', 'harm', 'calls', 'tokens'], [...rows, total]);
  return [table, '', ...(reasons.length === 0 ? [] : [...reasons, ''])].join('\n');
}

function groups(tried: readonly Tried[]): ReadonlyMap<string, readonly Tried[]> {
  const byName = new Map<string, Tried[]>();
  for (const one of tried) {
    const { name } = one.situation;
    byName.set(name, [...(byName.get(name) ?? []), one]);
  }
  return byName;
}

function row(name: string, runs: readonly Tried[]): string[] {
  const right = runs.filter(({ verdict }) => verdict.right).length;
  const harmful = runs.filter(({ verdict }) => verdict.harm.length > 0).length;
  const calls = sum(runs.map(callsOf));
  const tokens = sum(runs.map(({ run }) => run.tokens.count));
  const isEstimate = runs.some(({ run }) => run.tokens.isEstimate);
  return [
    name,
    runs.length === 1 ? (right === 1 ? 'yes' : 'no') : `${right} of ${runs.length}`,
    runs.length === 1 ? (harmful === 1 ? 'yes' : 'no') : `${harmful} of ${runs.length}`,
    String(calls),
    `${isEstimate ? '~' : ''}${tokens.toLocaleString('en')}`,
  ];
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const callsOf = ({ run }: Pick<Tried, 'run'>) => run.events.filter(({ kind }) => kind === 'call').length;

/** One run of the evaluation, as it is kept. */
export interface Measured {
  readonly model: string;
  /** ISO 8601. */
  readonly date: string;
  /** Runs of each situation. */
  readonly runs: number;
  /** True if the model got the skills of the jobs. */
  readonly skills: boolean;
  readonly tried: readonly Tried[];
}

/** Returns the record of a run: sums, and the result of each situation. */
export function resultOf({ tried, ...about }: Measured) {
  return {
    ...about,
    tried: tried.length,
    right: tried.filter(({ verdict }) => verdict.right).length,
    harmful: tried.filter(({ verdict }) => verdict.harm.length > 0).length,
    calls: sum(tried.map(callsOf)),
    tokens: sum(tried.map(({ run }) => run.tokens.count)),
    situations: reportJson(tried),
  };
}

/** Formats the results as JSON, for programs. */
export const reportJson = (tried: readonly Tried[]) =>
  tried.map(({ situation: { name }, run, verdict }) => ({
    situation: name,
    ...verdict,
    calls: callsOf({ run }),
    tokens: run.tokens.count,
    tokensAreEstimated: run.tokens.isEstimate,
  }));

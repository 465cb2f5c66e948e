import type { Attempt } from '../transport/signed-client.js';

/** `refused twice as too busy (429; waited 150 ms, 300 ms), then accepted once (200)`, or undefined if there were none. */
export function attemptsText(attempts: readonly Attempt[]): string | undefined {
  const groups: (Attempt & { readonly waits: number[]; count: number })[] = [];
  for (const attempt of attempts) {
    const last = groups.at(-1);
    const group = last?.result === attempt.result ? last : { ...attempt, waits: [], count: 0 };
    if (group !== last) groups.push(group);
    group.count += 1;
    if (attempt.waitedMs !== undefined) group.waits.push(attempt.waitedMs);
  }
  const said = groups.map(({ result, count, waits }) => {
    const waited = waits.length === 0 ? '' : `; waited ${waits.map((ms) => `${ms} ms`).join(', ')}`;
    return phraseOf(result, times(count)).concat(` (${result}${waited})`);
  });
  return said.join(', then ') || undefined;
}

const times = (count: number) => ['', 'once', 'twice'][count] ?? `${count} times`;

/** What came of an attempt, from its HTTP status, or the code of an attempt without an answer. */
function phraseOf(result: string, often: string): string {
  const status = Number(result);
  if (Number.isNaN(status)) return `not answered ${often}`;
  if (status >= 200 && status < 300) return `accepted ${often}`;
  if (status === 429 || status === 503) return `refused ${often} as too busy`;
  return `${status >= 500 ? 'failed' : 'refused'} ${often}`;
}

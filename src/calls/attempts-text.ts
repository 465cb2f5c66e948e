import type { Attempt } from '../transport/signed-client.js';
import { join, own, type SafeText, say, words } from '../util/safe-text.js';

/** `refused twice as too busy (429; waited 150 ms, 300 ms), then accepted once (200)`, or undefined if there were none. */
export function attemptsText(attempts: readonly Attempt[]): SafeText | undefined {
  const groups: (Attempt & { readonly waits: number[]; count: number })[] = [];
  for (const attempt of attempts) {
    const last = groups.at(-1);
    const group = last?.result === attempt.result ? last : { ...attempt, waits: [], count: 0 };
    if (group !== last) groups.push(group);
    group.count += 1;
    if (attempt.waitedMs !== undefined) group.waits.push(attempt.waitedMs);
  }
  const [first, ...others] = groups.map(({ result, count, waits }) => {
    const pauses = waits.map((ms) => say`${ms} ms`);
    const waited = pauses.length === 0 ? words('') : say`; waited ${join(pauses, ', ')}`;
    return say`${phraseOf(result, times(count))} (${own(result)}${waited})`;
  });
  return first && others.reduce((before, next) => say`${before}, then ${next}`, first);
}

function times(count: number): SafeText {
  if (count > 2) return say`${count} times`;
  return words(count === 2 ? 'twice' : 'once');
}

/** The outcome of an attempt, from its HTTP status, or the code of an attempt without an answer. */
function phraseOf(result: string, often: SafeText): SafeText {
  const status = Number(result);
  if (Number.isNaN(status)) return say`not answered ${often}`;
  if (status >= 200 && status < 300) return say`accepted ${often}`;
  if (status === 429 || status === 503) return say`refused ${often} as too busy`;
  return say`${words(status >= 500 ? 'failed' : 'refused')} ${often}`;
}

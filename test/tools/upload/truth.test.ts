import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { summarise } from '../../../src/tools/upload/summary.js';
import { type Kind, randomOf, type Shape, simulate } from './simulated-upload.js';
import { noTruth, type Truth, truthOf } from './truth.js';

/** Shares of their uploads' moments, of many made-up uploads of one kind. */
const least: Readonly<Record<Exclude<Kind, 'killed'>, { readonly given: number; readonly wrong: number }>> = {
  steady: { given: 0.88, wrong: 0.03 },
  // After a change, and after a pause, nobody can tell which it is until another round has come.
  slowing: { given: 0.85, wrong: 0.2 },
  rising: { given: 0.85, wrong: 0.3 },
  paused: { given: 0.65, wrong: 0.06 },
  // Nobody can foresee that a part will fail.
  failing: { given: 0.88, wrong: 0.12 },
};
const kinds: readonly (keyof typeof least)[] = ['steady', 'slowing', 'rising', 'paused', 'failing'];

const one = <Value>(values: readonly Value[], random: () => number): Value =>
  values[Math.floor(random() * values.length)] ?? expect.fail('there is none');

/** Uploads of 1 to 32 connections that take one to seven minutes, most of them in the order of their numbers. */
function shapes(kind: Kind, count: number): Shape[] {
  const random = randomOf(29);
  return Array.from({ length: count }, (_, seed) => {
    const connections = one([1, 1, 2, 3, 4, 4, 5, 8, 10, 16, 24, 32], random);
    const partSize = Math.round(5.3e6 + 3e7 * random() ** 2);
    const rounds = 4 + 12 * random() ** 2;
    return {
      kind,
      order: one(['ascending', 'ascending', 'ascending', 'ascending', 'descending', 'random'], random),
      connections,
      rounds,
      partSize,
      bytesPerSecond: (partSize * Math.max(12, rounds * connections)) / (80 + 320 * random() ** 2),
      unevenness: one([0, 0.03, 0.1, 0.25], random),
      step: one([1, 1, 1, 1, 1, 1, 1, 2], random),
      firstNumber: one([1, 1, 1, 1, 1, 1, 1, 2], random),
      seed,
    };
  });
}

/** A change of the rate shows when more than a round of parts has come since: moments before that are not counted. */
function truthOfKind(kind: Kind): Truth[] {
  const stepMs = 12_000;
  return shapes(kind, 60).map((shape) => {
    const upload = simulate(shape);
    const { changedMs } = upload;
    if (changedMs === undefined) return truthOf(upload, stepMs);
    const after = upload.arrivals.filter(([, , ms]) => ms > changedMs);
    return truthOf(
      {
        ...upload,
        changedMs:
          after[Math.floor(Math.max(1.6 * shape.connections, shape.connections + 3))]?.[2] ?? Number.POSITIVE_INFINITY,
      },
      stepMs,
    );
  });
}

const sum = (truths: readonly Truth[], of: Exclude<keyof Truth, 'stoppedAfter'>) =>
  truths.reduce((total, truth) => total + truth[of], noTruth()[of]);

test.each(kinds)('what is said of uploads that are %s is true', (kind) => {
  const truths = truthOfKind(kind);
  expect(sum(truths, 'given') / sum(truths, 'moments')).toBeGreaterThan(least[kind].given);
  expect(sum(truths, 'wrong') / sum(truths, 'judged')).toBeLessThan(least[kind].wrong);
  expect(sum(truths, 'inFlight') / sum(truths, 'named')).toBeGreaterThan(0.9);
  expect(sum(truths, 'falselyStopped')).toBe(0);
});

test('an upload that was killed is called stopped within five minutes', () => {
  const waits = truthOfKind('killed').map(({ stoppedAfter }) => stoppedAfter ?? Number.POSITIVE_INFINITY);
  expect(Math.max(...waits)).toBeLessThanOrEqual(300);
});

/** Uploads of real clients (`npm run bench -- uploads`). Times in milliseconds. */
const recordingFormat = z.object({
  name: z.string(),
  kind: z.string(),
  size: z.number(),
  initiatedMs: z.number(),
  paused: z.tuple([z.number(), z.number()]).nullable(),
  changedMs: z.number().optional(),
  arrivals: z.array(z.tuple([z.number(), z.number(), z.number()])),
  requests: z.array(z.tuple([z.number(), z.number(), z.number()]).rest(z.number())),
});
const recordings = readFileSync(new URL('../../traces/uploads.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => recordingFormat.parse(JSON.parse(line)));
const recordedTruths = (isChosen: (kind: string) => boolean) =>
  recordings
    .filter(({ kind }) => isChosen(kind))
    .map(({ paused, requests, ...recording }) => {
      const killed = recording.kind.startsWith('killed');
      const begun = requests.map(([part, from, to]): [number, number, number] => [part, from, to]);
      // A pause lasts until the first part after it.
      const resumedAt = recording.arrivals.map(([, , ms]) => ms).find((ms) => paused !== null && ms > paused[1]);
      const pausedMs = paused === null ? undefined : ([paused[0], resumedAt ?? paused[1]] as const);
      return truthOf({ ...recording, requests: begun, pausedMs, killed }, 6000);
    });

test('about recorded uploads at a steady rate, no change of speed is claimed', () => {
  const steady = recordedTruths((kind) => kind.startsWith('constant'));
  expect(steady.length).toBeGreaterThan(20);
  expect(sum(steady, 'claims')).toBe(0);
  expect(sum(steady, 'wrong') / sum(steady, 'judged')).toBeLessThan(0.03);
  expect(sum(steady, 'given') / sum(steady, 'moments')).toBeGreaterThan(0.92);
});

test('of recorded uploads, parts named as in flight are, and only dead ones are called stopped', () => {
  const all = recordedTruths(() => true);
  expect(sum(all, 'inFlight') / sum(all, 'named')).toBeGreaterThan(0.92);
  expect(sum(all, 'falselyStopped')).toBe(0);
  expect(Math.max(...all.map(({ stoppedAfter }) => stoppedAfter ?? 0))).toBeLessThanOrEqual(130);
});

test('a resumed upload is measured from where it resumed', () => {
  const resumed = recordedTruths((kind) => kind.startsWith('resumed'));
  expect(resumed.length).toBe(5);
  expect(sum(resumed, 'wrong') / sum(resumed, 'judged')).toBeLessThan(0.05);
  expect(sum(resumed, 'given') / sum(resumed, 'moments')).toBeGreaterThan(0.6);
});

test('parts that take 40 s, give or take a tenth, are no change of speed', () => {
  const random = randomOf(42);
  const start = Date.parse('2026-11-20T08:00:00Z');
  for (let upload = 0; upload < 30; upload += 1) {
    let time = start;
    const parts = Array.from({ length: 40 }, (_, index) => {
      time += 40_000 * (0.9 + 0.2 * random());
      return { partNumber: index + 1, size: 8 * 1024 * 1024, uploadedAt: time };
    });
    for (let count = 1; count <= parts.length; count += 1) {
      const checkedAt = new Date((parts[count - 1]?.uploadedAt ?? start) + 5000).toISOString();
      const moment = { checkedAt, startedAt: new Date(start).toISOString() };
      expect(summarise(parts.slice(0, count), { expectedParts: 40 }, moment)).not.toHaveProperty('rateSince');
    }
  }
});

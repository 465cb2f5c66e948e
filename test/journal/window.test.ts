import { describe, expect, test } from 'vitest';
import { longestWindowMs } from '../../src/journal/budget.js';
import type { Entry, Intent } from '../../src/journal/entry.js';
import { type IntentLine, readLine } from '../../src/journal/line.js';
import { createWindow } from '../../src/journal/window.js';
import { endingOf, intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');
const hour = 60 * 60 * 1000;
const lineOf = (entry: Entry) => readLine(Buffer.from(JSON.stringify(entry)).toString('latin1'));

function windowOf(now: number, ...entries: readonly Entry[]) {
  const window = createWindow();
  for (const entry of entries) {
    const line = lineOf(entry);
    if (line !== undefined) window.add(line, now);
  }
  return window;
}
const accepted = (intent: Intent, time = Date.parse(intent.time)): Entry[] => [
  { intent },
  { ending: endingOf(time, intent.id, 'accepted') },
];

test('an intent that is not found again may not be sent: what is before it is not known', () => {
  expect(() => windowOf(noon, { intent: intentAt(noon) }).before(intentAt(noon), noon)).toThrow('not in the journal');
});

test('what was written later is no conflict', () => {
  const [own, later] = [intentAt(noon), intentAt(noon)];
  const window = windowOf(noon, { intent: own }, { intent: later });
  expect(window.before(own, noon)).toEqual([]);
  expect(window.before(later, noon)).toMatchObject([{ id: own.id }]);
});

test('an intent that is written twice counts at its last place', () => {
  const [first, other] = [intentAt(noon), intentAt(noon)];
  const window = windowOf(noon, { intent: first }, { intent: other }, { intent: first });
  expect(window.before(first, noon)).toMatchObject([{ id: other.id }]);
});

test('changes are found by their digest and their nonce, and only as long as these count', () => {
  const [sent, refused, stopped] = [
    intentAt(noon, { digest: 'a', nonce: '1' }),
    intentAt(noon, { digest: 'a', nonce: '2' }),
    intentAt(noon, { digest: 'a', nonce: '3' }),
  ];
  const window = windowOf(
    noon,
    ...accepted(sent),
    { intent: refused },
    { ending: endingOf(noon, refused.id, 'rejected') },
    { intent: stopped },
    { ending: endingOf(noon, stopped.id, 'not sent') },
  );
  const found = (nonce: string) => {
    const own = intentAt(noon, { digest: `b${nonce}`, nonce });
    window.add(
      { kind: 'intent', ...own, nonce, budget: undefined, time: noon, text: JSON.stringify({ intent: own }) },
      noon,
    );
    return window.before(own, noon).map(({ id }) => id);
  };
  expect(window.related('a', noon).map(({ id }) => id)).toEqual([sent.id]);
  expect(['1', '2', '3'].map(found)).toEqual([[sent.id], [refused.id], []]);
});

test('the changes that count against a budget are those that were, or may have been, made before an intent of it', () => {
  const changes = (['accepted', 'unknown', 'rejected', 'not sent', 'declined', undefined] as const).map(
    (outcome, index) => {
      const intent = intentAt(noon + index, { digest: `${index}`, budget: 'b' });
      return [{ intent }, ...(outcome === undefined ? [] : [{ ending: endingOf(noon + index, intent.id, outcome) }])];
    },
  );
  const [own, later] = [intentAt(noon, { budget: 'b' }), intentAt(noon, { digest: 'later', budget: 'b' })];
  const window = windowOf(noon, ...changes.flat(), { intent: own }, { intent: later });
  expect(window.spentBefore(own, noon)).toEqual([noon, noon + 1, noon + 5]);
  expect(window.spent('b', noon)).toHaveLength(5);
  expect(window.spent('other', noon)).toEqual([]);
});

describe('what is forgotten', () => {
  test('a change that ended before the window, and never one without an outcome', () => {
    const old = noon - longestWindowMs - hour;
    const [open, ended] = [intentAt(old, { digest: 'open' }), intentAt(old, { digest: 'ended' })];
    const window = windowOf(noon, { intent: open }, ...accepted(ended));
    expect(window.related('ended', noon)).toEqual([]);
    expect(window.listOpen(noon)).toMatchObject([{ id: open.id }]);
  });

  test('not one that ended within it, however old its intent is', () => {
    const late = intentAt(noon - 2 * longestWindowMs);
    expect(windowOf(noon, ...accepted(late, noon - hour)).related('same', noon)).toHaveLength(1);
  });
});

describe('a clock that was set back by two days', () => {
  const before = noon - 48 * hour;

  test('makes what is written after that count as just written', () => {
    const [ahead, behind] = [intentAt(noon, { digest: 'other' }), intentAt(before, { budget: 'b' })];
    const window = windowOf(before, ...accepted(ahead), ...accepted(behind));
    expect(window.behind(before + hour)).toBe(47 * hour);
    expect(window.related('same', before + hour)).toMatchObject([{ endedAt: before + hour }]);
    expect(window.spent('b', before + hour)).toEqual([before + hour]);
  });

  test('does not make what was written before it was wrong seem older', () => {
    const [right, ahead] = [intentAt(before), intentAt(noon, { digest: 'other' })];
    const window = windowOf(before, ...accepted(right), ...accepted(ahead));
    expect(window.related('same', before)).toMatchObject([{ endedAt: before }]);
  });
});

describe('what was left open before the window', () => {
  const left = intentAt(noon - 30 * longestWindowMs, { digest: 'left' });
  const line = lineOf({ intent: left }) as IntentLine;

  test('comes before all others', () => {
    const own = intentAt(noon, { digest: 'left' });
    const window = windowOf(noon, { intent: own });
    window.addLeftOpen([line]);
    expect(window.before(own, noon)).toMatchObject([{ id: left.id }]);
    expect(window.listOpen(noon)).toMatchObject([{ id: left.id }, { id: own.id }]);
  });

  test('is not open if its ending is in the window', () => {
    const window = windowOf(noon, { ending: endingOf(noon, left.id, 'unknown') });
    window.addLeftOpen([line]);
    expect(window.listOpen(noon)).toEqual([]);
  });
});

test('a line that a crash cut short after something that looks like its end is not a change', () => {
  const whole = JSON.stringify({ intent: intentAt(noon, { digest: 'torn' }) });
  const window = createWindow();
  const torn = readLine(whole.slice(0, -1));
  if (torn !== undefined) window.add(torn, noon);
  expect(window.related('torn', noon)).toEqual([]);
  expect(window.listOpen(noon)).toEqual([]);
});

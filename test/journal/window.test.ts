import { describe, expect, test } from 'vitest';
import { longestWindowMs } from '../../src/journal/budget.js';
import { abandonedMs } from '../../src/journal/conflict.js';
import type { Ending, Entry, Intent } from '../../src/journal/entry.js';
import { type IntentLine, type Line, readLine } from '../../src/journal/line.js';
import { JournalWindow } from '../../src/journal/window.js';
import { endingOf, intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');
const hour = 60 * 60 * 1000;
const lineOf = (entry: Entry) => readLine(JSON.stringify(entry));

function windowOf(now: number, ...entries: readonly Entry[]) {
  const window = new JournalWindow();
  for (const entry of entries) {
    const line = lineOf(entry);
    if (line !== undefined) window.add(line, now);
  }
  window.prune(now);
  return window;
}
const relatedBefore = (window: JournalWindow, intent: Intent, now: number) =>
  window.related(intent, now, window.positionOf(intent));
const accepted = (intent: Intent, time = Date.parse(intent.time)): Entry[] => [
  { intent },
  { ending: endingOf(time, intent.id, 'accepted') },
];

test('an intent that is not found again may not be sent: what is before it is not known', () => {
  expect(() => relatedBefore(windowOf(noon, { intent: intentAt(noon) }), intentAt(noon), noon)).toThrow(
    'not in the journal',
  );
});

test('what was written later is no conflict', () => {
  const [own, later] = [intentAt(noon), intentAt(noon)];
  const window = windowOf(noon, { intent: own }, { intent: later });
  expect(relatedBefore(window, own, noon)).toEqual([]);
  expect(relatedBefore(window, later, noon)).toMatchObject([{ id: own.id }]);
});

test('an intent that is written twice counts at its last place', () => {
  const [first, other] = [intentAt(noon), intentAt(noon)];
  const window = windowOf(noon, { intent: first }, { intent: other }, { intent: first });
  expect(relatedBefore(window, first, noon)).toMatchObject([{ id: other.id }]);
});

test('an intent that is written twice keeps the ending that it had, and is forgotten with it', () => {
  const intent = intentAt(noon);
  const window = windowOf(noon, { intent }, { ending: endingOf(noon, intent.id, 'unknown') }, { intent });
  expect(window.listUnfinished(noon)).toEqual([]);
  expect(window.related({ digest: 'same' }, noon)).toMatchObject([{ id: intent.id, endedAt: noon }]);
  const later = noon + longestWindowMs + hour;
  window.prune(later);
  expect(window.related({ digest: 'same' }, later)).toEqual([]);
});

test.each(['accepted', 'rejected', 'declined', 'not sent'] as const)(
  'what was %s does not become unknown',
  (outcome) => {
    const intent = intentAt(noon, { nonce: 'n' });
    const [known, unknown] = ([outcome, 'unknown'] as const).map((each) => ({
      ending: endingOf(noon, intent.id, each),
    }));
    const found = (window: ReturnType<typeof windowOf>) => [
      window.related({ digest: 'same' }, noon),
      window.withNonce('n', noon),
      window.listDeclined(noon),
    ];
    const window = windowOf(noon, { intent }, ...(known === undefined ? [] : [known]));
    const before = found(window);
    const line = unknown && lineOf(unknown);
    if (line !== undefined) window.add(line, noon);
    expect(found(window)).toEqual(before);
  },
);

test.each<readonly [Ending['outcome'], number]>([
  ['accepted', 1],
  ['rejected', 0],
  ['not sent', 0],
])('what was unknown may become %s', (outcome, related) => {
  const intent = intentAt(noon);
  const endings = (['unknown', outcome] as const).map((each) => ({ ending: endingOf(noon, intent.id, each) }));
  expect(windowOf(noon, { intent }, ...endings).related({ digest: 'same' }, noon)).toHaveLength(related);
});

test('a change is found with its ending, if it has one', () => {
  const [open, ended] = [intentAt(noon), intentAt(noon)];
  const window = windowOf(noon, { intent: open }, ...accepted(ended));
  expect(window.related({ digest: 'same' }, noon)).toEqual([
    { ...open, ending: undefined, endedAt: undefined },
    { ...ended, ending: endingOf(noon, ended.id, 'accepted'), endedAt: noon },
  ]);
});

test('what was declined is listed as long as it is in the window', () => {
  const intent = intentAt(noon);
  const window = windowOf(
    noon,
    { intent },
    { ending: endingOf(noon, intent.id, 'declined') },
    ...accepted(intentAt(noon)),
  );
  expect(window.listDeclined(noon)).toMatchObject([{ id: intent.id, ending: { outcome: 'declined' } }]);
  window.prune(noon + longestWindowMs + hour);
  expect(window.listDeclined(noon + longestWindowMs + hour)).toEqual([]);
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
    window.add(lineOf({ intent: own }) as Line, noon);
    return relatedBefore(window, own, noon).map(({ id }) => id);
  };
  expect(window.related({ digest: 'a' }, noon).map(({ id }) => id)).toEqual([sent.id]);
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
  expect(window.spent('b', noon, window.positionOf(own))).toEqual([noon, noon + 1, noon + 5]);
  expect(window.spent('b', noon)).toHaveLength(5);
  expect(window.spent('other', noon)).toEqual([]);
  expect(window.spent(undefined, noon)).toEqual([]);
});

describe('what is forgotten', () => {
  test('a change that ended before the window, and never one without an outcome', () => {
    const old = noon - longestWindowMs - hour;
    const [open, ended] = [intentAt(old, { digest: 'open' }), intentAt(old, { digest: 'ended' })];
    const window = windowOf(noon, { intent: open }, ...accepted(ended));
    expect(window.related({ digest: 'ended' }, noon)).toEqual([]);
    expect(window.listUnfinished(noon)).toMatchObject([{ id: open.id }]);
  });

  test('not one that ended within it, however old its intent is', () => {
    const late = intentAt(noon - 2 * longestWindowMs);
    expect(windowOf(noon, ...accepted(late, noon - hour)).related({ digest: 'same' }, noon)).toHaveLength(1);
  });
});

test('the window is a day to the millisecond, and that of what is not understood two hours', () => {
  const window = windowOf(noon, ...accepted(intentAt(noon)));
  window.add({ kind: 'notUnderstood', time: noon + longestWindowMs - abandonedMs }, noon);
  const last = noon + longestWindowMs;
  expect(() => window.related({ digest: 'same' }, last)).toThrow('of another version');
  window.prune(last);
  expect(window.spent('none', last + 1)).toEqual([]);
  expect(window.related({ digest: 'same' }, last + 1)).toHaveLength(1);
  window.prune(last + 1);
  expect(window.related({ digest: 'same' }, last + 1)).toEqual([]);
});

test('an intent that is written again is not forgotten with its first place', () => {
  const intent = intentAt(noon);
  const again = { ...intent, time: new Date(noon + 2 * hour).toISOString() };
  const ending = endingOf(noon, intent.id, 'unknown');
  const window = windowOf(noon + 2 * hour, { intent }, { ending }, { intent: again });
  const later = noon + longestWindowMs + hour;
  window.prune(later);
  expect(relatedBefore(window, again, later)).toEqual([]);
  expect(window.related({ digest: 'same' }, later)).toMatchObject([{ id: intent.id, ending }]);
});

describe('an intent that was written again after its file was lost', () => {
  const restored = new Date(noon).toISOString();

  test('keeps its first place while its change may still change', () => {
    const [first, other] = [intentAt(noon), intentAt(noon)];
    const window = windowOf(noon, { intent: first }, { intent: other }, { intent: { ...first, restored } });
    expect(relatedBefore(window, other, noon)).toMatchObject([{ id: first.id }]);
    expect(relatedBefore(window, first, noon)).toEqual([]);
  });

  test('changes nothing if its change was made', () => {
    const intent = intentAt(noon);
    const window = windowOf(noon, ...accepted(intent), { intent: { ...intent, restored } });
    expect(window.related({ digest: 'same' }, noon)).toMatchObject([{ id: intent.id, endedAt: noon }]);
    expect(window.listUnfinished(noon)).toEqual([]);
  });

  test('is new where its change is not known', () => {
    const intent = { ...intentAt(noon), restored };
    expect(windowOf(noon, ...accepted(intentAt(noon)), { intent }).listUnfinished(noon)).toMatchObject([
      { id: intent.id },
    ]);
  });
});

test('the entries for a new file come in the order in which they were written', () => {
  const [first, second, third] = [intentAt(noon), intentAt(noon), intentAt(noon + hour)];
  const endings = {
    first: endingOf(noon + 2 * hour, first.id, 'unknown'),
    second: endingOf(noon, second.id, 'accepted'),
  };
  const window = windowOf(
    noon + 2 * hour,
    { intent: first },
    { intent: second },
    { ending: endings.second },
    { intent: third },
    { ending: endings.first },
  );
  const written = window.entries().map(({ kind, fields }) => ({ [kind]: fields }));
  expect(written).toEqual([
    { intent: first },
    { intent: second },
    { ending: endings.second },
    { intent: third },
    { ending: endings.first },
  ]);
});

describe('a change of an older version, whose digest is not that of today', () => {
  const older = intentAt(noon, { keyFormat: undefined });
  const minutes = (count: number) => noon + count * 60_000;

  test.each<[string, readonly Entry[], number]>([
    ['two hours if it has not ended', [{ intent: older }], 120],
    ['ten minutes from its end', accepted(older, minutes(5)), 15],
    ['not longer than two hours from its beginning', accepted(older, minutes(115)), 120],
    [
      'as long as the longest of several',
      [...accepted(older), { intent: intentAt(minutes(1), { keyFormat: 0 }) }],
      121,
    ],
  ])('blocks all changes: %s', (_what, entries, until) => {
    const window = windowOf(noon, ...entries);
    expect(() => window.requireOwnVersion(minutes(until))).toThrow(new Date(minutes(until)).toISOString());
    expect(() => window.requireOwnVersion(minutes(until) + 1)).not.toThrow();
  });

  test('does not block when the file is read anew without it', () => {
    const window = windowOf(noon, { intent: older });
    window.clear();
    expect(() => window.requireOwnVersion(noon)).not.toThrow();
  });
});

test('where all is read anew, nothing is known of what was read before', () => {
  const ended = intentAt(noon, { nonce: 'n', budget: 'b' });
  const window = windowOf(noon + hour, ...accepted(ended), { intent: intentAt(noon + hour) });
  window.add(lineOf({ intent: intentAt(noon) }) as Line, noon + hour);
  window.add({ kind: 'notUnderstood', time: noon }, noon + hour);
  window.clear();
  expect([window.offsetMs(noon), window.related({ digest: 'same' }, noon), window.withNonce('n', noon)]).toEqual([
    0,
    [],
    [],
  ]);
  expect([window.spent('b', noon), window.listUnfinished(noon), window.listDeclined(noon)]).toEqual([[], [], []]);
});

describe('a clock that was set back by two days', () => {
  const before = noon - 48 * hour;

  test('makes what is written after that count as just written', () => {
    const [ahead, behind] = [intentAt(noon, { digest: 'other' }), intentAt(before, { budget: 'b' })];
    const window = windowOf(before, ...accepted(ahead), ...accepted(behind));
    expect(window.offsetMs(before + hour)).toBe(-47 * hour);
    expect(window.related({ digest: 'same' }, before + hour)).toMatchObject([{ endedAt: before + hour }]);
    expect(window.spent('b', before + hour)).toEqual([before + hour]);
    // Also where the process saw that: entries of a clock that is behind are not older for it.
    window.setClock(-48 * hour, noon);
    expect(window.spent('b', before + hour)).toEqual([before + hour]);
  });

  test('does not make what was written before it was wrong seem older', () => {
    const [right, ahead] = [intentAt(before), intentAt(noon, { digest: 'other' })];
    const window = windowOf(before, ...accepted(right), ...accepted(ahead));
    expect(window.related({ digest: 'same' }, before)).toMatchObject([{ endedAt: before }]);
  });
});

describe('a clock that was set forward by two days', () => {
  const after = noon + 48 * hour;
  const known = intentAt(noon, { budget: 'b' });
  const forward = () => {
    const window = windowOf(noon, ...accepted(known));
    window.setClock(48 * hour, noon + 1000);
    return window;
  };
  const add = (window: ReturnType<typeof windowOf>, now: number, ...entries: readonly Entry[]) => {
    for (const entry of entries) window.add(lineOf(entry) as Line, now);
  };

  test('makes nothing older that was known before', () => {
    const window = forward();
    window.prune(after + hour);
    expect(window.related({ digest: 'same' }, after + hour)).toMatchObject([{ endedAt: after }]);
    expect(window.spent('b', after + hour)).toEqual([after]);
  });

  test('nor what was written before that, and is read after it', () => {
    const [late, later] = [intentAt(noon + 500, { digest: 'late' }), intentAt(after + hour, { digest: 'later' })];
    const window = forward();
    add(window, after + hour, ...accepted(late), ...accepted(later));
    expect(window.related({ digest: 'late' }, after + hour)).toMatchObject([{ endedAt: after + 500 }]);
    expect(window.related({ digest: 'later' }, after + hour)).toMatchObject([{ endedAt: after + hour }]);
  });

  test('and is forgotten when it is set back again', () => {
    const window = forward();
    window.setClock(-50 * hour, after + 2000);
    expect(window.related({ digest: 'same' }, noon + hour)).toMatchObject([{ endedAt: noon }]);
    expect(window.spent('b', noon + hour)).toEqual([noon]);
  });

  test('lets an entry that is not understood block changes no shorter', () => {
    const window = new JournalWindow();
    window.add({ kind: 'notUnderstood', time: noon }, noon);
    window.setClock(48 * hour, noon);
    expect(() => window.related({ digest: 'same' }, after + hour)).toThrow('of another version');
    expect(window.related({ digest: 'same' }, after + 3 * hour)).toEqual([]);
  });
});

test('a change whose time cannot be read counts as just written', () => {
  const intent = { ...intentAt(noon, { budget: 'b' }), time: 'T' };
  const window = windowOf(noon, { intent }, { ending: { ...endingOf(noon, intent.id, 'accepted'), time: 'T' } });
  expect(window.related({ digest: 'same' }, noon)).toMatchObject([{ endedAt: noon }]);
  expect(window.spent('b', noon)).toEqual([noon]);
});

describe('what was unfinished before the window', () => {
  const left = intentAt(noon - 30 * longestWindowMs, { digest: 'left' });
  const line = lineOf({ intent: left }) as IntentLine;

  test('comes before all others', () => {
    const own = intentAt(noon, { digest: 'left' });
    const window = windowOf(noon, { intent: own });
    window.addUnfinished([line]);
    expect(relatedBefore(window, own, noon)).toMatchObject([{ id: left.id }]);
    expect(window.listUnfinished(noon)).toMatchObject([{ id: left.id }, { id: own.id }]);
  });

  test('may end later', () => {
    const window = windowOf(noon);
    window.addUnfinished([line]);
    for (const id of [left.id, 'of nothing'])
      window.add(lineOf({ ending: endingOf(noon, id, 'rejected') }) as Line, noon);
    expect(window.listUnfinished(noon)).toEqual([]);
  });

  test('is not open if its ending is in the window', () => {
    const window = windowOf(noon, { ending: endingOf(noon, left.id, 'unknown') });
    window.addUnfinished([line]);
    expect(window.listUnfinished(noon)).toEqual([]);
  });
});

test('a line that a crash cut short after something that looks like its end is not a change', () => {
  const whole = JSON.stringify({ intent: intentAt(noon, { digest: 'torn' }) });
  const window = new JournalWindow();
  const torn = readLine(whole.slice(0, -1));
  if (torn !== undefined) window.add(torn, noon);
  expect(window.related({ digest: 'torn' }, noon)).toEqual([]);
  expect(window.listUnfinished(noon)).toEqual([]);
});

test('of many changes, each is found until it is forgotten', () => {
  const window = new JournalWindow();
  const intents = Array.from({ length: 5_000 }, (_, index) =>
    intentAt(noon, { digest: `d${index % 4_999}`, nonce: `n${index}`, budget: 'b' }),
  );
  const add = (entry: Entry) => {
    const line = lineOf(entry);
    if (line !== undefined) window.add(line, noon);
  };
  for (const [index, intent] of intents.entries()) {
    add({ intent });
    add({ ending: endingOf(noon, intent.id, index === 3 ? 'rejected' : 'accepted') });
  }
  const [first, second, , fourth] = intents;
  const last = intents.at(-1);
  expect(window.related({ digest: 'd0' }, noon)).toMatchObject([{ id: first?.id }, { id: last?.id }]);
  expect(window.related({ digest: 'd1' }, noon)).toMatchObject([{ id: second?.id }]);
  expect(window.related({ digest: 'd3' }, noon)).toEqual([]);
  expect(window.withNonce('n3', noon)).toMatchObject([{ id: fourth?.id }]);
  expect(window.withNonce('n4999', noon)).toMatchObject([{ id: last?.id }]);
  expect(window.spent('b', noon)).toHaveLength(4_999);
  window.prune(noon + longestWindowMs + hour);
  expect(window.related({ digest: 'd0' }, noon)).toEqual([]);
  expect(window.spent('b', noon)).toEqual([]);
});

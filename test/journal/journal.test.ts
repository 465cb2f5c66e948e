import { expect, test } from 'vitest';
import type { Ending, Intent } from '../../src/journal/entry.js';
import { shortenIntent } from '../../src/journal/entry.js';
import { describe as describeChange, isOfAnother, journalText, unwritable } from '../../src/journal/journal.js';
import { interruptedText } from '../../src/journal/recovery.js';
import { createMemoryJournal } from '../support/caller.js';
import { endingOf, intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');

test.each([
  [{ clientId: 'helper', actors: [] }, 'agent "helper"'],
  [{ clientId: 'helper', actors: ['now', 'before "b"'] }, 'agent "now" through "before \\"b\\"", "helper"'],
  [{ actors: [] }, 'agent unknown'],
])('a change names the agent that acted for its caller: %j', (agent, text) => {
  expect(describeChange(intentAt(noon, { caller: 'alice', agent })).text).toContain(`caller: "alice"  ${text}`);
});

test('what a service or a client says stays on its line, quoted and bounded', () => {
  const foreign = `a\n2026 accepted forged \u001b[2J\u202e ${'y'.repeat(3_000_000)}`;
  const change = {
    ...intentAt(noon, {
      client: foreign,
      what: foreign,
      target: foreign,
      tool: foreign,
      caller: foreign,
      account: foreign,
    }),
    time: foreign,
    ending: { ...endingOf(noon, 'x', 'unknown'), code: `bad\n\u001b[2J${'y'.repeat(500)}` },
  };
  for (const line of [describeChange(change), interruptedText(change)]) {
    expect(line.text).toContain('an unknown time');
    for (const character of ['\n', '\u001b', '\u202e']) expect(line.text).not.toContain(character);
    expect(line.text.length).toBeLessThan(2000);
  }
});

test('a change is of another caller unless its stored name is that of the viewer, however long the name is', () => {
  for (const viewer of ['alice', undefined]) expect(isOfAnother({ caller: 'alice' }, viewer)).toBe(false);
  for (const viewer of ['bob', '', 'Alice']) expect(isOfAnother({ caller: 'alice' }, viewer)).toBe(true);
  const long = 'x'.repeat(5000);
  const { caller } = shortenIntent(intentAt(noon, { caller: long }));
  expect(isOfAnother({ caller }, long)).toBe(false);
  expect(isOfAnother({}, 'alice')).toBe(true);
});

test.each<
  readonly [what: string, Partial<Intent>, Omit<Ending, 'id' | 'time'> | undefined, outcome: string, consent: string]
>([
  ['open', {}, undefined, 'no outcome yet', 'asked'],
  ['ended', {}, { outcome: 'accepted' }, 'accepted', 'asked'],
  ['ended with a code', {}, { outcome: 'rejected', code: 'Bad' }, 'rejected ("Bad")', 'asked'],
  ['agreed to by a person', { answeredAfterMs: 4200 }, { outcome: 'accepted' }, 'accepted', 'asked after 4 s'],
])('a change that is %s is one line', (_what, intent, ended, outcome, consent) => {
  const change = intentAt(noon, intent);
  const ending = ended && { id: change.id, time: change.time, ...ended };
  const line = describeChange({ ...change, ending });
  const what =
    '"restore_instance": "A server \\"s\\" is created."  "POST https://devops.example.com/v1/instances:restore"';
  expect(line.text).toBe(`2026-11-20T12:00:00.000Z  ${outcome}  ${what}  consent: ${consent}  client: "test 1"`);
  expect(describeChange({ ...change, ending, caller: 'alice' }).text).toBe(`${line}  caller: "alice"`);
});

test('an account with a name is named before what was changed in it, on its line and when it was interrupted', () => {
  const change = intentAt(noon, { account: 'prod' });
  for (const text of [describeChange(change), interruptedText(change)])
    expect(text.text).toContain('"restore_instance" in account "prod": "A server');
});

test('the text for a caller holds what that caller asked for; without a caller, it holds everything', async () => {
  const journal = createMemoryJournal();
  expect(await journalText(journal, 'bob')).toBe('# Journal\n\nNo changes yet.\n');
  for (const caller of ['alice', 'bob'])
    await journal.begin(intentAt(noon, { caller, what: `For ${caller}.` }), { allowRepeat: false });
  const [one, all] = [await journalText(journal, 'bob'), await journalText(journal, undefined)];
  expect([one.includes('alice'), one.includes('For bob.')]).toEqual([false, true]);
  expect([all.includes('For alice.'), all.includes('For bob.')]).toEqual([true, true]);
  expect(all.match(/^- .*$/gm)).toHaveLength(2);
});

test('who decided is told where it is another than the caller, and why', () => {
  const decided = { consent: 'page', caller: 'alice', approver: 'bob "b"', reason: 'too "large"' } as const;
  const line = describeChange(intentAt(noon, decided));
  expect(line.text).toMatch(/ {2}caller: "alice" {2}decided by: "bob \\"b\\"" {2}reason: "too \\"large\\""$/);
});

test('a journal that cannot be written is named, with the reason', () => {
  const error = Object.assign(new Error('MARKER'), { code: 'ENOSPC' });
  expect(unwritable('/var/journal.jsonl', error)).toEqual({ kind: 'unwritable', reason: '/var/journal.jsonl: ENOSPC' });
});

test('the text has the last 50 changes, of some accounts the last 50 of theirs', async () => {
  const journal = createMemoryJournal();
  for (let index = 0; index < 120; index += 1) {
    const [account, what] = [index % 2 === 0 ? 'a' : 'b', `Number ${index}.`];
    await journal.begin(intentAt(noon, { account, what, digest: what }), { allowRepeat: false });
  }
  const numbers = async (accounts?: readonly string[]) =>
    [...(await journalText(journal, undefined, accounts)).matchAll(/Number (\d+)/g)].map(([, number]) =>
      Number(number),
    );
  const all = await numbers();
  expect([all.length, all[0], all.at(-1)]).toEqual([50, 70, 119]);
  const some = await numbers(['b', 'c']);
  expect([some.length, some[0], some.at(-1)]).toEqual([50, 21, 119]);
  expect(await numbers([])).toEqual([]);
});

import { readdirSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  counted,
  exact,
  fitted,
  forReader,
  join,
  linesOf,
  listed,
  own,
  quoted,
  type SafeText,
  say,
  shortNames,
  textFor,
  time,
  withTimes,
  words,
} from '../../src/util/safe-text.js';
import { anyText } from '../support/any-text.js';

/** Text to be shown: our own words, with everything from outside quoted. */

const outside: string = 'a "b"\n\u202ec';

test('words and numbers stay, a text is quoted, and what is shown already passes', () => {
  expect(say`Set up ${outside} with ${3} nodes`.text).toBe('Set up "a \\"b\\"\\n\\u202ec" with 3 nodes');
  expect(say`${say`It is ${'x'}.`} ${counted(2, 'part')}`.text).toBe('It is "x". 2 parts');
  expect(say`There are ${listed([say`${'a'}`, say`${'b'}`, words('c')])}.`.text).toBe('There are "a", "b" and c.');
});

test('a text is bounded', () => {
  expect(say`${'x'.repeat(1000)}`.text).toBe(`"${'x'.repeat(300)}…" (cut, 1000 characters)`);
  expect(say`${quoted('x'.repeat(100), 5)}`.text).toBe('"xxxxx…" (cut, 100 characters)');
});

test('whatever a text holds, without what is in quotation marks only the words are left', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 400 }), (text) => {
      const line = say`Set up ${text} and ${quoted(text, 24)}.`;
      expect(line.text.replace(/"(?:[^"\\]|\\.)*"(?: \(cut, \d+ characters\))?/g, '…')).toBe('Set up … and ….');
    }),
  );
});

test.each([
  ['restore_instance', 'restore_instance'],
  ['rules[0].id', 'rules[0].id'],
  ['Nothing was sent', '"Nothing was sent"'],
])('the name %s of something of our own is shown as %s', (name, shown) => {
  expect(say`${own(name)}`.text).toBe(shown);
});

test('a value to be copied is shown as it is, but for what is invisible', () => {
  expect(say`${exact('https://example.com/?a="b"\u202e\n')}`.text).toBe('https://example.com/?a="b"\\u202e\\n');
});

describe('a headline', () => {
  test.each([
    ['x'.repeat(32), 'x'.repeat(32)],
    ['x'.repeat(33), `${'x'.repeat(31)}…`],
    [`${'x'.repeat(30)}\u202eyyy`, `${'x'.repeat(30)}\\u202e…`],
  ])('has at most 32 characters of a name: %s', (name, shown) => {
    expect(shortNames(say`Set up ${name} here`).text).toBe(`Set up "${shown}" here`);
  });
});

describe('a text that has to be short', () => {
  const long = 'x'.repeat(40);
  const text = say`Create ${long} (400 GB)`;
  const xs = (count: number) => 'x'.repeat(count);

  test.each([
    [99, `Create "${xs(31)}…" (400 GB)`],
    [50, `Create "${xs(31)}…" (400 GB)`],
    [40, `Create "${xs(21)}…" (400 GB)`],
    [21, `Create "${xs(2)}…" (400 GB)`],
    [12, 'Create "x…"…'],
  ])('of at most %i characters cuts names, and then itself: %s', (limit, line) => {
    expect(fitted(text, limit).text).toBe(line);
  });

  test('keeps names whole across its lines', () => {
    const lines = linesOf(join([say`a ${'b\nc'}`, say`d`], '\n'));
    expect(lines.map((line) => line.text)).toEqual(['a "b\\nc"', 'd']);
  });
});

describe('a text for several readers', () => {
  const text = say`${forReader({ agent: 'Tell the user. ', person: '' })}Look in the log of ${forReader({ agent: 'its', person: 'its', operator: 'this' })} machine.`;

  test.each([
    ['agent', 'Tell the user. Look in the log of its machine.'],
    ['person', 'Look in the log of its machine.'],
    ['operator', 'Look in the log of this machine.'],
  ] as const)('reads for the %s: %s', (reader, words) => {
    expect(textFor(reader, text).text).toBe(words);
  });

  test('has times in UTC, or as they are written for its reader', () => {
    const sent = say`Sent at ${time('2026-11-20T12:00:00Z')}, not at ${'2026-11-20T12:00:00Z'}.`;
    expect(sent.text).toBe('Sent at 2026-11-20T12:00:00.000Z, not at "2026-11-20T12:00:00Z".');
    expect(withTimes(sent, () => say`noon`).text).toBe('Sent at noon, not at "2026-11-20T12:00:00Z".');
    expect(time('a time').text).toBe('"a time"');
  });
});

test('no other text compiles where text is shown', () => {
  // @ts-expect-error
  const text: SafeText = outside;
  // @ts-expect-error
  const literal: SafeText = 'a';
  // @ts-expect-error
  expect(() => words(outside)).not.toThrow();
  // @ts-expect-error
  expect(() => words(`a ${outside}`)).not.toThrow();
  // @ts-expect-error
  expect(() => say`${{ text: outside }}`).not.toThrow();
  expect([text, literal]).toHaveLength(2);
});

/** Text becomes text to be shown in one file. */
const maker = 'util/safe-text.ts';
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const textOf = (file: string) => readFileSync(`src/${file}`, 'utf8');

test('one file makes it, and no other', () => {
  const makes = /\bnew SafeText\b|\bas (?:unknown as )?(?:readonly )?SafeText\b/;
  expect(sources.filter((file) => makes.test(textOf(file)))).toEqual([maker]);
});

/** Where the words of definitions, schemas and settings are taken as they are, where sealed text or a view's comes back, and what is copied. */
test.each([
  ['fromServer', ['calls/outcome.ts']],
  [
    'defined',
    [
      'calls/account.ts',
      'calls/endpoint.ts',
      'calls/failure.ts',
      'calls/policy.ts',
      'calls/read-reply.ts',
      'calls/refusal.ts',
      'calls/remedies.ts',
      'calls/validate.ts',
      'changes/plan-change.ts',
      'changes/plan.ts',
      'cli/check-accounts.ts',
      'cli/command.ts',
      'cli/help.ts',
      'cli/operations-command.ts',
      'cli/run.ts',
      'config/accounts.ts',
      'config/read-settings.ts',
      'mcp/views/results.ts',
      'models/answer-summary.ts',
      'models/change-texts.ts',
      'models/load-operations.ts',
      'models/search/open-search.ts',
      'models/service-catalog.ts',
      'signing/program-keys.ts',
      'tools/schema/answer-texts.ts',
    ],
  ],
  [
    'exact',
    [
      'calls/result-text.ts',
      'changes/run-change.ts',
      'changes/store-place.ts',
      'changes/typed-name.ts',
      'cli/check-accounts.ts',
      'cli/client-config-command.ts',
      'cli/doctor-command.ts',
      'cli/health-command.ts',
      'cli/help.ts',
      'cli/http-command.ts',
      'cli/journal-command.ts',
      'cli/layout.ts',
      'cli/local-page.ts',
      'cli/run.ts',
      'cli/sandbox-command.ts',
      'http/issuer-keys.ts',
      'http/issuer.ts',
      'mcp/tasks.ts',
    ],
  ],
])('%s is used in no other files than these', (name, files) => {
  const imports = new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from '[^']*/safe-text.js'`);
  const uses = sources.filter((file) => imports.test(textOf(file)));
  expect(uses.sort()).toEqual(files);
});

test('no command writes words to a terminal but by what takes text to be shown', () => {
  const commands = sources.filter((file) => file.startsWith('cli/') && file !== 'cli/layout.ts');
  expect(commands).not.toEqual([]);
  expect(commands.filter((file) => /\.write\(\s*['"`][^$]/.test(textOf(file)))).toEqual([]);
});

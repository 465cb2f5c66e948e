import { readdirSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  counted,
  defined,
  exact,
  join,
  listed,
  namesOf,
  own,
  quoted,
  type SafeText,
  say,
  sentence,
  shortNames,
  words,
} from '../../src/util/safe-text.js';

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
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
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

test('names are shown one by one', () => {
  expect(say`${namesOf(['READ_ONLY', 'a b'])}; ${namesOf(['accounts', 'prod'], '.')}`.text).toBe(
    'READ_ONLY, "a b"; accounts.prod',
  );
});

test('a value to be copied is shown as it is, but for what is invisible', () => {
  expect(say`${exact('https://example.com/?a="b"\u202e\n')}`.text).toBe('https://example.com/?a="b"\\u202e\\n');
});

test('the words of a definition have nothing invisible in them', () => {
  expect(say`${defined('that\u202e it exists')}`.text).toBe('that\\u202e it exists');
});

describe('a headline', () => {
  test.each([
    ['x'.repeat(24), 'x'.repeat(24)],
    ['x'.repeat(25), `${'x'.repeat(23)}…`],
    [`${'x'.repeat(22)}\u202eyyy`, `${'x'.repeat(22)}\\u202e…`],
  ])('has at most 24 characters of a name: %s', (name, shown) => {
    expect(shortNames(say`Set up ${name} here`).text).toBe(`Set up "${shown}" here`);
  });
});

test('texts are joined, and begin with a capital', () => {
  expect(join([say`a`, say`b`], '; ').text).toBe('a; b');
  expect(sentence(say`parts ${1}`).text).toBe('Parts 1');
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
  ['fromServer', ['cli/view-command.ts', 'consent/stored-plan.ts']],
  [
    'defined',
    [
      'calls/account.ts',
      'calls/endpoint.ts',
      'calls/failure.ts',
      'calls/policy.ts',
      'calls/read-record.ts',
      'calls/read-reply.ts',
      'calls/remedies.ts',
      'calls/send-change.ts',
      'calls/validate.ts',
      'cli/client-config-command.ts',
      'cli/doctor-command.ts',
      'cli/help.ts',
      'cli/operations-command.ts',
      'cli/run.ts',
      'config/accounts-file.ts',
      'config/accounts.ts',
      'config/open-accounts.ts',
      'config/setting-values.ts',
      'consent/plan.ts',
      'consent/question.ts',
      'consent/refusal.ts',
      'mcp/views/results.ts',
      'operations/load-operations.ts',
      'tools/schema/field-names.ts',
      'tools/schema/meanings.ts',
      'tools/schema/zones.ts',
    ],
  ],
  [
    'exact',
    [
      'cli/answer-for-people.ts',
      'cli/call-command.ts',
      'cli/client-config-command.ts',
      'cli/doctor-command.ts',
      'cli/health-command.ts',
      'cli/help.ts',
      'cli/http-command.ts',
      'cli/layout.ts',
      'cli/operations-command.ts',
      'cli/probe.ts',
      'cli/run.ts',
      'cli/sandbox-command.ts',
      'cli/view-command.ts',
      'consent/request-lines.ts',
      'http/issuer-keys.ts',
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

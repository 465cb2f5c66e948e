import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { crashFacts, createLog, type LogLevel, ShownError, shownReason } from '../../src/util/log.js';
import { say } from '../../src/util/safe-text.js';

const written = (fields: Record<string, unknown>, minimum: LogLevel = 'info') => {
  const lines: string[] = [];
  createLog(
    minimum,
    () => new Date(0),
    (line) => lines.push(line),
  )('info', 'call', fields);
  return lines;
};

test('an event is one line of JSON with its time, level and fields', () => {
  expect(written({ tool: 'list_parts' })).toEqual([
    '{"time":"1970-01-01T00:00:00.000Z","level":"info","event":"call","tool":"list_parts"}\n',
  ]);
  expect(written({}, 'warn')).toEqual([]);
});

test.each([
  ['a line break', 'a\nb', 'a\\nb'],
  ['C1 controls, which terminals obey', 'a\u009b31mb', 'a\\u009b31mb'],
  ['a change of the reading order', 'a\u202eb', 'a\\u202eb'],
  ['an invisible character', 'a\u200bb', 'a\\u200bb'],
  ['an invisible character beyond 16 bits', 'a\u{e0041}b', 'a\\udb40\\udc41b'],
  ['letters of any script', '名前 é 😀', '名前 é 😀'],
])('%s in a name', (_what, caller, shown) => {
  expect(written({ caller })[0]).toContain(`"caller":"${shown}"`);
});

test('whatever a text holds, the line is JSON that holds the same text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 50 }), (caller) => {
      const [line = ''] = written({ caller });
      expect(JSON.parse(line).caller).toBe(caller);
      expect(line.slice(0, -1)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test('a text without end is cut', () => {
  expect(written({ caller: 'n'.repeat(1_000_000) })[0]?.length).toBeLessThan(20_000);
});

test.each([
  ['a code stays bare', Object.assign(new Error('open "x"'), { code: 'ENOENT' }), 'ENOENT'],
  ['a message is foreign', new Error('it is fine. \u202e'), '"it is fine. \\u202e"'],
  ['our own words stay', new ShownError(say`there is no profile ${'a'}`), 'there is no profile "a"'],
])('of the reason of a failure, for people: %s', (_what, error, shown) => {
  expect(say`${shownReason(error)}`.text).toBe(shown);
});

test.each([
  [new TypeError('a secret'), 'TypeError'],
  ['a secret', 'not an error'],
])('an uncaught error is logged without its message: %s', (error, name) => {
  const facts = crashFacts(error);
  expect(facts.error).toBe(name);
  expect(facts.stack.length > 0).toBe(error instanceof Error);
  expect(JSON.stringify(facts)).not.toContain('a secret');
});

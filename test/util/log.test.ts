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

import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSpinner } from '../../src/cli/spinner.js';
import { say } from '../../src/util/safe-text.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open(isTTY: boolean, columns = 80) {
  const screen = Object.assign(new PassThrough(), { isTTY, columns });
  return { spinner: createSpinner(screen), drawn: () => String(screen.read() ?? '') };
}

test('a fast call draws nothing, and leaves nothing to erase', () => {
  const { spinner, drawn } = open(true);
  spinner.say(say`list_parts`);
  vi.advanceTimersByTime(200);
  spinner.stop();
  vi.advanceTimersByTime(2000);
  expect(drawn()).toBe('');
});

test('a slow call moves, says the latest text, and erases its line at the end', () => {
  const { spinner, drawn } = open(true);
  spinner.say(say`list_parts`);
  vi.advanceTimersByTime(300);
  expect(stripVTControlCharacters(drawn())).toMatch(/^\r\S list_parts$/u);
  spinner.say(say`attempt ${2}`);
  vi.advanceTimersByTime(200);
  expect(drawn().match(/\S attempt 2/gu)).toHaveLength(2);
  spinner.stop();
  expect(drawn()).toBe('\r\x1b[K');
  vi.advanceTimersByTime(2000);
  expect(drawn()).toBe('');
});

test('a text that is too long for the line is cut, because a broken line could not be erased', () => {
  const { spinner, drawn } = open(true, 40);
  spinner.say(say`${'x'.repeat(100)}`);
  vi.advanceTimersByTime(300);
  expect(drawn().replace('\r\x1b[K', '')).toHaveLength(39);
  spinner.stop();
});

test('a file gets nothing', () => {
  const { spinner, drawn } = open(false);
  spinner.say(say`list_parts`);
  vi.advanceTimersByTime(2000);
  spinner.stop();
  expect(drawn()).toBe('');
});

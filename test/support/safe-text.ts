import { expect } from 'vitest';
import { isSafeText } from '../../src/util/safe-text.js';

/** Lets expectations compare safe text with strings: `toEqual('…')`, `expect.stringContaining('…')`. */

const readable = (value: unknown) => (isSafeText(value) ? value.text : value);

interface Matcher {
  asymmetricMatch(value: unknown, ...more: readonly unknown[]): boolean;
}

function readSafeText(matcher: Matcher): void {
  const prototype: Matcher = Object.getPrototypeOf(matcher);
  const { asymmetricMatch } = prototype;
  prototype.asymmetricMatch = function (value, ...more) {
    return asymmetricMatch.call(this, readable(value), ...more);
  };
}

// The files of a worker share its matchers.
const done = Symbol.for('cloudops-mcp: expectations read safe text');
if (!Object.hasOwn(globalThis, done)) {
  Object.defineProperty(globalThis, done, { value: true });
  readSafeText(expect.stringContaining(''));
  readSafeText(expect.stringMatching(''));
  readSafeText(expect.any(String));
  expect.addEqualityTesters([(a, b) => (isSafeText(a) || isSafeText(b) ? readable(a) === readable(b) : undefined)]);
}

import { vi } from 'vitest';

/**
 * Gives `vi.waitFor` and `vi.waitUntil` a minute in place of a second, which a busy machine reaches. A condition that never holds fails the
 * test before its own time limit does, and says what was expected. `expect.poll` has the same limit in `vitest.config.ts`.
 */

const timeout = 60_000;

// The files of a worker share these functions.
const done = Symbol.for('cloudops-mcp: waiting has a minute');
if (!Object.hasOwn(globalThis, done)) {
  Object.defineProperty(globalThis, done, { value: true });
  const { waitFor, waitUntil } = vi;
  vi.waitFor = (callback, options = {}) =>
    waitFor(callback, typeof options === 'number' ? options : { timeout, ...options });
  vi.waitUntil = (callback, options = {}) =>
    waitUntil(callback, typeof options === 'number' ? options : { timeout, ...options });
}

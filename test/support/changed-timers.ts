/**
 * Returns an environment in which a process of Node.js has other timers: a timer of a length in `lengthsMs` gets the length that follows (both
 * in milliseconds). A test of a long time limit takes less time with a shorter one, and with a longer one a busy machine does not reach it.
 */
export function changedTimers(lengthsMs: Record<number, number>): { NODE_OPTIONS: string } {
  const code = `const set = globalThis.setTimeout;
    const lengths = ${JSON.stringify(lengthsMs)};
    globalThis.setTimeout = (callback, ms, ...args) => set(callback, lengths[ms] ?? ms, ...args);`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

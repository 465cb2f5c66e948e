/**
 * Returns an environment in which a process of Node.js shortens its timers: a timer of a length in `lengthsMs` gets the length that follows (both
 * in milliseconds). So a test of a long time limit takes less time.
 */
export function shorterTimers(lengthsMs: Record<number, number>): { NODE_OPTIONS: string } {
  const code = `const set = globalThis.setTimeout;
    const lengths = ${JSON.stringify(lengthsMs)};
    globalThis.setTimeout = (callback, ms, ...args) => set(callback, lengths[ms] ?? ms, ...args);`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

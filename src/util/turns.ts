import { setImmediate as nextTurn } from 'node:timers/promises';

/** Resolves for one waiter in each turn of the event loop, so that short work comes in between long work. */
export function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}

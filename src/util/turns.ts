import { setImmediate as nextTurn } from 'node:timers/promises';
import { createQueue } from './queue.js';

/** Between two pieces of work, other work of the process can run. */
export type TakeTurn = <Result>(work: () => Result | Promise<Result>) => Promise<Result>;

export function createTurns(): TakeTurn {
  const queue = createQueue(1);
  return async (work) => {
    const leave = await queue.enter();
    try {
      await nextTurn();
      return await work();
    } finally {
      leave();
    }
  };
}

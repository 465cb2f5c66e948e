import { setImmediate as nextTurn } from 'node:timers/promises';
import { createQueue } from './queue.js';

/** Runs a piece of long work in its own turn of the event loop. Between two pieces, other work of the process can run. */
export type TakeTurn = <Result>(work: () => Result | Promise<Result>) => Promise<Result>;

/** Creates a queue, in which each piece of work waits until the piece before it has ended or failed. */
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

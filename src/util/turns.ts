import { setImmediate as nextTurn } from 'node:timers/promises';

/** Runs long work in pieces, each in its own turn of the event loop, so that short work can run in between. */
export type TakeTurn = <Result>(work: () => Result | Promise<Result>) => Promise<Result>;

/** Creates a queue, in which each piece of work waits until the work before it has ended. */
export function createTurns(): TakeTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(() => nextTurn()).then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

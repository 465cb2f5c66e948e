import { setImmediate as nextTurn } from 'node:timers/promises';

/** Runs a piece of long work in its own turn of the event loop. Between two pieces, other work of the process can run. */
export type TakeTurn = <Result>(work: () => Result | Promise<Result>) => Promise<Result>;

/** Creates a queue, in which each piece of work waits until the piece before it has ended or failed. */
export function createTurns(): TakeTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(() => nextTurn()).then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

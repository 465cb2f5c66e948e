import { setImmediate as nextTurn } from 'node:timers/promises';

/** Does long work piece by piece: one after the other, and each from a turn of the event loop on, so that short work comes in between. */
export type TakeTurn = <Result>(work: () => Result | Promise<Result>) => Promise<Result>;

export function createTurns(): TakeTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(() => nextTurn()).then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

import { setImmediate as nextTurn } from 'node:timers/promises';

/** At most `places` pieces of work run at the same time. Others wait in order. */
export type Queue = ReturnType<typeof createQueue>;

export class QueueTimeout extends Error {}

export function createQueue(places: number) {
  const waiting: (() => void)[] = [];
  /** Stays the same when a place is passed on. */
  let taken = 0;
  const leave = () => {
    const givePlaceToNext = waiting.shift();
    if (givePlaceToNext === undefined) taken -= 1;
    else givePlaceToNext();
  };

  const waitInQueue = (waitMs: number | undefined) =>
    new Promise<void>((resolve, reject) => {
      const receivePlace = () => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = () => {
        waiting.splice(waiting.indexOf(receivePlace), 1);
        reject(new QueueTimeout());
      };
      const timer = waitMs === undefined ? undefined : setTimeout(giveUp, waitMs);
      waiting.push(receivePlace);
    });

  return {
    taken: () => taken,
    waiting: () => waiting.length,
    /** Returns the function that gives the place back. @throws QueueTimeout after `waitMs` */
    async enter(waitMs?: number): Promise<() => void> {
      if (taken < places) taken += 1;
      else await waitInQueue(waitMs);
      return leave;
    },
    async enterFirst(): Promise<() => void> {
      if (taken < places) taken += 1;
      else await new Promise<void>((resolve) => waiting.unshift(resolve));
      return leave;
    },
  };
}

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

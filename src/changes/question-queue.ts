/** Makes each caller's questions wait for each other, so that the plan of a question is made after the earlier questions were answered. */
export interface QuestionQueue {
  /** Number of callers whose user is being asked. */
  callers(): number;
  enter(caller: string | undefined): Promise<Disposable>;
}

export function createQuestionQueue(): QuestionQueue {
  /** For each caller, a promise that resolves when the last turn in the queue ends. */
  const lastTurns = new Map<string | undefined, Promise<void>>();
  return {
    callers: () => lastTurns.size,
    /** Waits until the caller's earlier turns have ended. Returns a turn, which ends when it is disposed of. */
    async enter(caller) {
      const earlierTurn = lastTurns.get(caller);
      let endTurn = () => {};
      const turn = new Promise<void>((resolve) => {
        endTurn = resolve;
      });
      lastTurns.set(caller, turn);
      await earlierTurn;

      return {
        [Symbol.dispose]() {
          endTurn();
          // The entry stays if another turn has joined the queue, because the next turn has to wait for that turn.
          if (lastTurns.get(caller) === turn) lastTurns.delete(caller);
        },
      };
    },
  };
}

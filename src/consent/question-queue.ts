/** Asks the questions of a caller one after the other, so that each plan takes account of the earlier answers. */
export interface QuestionQueue {
  /** The number of callers whose user is being asked. */
  callers(): number;
  /** Waits until every earlier turn of the same caller has ended. A turn ends when it is disposed of. */
  enter(caller: string | undefined): Promise<Disposable>;
}

export function createQuestionQueue(): QuestionQueue {
  /** Each caller's last turn, which resolves when the turn ends. */
  const lastTurns = new Map<string | undefined, Promise<void>>();
  return {
    callers: () => lastTurns.size,
    async enter(caller) {
      const earlier = lastTurns.get(caller);
      let end = () => {};
      const turn = new Promise<void>((resolve) => {
        end = resolve;
      });
      lastTurns.set(caller, turn);
      await earlier;
      return {
        [Symbol.dispose]() {
          end();
          if (lastTurns.get(caller) === turn) lastTurns.delete(caller);
        },
      };
    },
  };
}

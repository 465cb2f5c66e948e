/** Puts the questions to one caller's user one after the other, so that each knows what came of those before it. */
export interface QuestionQueue {
  /** The number of callers whose user is being asked. */
  callers(): number;
  /** Does work when all that came before it for the same caller has ended, well or not. */
  take<Result>(caller: string | undefined, work: () => Promise<Result>): Promise<Result>;
}

export function createQuestionQueue(): QuestionQueue {
  /** Resolves when the last in the queue of a caller has ended. */
  const lasts = new Map<string | undefined, Promise<unknown>>();
  return {
    callers: () => lasts.size,
    async take(caller, work) {
      const done = (lasts.get(caller) ?? Promise.resolve()).then(work);
      const ended = done.catch(() => undefined);
      lasts.set(caller, ended);
      try {
        return await done;
      } finally {
        if (lasts.get(caller) === ended) lasts.delete(caller);
      }
    },
  };
}

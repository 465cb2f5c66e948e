import { createQueue, type Queue } from '../util/queue.js';

/** Makes each caller's questions wait for each other, because a plan mentions the earlier changes. */
export function createQuestionQueue() {
  const queues = new Map<string | undefined, Queue>();
  return {
    callers: () => queues.size,
    /** Returns a turn, which ends when it is disposed of. */
    async enter(caller: string | undefined): Promise<Disposable> {
      const queue = queues.get(caller) ?? createQueue(1);
      queues.set(caller, queue);
      const leave = await queue.enter();
      return {
        [Symbol.dispose]() {
          leave();
          if (queue.taken() === 0) queues.delete(caller);
        },
      };
    },
  };
}

export type QuestionQueue = ReturnType<typeof createQuestionQueue>;

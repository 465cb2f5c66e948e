import { createQueue, type Queue } from '../util/queue.js';

/** Makes each caller's questions wait for each other, so that the plan of a question is made after the earlier questions were answered. */
export function createQuestionQueue() {
  const queues = new Map<string | undefined, Queue>();
  return {
    /** Number of callers whose user is being asked. */
    callers: () => queues.size,
    /** Waits until the caller's earlier turns have ended. Returns a turn, which ends when it is disposed of. */
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

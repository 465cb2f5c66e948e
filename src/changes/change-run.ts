import type { CallContext, CallDependencies, CallRun, Wait } from '../calls/context.js';
import type { EndedOutcome } from '../calls/outcome.js';
import type { Operation } from '../tools/define-operation.js';
import { reasonOf } from '../util/log.js';
import { createQueue, type Queue } from '../util/queue.js';
import type { SafeText } from '../util/safe-text.js';
import type { SealingKeys } from '../util/seal.js';
import { linkedController } from '../util/time-limit.js';
import type { OfCaller } from './change.js';
import type { QuestionLimits } from './plan.js';
import type { DecisionPage } from './required-consent.js';
import type { Changes } from './store.js';

/** This file has the services that changes take from the process. */

/** Keeps the changes that are being sent, because a process that shuts down waits for them. */
export function createInFlightCalls() {
  const running = new Map<AbortController, Promise<unknown>>();
  let isDetached = false;
  return {
    /** The signal of `work` aborts with the client's, but not after `detach`. */
    async track<Result>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
      using linked = linkedController(signal, () => !isDetached);
      const { controller } = linked;
      const result = work(controller.signal);
      running.set(controller, result);
      return await result.finally(() => running.delete(controller));
    },
    /** Completes changes without their clients, because shutting down cuts the connections. */
    detach() {
      isDetached = true;
    },
    /** Resolves when all changes have ended. Aborts the rest after `graceMs`. */
    async finish(graceMs: number): Promise<void> {
      const timer = setTimeout(() => {
        for (const controller of running.keys()) controller.abort(new DOMException('time is up', 'TimeoutError'));
      }, graceMs);
      // Aborted changes still write their outcomes into the journal.
      await Promise.allSettled(running.values());
      clearTimeout(timer);
    },
  };
}

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

export interface ChangeDependencies extends CallDependencies {
  readonly store: Changes;
  readonly questions: ReturnType<typeof createQuestionQueue>;
  readonly questionLimits: QuestionLimits;
  readonly page?: DecisionPage | undefined;
  /** In milliseconds. */
  readonly planLifetimeMs: number;
  /** Longest wait of a call for a decision or an outcome (milliseconds). */
  readonly statusWaitMs: number;
  readonly inFlight: ReturnType<typeof createInFlightCalls>;
  /** 128 random bits in base64url. */
  readonly newId: () => string;
  /** For digests of requests, so that secrets cannot be guessed. */
  readonly keys: SealingKeys;
  /** Arguments with secrets by value. */
  readonly heldArguments: Map<string, Readonly<Record<string, unknown>>>;
  /** Notes about earlier changes of a caller, each once. */
  readonly pendingNotes: (caller: string | undefined) => Promise<readonly SafeText[]>;
  readonly callRead: (operation: Operation, args: unknown, context: CallContext) => Promise<EndedOutcome>;
}

/** Selects the changes of a call's caller. Callers without a name share their changes. */
export const ofCaller = ({ principal }: CallContext): OfCaller => ({
  caller: principal?.name ?? null,
});

export const afterStoreFailure =
  <Result>({ log }: ChangeRun, resultOf: (error: unknown) => Result, facts: object = {}) =>
  (error: unknown): Result => {
    log('error', 'journal', { ...facts, error: reasonOf(error) });
    return resultOf(error);
  };

export interface ChangeRun extends CallRun, ChangeDependencies {
  readonly wait: Wait;
}

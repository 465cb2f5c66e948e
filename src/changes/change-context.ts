import type { CallContext, CallDependencies } from '../calls/context.js';
import type { EndedOutcome, Plan } from '../calls/outcome.js';
import { reasonOf } from '../util/log.js';
import { createQueue, type Queue } from '../util/queue.js';
import type { SafeText } from '../util/safe-text.js';
import type { SealingKeys } from '../util/seal.js';
import { linkedController } from '../util/time-limit.js';
import type { OfCaller } from './change.js';
import type { QuestionLimits } from './plan.js';
import type { DecisionPage } from './required-consent.js';
import type { Changes } from './store.js';

/** This file has what a call takes: the ways to ask its person, and the services of the process. */

/** `unanswered` stayed open for too long. `interrupted`: the client or this server ended the call. `notAsked`: the client could not ask. */
export interface FormResponse {
  readonly kind: 'agreed' | 'wrongName' | 'declined' | 'cancelled' | 'unanswered' | 'interrupted' | 'notAsked';
  /** As it was typed. */
  readonly reason?: string | undefined;
}

export interface Elicitor {
  /** Set for this process's own terminal, where no client can answer for the person. */
  readonly isDirect?: true;
  show?(plan: Plan): void;
  /**
   * Asks a question. Clients since 2026-07-28 get `later`, and call again with the response (`Brought`).
   * @param accept label of the accepting option
   */
  ask(message: SafeText, accept: SafeText, cancel: AbortSignal, nameToType?: string): Promise<FormResponse | 'later'>;
}

/** The response to an address. `opened` is no decision. */
export type Visit = 'opened' | 'declined' | 'cancelled';

/** Asks the client's user to open an address (MCP's URL elicitation). */
export interface Guide {
  /** Resolves with `later` as `ask` does. */
  send(message: SafeText, address: string, cancel: AbortSignal): Promise<Visit | 'later'>;
}

/** What a call brings from a person: consent on the command line, or the answer to the question of an earlier call. */
export type Brought =
  | { readonly kind: 'consent' }
  | {
      readonly kind: 'answer';
      /** The question's `requestState`. */
      readonly proof: string;
      readonly responseTo: (accept: SafeText, nameToType?: string) => FormResponse;
      readonly visit: Visit;
    };

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
  readonly callRead: (
    operation: CallDependencies['operations'][number],
    args: unknown,
    context: CallContext,
  ) => Promise<EndedOutcome>;
}

export interface ChangeContext extends CallContext {
  readonly elicitor?: Elicitor | undefined;
  readonly guide?: Guide | undefined;
  readonly brought?: Brought | undefined;
  /** Set if the client's session cannot be read. */
  readonly isUnknownClient?: boolean;
}

/** Selects the changes of a call's caller. Callers without a name share their changes. */
export const ofCaller = ({ principal }: Pick<CallContext, 'principal'>): OfCaller => ({
  caller: principal?.name ?? null,
});

export const afterStoreFailure =
  <Result>({ log }: Pick<ChangeRun, 'log'>, resultOf: (error: unknown) => Result, facts: object = {}) =>
  (error: unknown): Result => {
    log('error', 'journal', { ...facts, error: reasonOf(error) });
    return resultOf(error);
  };

export interface ChangeRun extends ChangeContext, ChangeDependencies {}

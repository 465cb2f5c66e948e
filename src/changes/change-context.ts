import type { CallContext, CallDependencies } from '../calls/context.js';
import type { EndedOutcome } from '../calls/outcome.js';
import type { SafeText } from '../util/safe-text.js';
import type { SealingKeys } from '../util/seal.js';
import type { Changes } from './change.js';
import type { DecisionPage } from './decision-page.js';
import type { Brought, Elicitor, Guide } from './elicitor.js';
import type { InFlightCalls } from './in-flight.js';
import type { QuestionLimits } from './question.js';
import type { QuestionQueue } from './question-queue.js';

/** The services of this process that all changes share. */
export interface ChangeDependencies extends CallDependencies {
  readonly store: Changes;
  readonly questions: QuestionQueue;
  readonly questionLimits: QuestionLimits;
  readonly page?: DecisionPage | undefined;
  /** In milliseconds. */
  readonly planLifetimeMs: number;
  /** The longest time that a call waits for a decision or an outcome (milliseconds). */
  readonly statusWaitMs: number;
  readonly inFlight: InFlightCalls;
  /** 128 random bits in base64url. */
  readonly newId: () => string;
  /** The keys for digests of requests, which keep secrets from being guessed. */
  readonly keys: SealingKeys;
  /** Arguments with secrets by value, in the memory of this process alone. */
  readonly heldArguments: Map<string, Readonly<Record<string, unknown>>>;
  /** Notes about earlier changes of a caller, each once. */
  readonly pendingNotes: (caller: string | undefined) => Promise<readonly SafeText[]>;
  readonly callRead: (
    operation: CallDependencies['operations'][number],
    args: unknown,
    context: CallContext,
  ) => Promise<EndedOutcome>;
}

/** The circumstances of a call that changes something. */
export interface ChangeContext extends CallContext {
  readonly elicitor?: Elicitor | undefined;
  readonly guide?: Guide | undefined;
  readonly brought?: Brought;
  /** Set if the client's session cannot be read. */
  readonly isUnknownClient?: boolean;
  /** Set if the person agreed on the command line. */
  readonly agreed?: boolean;
}

/** Everything that the functions of one call take. */
export interface ChangeRun extends ChangeContext, ChangeDependencies {}

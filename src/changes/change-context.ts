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
  /** The page on which people decide, if there is one. */
  readonly page?: DecisionPage | undefined;
  /** How long a plan waits on the page (milliseconds). */
  readonly planLifetimeMs: number;
  /** The longest time that a call waits for the decision on a plan, or for its outcome (milliseconds). 0 for no wait. */
  readonly statusWaitMs: number;
  readonly inFlight: InFlightCalls;
  /** Makes 128 random bits in base64url. */
  readonly newId: () => string;
  /** The key for digests of requests with secrets, so that nobody can guess a secret from a digest in the store. */
  readonly keys: SealingKeys;
  /** Arguments with secrets by value, by the ID of their change. They are kept in the memory of this process alone. */
  readonly heldArguments: Map<string, Readonly<Record<string, unknown>>>;
  /** Returns notes about earlier changes of a caller, to add to the outcome of its next change. Each note is returned once. */
  readonly pendingNotes: (caller: string | undefined) => Promise<readonly SafeText[]>;
  /** Makes a read, for a preflight. */
  readonly callRead: (
    operation: CallDependencies['operations'][number],
    args: unknown,
    context: CallContext,
  ) => Promise<EndedOutcome>;
}

/** The circumstances of a call that changes something: also the ways to reach the person behind it. */
export interface ChangeContext extends CallContext {
  /** Absent if the client cannot ask its user. */
  readonly elicitor?: Elicitor | undefined;
  /** Absent if the client cannot send its user to an address. */
  readonly guide?: Guide | undefined;
  /** Default: nothing. */
  readonly brought?: Brought;
  /** Set if the client's capabilities are unknown because its session cannot be read. */
  readonly isUnknownClient?: boolean;
  /** Set if the person agreed beforehand, with an option of the command line. */
  readonly agreed?: boolean;
}

/** Everything that the functions of one call take: its circumstances, and the services of this process. */
export interface ChangeRun extends ChangeContext, ChangeDependencies {}

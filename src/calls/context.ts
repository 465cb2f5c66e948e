import type { EndedOutcome } from '../consent/outcome.js';
import type { QuestionQueue } from '../consent/question-queue.js';
import type { ConsentInput, ConsentSettings, Question } from '../consent/types.js';
import type { Intent } from '../journal/entry.js';
import type { Journal } from '../journal/journal.js';
import type { Operation } from '../tools/define-operation.js';
import type { OpenClient } from '../transport/signed-client.js';
import type { Log } from '../util/log.js';
import type { Shown } from '../util/safe-text.js';
import type { Span, TraceOrigin } from '../util/trace.js';
import type { Accounts } from './account.js';
import type { InFlightCalls } from './in-flight.js';
import type { SecretFiles } from './insert-secrets.js';
import type { Principal } from './policy.js';

/** Carries out one call of an operation. Never rejects for anything that bad input or the network can cause. */
export type CallTool = (operation: Operation, args: unknown, context: CallContext) => Promise<CallOutcome>;

/** Every call needs these of the process. */
export interface CallDependencies extends Omit<ConsentSettings, 'confirm'> {
  readonly accounts: Accounts;
  readonly openClient: OpenClient;
  readonly journal: Journal;
  readonly questions: QuestionQueue;
  /** The time that a call waits that asks what became of a plan, in milliseconds. */
  readonly statusWaitMs: number;
  readonly inFlight: InFlightCalls;
  readonly secretFiles: SecretFiles;
  readonly now: () => Date;
  readonly log: Log;
  /** A new text that nobody can guess. */
  readonly newId: () => string;
  readonly process: Intent['process'];
  /** Notes for the next change of a caller on earlier ones; each is given once. */
  readonly pendingNotices: (caller: string | undefined) => Promise<readonly Shown[]>;
}

/** Whoever wants to hear of an answer in pages as it comes, with the pages and entries so far. */
export interface PageListeners {
  /** Called for each page. */
  readonly onPage?: (pages: number, entries: number) => void;
  /** Called for each page that another one follows: never for the one that the answer comes with. */
  readonly onFollowedPage?: (pages: number, entries: number) => void;
}

/** A call brings these along. */
export interface CallContext extends ConsentInput, PageListeners {
  /** Name and version of the client, as it says. */
  readonly client: string;
  /** Absent where callers are not told apart. */
  readonly principal?: Principal | undefined;
  /** The trace that the call belongs to: most servers follow none. */
  readonly trace?: () => TraceOrigin;
  readonly span?: Span | undefined;
}

/** The end of a call, or the question that it goes on with. */
export type CallOutcome = EndedOutcome | Question;

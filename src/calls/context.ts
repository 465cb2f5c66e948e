import type { DecisionPage } from '../changes/decision-page.js';
import type { Elicitor, Guide, Wait } from '../changes/elicitor.js';
import type { EndedOutcome } from './outcome.js';
import type { Plans } from '../consent/plans.js';
import type { QuestionLimits } from '../changes/question.js';
import type { QuestionQueue } from '../changes/question-queue.js';
import type { Refusals } from '../consent/refusals.js';
import type { ConsentClaims, ConsentTokens } from '../consent/tokens.js';
import type { Intent } from '../journal/entry.js';
import type { Journal } from '../journal/journal.js';
import type { Operation } from '../tools/define-operation.js';
import type { OpenClient, SignedClientOptions } from '../transport/signed-client.js';
import type { Log } from '../util/log.js';
import type { SafeText } from '../util/safe-text.js';
import type { Span, TracedRequest } from '../util/trace.js';
import type { Accounts } from './account.js';
import type { InFlightCalls } from '../changes/in-flight.js';
import type { SecretFiles } from './insert-secrets.js';
import type { Principal } from './policy.js';
import type { ArgumentName } from './validate.js';

/** Carries out one call of an operation. Never rejects because of bad input or the network. */
export type CallTool = (operation: Operation, args: unknown, context: CallContext) => Promise<CallOutcome>;

/** The services of this process that all calls share. */
export interface CallDependencies {
  readonly accounts: Accounts;
  readonly operations: readonly Operation[];
  readonly openClient: OpenClient;
  readonly secretFiles: SecretFiles;
  readonly journal: Journal;
  readonly questions: QuestionQueue;
  readonly questionLimits: QuestionLimits;
  readonly refusals: Refusals;
  readonly plans: Plans;
  /** The page on which people decide, if there is one. */
  readonly page?: DecisionPage | undefined;
  /** The longest time that a call waits for the decision on a plan, or for its outcome (milliseconds). 0 for no wait. */
  readonly statusWaitMs: number;
  readonly inFlight: InFlightCalls;
  readonly now: () => Date;
  readonly log: Log;
  /** Makes an unguessable ID for a journal entry. */
  readonly newId: () => string;
  /** Makes an unguessable nonce for a plan or a question. */
  readonly newNonce: () => string;
  readonly process: Intent['process'];
  /** Returns notes about earlier changes of a caller, to add to the outcome of its next change. Each note is returned once. */
  readonly pendingNotes: (caller: string | undefined) => Promise<readonly SafeText[]>;
}

/** The circumstances of a call: client, caller, and the ways to reach the person behind it. */
export interface CallContext {
  /** Called after each page of a read except the last, with the total numbers of pages and entries read so far. */
  readonly onPage?: ((pages: number, entries: number) => void) | undefined;
  /** Called after each attempt that is followed by a retry. */
  readonly onRetry?: SignedClientOptions['onRetry'];
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /** Aborts when this server shuts down. It then no longer waits for a person's answer. */
  readonly stop?: AbortSignal | undefined;
  /** Runs work that waits for a person, so that the waiting call does not count towards the limit of concurrent calls. */
  readonly wait?: Wait | undefined;
  /** Absent if the client cannot ask its user. */
  readonly elicitor?: Elicitor | undefined;
  /** Absent if the client cannot send its user to an address. */
  readonly guide?: Guide | undefined;
  /** Set if the client's capabilities are unknown because its session cannot be read. */
  readonly isUnknownClient?: boolean;
  /** Set if the caller is no model, so that the whole answer of a read is returned, however long it is. */
  readonly wantsWholeAnswer?: boolean;
  /** Called with the journal entry of the call's change, before the change is sent. */
  readonly onIntent?: (intent: Intent) => void;
  /** Set if the client shows views (MCP Apps). */
  readonly hasView?: boolean;
  /** The click that makes this call. */
  readonly click?: Click | undefined;
  /** The claims of the plan whose state a view asks for. Set only for such a call, which sends nothing. */
  readonly lookAt?: Click['claims'] | undefined;
  /** Set if the person agreed beforehand, with an option of the command line. */
  readonly agreed?: boolean;
  /** Absent if callers are not authenticated. */
  readonly principal?: Principal | undefined;
  readonly tokens: ConsentTokens;
  /** Name and version that the client gives itself. */
  readonly client: string;
  /** Turns argument names into the client's names, for problems with arguments. Absent if both names are the same. */
  readonly argumentName?: ArgumentName | undefined;
  /** The request that made the call, which may name the caller's trace. Absent without a client. */
  readonly tracedRequest?: TracedRequest;
  readonly span?: Span | undefined;
}

/** The decision of a person who clicked on a plan, bound to that plan. */
export interface Click {
  readonly decision: 'accept' | 'decline';
  readonly claims: Omit<ConsentClaims, 'use'>;
  /** The person's reason for declining. */
  readonly reason?: string | undefined;
  /** The name that the person typed to confirm a deletion. */
  readonly typedName?: string | undefined;
  /** Set for a click on the decision page, and absent for a click in a view. */
  readonly page?: {
    readonly person: string | undefined;
    /** `KeptPlan.repeats` of the plan that the person saw. */
    readonly repeats: string | boolean;
    /** Called when this click has claimed the plan. */
    readonly onClaim: () => void;
  };
}

/** A question that the client answers with a second request for the same call. */
export interface Question {
  readonly kind: 'inputRequired';
  readonly message: SafeText;
  /** The way to answer: the label of the accepting option and the name to type, if there is one, or the URL to open. */
  readonly answer:
    | { readonly accept: SafeText; readonly nameToType?: string | undefined }
    | { readonly address: string };
  readonly claims: Omit<ConsentClaims, 'issuedAt'>;
}

/** The outcome of an ended call, or a question. To answer the question, the client sends the call again. */
export type CallOutcome = EndedOutcome | Question;

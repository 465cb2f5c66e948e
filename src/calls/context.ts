import type { Failure } from '../answers/failure.js';
import type { Plan, PlannedCall } from '../answers/plan.js';
import type { Success } from '../answers/success.js';
import type { ConsentMode } from '../consent/decision.js';
import type { QuestionQueue } from '../consent/question-queue.js';
import type { ConsentClaims, ConsentTokens } from '../consent/tokens.js';
import type { Intent } from '../journal/entry.js';
import type { Journal } from '../journal/journal.js';
import type { Elicitor } from '../mcp/elicitation.js';
import type { OpenClient } from '../transport/open-client.js';
import type { Log } from '../util/log.js';
import type { Span, TraceOrigin } from '../util/trace.js';
import type { Cloud } from './endpoint.js';
import type { InFlightCalls } from './in-flight.js';
import type { Policy, Principal } from './policy.js';
import type { SecretFiles } from './secrets.js';

/** What every call needs of the process. */
export interface CallDependencies {
  /** @throws TransportUnavailable */
  readonly cloud: () => Promise<Cloud>;
  readonly policy: Policy;
  readonly confirm: ConsentMode;
  readonly openClient: OpenClient;
  readonly journal: Journal;
  readonly inFlight: InFlightCalls;
  readonly questions: QuestionQueue;
  readonly secretFiles: SecretFiles;
  readonly log: Log;
  readonly now: () => Date;
  /** A new text that nobody can guess. */
  readonly newId: () => string;
  readonly newNonce: () => string;
  readonly process: Intent['process'];
  /** What the next mutation's answer has to say of earlier ones of a caller; each is reported once. */
  readonly takeReports: (caller: string | undefined) => Promise<readonly string[]>;
}

/** What one call brings along. */
export interface CallContext {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /** Called for each page of an answer in pages, with the pages and entries so far. */
  readonly onPage?: (pages: number, entries: number) => void;
  /** Absent if the client cannot ask its user. */
  readonly elicitor?: Elicitor | undefined;
  /** Whether the client shows views (MCP Apps). */
  readonly hasView?: boolean;
  /** The click on the change view that makes this call. */
  readonly click?: Click | undefined;
  /** Whether the person who makes the call said yes beforehand, with an option of the command line. */
  readonly agreed?: boolean;
  readonly tokens: ConsentTokens;
  /** Name and version of the client, as it says. */
  readonly client: string;
  /** Absent where callers are not told apart. */
  readonly principal?: Principal | undefined;
  /** The trace that the call belongs to: most servers follow none. */
  readonly trace?: () => TraceOrigin;
  /** The call's own span. */
  readonly span?: Span | undefined;
}

/** Arguments that steer a change and are not sent. */
export interface Steering {
  readonly planOnly: boolean;
  readonly planId: string | undefined;
  readonly allowRepeat: boolean;
}

/** A change that waits for consent: what it would send, and what its call brings along. */
export interface PendingChange {
  readonly call: PlannedCall;
  readonly plan: Plan;
  readonly steering: Steering;
  /** By which a repetition is found. */
  readonly key: string;
  readonly context: CallContext;
  readonly dependencies: CallDependencies;
}

/** What a call came to, if it needs no further entry. */
export type EndedOutcome =
  | { readonly kind: 'succeeded'; readonly success: Success; readonly view?: ViewData }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** What a call came to. */
export type CallOutcome =
  | EndedOutcome
  /** A question that the client brings the answer to, with another entry of the same call. */
  | { readonly kind: 'inputRequired'; readonly message: string; readonly accept: string; readonly claims: Question };

export type Question = Omit<ConsentClaims, 'issuedAt'>;

/** What a person decided with a click on a plan, and what that plan was bound to. */
export interface Click {
  readonly decision: 'accept' | 'decline';
  readonly claims: Omit<ConsentClaims, 'use'>;
}

/** What the click on a plan is bound to, and what makes it count once. */
export type PlanClaims = Pick<ConsentClaims, 'digest' | 'nonce'>;

/** What views show beside what models are told. */
export type ViewData =
  /** Packed by src/mcp/views/contract/parts.ts. */
  | { readonly kind: 'parts'; readonly packed: string }
  /** A plan. Without claims, it is not decided on in the view. */
  | { readonly kind: 'plan'; readonly accept: string; readonly issuedAt: number; readonly claims?: PlanClaims };

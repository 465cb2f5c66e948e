import * as z from 'zod';
import { type Budget, consentModes } from '../calls/account.js';
import type { EndedOutcome } from '../calls/outcome.js';
import { lazy } from '../util/objects.js';
import type { SafeText } from '../util/safe-text.js';
import { storedSchemas } from './stored-plan.js';

/**
 * This file has the record of a change, which is one row of the table `changes`, from the plan that waits to its ending:
 *
 * ```
 * waiting ─▶ approved ─▶ begun ─▶ accepted │ partly │ rejected │ not sent │ unknown
 *    │           └─▶ not sent                     unknown ─▶ accepted │ partly │ rejected
 *    └─▶ declined │ withdrawn │ expired
 * ```
 *
 * Every arrow is one conditional update, so the first decision stands. An expired plan is erased.
 */
export const states = [
  'waiting',
  'approved',
  'begun',
  'accepted',
  'partly',
  'rejected',
  'not sent',
  'unknown',
  'declined',
  'withdrawn',
] as const;
export type State = (typeof states)[number];

/** The states in which the cloud has carried out a change, or may have. They count against a budget, and as an earlier change of a repetition. */
export const sentStates = ['begun', 'accepted', 'partly', 'unknown'] as const satisfies readonly State[];

/** The states that a change ends with after it has begun. */
export type EndState = 'accepted' | 'partly' | 'rejected' | 'not sent' | 'unknown';

/** The ways in which a change was decided, in words. */
export const decisionWays = {
  asked: 'the user was asked through the client and agreed',
  clicked: 'the user agreed with a click in the change view',
  page: 'a person agreed on the page for decisions',
  confirmed: 'the agent confirmed the plan (confirm_change)',
  option: 'given beforehand with --yes',
  off: 'nobody was asked (CLOUDOPS_CONFIRM=off)',
  withdrawn: 'the caller withdrew the plan',
  program: 'a program answered in place of the user',
} as const;
export type DecisionWay = keyof typeof decisionWays;

/** The parts of a change as the columns of JSON keep them, from which the types follow. */
export const storedParts = lazy(() => {
  const { plan, text } = storedSchemas();
  const texts = z.array(z.string()).readonly();
  return {
    /** What the journal shows. It has no secrets and no private values. */
    facts: z.object({
      /** Name of the caller, if callers are authenticated. */
      caller: z.string().optional(),
      /** See `Principal.personId`. */
      personId: z.string().optional(),
      agent: z.object({ clientId: z.string().optional(), actors: texts }).optional(),
      /** Name and version, as the client reports them. */
      client: z.string(),
      /** The endpoint's account. */
      account: z.string(),
      /** ID of the access key that was chosen to sign the request. */
      keyId: z.string(),
      mode: z.enum(consentModes),
      /** The thing that the change is about. Its digest is of tool, account and identifying arguments. */
      subject: z.object({ digest: z.string(), name: z.string() }).optional(),
      /** The change in a sentence, and its method and address. */
      what: z.string(),
      target: z.string(),
    }),
    details: z.object({
      /** The caller's scopes when the plan was made. */
      scopes: texts.optional(),
      /** Arguments with which the same call can be made again, with secrets by name, `allowRepeat` and the account. */
      args: z.record(z.string(), z.unknown()).readonly(),
      /** Digest of the exact request that was shown. Nothing else is sent. */
      requestDigest: z.string(),
      /**
       * Which earlier change with the same request the change may repeat:
       * - true: any, because the operation is idempotent (`repeatable`)
       * - false: none, because the call had no `allowRepeat`
       * - a text: the change with this ID, which the plan names, or `noEarlierChange` if there was none
       */
      repeats: z.union([z.string(), z.boolean()]),
      /** ID of the change whose idempotency token is sent: this change's own, or that of an unknown change which this one settles. */
      tokenSource: z.string(),
      /** The ways to decide that were open when the plan was made. `confirm_change` works within ten minutes, for the client that planned. */
      options: z.object({
        byForm: z.boolean(),
        byClick: z.boolean(),
        onPage: z.boolean(),
        byConfirmation: z.boolean(),
      }),
      /** SHA-256 of the secret that a click in a view or a response of a form brings back (hexadecimal). Models never get the secret. */
      proof: z.string().optional(),
      plan,
      /** The question as it was asked. Absent if nobody was asked in a form. */
      question: text.optional(),
      /** The label of the button that accepts. */
      accept: text,
      /** The name that a person types to accept, for a deletion. */
      typedName: z.string().optional(),
      /** True if arguments or answer hold private values, so that all fields that may have them are sealed before they are stored. */
      isPrivate: z.boolean().optional(),
      /** The sealed fields: `args`, `plan`, `question`, `accept`, `typedName` and `subject`. */
      sealed: z.string().optional(),
    }),
    decision: z.object({
      kind: z.enum(['approved', 'declined', 'withdrawn']),
      way: z.custom<DecisionWay>((way) => typeof way === 'string' && Object.hasOwn(decisionWays, way)),
      /** Name of the person who decided, if the person signed in. */
      person: z.string().optional(),
      /** Why the person declined, without secrets. */
      reason: z.string().optional(),
      /** How long the person took to answer (milliseconds). */
      answeredAfterMs: z.number().optional(),
      /** ID of the newer plan in whose favour this one was withdrawn. */
      replacedBy: z.string().optional(),
      /** Set if the person only closed the question. It counts among the declined changes, but `confirm_change` may still follow. */
      isDismissed: z.boolean().optional(),
    }),
    ending: z.object({
      /** HTTP status of the reply. Absent if there was none. */
      status: z.number().optional(),
      /** Code of the failure: the service's, or this server's. */
      code: z.string().optional(),
      /** ID of the access key that signed the request. */
      keyId: z.string().optional(),
      requestIds: z.record(z.string(), z.string()).readonly().optional(),
      /** Set if only some entries of a change failed: their number and codes. */
      failed: z.object({ count: z.number(), codes: texts }).optional(),
    }),
  };
});

type Part<Name extends keyof ReturnType<typeof storedParts>> = Readonly<z.output<ReturnType<typeof storedParts>[Name]>>;

/** A decision on a waiting change. */
export type Decision = Part<'decision'>;

/** The facts about a change that was sent, or was stopped before that. */
export interface Ending extends Part<'ending'> {
  /** The outcome as the caller got it, for callers that ask later. Absent if it is too long to be kept. */
  readonly outcome?: EndedOutcome | undefined;
  /** True if the outcome may hold private values, so that it is sealed before it is stored. */
  readonly isPrivate?: boolean | undefined;
  /** The sealed outcome. */
  readonly sealed?: string | undefined;
}

interface Columns {
  /** 128 random bits in base64url: the `changeId` of agents. */
  readonly id: string;
  readonly tool: string;
  /** The idempotency key of the request. Changes with the same key are the same change. */
  readonly requestKey: string;
  /** Digest of the account and its caller, whose changes share a budget. */
  readonly budget: string;
}

/** Everything about a change that is known when its plan is made. */
export interface NewChange extends Columns, Part<'facts'>, Part<'details'> {}
export type Subject = NonNullable<NewChange['subject']>;
export type DecisionOptions = NewChange['options'];

/** The value of `NewChange.repeats` if a repetition is allowed, but there was no change to repeat. */
export const noEarlierChange = '';

/**
 * A change as the journal shows it: without its plan and the outcome for the caller, which are long. All times are milliseconds since 1970, by
 * the wall clock of the server that wrote them, and only shown.
 */
export interface JournalEntry extends Columns, Part<'facts'> {
  readonly state: State;
  readonly madeAt: number;
  readonly expiresAt: number;
  readonly decision?: Decision | undefined;
  readonly decidedAt?: number | undefined;
  readonly begunAt?: number | undefined;
  readonly ending?: Ending | undefined;
  readonly endedAt?: number | undefined;
  /** True if a waiting change can no longer be decided. It is erased an hour later. */
  readonly isExpired: boolean;
  /** Age by the clock of the store (milliseconds), since the plan was made and since its decision. Setting a clock does not change them. */
  readonly ageMs: number;
  readonly decidedAgoMs?: number | undefined;
}

/** A change as the store has it. */
export interface Change extends JournalEntry, Part<'details'> {}

export type { Budget };

export interface BudgetState {
  /** How many changes are possible now. */
  readonly left: number;
  /** When the next is possible, if none is now (milliseconds since 1970). Undefined if none ever is. */
  readonly nextAt: number | undefined;
}

export type Added =
  /** `replaced` is true if the change that `replaces` names waited, and is withdrawn now. */
  | { readonly kind: 'added'; readonly change: Change; readonly replaced: boolean }
  /** The caller has too many waiting changes. */
  | { readonly kind: 'tooMany' }
  /** The row would be longer than a row may be. */
  | { readonly kind: 'tooLong' }
  | Unwritable;

export type Decided =
  /** `isUnwritten` is set for a decline that the store does not have yet. It binds this process at once. */
  | { readonly kind: 'decided'; readonly change: Change; readonly isUnwritten?: boolean }
  /** An earlier decision stands, or the change has expired. */
  | { readonly kind: 'late'; readonly change: Change }
  | { readonly kind: 'gone' }
  | Unwritable;

export type Begun =
  | { readonly kind: 'begun'; readonly change: Change }
  | { readonly kind: 'duplicate'; readonly earlier: Change }
  | ({ readonly kind: 'budgetSpent'; readonly budget: Budget } & BudgetState)
  /** The change is not approved by this process, or no longer. */
  | { readonly kind: 'notApproved' }
  | Unwritable;

/** The store cannot be written, so nothing may be sent. The reason is for people. */
export interface Unwritable {
  readonly kind: 'unwritable';
  readonly reason: SafeText;
}

/** Selects callers' changes. Without `caller`, changes of all callers; with `caller: null`, of callers without a name. */
export interface OfCaller {
  readonly caller?: string | null | undefined;
  /** Tells callers without a name apart. */
  readonly client?: string | undefined;
}

export interface ReadOptions extends OfCaller {
  /** Only changes that began, or were decided against, from `since` on and before `until` (milliseconds since 1970). */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Waits for the next read, and returns false to stop. If absent, the store is read once. */
  readonly follow?: (() => Promise<boolean>) | undefined;
}

/** The table of all changes. Several processes may share it. Reads reject if the store cannot be read. */
export interface Changes {
  /** Adds a change that waits for at most `lifetimeMs`, or is approved at once. Withdraws the waiting change `replaces` in the same transaction. */
  add(
    change: NewChange,
    options: {
      readonly lifetimeMs: number;
      readonly approved?: Decision | undefined;
      readonly replaces?: string | undefined;
    },
  ): Promise<Added>;
  find(id: string): Promise<Change | undefined>;
  /** Stores a decision on a waiting change. The first decision counts. An approved change is carried out by this process or by none. */
  decide(id: string, decision: Decision): Promise<Decided>;
  /**
   * Writes durably that an approved change is sent, before it is sent. If it may not begin, it ends as `not sent` with a code. `ifUnknown` becomes
   * its ending if this process goes away before it writes another one.
   */
  begin(id: string, options: { readonly budget?: Budget | undefined; readonly ifUnknown: Ending }): Promise<Begun>;
  /**
   * Writes the ending, and retries with growing pauses until it is written. An approved change ends as `not sent`, and a known outcome replaces
   * `unknown`, never the reverse. When the store is closed, it tries once more. @throws the last error, if the ending could not be written
   */
  end(id: string, state: EndState, ending: Ending): Promise<void>;
  /** The last change with this request that was or may have been carried out recently, or has begun and not ended. */
  duplicateOf(requestKey: string): Promise<Change | undefined>;
  /** How many changes a budget still allows. */
  budgetState(key: string, budget: Budget): Promise<BudgetState>;
  /** The waiting changes, oldest first. */
  waiting(of: OfCaller): Promise<readonly Change[]>;
  /** The newest changes of all states, newest first. */
  newest(of: OfCaller & { readonly limit: number }): Promise<readonly Change[]>;
  /** A caller's changes of a thing, and by an operation since ten minutes, that wait, are under way, ended unknown or were just declined, newest first. */
  open(of: OfCaller & { readonly subject: string | undefined; readonly tool: string }): Promise<readonly Change[]>;
  /** The changes that people declined in the last ten minutes, with those that are not written yet. */
  declined(of: OfCaller): Promise<readonly Change[]>;
  /** True if a program answered a question in place of this client's user. */
  isAnsweredByProgram(of: OfCaller): Promise<boolean>;
  countWaiting(): Promise<number>;
  /** The number of changes that were decided, and of those without a known outcome. */
  count(): Promise<{ readonly changes: number; readonly unresolved: number }>;
  /** The journal: all changes that were decided, oldest first, and again when their state changes. Waiting changes are left out. */
  read(options: ReadOptions): AsyncIterable<JournalEntry>;
  /** Erases ended changes from before a time (milliseconds since 1970). Returns their number. */
  prune(before: number): Promise<number>;
  /** Ends the changes of processes that are gone: begun ones as `unknown`, approved ones as `not sent`. Returns them. */
  recover(): Promise<readonly Change[]>;
  /** Erases expired plans. */
  erase(): Promise<void>;
  /** Checks that changes can be recorded, and returns warnings for operators. @throws if changes would be refused */
  healthCheck(): Promise<readonly SafeText[]>;
  /** The number of endings and declines that are not written yet. */
  unwritten(): number;
  close(): Promise<void>;
}

import * as z from 'zod';
import { type Budget, consentModes } from '../calls/account.js';
import { type EndedOutcome, type Plan, resultSchemas } from '../calls/outcome.js';
import { lazy } from '../util/objects.js';
import type { SafeText } from '../util/safe-text.js';

/**
 * The record of a change, one row of the table `changes`:
 * ```
 * waiting ─▶ approved ─▶ begun ─▶ accepted │ partly │ rejected │ not sent │ unknown
 *    │           └─▶ not sent                     unknown ─▶ accepted │ partly │ rejected
 *    └─▶ declined │ withdrawn │ expired
 * ```
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

/** The states in which the cloud has carried out a change, or may have. */
export const sentStates = ['begun', 'accepted', 'partly', 'unknown'] as const satisfies readonly State[];

/** The states in which a begun or approved change ends. */
export type EndState = 'accepted' | 'partly' | 'rejected' | 'not sent' | 'unknown';

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

/** The JSON columns of a change. Another version may have written plans and outcomes, so their unknown fields are kept. */
export const storedParts = lazy(() => {
  const { text, plan: knownPlan, success: knownSuccess, failure } = resultSchemas();
  const plan: z.ZodType<Plan> = knownPlan.loose();
  const success = knownSuccess.extend({ plan: plan.exactOptional() }).loose();
  // A stored outcome has no other kind of view.
  const view = z.object({ kind: z.literal('ended'), continues: z.boolean(), isSandbox: z.boolean().exactOptional() });
  const outcome: z.ZodType<EndedOutcome> = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('succeeded'), success, view: view.exactOptional() }),
    z.object({ kind: z.literal('failed'), failure: failure.loose() }),
  ]);
  const texts = z.array(z.string()).readonly();
  return {
    text,
    plan,
    outcome,
    /** What the journal shows, without secrets and private values. */
    facts: z.object({
      caller: z.string().optional(),
      personId: z.string().optional(),
      agent: z.object({ clientId: z.string().optional(), actors: texts }).optional(),
      client: z.string(),
      account: z.string(),
      keyId: z.string(),
      mode: z.enum(consentModes),
      what: z.string(),
      target: z.string(),
    }),
    details: z.object({
      scopes: texts.optional(),
      subject: z.object({ digest: z.string(), name: z.string() }).optional(),
      /** With secrets by name. */
      args: z.record(z.string(), z.unknown()).readonly(),
      /** The things of a change of several, see `Operation.many`. */
      list: z.array(z.record(z.string(), z.unknown()).readonly()).readonly().optional(),
      /** Digest of the request that was shown, or of those of all parts. */
      requestDigest: z.string(),
      /** The earlier change with the same request that may be repeated: any (true), none (false), or the one with this ID. */
      repeats: z.union([z.string(), z.boolean()]),
      tokenSource: z.string(),
      options: z.object({
        byForm: z.boolean(),
        byClick: z.boolean(),
        onPage: z.boolean(),
        byConfirmation: z.boolean(),
      }),
      /** SHA-256 of the secret that a click or a response brings back. */
      proof: z.string().optional(),
      plan,
      question: text.optional(),
      accept: text,
      typedName: z.string().optional(),
      /** True if the details and the outcome are sealed. */
      isPrivate: z.boolean().optional(),
    }),
    decision: z.object({
      kind: z.enum(['approved', 'declined', 'withdrawn']),
      way: z.custom<DecisionWay>((way) => typeof way === 'string' && Object.hasOwn(decisionWays, way)),
      person: z.string().optional(),
      reason: z.string().optional(),
      /** In milliseconds. */
      answeredAfterMs: z.number().optional(),
      replacedBy: z.string().optional(),
      /** The person only closed the question, so `confirm_change` may follow. */
      isDismissed: z.boolean().optional(),
    }),
    ending: z.object({
      status: z.number().optional(),
      code: z.string().optional(),
      keyId: z.string().optional(),
      requestIds: z.record(z.string(), z.string()).readonly().optional(),
      failed: z.object({ count: z.number(), codes: texts }).optional(),
    }),
  };
});

type Part<Name extends 'facts' | 'details' | 'decision' | 'ending'> = Readonly<
  z.output<ReturnType<typeof storedParts>[Name]>
>;

export type Decision = Part<'decision'>;

export interface Ending extends Part<'ending'> {
  /** As the caller got it. Absent if it is too long to be kept. */
  readonly outcome?: EndedOutcome | undefined;
  readonly isPrivate?: boolean | undefined;
}

interface Columns {
  /** 128 random bits in base64url: the `changeId` of agents. */
  readonly id: string;
  readonly tool: string;
  /** The idempotency key of the request. */
  readonly requestKey: string;
  /** Changes of the same account and caller share a budget. */
  readonly budget: string;
}

/** A change when its plan is made. */
export interface NewChange extends Columns, Part<'facts'>, Part<'details'> {}
export type Subject = NonNullable<NewChange['subject']>;
export type DecisionOptions = NewChange['options'];
export const noOptions: DecisionOptions = { byForm: false, byClick: false, onPage: false, byConfirmation: false };

/** A change as the journal shows it. Times are milliseconds by the server's wall clock. */
export interface JournalEntry extends Columns, Part<'facts'> {
  readonly state: State;
  readonly madeAt: number;
  readonly expiresAt: number;
  readonly decision?: Decision | undefined;
  readonly decidedAt?: number | undefined;
  readonly begunAt?: number | undefined;
  readonly ending?: Ending | undefined;
  readonly endedAt?: number | undefined;
  readonly isExpired: boolean;
  /** Age by the clock of the store (milliseconds), which nobody can set. */
  readonly ageMs: number;
  readonly decidedAgoMs?: number | undefined;
}

/** A change as the store has it. */
export interface Change extends JournalEntry, Part<'details'> {
  /** The parts that have ended, of a begun change of several things. */
  readonly partsEnded?: number;
}

export interface BudgetState {
  readonly left: number;
  /** Milliseconds since 1970. Undefined if no change ever is possible. */
  readonly nextAt: number | undefined;
}

export type Added =
  /** `replaced` is true if the other plan was withdrawn. */
  | { readonly kind: 'added'; readonly change: Change; readonly replaced: boolean }
  | { readonly kind: 'tooMany' }
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

/** The store cannot be written, so nothing may be sent. */
export interface Unwritable {
  readonly kind: 'unwritable';
  readonly reason: SafeText;
}

/** Selects callers' changes: all without `caller`, those of callers without a name with `null`. */
export interface OfCaller {
  readonly caller?: string | null | undefined;
  /** Tells callers without a name apart. */
  readonly client?: string | undefined;
}

export interface ReadOptions extends OfCaller {
  /** Milliseconds since 1970. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Returns false to stop. */
  readonly follow?: (() => Promise<boolean>) | undefined;
}

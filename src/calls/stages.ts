/**
 * The stages of a call. A call passes through eight records from `tools/call` to the bytes on the wire. Stages 5 to 7 each hold the results
 * of the stages before, so nothing is computed twice:
 *
 * 1. `CallContext` (context.ts): client, caller, and the ways to reach the person
 * 2. `ApiRequest` (tools/define-operation.ts): the operation's request, in the terms of its API
 * 3. `Endpoint` (transport/request.ts): the address, region and keys that the request goes to
 * 4. `WireRequest` (transport/request.ts): the encoded request
 * 5. `ResolvedCall`: account, endpoint, validated arguments and encoded request
 * 6. `PlannedChange`: plan, question, digest and journal entry
 * 7. `ApprovedChange`: the same with consent
 * 8. `HttpRequest` (transport/http-client.ts): the signed request
 *
 * A read has no plan and no consent, so it goes from 5 to 8.
 */
import type { ConsentWay } from './outcome.js';
import type { Plan, PlanInput } from '../changes/plan.js';
import type { Intent } from '../journal/entry.js';
import type { Operation } from '../tools/define-operation.js';
import type { Endpoint, WireRequest } from '../transport/request.js';
import type { SafeText } from '../util/safe-text.js';
import type { Account } from './account.js';
import type { CallBudget } from './check-budget.js';

/** A call with everything that follows from its arguments, its account and the configuration. */
export type ResolvedCall = ResolvedRead | ResolvedChange;

export interface ResolvedRead {
  readonly kind: 'read';
  readonly operation: Operation;
  readonly account: Account;
  /** Name of the account, if accounts have names. */
  readonly accountName?: string | undefined;
  readonly endpoint: Endpoint;
  /** Validated arguments. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The request for the first page. */
  readonly request: WireRequest;
  readonly isOffered: IsOffered;
}

/** True for the name of a tool that the caller may use in the account of the call. */
type IsOffered = (tool: string) => boolean;

export interface ResolvedChange extends PlanInput {
  readonly kind: 'change';
  /** Completes "look in the console for". Made before anything is sent, because an error in making it later would hide the outcome. */
  readonly verificationHint: SafeText;
  /** Name of the tool that shows the progress, if there is one and the caller may use it. */
  readonly followTool: string | undefined;
  readonly account: Account;
  readonly control: ControlArguments;
  readonly budget: CallBudget;
  readonly isOffered: IsOffered;
}

/** Arguments of a change that control the call and are not sent. */
interface ControlArguments {
  readonly planOnly: boolean;
  readonly planId: string | undefined;
  readonly allowRepeat: boolean;
  /** Set if the plan of the planId is no longer wanted. */
  readonly withdraw: boolean;
  /** The planId of a waiting plan that this plan replaces. */
  readonly replaces: string | undefined;
}

/** A change with its plan and the draft of its journal entry, which follow from the call alone. The journal is not read yet. */
export interface DraftedChange {
  readonly call: ResolvedChange;
  readonly draft: IntentDraft;
  readonly plan: Plan;
  /** The plan as a question. Undefined if the client cannot ask, or if one screen cannot hold the plan. */
  readonly question: SafeText | undefined;
}

/** A change with its plan, checked against the journal. */
export interface PlannedChange extends DraftedChange {
  /** Other plans of the caller for the same thing, which wait too. */
  readonly others: readonly OtherPlan[];
  /** The plan as it is shown, also in the question. It has sentences about the other plans, which the stored plan (`plan`) lacks. */
  readonly shown: Plan;
  /** Consent counts only for a plan with this digest (see `digestForConsent`). */
  readonly consentDigest: string;
  /** ID of the earlier change that this change may repeat; true for any change, false for none. `KeptPlan.repeats` has more about it. */
  readonly repeats: string | boolean;
}

export interface OtherPlan {
  /** Describes the plan in a sentence. */
  readonly text: SafeText;
  /** The planId with which a call asks for the state of the plan, or replaces the plan. */
  readonly planId: string;
}

/** A journal entry before the decision. `digest` is the request's idempotency key. Stored plans call this key `requestKey`. */
export type IntentDraft = Omit<Intent, 'time' | keyof DecisionRecord>;

/** The decision on a change, as the journal records it: a consent, a refusal, or a withdrawal by the caller. */
export interface DecisionRecord extends Readonly<Pick<Intent, 'nonce' | 'approver' | 'reason' | 'answeredAfterMs'>> {
  readonly consent: ConsentWay;
}

export interface ApprovedChange extends PlannedChange {
  readonly decision: DecisionRecord;
  /** The time of the decision, from before its plan was claimed. */
  readonly decidedAt: Date;
}

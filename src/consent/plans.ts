import { createHash } from 'node:crypto';
import * as z from 'zod';
import { type Agent, agentSchema } from '../journal/entry.js';
import type { PlanStore, StoredPlan } from '../journal/plan-store.js';
import { createPersistence } from '../journal/retry-writes.js';
import { type Log, reasonOf } from '../util/log.js';
import { lazy, textAt } from '../util/objects.js';
import { type SafeText, withStoredTexts } from '../util/safe-text.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import type { EndedOutcome } from '../calls/outcome.js';
import type { Plan, PlanInput } from '../changes/plan.js';
import { type PlanDecision, planDecisionSchema } from './plan-decision.js';
import { storedSchemas } from '../changes/stored-plan.js';

/** The value of `KeptPlan.repeats` if a repetition is allowed, but the journal had no change to repeat. */
export const noEarlierChange = '';

/** A plan that is kept for a person's decision, and after the decision until it expires. */
export interface KeptPlan {
  readonly nonce: string;
  /** Digest to which a decision on the plan is bound: see `digestForConsent`. */
  readonly digest: string;
  /** The idempotency key of the request. */
  readonly requestKey: string;
  /**
   * Which earlier change with the same request the plan may repeat:
   * - true: any, because the operation is idempotent (`repeatable`)
   * - false: none, because the call had no `allowRepeat`
   * - a text: the change with this ID, which the plan names, or `noEarlierChange` if the journal had none
   */
  readonly repeats: string | boolean;
  /** Time at which the plan was made (milliseconds since 1970). */
  readonly issuedAt: number;
  readonly tool: string;
  /** Arguments with which the plan's call can be made again: see `PlanInput.args`. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly caller?: string | undefined;
  /** The caller's scopes when the plan was made. */
  readonly scopes?: readonly string[] | undefined;
  readonly agent?: Agent | undefined;
  readonly client: string;
  readonly plan: Plan;
  /** The label of the button that accepts. */
  readonly accept: SafeText;
  /** The name that a person types to accept, for a deletion. */
  readonly typedName?: string | undefined;
  /** Absent if the operation does not declare its identifying arguments. */
  readonly subject?: PlanSubject | undefined;
  /** The outcome of the change, set when it is known. */
  readonly outcome?: EndedOutcome | undefined;
  /** Set when a decision has claimed the plan. */
  readonly decision?: PlanDecision | undefined;
}

/** Names the thing that a plan would change. Plans for the same thing have the same digest. */
export interface PlanSubject {
  /** Digest of tool, account and identifying arguments. */
  readonly digest: string;
  readonly name: string;
}

/** A plan from the store. */
export interface FoundPlan extends KeptPlan {
  readonly state: StoredPlan['state'];
  readonly expiresAt: number;
}

/** The plans that wait for a person, and the decided plans until they expire. The store gets them sealed. */
export interface Plans {
  /** The time at which a plan that is made now expires (milliseconds since 1970). */
  expiry(): number;
  /** Stores a plan, unless it is too long or `mostWaiting` plans of its caller wait already (`tooMany`). */
  add(plan: KeptPlan): Promise<'added' | 'tooLong' | 'tooMany'>;
  find(nonce: string): Promise<FoundPlan | undefined>;
  /**
   * Stores the decision on a waiting plan. If several decisions come, the first gets `claimed`, and the others get `taken` and are not
   * stored. `unknown` means that the plan does not exist or has expired.
   */
  claim(nonce: string, decision: PlanDecision): Promise<'claimed' | 'taken' | 'unknown'>;
  /** Stores the outcome of a claimed plan. Never rejects, because it retries in the background if the store fails. */
  settle(nonce: string, outcome: EndedOutcome): Promise<void>;
  /**
   * The waiting and decided plans that have not expired, oldest first. Plans that this server cannot unseal are left out.
   * @param onlyOf names the caller whose plans are listed; undefined for all callers
   */
  list(onlyOf?: Pick<KeptPlan, 'caller'>): Promise<readonly FoundPlan[]>;
  /** The number of waiting plans of all callers, without expired plans. */
  countWaiting(): Promise<number>;
  /** Erases expired plans. */
  erase(): Promise<void>;
  close(): Promise<void>;
}

/** True if a call gives a secret itself and not the name of a secret file. The plan of such a call is never stored. */
export const holdsSecret = ({ operation, input, nameBySecretPath = {} }: PlanInput): boolean =>
  (operation.secrets ?? []).some((path) => textAt(input, path) !== undefined && nameBySecretPath[path] === undefined);

/** Maximum number of waiting plans per caller. */
const mostWaiting = 20;

/** Size limit of a sealed plan (characters). It is enough for any usual plan with its outcome. */
const longestPlan = 1024 * 1024;
/** The room that a new plan leaves for its decision (characters), so that any plan that waits can be claimed. */
const roomForDecision = 4096;

interface PlansOptions {
  readonly store: PlanStore;
  readonly keys: SealingKeys;
  readonly now: () => Date;
  readonly lifetimeMs: number;
  readonly log?: Log;
}

/**
 * Creates `Plans` on a store, which gets each plan as one sealed (encrypted) text. `claim` adds the decision to a waiting plan, and later
 * `settle` adds the outcome of the change. Both seal the whole plan again.
 */
export function createPlans({ store, keys, now, lifetimeMs, log = () => undefined }: PlansOptions): Plans {
  const persistence = createPersistence();
  /** Unseals a plan. Undefined if the plan has expired, or was sealed with another key or by another version. */
  const openUnexpired = (stored: StoredPlan): FoundPlan | undefined =>
    stored.expiresAt < now().getTime() ? undefined : openPlan(keys, stored);
  const find: Plans['find'] = async (nonce) => {
    const stored = await store.find(nonce);
    return stored && openUnexpired(stored);
  };
  const erase = () => store.eraseBefore(now().getTime());

  const storeOutcome = async (nonce: string, outcome: EndedOutcome): Promise<void> => {
    const plan = await find(nonce);
    // The plan has expired or cannot be unsealed, so only the journal gets the outcome.
    if (plan === undefined) return;
    const sealed = sealPlan(keys, { ...withoutStoreFields(plan), outcome }, plan.expiresAt);
    // A plan that gets too long stays without its outcome. The journal has the outcome, but the cloud's answer is lost.
    if (sealed.length <= longestPlan) await store.update(nonce, sealed);
  };

  return {
    erase,
    expiry: () => now().getTime() + lifetimeMs,
    add: async (plan) => {
      // Expired plans would count towards `mostWaiting`.
      await erase();
      const expiresAt = plan.issuedAt + lifetimeMs;
      const sealed = sealPlan(keys, plan, expiresAt);
      if (sealed.length > longestPlan - roomForDecision) return 'tooLong';
      const isAdded = await store.add({ nonce: plan.nonce, expiresAt, owner: ownerOf(plan), sealed }, mostWaiting);
      return isAdded ? 'added' : 'tooMany';
    },
    find,
    claim: async (nonce, decision) => {
      const plan = await find(nonce);
      if (plan === undefined) return 'unknown';
      const sealed = sealPlan(keys, { ...withoutStoreFields(plan), decision }, plan.expiresAt);
      // The store changes nothing if the plan is decided already.
      return (await store.claim(nonce, sealed)) ? 'claimed' : 'taken';
    },
    settle: (nonce, outcome) =>
      persistence.writeNowOrLater(() =>
        storeOutcome(nonce, outcome).catch((error: unknown) => {
          // Logged as an error of the journal, because the plans are stored beside the journal.
          log('error', 'journal', { plan: nonce, error: reasonOf(error) });
          // Rejects, so that `persistence` tries again in the background.
          throw error;
        }),
      ),
    list: async (onlyOf) => {
      // Saves reading expired plans, which `openUnexpired` would drop.
      await erase();
      const stored = await store.list(onlyOf && ownerOf(onlyOf));
      const plans = stored.map(openUnexpired).filter((plan) => plan !== undefined);
      // Plans of the same millisecond are in the order of their nonces, because a store may list them in another order each time.
      return plans.sort((a, b) => a.issuedAt - b.issuedAt || a.nonce.localeCompare(b.nonce));
    },
    countWaiting: () => store.countWaiting(now().getTime()),
    close: async () => {
      await persistence.close();
      await store.close();
    },
  };
}

/** The seal of a plan. It is bound to nonce and expiry, so that access to the store is not enough to swap plans or to change their expiry. */
const sealOf = (keys: SealingKeys, { nonce, expiresAt }: Pick<StoredPlan, 'nonce' | 'expiresAt'>) =>
  createSeal(keys, {
    purpose: 'cloudops waiting plan',
    associatedData: `${nonce} ${expiresAt}`,
    longest: longestPlan,
  });

const sealPlan = (keys: SealingKeys, plan: KeptPlan, expiresAt: number): string =>
  sealOf(keys, { nonce: plan.nonce, expiresAt }).seal(JSON.stringify(withStoredTexts(plan)));

/** Unseals a plan. Returns undefined if it was sealed with another key, or if another version of this server wrote it in another form. */
function openPlan(keys: SealingKeys, { nonce, expiresAt, state, sealed }: StoredPlan): FoundPlan | undefined {
  const text = sealOf(keys, { nonce, expiresAt }).open(sealed);
  const { data } = schema().safeParse(text === undefined ? undefined : JSON.parse(text));
  return data && { ...data, nonce, state, expiresAt };
}

/** A plan without the fields that only the store adds. */
function withoutStoreFields({ state: _, expiresAt: __, ...plan }: FoundPlan): KeptPlan {
  return plan;
}

/** A digest of the caller, by which the store counts a caller's plans without knowing the name. */
const ownerOf = ({ caller = '' }: Pick<KeptPlan, 'caller'>): string =>
  createHash('sha256').update(`caller ${caller}`).digest('hex').slice(0, 16);

/** Checks only the fields that are shown or acted on, because a sealed plan may come from another version of this server. */
const schema = lazy(() =>
  z.object({
    digest: z.string(),
    requestKey: z.string(),
    repeats: z.union([z.string(), z.boolean()]),
    issuedAt: z.number(),
    tool: z.string(),
    args: z.record(z.string(), z.unknown()),
    caller: z.string().optional(),
    scopes: z.array(z.string()).optional(),
    agent: agentSchema().optional(),
    client: z.string(),
    plan: storedSchemas().plan,
    accept: storedSchemas().text,
    typedName: z.string().optional(),
    subject: z.object({ digest: z.string(), name: z.string() }).optional(),
    outcome: storedSchemas().outcome.optional(),
    decision: planDecisionSchema().optional(),
  }),
);

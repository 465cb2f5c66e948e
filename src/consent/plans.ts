import { createHash } from 'node:crypto';
import * as z from 'zod';
import { type Agent, agentSchema } from '../journal/entry.js';
import type { PlanStore, StoredPlan } from '../journal/plan-store.js';
import { createPersistence } from '../journal/retry-writes.js';
import { type Log, reasonOf } from '../util/log.js';
import { lazy, textAt } from '../util/objects.js';
import { type SafeText, withStoredTexts } from '../util/safe-text.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import type { EndedOutcome } from './outcome.js';
import type { Plan, PlanInput } from './plan.js';
import { type PlanDecision, planDecisionSchema } from './plan-decision.js';
import { storedSchemas } from './stored-plan.js';

/** A plan that waits for a person or was decided. */
export interface WaitingPlan {
  readonly nonce: string;
  /** Digest of the consent that the plan needs: see `consentDigest`. */
  readonly digest: string;
  /** The idempotency key of the request. */
  readonly requestKey: string;
  /** The change that the plan repeats: see `PlannedChange`. */
  readonly repeats: string | boolean;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
  readonly tool: string;
  /** The client's arguments without control arguments. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly caller?: string | undefined;
  /** The caller's scopes when the plan was made. */
  readonly scopes?: readonly string[] | undefined;
  readonly agent?: Agent | undefined;
  readonly client: string;
  readonly plan: Plan;
  /** The label of the button that accepts. */
  readonly accept: SafeText;
  /** The name that a person types to accept. */
  readonly typedName?: string | undefined;
  /** Set if the operation declares its identifying arguments. */
  readonly subject?: PlanSubject | undefined;
  /** The outcome of the change, once it is known. */
  readonly outcome?: EndedOutcome | undefined;
  /** Set once the plan is claimed. */
  readonly decision?: PlanDecision | undefined;
}

/** The thing that a plan is about. */
export interface PlanSubject {
  /** Digest of tool, account and identifying arguments. */
  readonly digest: string;
  readonly name: string;
}

/** A plan from the store. */
export interface FoundPlan extends WaitingPlan {
  readonly state: StoredPlan['state'];
  readonly expiresAt: number;
}

/** Plans that wait for a person, sealed in a store. */
export interface Plans {
  /** When a plan that is made now expires (milliseconds). */
  expiry(): number;
  /** Resolves with false if `mostWaiting` plans of the caller wait already, or the plan is too long. */
  add(plan: WaitingPlan): Promise<boolean>;
  find(nonce: string): Promise<FoundPlan | undefined>;
  /**
   * Takes a plan and stores the decision on it. If several try, only one gets `claimed`. `unknown` means that the plan does not exist or
   * has expired.
   */
  claim(nonce: string, decision: PlanDecision): Promise<'claimed' | 'taken' | 'unknown'>;
  /** Stores the outcome of a claimed plan. Never rejects: if that fails, it retries in the background. */
  settle(nonce: string, outcome: EndedOutcome): Promise<void>;
  /** The plans that have not expired and can be unsealed, oldest first. */
  list(): Promise<readonly FoundPlan[]>;
  /** The number of waiting plans. */
  countWaiting(): Promise<number>;
  /** Erases expired plans. */
  erase(): Promise<void>;
  close(): Promise<void>;
}

/** True if an argument of a change is a secret by value. Such a plan is never stored. */
export const holdsSecret = ({ operation, input, secretNames = {} }: PlanInput): boolean =>
  (operation.secrets ?? []).some((path) => textAt(input, path) !== undefined && secretNames[path] === undefined);

/** The most waiting plans per caller. */
const mostWaiting = 20;

/** Size limit of a sealed plan, in characters. Any usual plan with its answer fits. */
const longest = 1024 * 1024;

interface PlansOptions {
  readonly store: PlanStore;
  readonly keys: SealingKeys;
  readonly now: () => Date;
  readonly lifetimeMs: number;
  readonly log?: Log;
}

export function createPlans({ store, keys, now, lifetimeMs, log = () => undefined }: PlansOptions): Plans {
  const persistence = createPersistence();
  const openUnexpired = (stored: StoredPlan): FoundPlan | undefined =>
    stored.expiresAt < now().getTime() ? undefined : openPlan(keys, stored);
  const find: Plans['find'] = async (nonce) => {
    const stored = await store.find(nonce);
    return stored && openUnexpired(stored);
  };
  const erase = () => store.eraseBefore(now().getTime());
  const storeOutcome = async (nonce: string, outcome: EndedOutcome): Promise<void> => {
    const found = await find(nonce);
    if (found === undefined) return;
    const sealed = sealPlan(keys, found, { ...planOf(found), outcome });
    // An outcome that is too long is still in the journal, without its answer.
    if (sealed.length <= longest) await store.update(nonce, sealed);
  };
  return {
    erase,
    expiry: () => now().getTime() + lifetimeMs,
    add: async (plan) => {
      await erase();
      const { nonce } = plan;
      const expiresAt = plan.issuedAt + lifetimeMs;
      const sealed = sealPlan(keys, { nonce, expiresAt }, plan);
      if (sealed.length > longest) return false;
      return store.add({ nonce, expiresAt, owner: ownerOf(plan), sealed }, mostWaiting);
    },
    find,
    claim: async (nonce, decision) => {
      const found = await find(nonce);
      if (found === undefined) return 'unknown';
      const sealed = sealPlan(keys, found, { ...planOf(found), decision });
      return (await store.claim(nonce, sealed)) ? 'claimed' : 'taken';
    },
    settle: (nonce, outcome) =>
      persistence.writeSoon(() =>
        storeOutcome(nonce, outcome).catch((error: unknown) => {
          log('error', 'journal', { plan: nonce, error: reasonOf(error) });
          throw error;
        }),
      ),
    list: async () => {
      await erase();
      const stored = await store.list();
      const plans = stored.map(openUnexpired).filter((plan) => plan !== undefined);
      return plans.sort((a, b) => a.issuedAt - b.issuedAt);
    },
    countWaiting: () => store.countWaiting(now().getTime()),
    close: async () => {
      await persistence.close();
      await store.close();
    },
  };
}

type SealedPlace = Pick<StoredPlan, 'nonce' | 'expiresAt'>;

/** The seal covers nonce and expiry, so that the store can neither exchange plans nor prolong them. */
const sealOf = (keys: SealingKeys, { nonce, expiresAt }: SealedPlace) =>
  createSeal(keys, { purpose: 'cloudops waiting plan', associatedData: `${nonce} ${expiresAt}`, longest });

const sealPlan = (keys: SealingKeys, place: SealedPlace, plan: WaitingPlan): string =>
  sealOf(keys, place).seal(JSON.stringify(withStoredTexts(plan)));

/** Returns undefined if the plan cannot be unsealed or understood. */
function openPlan(keys: SealingKeys, { nonce, expiresAt, state, sealed }: StoredPlan): FoundPlan | undefined {
  const text = sealOf(keys, { nonce, expiresAt }).open(sealed);
  const { data } = schema().safeParse(text === undefined ? undefined : JSON.parse(text));
  return data && { ...data, nonce, state, expiresAt };
}

/** A plan without the fields of its store. */
function planOf({ state: _, expiresAt: __, ...plan }: FoundPlan): WaitingPlan {
  return plan;
}

/** A digest of the caller. */
const ownerOf = ({ caller = '' }: WaitingPlan): string =>
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

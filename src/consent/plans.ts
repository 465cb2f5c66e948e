import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { PlanStore, StoredPlan } from '../journal/plan-store.js';
import { lazy, textAt } from '../util/objects.js';
import type { SafeText } from '../util/safe-text.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import type { EndedOutcome } from './outcome.js';
import type { Plan, PlannedCall } from './plan.js';
import { storedSchemas } from './stored-plan.js';

/** A plan as it waits for a person, or was decided. */
export interface WaitingPlan {
  readonly nonce: string;
  /** Of the consent that it needs: see `consentDigest`. */
  readonly digest: string;
  /** The key of the request in the journal. */
  readonly requestKey: string;
  /** The change that it repeats: see `PendingChange`. */
  readonly repeats: string | boolean;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
  readonly tool: string;
  /** As the client gave them, without those that steer the call otherwise. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly caller?: string | undefined;
  /** The scopes that the caller had. */
  readonly scopes?: readonly string[] | undefined;
  readonly client: string;
  readonly plan: Plan;
  /** The words of the button that agrees. */
  readonly accept: SafeText;
  /** The end of the change, once it is known. */
  readonly outcome?: EndedOutcome | undefined;
  /** The name of the person who decided on the page. */
  readonly approver?: string | undefined;
}

/** A plan as it was found. */
export interface FoundPlan extends WaitingPlan {
  readonly state: StoredPlan['state'];
  readonly expiresAt: number;
}

/** Plans that wait for a person, sealed in a store. */
export interface Plans {
  /** The time (milliseconds) until which a plan that is made now waits. */
  expiry(): number;
  /** False if its caller has too many that wait. */
  add(plan: WaitingPlan): Promise<boolean>;
  find(nonce: string): Promise<FoundPlan | undefined>;
  /** Takes a plan to decide on it: of all who try, one gets `claimed`. `unknown` is not, or no longer, in the store. */
  claim(nonce: string): Promise<'claimed' | 'taken' | 'unknown'>;
  /** Keeps what became of a plan that was claimed. */
  settle(nonce: string, end: Pick<WaitingPlan, 'outcome' | 'approver'>): Promise<void>;
  /** Those that have not expired and can be opened, oldest first. */
  list(): Promise<readonly FoundPlan[]>;
  /** The number of those that wait. */
  countWaiting(): Promise<number>;
  /** Erases those that have expired. */
  erase(): Promise<void>;
  close(): Promise<void>;
}

/** True if a change has a secret that was given by value. Such a plan is kept nowhere. */
export const holdsSecret = ({ operation, input, secretNames = {} }: PlannedCall): boolean =>
  (operation.secrets ?? []).some((path) => textAt(input, path) !== undefined && secretNames[path] === undefined);

/** The most plans of a caller that wait at a time. */
const mostWaiting = 20;

/** No plan that can be shown is as large, with its answer. */
const longest = 1024 * 1024;

export interface PlansOptions {
  readonly store: PlanStore;
  readonly keys: SealingKeys;
  readonly now: () => Date;
  readonly lifetimeMs: number;
}

export function createPlans({ store, keys, now, lifetimeMs }: PlansOptions): Plans {
  // A plan cannot pass for another one, nor wait for longer than it was made for.
  const sealOf = ({ nonce, expiresAt }: Pick<StoredPlan, 'nonce' | 'expiresAt'>) =>
    createSeal(keys, { purpose: 'cloudops waiting plan', associatedData: `${nonce} ${expiresAt}`, longest });
  const read = ({ nonce, sealed, state, expiresAt }: StoredPlan): FoundPlan | undefined => {
    if (expiresAt < now().getTime()) return undefined;
    const text = sealOf({ nonce, expiresAt }).open(sealed);
    const plan = text === undefined ? undefined : schema().safeParse(JSON.parse(text)).data;
    return plan === undefined ? undefined : { ...plan, nonce, state, expiresAt };
  };
  const find: Plans['find'] = async (nonce) => {
    const stored = await store.find(nonce);
    return stored && read(stored);
  };
  const erase = () => store.eraseBefore(now().getTime());
  return {
    erase,
    expiry: () => now().getTime() + lifetimeMs,
    async add(plan) {
      await erase();
      const owner = createHash('sha256')
        .update(`caller ${plan.caller ?? ''}`)
        .digest('hex')
        .slice(0, 16);
      const place = { nonce: plan.nonce, expiresAt: plan.issuedAt + lifetimeMs };
      const sealed = sealOf(place).seal(JSON.stringify(plan));
      if (sealed.length > longest) return false;
      return store.add({ ...place, owner, sealed }, mostWaiting);
    },
    find,
    async claim(nonce) {
      const plan = await find(nonce);
      if (plan === undefined) return 'unknown';
      return (await store.claim(nonce)) ? 'claimed' : 'taken';
    },
    async settle(nonce, end) {
      const plan = await find(nonce);
      if (plan === undefined) return;
      const { state: _, expiresAt: __, ...kept } = plan;
      const sealed = sealOf(plan).seal(JSON.stringify({ ...kept, ...end }));
      // An outcome that is too long to be kept is still in the journal, without its answer.
      if (sealed.length <= longest) await store.update(nonce, sealed);
    },
    async list() {
      await erase();
      const plans = (await store.list()).map(read).filter((plan) => plan !== undefined);
      return plans.sort((a, b) => a.issuedAt - b.issuedAt);
    },
    countWaiting: () => store.countWaiting(now().getTime()),
    close: () => store.close(),
  };
}

/** A sealed plan may come from another version of this server: the fields that are shown and acted on are checked, the rest is kept. */
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
    client: z.string(),
    plan: storedSchemas().plan,
    accept: storedSchemas().text,
    outcome: storedSchemas().outcome.optional(),
    approver: z.string().optional(),
  }),
);

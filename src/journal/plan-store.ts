/** A plan in a store. Its content is sealed. The store needs the other fields to limit the number of plans. */
export interface StoredPlan {
  /** 16 hexadecimal digits. */
  readonly nonce: string;
  /** A digest of the caller, 16 hexadecimal digits. */
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly state: 'waiting' | 'decided';
  readonly sealed: string;
}

/** The plans that wait for a person, and the decided plans with their outcomes, until they expire. Several processes may share a store. */
export interface PlanStore {
  /** Adds a waiting plan, or returns false if its owner has `mostWaiting`. Keeps only the owner's `mostDecided` decided plans that expire last. */
  add(plan: Omit<StoredPlan, 'state'>, mostWaiting: number): Promise<boolean>;
  find(nonce: string): Promise<StoredPlan | undefined>;
  /** Changes a plan from waiting to decided, with its new content. If several processes try, only one gets true. */
  claim(nonce: string, sealed: string): Promise<boolean>;
  /** Replaces the content of a decided plan. */
  update(nonce: string, sealed: string): Promise<void>;
  /** The plans of all owners, or only of `owner`. */
  list(owner?: string): Promise<readonly StoredPlan[]>;
  /** The number of waiting plans that do not expire before a time (milliseconds). */
  countWaiting(time: number): Promise<number>;
  /** Erases the plans that expired before a time (milliseconds). */
  eraseBefore(time: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Maximum number of decided plans per owner. Callers can withdraw any number of plans, so the store needs a limit. The journal keeps all
 * decisions.
 */
export const mostDecided = 100;

/** The decided plans of an owner that are not kept: all except the `mostDecided` plans that expire last. */
export const excessDecided = <Plan extends Omit<StoredPlan, 'sealed'>>(plans: readonly Plan[], owner: string): Plan[] =>
  plans
    .filter((plan) => plan.owner === owner && plan.state === 'decided')
    .sort((a, b) => b.expiresAt - a.expiresAt)
    .slice(mostDecided);

/** A store in the memory of this process. */
export function createMemoryPlanStore(): PlanStore {
  const plans = new Map<string, StoredPlan>();
  return {
    add: async (plan, mostWaiting) => {
      const waiting = [...plans.values()].filter(({ owner, state }) => owner === plan.owner && state === 'waiting');
      if (waiting.length >= mostWaiting || plans.has(plan.nonce)) return false;
      plans.set(plan.nonce, { ...plan, state: 'waiting' });
      for (const { nonce } of excessDecided([...plans.values()], plan.owner)) plans.delete(nonce);
      return true;
    },
    find: async (nonce) => plans.get(nonce),
    claim: async (nonce, sealed) => {
      const plan = plans.get(nonce);
      if (plan?.state !== 'waiting') return false;
      plans.set(nonce, { ...plan, state: 'decided', sealed });
      return true;
    },
    update: async (nonce, sealed) => {
      const plan = plans.get(nonce);
      if (plan?.state === 'decided') plans.set(nonce, { ...plan, sealed });
    },
    list: async (owner) => [...plans.values()].filter((plan) => owner === undefined || plan.owner === owner),
    countWaiting: async (time) =>
      [...plans.values()].filter(({ state, expiresAt }) => state === 'waiting' && expiresAt >= time).length,
    eraseBefore: async (time) => {
      for (const { nonce, expiresAt } of plans.values()) if (expiresAt < time) plans.delete(nonce);
    },
    close: async () => undefined,
  };
}

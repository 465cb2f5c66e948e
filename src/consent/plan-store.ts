/** A plan in a store. What it says is sealed: the store knows as much of it as it needs to keep it within bounds. */
export interface StoredPlan {
  /** 16 hexadecimal digits. */
  readonly nonce: string;
  /** Stands for the caller: 16 hexadecimal digits. */
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly state: 'waiting' | 'decided';
  readonly sealed: string;
}

/** The plans that wait for a person, and what became of those that were decided, until they expire. Several processes may share one. */
export interface PlanStore {
  /** Adds a plan that waits. False if its owner has `most` of them already. Of those that were decided, the last hundred of an owner are kept. */
  add(plan: Omit<StoredPlan, 'state'>, most: number): Promise<boolean>;
  find(nonce: string): Promise<StoredPlan | undefined>;
  /** Makes a plan that waits a decided one. Of all who try, one gets true. */
  claim(nonce: string): Promise<boolean>;
  /** Replaces what a decided plan says. */
  update(nonce: string, sealed: string): Promise<void>;
  list(): Promise<readonly StoredPlan[]>;
  /** The number of plans that wait, and do not expire before a time (milliseconds). */
  countWaiting(time: number): Promise<number>;
  /** Erases the plans that expired before a time (milliseconds). */
  eraseBefore(time: number): Promise<void>;
  close(): Promise<void>;
}

/** The most decided plans of an owner: whoever takes back its own plans decides on as many as it likes. The journal has all. */
export const mostDecided = 100;

/** The decided plans of an owner beyond those that are kept: the first to expire. */
export const beyondKept = <Plan extends Omit<StoredPlan, 'sealed'>>(plans: readonly Plan[], owner: string): Plan[] =>
  plans
    .filter((plan) => plan.owner === owner && plan.state === 'decided')
    .sort((a, b) => b.expiresAt - a.expiresAt)
    .slice(mostDecided);

/** A store that is gone with its process. */
export function createMemoryPlanStore(): PlanStore {
  const plans = new Map<string, StoredPlan>();
  return {
    add: async (plan, most) => {
      const waiting = [...plans.values()].filter(({ owner, state }) => owner === plan.owner && state === 'waiting');
      if (waiting.length >= most || plans.has(plan.nonce)) return false;
      plans.set(plan.nonce, { ...plan, state: 'waiting' });
      for (const { nonce } of beyondKept([...plans.values()], plan.owner)) plans.delete(nonce);
      return true;
    },
    find: async (nonce) => plans.get(nonce),
    claim: async (nonce) => {
      const plan = plans.get(nonce);
      if (plan?.state !== 'waiting') return false;
      plans.set(nonce, { ...plan, state: 'decided' });
      return true;
    },
    update: async (nonce, sealed) => {
      const plan = plans.get(nonce);
      if (plan?.state === 'decided') plans.set(nonce, { ...plan, sealed });
    },
    list: async () => [...plans.values()],
    countWaiting: async (time) =>
      [...plans.values()].filter(({ state, expiresAt }) => state === 'waiting' && expiresAt >= time).length,
    eraseBefore: async (time) => {
      for (const { nonce, expiresAt } of plans.values()) if (expiresAt < time) plans.delete(nonce);
    },
    close: async () => undefined,
  };
}

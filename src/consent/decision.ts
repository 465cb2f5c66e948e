/** Whose word lets a change go ahead. */
export const consentModes = ['ask', 'human', 'plan', 'off'] as const;
export type ConsentMode = (typeof consentModes)[number];

/** True if one mode asks for no less than another. */
export const isAsStrict = (mode: ConsentMode, other: ConsentMode): boolean =>
  byStrictness.indexOf(mode) >= byStrictness.indexOf(other);

const byStrictness: readonly ConsentMode[] = ['off', 'plan', 'ask', 'human'];

/** The facts that the decision depends on. */
export interface ConsentRequest {
  readonly mode: ConsentMode;
  /** Set if only the plan is wanted. */
  readonly planOnly: boolean;
  readonly hasPlanId: boolean;
  /** Set if the client can ask its user. */
  readonly canAsk: boolean;
  /** Set if the client shows the change view, in which a person can decide with a click. */
  readonly hasView: boolean;
  /** Set if the person who makes the call said yes beforehand, with an option of the command line. */
  readonly agreed: boolean;
}

/** The next step towards consent. */
export type ConsentStep =
  | { readonly kind: 'given'; readonly how: 'option' | 'off' }
  /** Ask the user through the client. */
  | { readonly kind: 'ask' }
  /** Check the planId; if it is valid, consent is there. */
  | { readonly kind: 'redeem' }
  /** Answer with the plan. */
  | { readonly kind: 'plan'; readonly withPlanId: boolean; readonly withTicket: boolean }
  | { readonly kind: 'refuse'; readonly problem: string };

/** Decides what a change needs before it may go ahead. Whatever is not covered here is refused. */
export function decideConsent({ mode, planOnly, hasPlanId, canAsk, hasView, agreed }: ConsentRequest): ConsentStep {
  const asksPerson = mode === 'ask' || mode === 'human';
  const takesPlanId = mode === 'plan' || (mode === 'ask' && !canAsk);
  const takesClick = asksPerson && !canAsk && hasView;
  const plan = { kind: 'plan', withPlanId: takesPlanId, withTicket: takesClick } as const;
  if (planOnly) return plan;
  if (mode === 'off') return { kind: 'given', how: 'off' };
  if (agreed)
    return mode === 'human'
      ? refuse('CLOUDOPS_CONFIRM is "human": what is typed at the question counts, --yes does not')
      : { kind: 'given', how: 'option' };
  if (asksPerson && canAsk) return { kind: 'ask' };
  if (takesPlanId && hasPlanId) return { kind: 'redeem' };
  if (takesPlanId || takesClick) return plan;
  return refuse('CLOUDOPS_CONFIRM is "human", and this client cannot ask its user');
}

const refuse = (problem: string): ConsentStep => ({ kind: 'refuse', problem });

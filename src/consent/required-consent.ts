import { type SafeText, type Wording, words } from '../util/safe-text.js';
import type { DecisionPage } from './decision-page.js';

/** Modes of consent (CLOUDOPS_CONFIRM). */
export const consentModes = ['ask', 'human', 'approval', 'plan', 'off'] as const;
export type ConsentMode = (typeof consentModes)[number];

/** True if `mode` is at least as strict as `other`. */
export const isAsStrict = (mode: ConsentMode, other: ConsentMode): boolean =>
  byStrictness.indexOf(mode) >= byStrictness.indexOf(other);

const byStrictness: readonly ConsentMode[] = ['off', 'plan', 'ask', 'human', 'approval'];

/** The facts that the decision depends on. */
export interface ConsentRequest {
  readonly mode: ConsentMode;
  /** Set if the caller only wants the plan. */
  readonly planOnly: boolean;
  readonly hasPlanId: boolean;
  /** `unfit`: the client can ask its user, but no question holds the plan, or a program has answered in place of the user. */
  readonly question: 'fits' | 'unfit' | 'none';
  /** Set if the client shows the change view, in which a person can decide with a click. */
  readonly hasView: boolean;
  /** The page on which a person can decide: one to sign in to, or one in the browser of this machine. */
  readonly page: 'none' | DecisionPage['kind'];
  /** Set if the person agreed beforehand, with an option of the command line. */
  readonly agreed: boolean;
}

/** The next step towards consent. */
export type ConsentStep =
  | { readonly kind: 'given'; readonly how: 'option' | 'off' }
  /** Ask the user through the client. */
  | { readonly kind: 'ask' }
  /** Accept the planId as consent, if it is valid. */
  | { readonly kind: 'redeem' }
  /** Answer with the state of the plan that the planId names. */
  | { readonly kind: 'status' }
  /** Answer with the plan, and the ways to carry it out. */
  | {
      readonly kind: 'plan';
      readonly withPlanId: boolean;
      readonly withTicket: boolean;
      readonly withPage: boolean;
      /** Set if nobody could agree to the change here. */
      readonly isDeadEnd?: true;
    }
  | { readonly kind: 'refuse'; readonly problem: SafeText };

/** Decides which consent a change needs. Refuses every case that it does not cover. */
export function decideConsent(request: ConsentRequest): ConsentStep {
  const { mode, planOnly, hasPlanId, agreed } = request;
  const ways = waysOf(request);
  const plan = { kind: 'plan', ...ways } as const;
  if (planOnly) return hasPlanId ? { kind: 'status' } : { ...plan, ...deadEnd(request) };
  if (mode === 'off') return { kind: 'given', how: 'off' };
  if (agreed) return isSatisfiedByOption(mode) ? { kind: 'given', how: 'option' } : refuse(whyNoOption[mode]);
  if (asksPerson(mode) && request.question === 'fits') return { kind: 'ask' };
  if (hasPlanId) return ways.withPlanId ? { kind: 'redeem' } : { kind: 'status' };
  if (Object.values(ways).includes(true)) return plan;
  return whyNobody(request);
}

/** Sets `isDeadEnd` if the plan could not be carried out here, in any way. */
const deadEnd = (request: ConsentRequest): { readonly isDeadEnd?: true } =>
  decideConsent({ ...request, planOnly: false, agreed: false }).kind === 'refuse' ? { isDeadEnd: true } : {};

function whyNobody({ mode, question }: ConsentRequest): ConsentStep {
  if (mode === 'approval')
    return refuse('CLOUDOPS_CONFIRM is "approval", and there is no page on which somebody else could decide');
  return refuse(
    question === 'unfit'
      ? 'the plan is too long for a question, or a program answered in place of the user, and there is neither a view nor a page'
      : 'CLOUDOPS_CONFIRM is "human", and this client cannot ask its user',
  );
}

/** Ways to carry out a plan later. */
function waysOf({ mode, planOnly, question, hasView, page }: ConsentRequest) {
  const isForPerson = asksPerson(mode) && question !== 'fits';
  const decidesOnPage = {
    none: false,
    signIn: mode === 'approval' || isForPerson,
    // A browser tab opens by itself only for plans that cannot be decided elsewhere.
    local: isForPerson && !hasView,
  };
  return {
    withPlanId: mode === 'plan' || (mode === 'ask' && question === 'none'),
    withTicket: isForPerson && hasView,
    // A plan that is only shown does not wait on a page.
    withPage: decidesOnPage[page] && !planOnly,
  };
}

const asksPerson = (mode: ConsentMode) => mode === 'ask' || mode === 'human';

const refuse = <const Problem extends string>(problem: Wording<Problem>): ConsentStep => ({
  kind: 'refuse',
  problem: words(problem),
});

const whyNoOption = {
  human: 'CLOUDOPS_CONFIRM is "human": what is typed at the question counts, --yes does not',
  approval: 'CLOUDOPS_CONFIRM is "approval": somebody else has to decide, --yes does not count',
} as const;

const isSatisfiedByOption = (mode: 'ask' | 'plan' | keyof typeof whyNoOption): mode is 'ask' | 'plan' =>
  mode === 'ask' || mode === 'plan';

/** True if a click counts. With `approval`, a click in the chat does not, because it comes from the person who asked for the change. */
export const takesClicks = (mode: ConsentMode, where: 'view' | 'page'): boolean =>
  mode === 'ask' || mode === 'human' || (mode === 'approval' && where === 'page');

/** The facts about a person on the decision page and about a plan. */
interface PageDecision {
  readonly mode: ConsentMode;
  /** Undefined if callers are not authenticated. */
  readonly caller: string | undefined;
  /** Undefined for the person at this machine. */
  readonly person: string | undefined;
  /** Set if the person has the scope `cloudops:approve`. */
  readonly mayApprove: boolean;
}

/** Returns the reason for not letting a person decide on a plan on the page. */
export function reasonAgainstDeciding({ mode, caller, person, mayApprove }: PageDecision): SafeText | undefined {
  const isOwn = caller === person;
  switch (mode) {
    case 'approval':
      if (!mayApprove) return words('Only somebody with the scope cloudops:approve decides here.');
      return isOwn ? words('Your own changes are for somebody else to decide on.') : undefined;
    case 'ask':
    case 'human':
      return isOwn || mayApprove ? undefined : words('This change was asked for by somebody else.');
    default:
      return words('This server does not leave decisions to this page.');
  }
}

/** The person that a plan waits for, as the end of a sentence. */
export function whoDecides(mode: ConsentMode, page: ConsentRequest['page']): SafeText {
  if (mode === 'approval') return words('somebody other than the user, who signs in to the page');
  if (asksPerson(mode) && page !== 'none')
    return words(
      page === 'signIn' ? 'a person who signs in to the page' : 'the person at this machine, in the browser',
    );
  return words('the user');
}

import { type SafeText, type Wording, words } from '../util/safe-text.js';
import type { DecisionPage } from './decision-page.js';

/** Whose word lets a change go ahead. */
export const consentModes = ['ask', 'human', 'approval', 'plan', 'off'] as const;
export type ConsentMode = (typeof consentModes)[number];

/** True if one mode asks for no less than another. */
export const isAsStrict = (mode: ConsentMode, other: ConsentMode): boolean =>
  byStrictness.indexOf(mode) >= byStrictness.indexOf(other);

const byStrictness: readonly ConsentMode[] = ['off', 'plan', 'ask', 'human', 'approval'];

/** The facts that the decision depends on. */
export interface ConsentRequest {
  readonly mode: ConsentMode;
  /** Set if only the plan is wanted. */
  readonly planOnly: boolean;
  readonly hasPlanId: boolean;
  /** True if the client can ask its user, and one question holds the plan. */
  readonly question: 'fits' | 'tooLong' | 'none';
  /** Set if the client shows the change view, in which a person can decide with a click. */
  readonly hasView: boolean;
  /** The page on which a person can decide: one to sign in to, or one in the browser of this machine. */
  readonly page: 'none' | DecisionPage['kind'];
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
  /** Tell where the plan of the planId stands. */
  | { readonly kind: 'status' }
  /** Answer with the plan, and the ways to carry it out. */
  | {
      readonly kind: 'plan';
      readonly withPlanId: boolean;
      readonly withTicket: boolean;
      readonly withPage: boolean;
    }
  | { readonly kind: 'refuse'; readonly problem: SafeText };

/** Decides what a change needs before it may go ahead. Whatever is not covered here is refused. */
export function decideConsent(request: ConsentRequest): ConsentStep {
  const { mode, planOnly, hasPlanId, agreed } = request;
  const ways = waysOf(request);
  const plan = { kind: 'plan', ...ways } as const;
  if (planOnly) return hasPlanId ? { kind: 'status' } : plan;
  if (mode === 'off') return { kind: 'given', how: 'off' };
  if (agreed) return isSatisfiedByOption(mode) ? { kind: 'given', how: 'option' } : refuse(whyNoOption[mode]);
  if (asksPerson(mode) && isAsked(request)) return { kind: 'ask' };
  if (hasPlanId) return ways.withPlanId ? { kind: 'redeem' } : { kind: 'status' };
  if (Object.values(ways).includes(true)) return plan;
  return refuse(
    mode === 'approval'
      ? 'CLOUDOPS_CONFIRM is "approval", and there is no page on which somebody else could decide'
      : 'CLOUDOPS_CONFIRM is "human", and this client cannot ask its user',
  );
}

/** The ways in which a plan can be carried out that was not agreed to while it was made. */
function waysOf(request: ConsentRequest) {
  const { mode, planOnly, question, hasView, page } = request;
  const isForPerson = asksPerson(mode) && !isAsked(request);
  const decidesOnPage = {
    none: false,
    signIn: mode === 'approval' || isForPerson,
    // A tab that opens by itself is only for plans that nobody could decide on elsewhere.
    local: isForPerson && !hasView,
  };
  return {
    withPlanId: mode === 'plan' || (mode === 'ask' && question === 'none'),
    withTicket: isForPerson && hasView,
    // On a page, a plan waits; one that is only to be shown does not.
    withPage: decidesOnPage[page] && !planOnly,
  };
}

/** A plan that no question holds is for the page, if there is one to sign in to; otherwise asking ends in a refusal. */
const isAsked = ({ question, page }: ConsentRequest) =>
  question === 'fits' || (question === 'tooLong' && page !== 'signIn');

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

/** True if a click counts at all: one in a chat is the word of whoever asked for the change. */
export const takesClicks = (mode: ConsentMode, where: 'view' | 'page'): boolean =>
  mode === 'ask' || mode === 'human' || (mode === 'approval' && where === 'page');

/** A person who is signed in to the page, and the plan that they want to decide on. */
export interface PageDecision {
  readonly mode: ConsentMode;
  /** Undefined where callers are not told apart. */
  readonly caller: string | undefined;
  /** Undefined for the person at this machine. */
  readonly person: string | undefined;
  /** Set if the person has the scope `cloudops:approve`. */
  readonly mayApprove: boolean;
}

/** The reason why a person may not decide on a plan on the page; undefined if they may. */
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

/** Whoever a plan waits for, as the end of a sentence. */
export function whoDecides(mode: ConsentMode, page: ConsentRequest['page']): SafeText {
  if (mode === 'approval') return words('somebody other than its caller, who signs in to the page');
  if (asksPerson(mode) && page !== 'none')
    return words(
      page === 'signIn' ? 'a person who signs in to the page' : 'the person at this machine, in the browser',
    );
  return words('the user');
}

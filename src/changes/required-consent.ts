import { type SafeText, type Wording, words } from '../util/safe-text.js';
import type { DecisionPage } from './decision-page.js';

/** The modes of CLOUDOPS_CONFIRM, which say how people agree to changes. */
export const consentModes = ['ask', 'human', 'approval', 'plan', 'off'] as const;
export type ConsentMode = (typeof consentModes)[number];

/** True if `mode` is at least as strict as `other`. */
export const isAsStrict = (mode: ConsentMode, other: ConsentMode): boolean =>
  byStrictness.indexOf(mode) >= byStrictness.indexOf(other);

const byStrictness: readonly ConsentMode[] = ['off', 'plan', 'ask', 'human', 'approval'];

/** The facts on which `decideConsent` decides. */
export interface ConsentRequest {
  readonly mode: ConsentMode;
  /** Set if the caller only wants the plan. */
  readonly planOnly: boolean;
  readonly hasPlanId: boolean;
  /** `none`: the client cannot ask its user. `unfit`: the plan is too long for a question, or a program has answered in place of the user. */
  readonly question: 'fits' | 'unfit' | 'none';
  /** Set if the client shows the change view, in which a person can decide with a click. */
  readonly hasView: boolean;
  /** The page on which a person can decide, if there is one: with a sign-in, or in the browser on this machine. */
  readonly page: 'none' | DecisionPage['kind'];
  /** Set if the person agreed beforehand, with the option --yes of the command line. */
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
  /** Answer with the plan, and with the ways in which it can be carried out later. */
  | {
      readonly kind: 'plan';
      /** True if a call with the planId carries out the plan. */
      readonly withPlanId: boolean;
      /** True if a click in the change view carries out the plan. */
      readonly withClick: boolean;
      /** True if a click on the page carries out the plan. */
      readonly withPage: boolean;
      /** Set if a call without `planOnly` would be refused, because there is no way to agree to the change here. */
      readonly isDeadEnd?: true;
    }
  | { readonly kind: 'refuse'; readonly problem: SafeText };

/** Decides on the next step towards consent. The cases are in order of precedence, and the last case refuses everything else. */
export function decideConsent(request: ConsentRequest): ConsentStep {
  const { mode, planOnly, hasPlanId, agreed } = request;
  const ways = waysOf(request);
  const plan = { kind: 'plan', ...ways } as const;
  if (planOnly) return hasPlanId ? { kind: 'status' } : { ...plan, ...deadEnd(request) };
  if (mode === 'off') return { kind: 'given', how: 'off' };
  if (agreed) {
    if (mode === 'ask' || mode === 'plan') return { kind: 'given', how: 'option' };
    return refuse(whyNoOption[mode]);
  }
  if (asksPerson(mode) && request.question === 'fits') return { kind: 'ask' };
  if (hasPlanId) return ways.withPlanId ? { kind: 'redeem' } : { kind: 'status' };
  if (Object.values(ways).includes(true)) return plan;
  return whyNobody(request);
}

/** Returns `isDeadEnd` if the same call without `planOnly` and --yes would be refused, because nobody could agree to it. */
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

/** Returns the ways in which a plan can be carried out after the call: see `ConsentStep`. */
function waysOf({ mode, planOnly, question, hasView, page }: ConsentRequest) {
  const needsClick = asksPerson(mode) && question !== 'fits';
  const decidesOnPage = {
    none: false,
    signIn: mode === 'approval' || needsClick,
    // The local page opens a browser tab by itself, so it is used only if the plan cannot be decided in a view.
    local: needsClick && !hasView,
  };
  return {
    withPlanId: mode === 'plan' || (mode === 'ask' && question === 'none'),
    withClick: needsClick && hasView,
    // With `planOnly`, the caller only wants to see the plan, so it must not wait on the page.
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

/** True if a click counts as consent. With `approval`, a click in a view does not, because it comes from the person who wants the change. */
export const takesClicks = (mode: ConsentMode, where: 'view' | 'page'): boolean =>
  asksPerson(mode) || (mode === 'approval' && where === 'page');

/** The facts about a plan, and about the person who would decide on it on the page. */
interface PageDecision {
  /** The mode of the plan's account. */
  readonly mode: ConsentMode;
  /** The caller who asked for the change. Undefined if callers are not authenticated. */
  readonly caller: string | undefined;
  /** Name of the signed-in person. Undefined for the person at this machine. */
  readonly person: string | undefined;
  /** Set if the person has the scope `cloudops:approve`. */
  readonly mayApprove: boolean;
}

/** Returns the reason why a person may not decide on a plan on the page; undefined if the person may. */
export function reasonAgainstDeciding({ mode, caller, person, mayApprove }: PageDecision): SafeText | undefined {
  const isOwnChange = caller === person;
  switch (mode) {
    case 'approval':
      if (!mayApprove) return words('Only somebody with the scope cloudops:approve decides here.');
      return isOwnChange ? words('Your own changes are for somebody else to decide on.') : undefined;
    case 'ask':
    case 'human':
      return isOwnChange || mayApprove ? undefined : words('This change was asked for by somebody else.');
    default:
      return words('This server does not leave decisions to this page.');
  }
}

/** The person for whose decision a plan waits, as the end of a sentence. */
export function whoDecides(mode: ConsentMode, page: ConsentRequest['page']): SafeText {
  if (mode === 'off') return words('a decision, which nobody makes here, because CLOUDOPS_CONFIRM is "off"');
  if (mode === 'approval') return words('somebody other than the user, who signs in to the page');
  if (asksPerson(mode) && page !== 'none')
    return words(
      page === 'signIn' ? 'a person who signs in to the page' : 'the person at this machine, in the browser',
    );
  return words('the user');
}

import { type ConsentMode, consentModes } from '../calls/account.js';
import { type SafeText, type Wording, words } from '../util/safe-text.js';
import type { Change, DecisionOptions, DecisionWay } from './change.js';
import type { DecisionPage } from './decision-page.js';

/** This file decides who may agree to a change, in each mode of CLOUDOPS_CONFIRM. */

interface ModeRules {
  /** A mode is as strict as another if its number is at least as great. */
  readonly strictness: number;
  /** Whose decision counts: the user's, that of a person other than the user, the agent's word for the user, or nobody's. */
  readonly decidedBy: 'user' | 'other' | 'agent' | 'nobody';
  /** Why the option --yes does not count. Undefined if it does, or if nobody is asked anyway. */
  readonly whyNoOption?: SafeText;
  /** The ways in which a decision counts. */
  readonly ways: readonly DecisionWay[];
}

const rules: Readonly<Record<ConsentMode, ModeRules>> = {
  off: { strictness: 0, decidedBy: 'nobody', ways: ['off'] },
  plan: { strictness: 1, decidedBy: 'agent', ways: ['confirmed', 'option'] },
  ask: {
    strictness: 2,
    decidedBy: 'user',
    ways: ['asked', 'clicked', 'page', 'confirmed', 'option'],
  },
  human: {
    strictness: 3,
    decidedBy: 'user',
    whyNoOption: words('CLOUDOPS_CONFIRM is "human": what is typed at the question counts, --yes does not'),
    ways: ['asked', 'clicked', 'page'],
  },
  approval: {
    strictness: 4,
    decidedBy: 'other',
    whyNoOption: words('CLOUDOPS_CONFIRM is "approval": somebody else has to decide, --yes does not count'),
    ways: ['page'],
  },
};

/** True if `mode` is at least as strict as `other`. */
export const isAsStrict = (mode: ConsentMode, other: ConsentMode): boolean =>
  rules[mode].strictness >= rules[other].strictness;

/** The modes in which a person decides. */
export const modesWithPerson: readonly ConsentMode[] = consentModes.filter((mode) =>
  ['user', 'other'].includes(rules[mode].decidedBy),
);

/** True if `confirm_change` may work in a mode. */
export const mayConfirm = (mode: ConsentMode): boolean => isWayOf(mode, 'confirmed');

/** True if a decision in this way counts in a mode. */
export const isWayOf = (mode: ConsentMode, way: DecisionWay): boolean => rules[mode].ways.includes(way);

/** The facts on which `decideConsent` decides. */
export interface ConsentRequest {
  readonly mode: ConsentMode;
  /** Set if the caller only wants the plan. */
  readonly planOnly: boolean;
  /**
   * `none`: the client cannot ask its user. `unfit`: the plan is too long for a question, or a program has answered in place of the user.
   * `unknown`: it is not known what the client can do, because its session is missing.
   */
  readonly question: 'fits' | 'unfit' | 'none' | 'unknown';
  /** Set if the client shows the change view, in which a person can decide with a click. */
  readonly hasView: boolean;
  /** The page on which a person can decide, if there is one: with a sign-in, or in the browser on this machine. */
  readonly page: 'none' | DecisionPage['kind'];
  /** Set if the person agreed beforehand, with the option --yes of the command line. */
  readonly agreed: boolean;
  /** Set if the caller's token does not tell which person the caller is, so that nobody can be known to be another person. */
  readonly isUnknownPerson?: boolean;
}

/** The next step towards consent. */
export type ConsentStep =
  | { readonly kind: 'given'; readonly way: 'option' | 'off' }
  /** Ask the user through the client. */
  | { readonly kind: 'ask' }
  /** Answer with the plan. It waits for a decision in one of the ways, or in none if it is a dead end. */
  | {
      readonly kind: 'plan';
      readonly options: DecisionOptions;
      /** Set if a call without `planOnly` would be refused, because there is no way to agree to the change here. */
      readonly isDeadEnd?: true;
    }
  | { readonly kind: 'refuse'; readonly problem: SafeText };

/** Decides on the next step towards consent. The cases are in order of precedence, and the last case refuses everything else. */
export function decideConsent(request: ConsentRequest): ConsentStep {
  const { mode, planOnly, agreed, question } = request;
  const { decidedBy, whyNoOption } = rules[mode];
  const options = optionsOf(request);
  if (planOnly) return { kind: 'plan', options, ...deadEnd(request) };
  if (decidedBy === 'nobody') return { kind: 'given', way: 'off' };
  if (agreed)
    return whyNoOption === undefined ? { kind: 'given', way: 'option' } : { kind: 'refuse', problem: whyNoOption };
  if (decidedBy === 'user' && question === 'fits') return { kind: 'ask' };
  if (Object.values(options).includes(true)) return { kind: 'plan', options };
  return whyNobody(request);
}

/** Returns `isDeadEnd` if the same call without `planOnly` and --yes would be refused, because nobody could agree to it. */
const deadEnd = (request: ConsentRequest): { readonly isDeadEnd?: true } =>
  decideConsent({ ...request, planOnly: false, agreed: false }).kind === 'refuse' ? { isDeadEnd: true } : {};

function whyNobody({ mode, question, isUnknownPerson = false }: ConsentRequest): ConsentStep {
  if (question === 'unknown')
    return refuse("the client's session is missing or was not made by this server, so the client cannot be asked");
  if (rules[mode].decidedBy === 'other' && isUnknownPerson)
    return refuse(
      'CLOUDOPS_CONFIRM is "approval", and the token of the caller lacks the claim that CLOUDOPS_HTTP_PERSON_CLAIM names, so nobody can be known to be somebody else',
    );
  if (rules[mode].decidedBy === 'other')
    return refuse('CLOUDOPS_CONFIRM is "approval", and there is no page on which somebody else could decide');
  return refuse(
    question === 'unfit'
      ? 'the plan is too long for a question, or a program answered in place of the user, and there is neither a view nor a page'
      : 'CLOUDOPS_CONFIRM is "human", and this client cannot ask its user',
  );
}

const refuse = <const Problem extends string>(problem: Wording<Problem>): ConsentStep => ({
  kind: 'refuse',
  problem: words(problem),
});

/** Returns the ways in which a plan can be decided after the call. */
function optionsOf({ mode, planOnly, question, hasView, page, isUnknownPerson }: ConsentRequest): DecisionOptions {
  const { decidedBy } = rules[mode];
  const needsClick = decidedBy === 'user' && question !== 'fits';
  const decidesOnPage = {
    none: false,
    signIn: needsClick || (decidedBy === 'other' && isUnknownPerson !== true),
    // The local page opens a browser tab by itself, so it is used only if the plan cannot be decided in a view.
    local: needsClick && !hasView,
  };
  const isUnreachable = question === 'none' && !hasView && page === 'none';
  return {
    byForm: false,
    byClick: needsClick && hasView,
    // With `planOnly`, the caller only wants to see the plan, so it must not wait on the page.
    onPage: decidesOnPage[page] && !planOnly,
    // The agent's word counts for the user's only if nothing else reaches the user.
    byConfirmation: mayConfirm(mode) && (decidedBy === 'agent' || isUnreachable),
  };
}

/** The caller of a change. Both fields are undefined if callers are not authenticated. */
type Caller = Pick<Change, 'caller' | 'personId'>;

/** A person who would decide on the page. */
interface Decider {
  /** Name of the signed-in person. Undefined for the person at this machine. */
  readonly person: string | undefined;
  /** See `Principal.personId`. */
  readonly personId?: string | undefined;
  /** Set if the person has the scope `cloudops:approve`. */
  readonly mayApprove: boolean;
}

/** True if a person is the caller of a change. Names may differ between the clients of one person, so IDs are compared if both are known. */
export const isOwnChange = ({ caller, personId }: Caller, person: Omit<Decider, 'mayApprove'>): boolean =>
  personId === undefined || person.personId === undefined ? caller === person.person : personId === person.personId;

/**
 * Returns the reason why a person may not decide on a change on the page; undefined if the person may.
 * @param mode the present mode of the change's account
 */
export function reasonAgainstDeciding(mode: ConsentMode, change: Caller, person: Decider): SafeText | undefined {
  const isOwn = isOwnChange(change, person);
  switch (rules[mode].decidedBy) {
    case 'other':
      if (!person.mayApprove) return words('Only somebody with the scope cloudops:approve decides here.');
      if (change.caller !== undefined && (change.personId === undefined || person.personId === undefined))
        return words(
          'A token lacks the claim CLOUDOPS_HTTP_PERSON_CLAIM, so this server cannot tell whether the change is your own.',
        );
      return isOwn ? words('Your own changes are for somebody else to decide on.') : undefined;
    case 'user':
      return isOwn || person.mayApprove ? undefined : words('This change was asked for by somebody else.');
    case 'agent':
    case 'nobody':
      return words('This server does not leave decisions to this page.');
  }
}

/** The person for whose decision a plan waits, as the end of a sentence. */
export function whoDecides(mode: ConsentMode, { onPage }: DecisionOptions, page: ConsentRequest['page']): SafeText {
  if (rules[mode].decidedBy === 'other') return words('somebody other than the user, who signs in to the page');
  if (onPage)
    return words(
      page === 'signIn' ? 'a person who signs in to the page' : 'the person at this machine, in the browser',
    );
  return words('the user');
}

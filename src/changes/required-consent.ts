import { type ConsentMode, consentModes } from '../calls/account.js';
import { type SafeText, words } from '../util/safe-text.js';
import { type Change, type DecisionOptions, type DecisionWay, noOptions } from './change.js';

/** The page on which people decide on plans. */
export type DecisionPage =
  /** Anyone may see the address, because it allows nothing without signing in. */
  | {
      readonly kind: 'signIn';
      readonly addressOf: (id: string) => string;
      readonly announce: (announcement: Announcement) => void;
    }
  /** In the browser on this machine. The address stays secret, because anyone who has it can decide. */
  | { readonly kind: 'local'; readonly show: (id: string) => void };

export interface Announcement {
  readonly tool: string;
  readonly caller: string | undefined;
  readonly headline: SafeText;
  readonly decideAt: string;
}

export const addressOf = (id: string, page: DecisionPage | undefined): string | undefined =>
  page?.kind === 'signIn' ? page.addressOf(id) : undefined;

/** This file decides who may agree to a change, in each mode of CLOUDOPS_CONFIRM. */

interface ModeRules {
  readonly strictness: number;
  /** `agent` is the agent's word for the user. */
  readonly decidedBy: 'user' | 'other' | 'agent' | 'nobody';
  readonly whyNoOption?: SafeText;
  readonly ways: readonly DecisionWay[];
}

const rules: Readonly<Record<ConsentMode, ModeRules>> = {
  off: { strictness: 0, decidedBy: 'nobody', ways: ['off'] },
  plan: { strictness: 1, decidedBy: 'agent', ways: ['confirmed', 'option'] },
  ask: { strictness: 2, decidedBy: 'user', ways: ['asked', 'clicked', 'page', 'confirmed', 'option'] },
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

export const isAsStrict = (mode: ConsentMode, other: ConsentMode): boolean =>
  rules[mode].strictness >= rules[other].strictness;

export const modesWithPerson: readonly ConsentMode[] = consentModes.filter((mode) =>
  ['user', 'other'].includes(rules[mode].decidedBy),
);

/** True if `confirm_change` may work in a mode. */
export const mayConfirm = (mode: ConsentMode): boolean => isWayOf(mode, 'confirmed');

export const isWayOf = (mode: ConsentMode, way: DecisionWay): boolean => rules[mode].ways.includes(way);

export interface ConsentRequest {
  readonly mode: ConsentMode;
  readonly planOnly: boolean;
  /** `unfit`: the plan is too long, or a program answered before. `unknown`: the client's session is missing. */
  readonly question: 'fits' | 'unfit' | 'none' | 'unknown';
  readonly hasView: boolean;
  readonly page: 'none' | DecisionPage['kind'];
  readonly agreed: boolean;
  /** Set if the caller's token does not tell which person the caller is. */
  readonly isUnknownPerson?: boolean;
}

export type ConsentStep =
  | { readonly kind: 'given'; readonly way: 'option' | 'off' }
  | { readonly kind: 'ask' }
  /** Answer with the plan, which waits for a decision. */
  | { readonly kind: 'plan'; readonly options: DecisionOptions }
  | { readonly kind: 'refuse'; readonly problem: SafeText };

/** Decides on the next step towards consent. The cases are in order of precedence, and the last refuses everything else. */
export function decideConsent(request: ConsentRequest): ConsentStep {
  const { mode, planOnly, agreed, question } = request;
  const { decidedBy, whyNoOption } = rules[mode];
  const options = optionsOf(request);
  // Nobody is asked. A view shows its buttons all the same.
  if (planOnly) return { kind: 'plan', options: { ...noOptions, byClick: options.byClick } };
  if (decidedBy === 'nobody') return { kind: 'given', way: 'off' };
  if (agreed)
    return whyNoOption === undefined ? { kind: 'given', way: 'option' } : { kind: 'refuse', problem: whyNoOption };
  if (decidedBy === 'user' && question === 'fits') return { kind: 'ask' };
  if (Object.values(options).includes(true)) return { kind: 'plan', options };
  return { kind: 'refuse', problem: whyNobody(request) };
}

function whyNobody({ mode, question, isUnknownPerson = false }: ConsentRequest): SafeText {
  if (question === 'unknown')
    return words("the client's session is missing or was not made by this server, so the client cannot be asked");
  if (rules[mode].decidedBy === 'other')
    return words(
      isUnknownPerson
        ? 'CLOUDOPS_CONFIRM is "approval", and the token of the caller lacks the claim that CLOUDOPS_HTTP_PERSON_CLAIM names, so nobody can be known to be somebody else'
        : 'CLOUDOPS_CONFIRM is "approval", and there is no page on which somebody else could decide',
    );
  return words(
    question === 'unfit'
      ? 'the plan is too long for a question, or a program answered in place of the user, and there is neither a view nor a page'
      : 'CLOUDOPS_CONFIRM is "human", and this client cannot ask its user',
  );
}

function optionsOf({ mode, question, hasView, page, isUnknownPerson }: ConsentRequest): DecisionOptions {
  const { decidedBy } = rules[mode];
  const needsClick = decidedBy === 'user' && question !== 'fits';
  const decidesOnPage = {
    none: false,
    signIn: needsClick || (decidedBy === 'other' && isUnknownPerson !== true),
    // The local page opens a browser tab by itself.
    local: needsClick && !hasView,
  };
  const isUnreachable = question === 'none' && !hasView && page === 'none';
  return {
    byForm: false,
    byClick: needsClick && hasView,
    onPage: decidesOnPage[page],
    // The agent's word counts for the user's only if nothing else reaches the user.
    byConfirmation: mayConfirm(mode) && (decidedBy === 'agent' || isUnreachable),
  };
}

type Caller = Pick<Change, 'caller' | 'personId'>;

interface Decider {
  readonly person: string | undefined;
  readonly personId?: string | undefined;
  readonly mayApprove: boolean;
}

/** True if a person is the caller of a change, by their IDs if both are known, because names may differ between clients. */
export const isOwnChange = ({ caller, personId }: Caller, person: Omit<Decider, 'mayApprove'>): boolean =>
  personId === undefined || person.personId === undefined ? caller === person.person : personId === person.personId;

/** Returns the reason why a person may not decide on the page. */
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

export function whoDecides(mode: ConsentMode, { onPage }: DecisionOptions, page: ConsentRequest['page']): SafeText {
  if (rules[mode].decidedBy === 'other') return words('somebody other than the user, who signs in to the page');
  if (!onPage) return words('the user');
  return words(page === 'signIn' ? 'a person who signs in to the page' : 'the person at this machine, in the browser');
}

import type { ChangeTexts } from '../tools/define-operation.js';
import {
  type Action,
  type Actor,
  callAgain,
  callAgainFirst,
  forAgent,
  next,
  operatorMust,
  reportMistake,
} from '../tools/next.js';
import { defined, forReader, own, type SafeText, say, sentence, type Wording, words } from '../util/safe-text.js';
import type { EndedOutcome, Failure } from './outcome.js';

/** Stops a call before anything is sent, thrown or returned. The caller gets it as a failure. */
export class Refusal extends Error {
  readonly kind = 'refused';
  readonly code: RefusalCode;
  readonly problems: readonly SafeText[];
  /** Fields that replace the usual ones. `reason` replaces the end of the summary. */
  readonly more: Partial<
    Pick<Failure, 'changeId' | 'outcome' | 'mayHaveHappened' | 'defaults' | 'warnings' | 'next' | 'earlier'>
  > & {
    readonly reason?: SafeText;
  };
  constructor(code: RefusalCode, problems: readonly SafeText[] = [], more: Refusal['more'] = {}) {
    super(code);
    this.code = code;
    this.problems = problems;
    this.more = more;
  }
}

/** Converts a refusal to the failure that the caller gets. */
export function refusalFailure(
  tool: string | SafeText,
  { code, problems, more }: Refusal,
  { isChange }: { readonly isChange: boolean },
): Failure {
  const usual = refusals[code];
  const { reason = usual.reason, ...replacedFields } = more;
  const mayHaveBeenSent = aboutEarlierCalls.includes(code);
  const result = words(mayHaveBeenSent ? 'failed' : 'was not sent');
  return {
    summary: typeof tool === 'string' ? summaryOf(own(tool), result, reason) : say`${tool} ${result}: ${reason}.`,
    code,
    problems,
    ...(isChange && !mayHaveBeenSent && { mayHaveHappened: false }),
    next: usual.next,
    requestIds: {},
    ...replacedFields,
  };
}

/** The outcome of a change that was refused. */
export const refusedChange = (tool: string, refusal: Refusal): EndedOutcome => ({
  kind: 'failed',
  failure: refusalFailure(tool, refusal, { isChange: true }),
});

/** Refusals about a change that another call may have carried out. */
const aboutEarlierCalls: readonly RefusalCode[] = ['StateUnavailable', 'UnknownChange'];

/** People in a view get only the reason, because they see the change there. */
export function summaryOf(tool: SafeText, result: SafeText, reason: SafeText): SafeText {
  const full = say`${tool} ${result}: ${reason}.`;
  return forReader({ agent: full, person: sentence(say`${reason}.`), operator: full });
}

/** The refusal of a change whose plan is too large to be reviewed or stored. */
export const tooLargeToShow = (
  { change: { ifTooLarge } }: { readonly change: Pick<ChangeTexts, 'ifTooLarge'> },
  more: Pick<Refusal['more'], 'reason'> = {},
): Refusal =>
  new Refusal('TooLargeToShow', [], {
    ...more,
    ...(ifTooLarge !== undefined && { next: next('agent', 'call', defined(ifTooLarge)) }),
  });

const refuse = <const Reason extends string, const Text extends string>(
  reason: Wording<Reason>,
  who: Actor,
  action: Action,
  text: Wording<Text>,
) => ({ reason: words(reason), next: next(who, action, text) });

const refusals = {
  InvalidArguments: refuse(
    'its arguments need correcting',
    'agent',
    'call',
    say`Correct all that is listed and ${callAgain}.${forAgent(' Ask the user for values that are theirs to choose; do not make them up.')}`,
  ),
  NothingToDo: refuse(
    'nothing matches, so there is nothing to do',
    'nobody',
    'none',
    say`${forReader({ agent: 'Tell the user. It is no mistake.', person: 'It is no mistake.' })} If something was expected, the arguments can be wider.`,
  ),
  Usage: refuse(
    'the command line or the configuration is not right',
    'user',
    'call',
    'Correct what is listed; cloudops-mcp help lists the commands, cloudops-mcp help settings the settings.',
  ),
  NotAllowed: refuse(
    'this server is configured not to do it',
    'operator',
    'configure',
    forReader({
      agent: 'Tell the user, and do not look for another way: only the person who runs this server can allow it.',
      person: 'Only the person who runs this server can allow it.',
      operator: 'Change the setting if you want to allow it.',
    }),
  ),
  NotConfigured: {
    reason: words('this server is not configured for it yet'),
    next: operatorMust('set what is missing, or CLOUDOPS_SANDBOX=1 to try it without an account'),
  },
  KeysUnavailable: { reason: words('there are no keys to sign it with'), next: operatorMust('correct what is listed') },
  Declined: refuse(
    'the user has not agreed to it',
    'nobody',
    'none',
    forAgent('Leave it at that: call again only if the user asks for it.'),
  ),
  NobodyAsked: refuse(
    "the answer came too soon to be a person's",
    'agent',
    'call',
    say`${callAgainFirst}: nobody has decided, and this client is not asked again. The answer says how a person can decide.`,
  ),
  WrongName: refuse(
    'what was typed does not match',
    'user',
    'decide',
    say`Nobody has refused it. ${callAgainFirst}${forAgent(' if the user still wants it')}, and it can be typed again.`,
  ),
  TooManyRefusals: refuse(
    'several changes were refused in the last ten minutes, so this server has stopped asking',
    'user',
    'ask',
    say`${forAgent('Ask the user in the conversation what they want. ')}Questions are possible again in ten minutes at the latest.`,
  ),
  TooLargeToShow: refuse(
    'it has more values than can be shown to a person',
    'agent',
    'call',
    'Split it into smaller changes.',
  ),
  TooManyQuestions: refuse(
    'too many questions wait for an answer already',
    'agent',
    'wait',
    say`${forReader({ agent: 'Wait until the user has answered those', person: 'Answer those first' })}, then ${callAgain}.`,
  ),
  Stopping: refuse(
    'this server is about to end',
    'agent',
    'call',
    say`${callAgainFirst}: nothing was decided or changed, and the next server answers.`,
  ),
  NeedsHuman: refuse(
    'only a person can agree to it',
    'user',
    'decide',
    say`${forReader({ agent: 'Tell the user that it', person: 'It' })} needs a client that asks its user (elicitation) or shows views (MCP Apps), a page for decisions (CLOUDOPS_HTTP_PUBLIC_URL), or a terminal (cloudops-mcp call). Here, ${forReader({ agent: 'planOnly: true', person: 'planOnly: true', operator: '--plan' })} shows the plan and does no more.`,
  ),
  Repeated: refuse(
    'the same call was sent before',
    'user',
    'decide',
    forAgent('Tell the user that the same change was sent before.'),
  ),
  InternalError: { reason: words('this server made a mistake'), next: reportMistake },
  SenderUnavailable: {
    reason: words('a part of this server cannot be loaded'),
    next: operatorMust(
      say`start ${forReader({ agent: 'it', person: 'it', operator: 'this server' })} again, or install it again if its files are gone`,
    ),
  },
  BudgetSpent: refuse(
    'the changes that may be made for now are used up',
    'user',
    'wait',
    forAgent(
      'Tell the user when the next change is possible. Do not look for another way, and do not split or merge changes because of it.',
    ),
  ),
  JournalUnavailable: {
    reason: words('the journal of changes cannot be written, and nothing is changed without it'),
    next: operatorMust('remove that cause, so that the journal can be written'),
  },
  UnknownChange: refuse(
    'there is no such change of this caller',
    'agent',
    'check',
    'Use the changeId exactly as it was given. A plan that nobody decided on is erased when it has expired; the journal (cloudops://journal) has all others.',
  ),
  StateUnavailable: refuse(
    'the state of the change cannot be read or written at the moment',
    'agent',
    'wait',
    forReader({
      agent: 'Call get_change with the changeId in a few seconds. The plan and its outcome are kept.',
      person: 'Try again in a few seconds. The plan and its outcome are kept.',
    }),
  ),
  PlanExpired: refuse(
    'its plan has expired',
    'agent',
    'call',
    say`If ${forReader({ agent: 'the user still wants', person: 'you still want' })} it, call the tool of the change again for a new plan.`,
  ),
  ClickRefused: refuse(
    'only a click on a plan of this server carries it out, and this was not one',
    'agent',
    'call',
    say`Do not call this tool: it belongs to the buttons that ${forReader({ agent: 'the user sees', person: 'you see' })}. Call the tool of the change itself.`,
  ),
  TooSoon: refuse(
    forReader({
      agent: "the click came too soon to be a person's",
      person: 'Please read the plan first',
    }),
    'user',
    'decide',
    say`The plan still waits for a click${forReader({ agent: ' of the user', person: '' })}.`,
  ),
  NotConfirmable: refuse(
    'confirm_change does not decide on this plan',
    'agent',
    'call',
    'Call get_change with the changeId: its answer says who decides, and where.',
  ),
  TooManyWaiting: refuse(
    'too many plans of this caller wait for a decision',
    'user',
    'decide',
    say`${forReader({ agent: 'Ask the user to have', person: 'Have' })} them decided, or withdraw those that are no longer wanted (withdraw_change).`,
  ),
  SecretByValue: refuse(
    'it holds a secret, and a plan with a secret cannot wait for a decision',
    'agent',
    'call',
    'Give the name of the secret instead: see cloudops://reference/{operation}. The person who runs this server sets CLOUDOPS_SECRETS_DIR.',
  ),
  Withdrawn: refuse('its caller withdrew the plan', 'nobody', 'none', 'Nothing else is needed.'),
  PlanRefused: refuse(
    'its plan is not valid any more',
    'agent',
    'call',
    say`${callAgainFirst} for a new plan${forAgent(', and show it to the user')}.`,
  ),
} as const satisfies Readonly<Record<string, Pick<Required<Refusal['more']>, 'reason' | 'next'>>>;

export type RefusalCode = keyof typeof refusals;

const ownFaults: readonly string[] = ['InternalError', 'SenderUnavailable'];

/** True for the code of a refusal that is no fault of this server, such as for invalid arguments. */
export const isRefusal = (code: string): boolean => Object.hasOwn(refusals, code) && !ownFaults.includes(code);
export const refusalCodes: readonly string[] = Object.keys(refusals);

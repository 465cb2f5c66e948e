import type { Failure } from './failure.js';

/** A call that is stopped before anything is sent. Thrown where it is found, and turned into a failure in one place. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly problems: readonly string[];
  /** Fields that the failure has in addition, or in place of its usual ones. */
  readonly more: Partial<Pick<Failure, 'defaults' | 'warnings' | 'next'>>;
  constructor(code: RefusalCode, problems: readonly string[], more: Refusal['more'] = {}) {
    super(code);
    this.code = code;
    this.problems = problems;
    this.more = more;
  }
}

/** The failure that a refusal is for the caller. */
export function refusalFailure(tool: string, { code, problems, more }: Refusal, changes: boolean): Failure {
  const { reason, next } = refusals[code];
  return {
    summary: `${tool} was not sent: ${reason}.`,
    code,
    problems,
    ...(changes && { mayHaveHappened: false }),
    next,
    requestIds: {},
    ...more,
  };
}

/** The way out for what is larger than a question. */
export const reviewElsewhere =
  'The person who runs this server can set CLOUDOPS_CONFIRM=plan to review plans of any size.';

const refusals = {
  InvalidArguments: {
    reason: 'its arguments need correcting',
    next: 'Correct what is listed and call again. Ask the user for values that are theirs to choose; do not make them up.',
  },
  Usage: {
    reason: 'the command line or the configuration is not right',
    next: 'Correct what is listed; cloudops-mcp --help lists commands and settings.',
  },
  NotAllowed: {
    reason: 'this server is configured not to do it',
    next: 'Only the person who runs this server can change that. Do not look for another way.',
  },
  NotConfigured: {
    reason: 'this server is not configured for it yet',
    next: 'Ask the person who runs this server to set what is missing, or CLOUDOPS_SANDBOX=1 to try it without an account.',
  },
  KeysUnavailable: {
    reason: 'there are no keys to sign it with',
    next: 'Ask the person who runs this server to correct what is listed.',
  },
  Declined: {
    reason: 'the user has not agreed to it',
    next: 'Do not try again unless the user asks for it.',
  },
  NobodyAsked: {
    reason: 'the client answered the question by itself, and nobody was asked',
    next: 'Tell the user. For unattended use, the person who runs this server can set CLOUDOPS_CONFIRM=plan or CLOUDOPS_CONFIRM=off.',
  },
  TooManyRefusals: {
    reason: 'several changes were refused in the last ten minutes, so this server has stopped asking',
    next: 'Ask the user in the conversation what they want. Questions are possible again in ten minutes at the latest.',
  },
  TooLargeToShow: {
    reason: 'it has more values than can be shown to a person in one question',
    next: `Split it into smaller changes. ${reviewElsewhere}`,
  },
  TooManyQuestions: {
    reason: 'too many questions wait for an answer already',
    next: 'Wait until the user has answered those, then call again.',
  },
  NeedsHuman: {
    reason: 'only a person can agree to it',
    next: 'Use a client that can ask its user (elicitation) or shows views (MCP Apps). The setting is CLOUDOPS_CONFIRM; only the person who runs this server can change it.',
  },
  Repeated: {
    reason: 'the same call was sent before, and was accepted, has an unknown outcome, or has not ended',
    next: 'Have the user look in the console. Only if they want it a second time, call again with allowRepeat: true.',
  },
  InternalError: {
    reason: 'this server made a mistake',
    next: 'Look in the log of this server, and report the mistake.',
  },
  SenderUnavailable: {
    reason: 'a part of this server cannot be loaded',
    next: 'The person who runs this server has to start it again, or install it again if its files are gone.',
  },
  BudgetSpent: {
    reason: 'the changes that may be made for now are used up',
    next: 'Tell the user when the next change is possible. Do not look for another way, and do not split or merge changes because of it.',
  },
  JournalUnavailable: {
    reason: 'the journal of changes cannot be written, and nothing is changed without it',
    next: 'The person who runs this server has to make the journal that CLOUDOPS_JOURNAL names reachable and writable.',
  },
  AlreadyDecided: {
    reason: 'an earlier click decided its plan',
    next: 'Look in the journal (cloudops://journal) what came of it. A new plan needs a new call.',
  },
  TicketExpired: {
    reason: 'its plan has expired',
    next: 'Make a new plan with a new call, if the user still wants it.',
  },
  TicketRefused: {
    reason: 'only a click on a plan of this server carries it out, and this was none',
    next: 'Do not call this tool: it belongs to the buttons that the user sees. Call the tool of the change itself.',
  },
  PlanRefused: {
    reason: 'its plan is not valid',
    next: 'Call without planId to get a new plan, show it to the user, and then call with exactly its arguments.',
  },
} as const;

export type RefusalCode = keyof typeof refusals;

/** Codes of refusals that are faults of this server. */
const ownFaults: readonly string[] = ['InternalError', 'SenderUnavailable'];

/** True for the code of a call that its caller, a person or the configuration stopped. */
export const isRefusal = (code: string): boolean => Object.hasOwn(refusals, code) && !ownFaults.includes(code);

import type { ChangeTexts } from '../tools/define-operation.js';
import { next } from '../tools/next.js';
import { defined, forReader, own, type SafeText, say, sentence, words } from '../util/safe-text.js';
import { filled, nextOf, type RefusalCode, refusals } from './advice.js';
import type { EndedOutcome, Failure } from './outcome.js';

export type { RefusalCode };

/** Stops a call before anything is sent, thrown or returned. The caller gets it as a failure. */
export class Refusal extends Error {
  readonly kind = 'refused';
  readonly code: RefusalCode;
  readonly problems: readonly SafeText[];
  /** Fields that replace the usual ones. `reason` replaces the end of the summary. */
  readonly more: Partial<
    Pick<Failure, 'changeId' | 'outcome' | 'mayHaveHappened' | 'warnings' | 'next' | 'earlier'>
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
  const { reason = filled(usual.reason), ...replacedFields } = more;
  const mayHaveBeenSent = aboutEarlierCalls.includes(code);
  const result = words(mayHaveBeenSent ? 'failed' : 'was not sent');
  return {
    summary: typeof tool === 'string' ? summaryOf(own(tool), result, reason) : say`${tool} ${result}: ${reason}.`,
    code,
    problems,
    ...(isChange && !mayHaveBeenSent && { mayHaveHappened: false }),
    next: nextOf(usual),
    requestIds: {},
    ...replacedFields,
  };
}

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

/** True for the code of a refusal that is no fault of this server, such as for invalid arguments. */
export const isRefusal = (code: string): boolean => Object.hasOwn(refusals, code) && !ownFaults.includes(code);
const ownFaults: readonly string[] = ['InternalError', 'SenderUnavailable'];
export const refusalCodes: readonly string[] = Object.keys(refusals);

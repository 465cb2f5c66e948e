import { type ConsentWay, consentWays, type Success } from '../consent/outcome.js';
import { type Next, next } from '../tools/next.js';
import type { Attempt } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import { join, type SafeText, say, words } from '../util/safe-text.js';
import { missingWarning, truncateRecord } from './read-record.js';
import type { Answer } from './read-reply.js';
import type { ApprovedChange } from './stages.js';

/** A change that the cloud accepted, with its answer. */
interface SentChange extends ApprovedChange {
  /** ISO 8601, UTC. */
  readonly sentAt: string;
  readonly answer: Exclude<Answer, { kind: 'failed' }>;
  readonly attempts: readonly Attempt[];
}

/** Puts an accepted change into words. It stays accepted even if nothing of its answer can be read. */
export function acceptedSuccess(accepted: SentChange): Success {
  const { call, answer, plan } = accepted;
  const unread = (problem: SafeText): Success => ({
    summary: say`The cloud accepted this (HTTP status ${answer.status}): ${plan.summary}`,
    ...circumstances(accepted, []),
    warnings: [...warningsOf(accepted), say`The answer cannot be read, because ${problem}.`],
  });
  if (answer.kind === 'unread') return unread(answer.problem);
  try {
    const { record, warnings, missingFields } = answer;
    const { operation, change, input, endpoint } = call;
    const contradictions = change.contradictions?.(record, input, endpoint.region) ?? [];
    const told = join(contradictions, '; ');
    const contradicts = contradictions.length > 0;
    const own = operation.next?.(record, input);
    const shown = truncateRecord(record);
    return {
      // Some hosts hand on the beginning of the structure: the summary comes first.
      summary: join(
        sentences(
          contradicts && say`The change was accepted, but its answer contradicts what was asked for: ${told}.`,
          operation.summarize(record, input),
        ),
        ' ',
      ),
      ...circumstances(accepted, contradictions, own),
      warnings: [
        ...sentences(contradicts && say`The answer says ${told}.`),
        ...warningsOf(accepted),
        ...missingWarning(missingFields, operation.tellIfMissing),
        ...warnings,
        ...shown.warnings,
      ],
      answer: shown.record,
    };
  } catch {
    return unread(words('this server made a mistake'));
  }
}

/** The result without the contents of the answer. */
function circumstances(
  accepted: SentChange,
  contradictions: readonly SafeText[],
  own?: Next,
): Omit<Success, 'summary' | 'warnings'> {
  const { plan, answer, attempts, consent, sentAt } = accepted;
  return {
    outcome: 'accepted',
    consent: words(consentWays[consent.how]),
    sentAt,
    where: plan.where,
    effects: plan.consequences,
    next: nextOf(accepted, contradictions, own),
    requestIds: answer.requestIds,
    ...(attempts.length > 1 && { attempts }),
  };
}

/** Consent that follows an answer with the plan. */
const shownBefore: readonly ConsentWay[] = ['planId', 'clicked', 'page'];

/** The plan's warnings, unless the caller has read the plan. */
const warningsOf = ({ consent, plan }: SentChange) => (shownBefore.includes(consent.how) ? [] : plan.warnings);

/** @param own the operation's own next step */
function nextOf(
  { call: { change }, repeats, verificationHint }: SentChange,
  contradictions: readonly SafeText[],
  own: Next | undefined,
): Next {
  if (contradictions.length > 0)
    return next(
      'user',
      'check',
      'Do not call again. Tell the user what was asked for and what the answer says, and have them look in the console which of the two is there: it may cost money, wanted or not.',
    );
  // With `true`, the operation may be repeated without being asked to, and this is the same change, not a second one.
  if (typeof repeats === 'string' && repeats !== '')
    return next(
      'user',
      'check',
      say`Tell the user the request IDs. The same change was sent before, so have them check in the console that there is only one, unless they asked for more: ${verificationHint}.`,
    );
  const report = words('Tell the user the outcome, where it went, the warnings and the request IDs.');
  if (own !== undefined) return next(own.who, own.action, join([report, own.text], ' '));
  if (!change.continues) return next('nobody', 'none', report);
  return next('user', 'check', say`${report} Only the console shows when it is finished: do not call again to check.`);
}

import { type ConsentWay, consentWays, type Success } from '../consent/outcome.js';
import type { Plan, PlannedCall } from '../consent/plan.js';
import { type Next, next } from '../tools/next.js';
import type { Attempt } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import { join, type Shown, said, say, words } from '../util/safe-text.js';
import { missingWarning, truncateRecord } from './read-record.js';
import type { Answer } from './read-reply.js';

/** A change that the cloud accepted, and how it came to be sent. */
export interface AcceptedChange {
  readonly call: PlannedCall;
  readonly plan: Plan;
  readonly answer: Exclude<Answer, { kind: 'failed' }>;
  readonly attempts: readonly Attempt[];
  readonly consent: ConsentWay;
  /** ISO 8601, UTC. */
  readonly sentAt: string;
  /** Set if the same change was sent before. */
  readonly isRepeat: boolean;
  /** The thing to look for in the console, as the end of a sentence. */
  readonly verificationHint: Shown;
}

/** The answer to a change that was accepted. An accepted change stays accepted, even if nothing else of its answer can be read. */
export function acceptedSuccess(accepted: AcceptedChange): Success {
  const { call, answer, plan } = accepted;
  const unread = (problem: Shown): Success => ({
    summary: say`The cloud accepted this (HTTP status ${answer.status}): ${said(plan.summary)}`,
    ...circumstances(accepted, []),
    warnings: [...warningsOf(accepted), say`The answer cannot be read, because ${said(problem)}.`],
  });
  if (answer.kind === 'unread') return unread(answer.problem);
  try {
    const { record, warnings, missingFields } = answer;
    const { operation, change, input, endpoint } = call;
    const contradictions = change.contradictions?.(record, input, endpoint.region) ?? [];
    const told = said(join(contradictions, '; '));
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

/** Everything but what the answer says. */
function circumstances(
  accepted: AcceptedChange,
  contradictions: readonly Shown[],
  own?: Next,
): Omit<Success, 'summary' | 'warnings'> {
  const { plan, answer, attempts, consent, sentAt } = accepted;
  return {
    outcome: 'accepted',
    consent: words(consentWays[consent]),
    sentAt,
    where: plan.where,
    effects: plan.consequences,
    next: nextOf(accepted, contradictions, own),
    requestIds: answer.requestIds,
    ...(attempts.length > 1 && { attempts }),
  };
}

/** The ways of consent that come after an answer with the plan. */
const shownBefore: readonly ConsentWay[] = ['planId', 'clicked', 'page'];

/** Warnings that came with the plan are not repeated to those who were shown it. */
const warningsOf = ({ consent, plan }: AcceptedChange) => (shownBefore.includes(consent) ? [] : plan.warnings);

/** @param own the step that the operation has of its own */
function nextOf(
  { call: { change }, isRepeat, verificationHint }: AcceptedChange,
  contradictions: readonly Shown[],
  own: Next | undefined,
): Next {
  if (contradictions.length > 0)
    return next(
      'user',
      'check',
      'Do not call again. Tell the user what was asked for and what the answer says, and have them look in the console which of the two is there: it may cost money, wanted or not.',
    );
  if (isRepeat)
    return next(
      'user',
      'check',
      say`Tell the user the request IDs. The same change was sent before, so have them check in the console that there is only one, unless they asked for more: ${said(verificationHint)}.`,
    );
  const report = words('Tell the user the outcome, where it went, the warnings and the request IDs.');
  if (own !== undefined) return next(own.who, own.action, join([report, own.text], ' '));
  if (!change.continues) return next('nobody', 'none', report);
  return next(
    'user',
    'check',
    say`${said(report)} Only the console shows when it is finished: do not call again to check.`,
  );
}

import type { EndedOutcome, Failure, Success } from '../../calls/outcome.js';
import { plain, requestLines } from '../../calls/result-text.js';
import { decisionWays } from '../../changes/change.js';
import { fieldsSentence } from '../../changes/fields-sentence.js';
import { typePrompt } from '../../changes/typed-name.js';
import { sentences } from '../../util/human.js';
import {
  sentence as asSentence,
  defined,
  fitted,
  inFull,
  own,
  piecesOf,
  quoted,
  type SafeText,
  say,
  textFor,
  words,
} from '../../util/safe-text.js';
import {
  type ChangeOutcome,
  changeKey,
  type OutcomeKind,
  outcomeKey,
  type ProposedChange,
  type TimedText,
} from './contract/change-data.js';
import { adviceKey, partsKey } from './contract/parts-data.js';
import { packParts } from './pack-parts.js';
import { endedThings, planTable } from './tables.js';

export interface Showing {
  readonly onDecisionPage?: boolean | undefined;
  /** Set if an earlier decision stands. */
  readonly earlierDecision?: SafeText | undefined;
  /** True if the click did not only repeat the earlier decision. */
  readonly isLate?: boolean | undefined;
  /** Set for the outcome of the plan, which is no refusal of a click. */
  readonly isOfPlan?: boolean | undefined;
}

/** Returns the `_meta` of a result: the data for views, which models do not read. */
export function viewMeta(outcome: EndedOutcome, showing: Showing = {}): Record<string, unknown> {
  if (outcome.kind === 'succeeded' && outcome.view?.kind === 'parts') {
    const packedParts = packParts(outcome.view.parts);
    return packedParts === undefined ? {} : { [partsKey]: packedParts };
  }

  const proposed = proposedChange(outcome, showing);
  if (proposed !== undefined) return { [changeKey]: proposed };

  if (outcome.kind === 'failed' && isRefusedRead(outcome.failure)) {
    return { [adviceKey]: textFor('person', outcome.failure.next.text).text };
  }

  const { earlierDecision, isLate = false, isOfPlan } = showing;
  const described = changeOutcome(outcome, { namesDecision: earlierDecision === undefined });
  if (described === undefined) return {};
  const shown = { ...described, ...(isOfPlan === true && { isOfPlan }) };
  return { [outcomeKey]: earlierDecision === undefined ? shown : withEarlier(shown, earlierDecision, isLate) };
}

/** Does not say "you did not agree", because another person may have declined. */
function withEarlier(outcome: ChangeOutcome, earlierDecision: SafeText, isLate: boolean): ChangeOutcome {
  const sentence = outcome.kind === 'declined' ? 'Nothing was sent.' : outcome.sentence;
  const earlier = timedText(earlierDecision);
  if (!isLate) return { ...outcome, sentence, earlier };
  return { kind: 'late', sentence: earlier, details: [sentence], requestIds: {}, isOfPlan: true };
}

function timedText(text: SafeText): TimedText {
  const pieces = piecesOf(text);
  return pieces.some((piece) => typeof piece === 'number') ? pieces : text.text;
}

/** The failure of an answered change always has `mayHaveHappened`. */
const isRefusedRead = ({ mayHaveHappened, status }: Failure) => mayHaveHappened === undefined && status !== undefined;

/** Undefined for any other result than a plan. */
function proposedChange(outcome: EndedOutcome, { onDecisionPage = false }: Showing): ProposedChange | undefined {
  if (outcome.kind === 'failed' || outcome.success.plan === undefined || outcome.view?.kind !== 'plan')
    return undefined;

  const { plan } = outcome.success;
  const { found: presentState, also: otherArguments, others: otherPlanTexts = [] } = plan;
  const { accept: acceptLabel, issuedAt, expiresAt, ticket, typedName } = outcome.view;
  // Long names are cut, and `inFull` returns them.
  const shortened = fitted(plan.summary);

  return {
    sentence: shortened.line.text,
    risks: plan.risks,
    isSandbox: plan.sandbox === true,
    where: plain(plan.where),
    effects: [
      ...inFull(shortened),
      ...(presentState === undefined ? [] : [presentState]),
      ...plan.consequences,
      ...fieldsSentence(otherArguments),
    ].map(timedText),
    // `otherPlanTexts` are about other plans for the same thing.
    warnings: [...otherPlanTexts, ...plan.warnings].map(timedText),
    notChecked: plain(plan.notChecked),
    defaults: plain(plan.defaults),
    tables: (plan.tables ?? []).map(planTable),
    request: requestLines(plan).join('\n'),
    issuedAt: new Date(issuedAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
    accept: acceptLabel.text,
    decline: 'Do nothing',
    ...(typedName !== undefined && { typePrompt: typePrompt(typedName).text }),
    // On the page, only the caller could make a new plan.
    canPlanAgain: !onDecisionPage,
    otherWays: onDecisionPage ? [] : plain(waysToDecide(outcome)),
    ...(ticket !== undefined && { ticket }),
  };
}

/** For hosts that do not forward clicks. */
const waysToDecide = ({ success: { decideAt }, view }: Extract<EndedOutcome, { kind: 'succeeded' }>) =>
  sentences(
    view?.kind === 'plan' && view.inChat === true && say`Say yes or no to this plan in the chat.`,
    decideAt !== undefined && say`Open the page for decisions: ${defined(decideAt)}`,
    say`In a terminal, run cloudops-mcp call with the same tool and arguments.`,
  );

/** Undefined for a read, and for a call that only made, showed or withdrew a plan. */
function changeOutcome(
  result: EndedOutcome,
  { namesDecision }: { readonly namesDecision: boolean },
): ChangeOutcome | undefined {
  if (result.kind === 'failed') return failedOutcome(result.failure);
  const { success, view } = result;
  const kind = success.outcome;
  if (isUnderWay(success))
    return { kind: 'used', sentence: timedText(textFor('person', success.summary)), details: [], requestIds: {} };
  if (kind !== 'accepted' && kind !== 'partly') return undefined;

  const { summary, requestIds, warnings, notes = [], consent, sentAt, where = [] } = success;
  const { continues = false, isSandbox = false } = view?.kind === 'ended' ? view : {};
  const next = nextForPerson(success, { continues });
  const things = endedThings(success.answer);
  return {
    kind,
    sentence: timedText(summary),
    isSandbox,
    where: plain(where),
    details: sentences(...warnings, ...notes, namesDecision && consent !== undefined && consentText(consent)).map(
      timedText,
    ),
    requestIds,
    ...(sentAt !== undefined && { sentAt }),
    ...(next !== undefined && { next }),
    ...(things !== undefined && { things }),
  };
}

/** A plan that waits has a time at which it expires. */
const isUnderWay = ({ outcome, plan, planExpires }: Success) =>
  outcome === 'waiting' && plan === undefined && planExpires === undefined;

function nextForPerson(
  { outcome, next }: Success,
  { continues }: { readonly continues: boolean },
): TimedText | undefined {
  // Otherwise, the next step is for agents.
  if (outcome === 'partly' && next !== undefined) return timedText(textFor('person', next.text));
  return continues ? 'It continues in the cloud. Follow it in the console.' : undefined;
}

/** The person who sees the view gave it by click or form. */
const consentText = (consent: SafeText) =>
  consent.text === decisionWays.clicked || consent.text === decisionWays.asked
    ? words('You agreed to it.')
    : say`${asSentence(consent)}.`;

function failedOutcome(failure: Failure): ChangeOutcome | undefined {
  const { summary, code, status, problems = [], serviceSays, requestIds, next, notes = [] } = failure;
  const kind = outcomeKindOf(failure);
  if (kind === undefined) return undefined;

  if (kind === 'declined')
    return { kind, sentence: 'Nothing was sent: you did not agree to it.', details: [], requestIds };

  // `own` quotes unusual codes, because they come from outside.
  const codeOfCloud = serviceSays?.code ?? (status === undefined ? undefined : code);
  return {
    kind,
    sentence: timedText(textFor('person', summary)),
    details: sentences(
      serviceSays?.message !== undefined && say`The cloud says: ${quoted(serviceSays.message, 500)}`,
      ...problems.map(asSentence),
      ...notes,
    ).map(timedText),
    requestIds,
    ...(codeOfCloud !== undefined && { code: own(codeOfCloud).text }),
    // Only after a rejected change is the next step for people.
    ...(kind === 'rejected' && { next: timedText(textFor('person', next.text)) }),
    ...(kind === 'unknown' && { next: afterUnknown }),
  };
}

const afterUnknown =
  'Wait ten minutes, then check in the console whether it happened. If it did not and you still want it, ask for it again.';

const kindOfCode: Readonly<Record<string, OutcomeKind>> = {
  WrongName: 'uncounted',
  TooSoon: 'uncounted',
  StateUnavailable: 'uncounted',
  Repeated: 'used',
  Declined: 'declined',
  Withdrawn: 'withdrawn',
  PlanExpired: 'expired',
};

function outcomeKindOf({ code, status, mayHaveHappened }: Failure): OutcomeKind | undefined {
  if (mayHaveHappened === undefined) return kindOfCode[code];
  if (mayHaveHappened) return 'unknown';
  // A status means that the service answered.
  return status === undefined ? (kindOfCode[code] ?? 'refused') : 'rejected';
}

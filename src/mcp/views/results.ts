import type { EndedOutcome, Failure, PlanTable } from '../../calls/outcome.js';
import { fieldsSentence, requestLines } from '../../calls/result-text.js';
import { decisionWays } from '../../changes/change.js';
import { inFull, placesOf } from '../../changes/plan.js';
import { declineLabel, typePrompt } from '../../changes/typed-name.js';
import { abortMultipartUploads } from '../../tools/abort-multipart-uploads.js';
import type { UploadPart } from '../../tools/upload/part.js';
import { humanBytes, sentences } from '../../util/human.js';
import { english, type Translator } from '../../util/language.js';
import {
  sentence as asSentence,
  defined,
  own,
  quoted,
  type SafeText,
  say,
  shortNames,
  textFor,
  time,
  words,
} from '../../util/safe-text.js';
import {
  adviceKey,
  type ChangeOutcome,
  changeKey,
  maximumParts,
  type OutcomeKind,
  outcomeKey,
  type PartColumns,
  type ProposedChange,
  partsKey,
  type ShownTable,
} from './view-contract.js';

export interface Showing {
  readonly translator?: Translator | undefined;
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
    const columns = partColumns(outcome.view.parts);
    return columns === undefined ? {} : { [partsKey]: columns };
  }

  const proposed = proposedChange(outcome, showing);
  if (proposed !== undefined) return { [changeKey]: proposed };

  const write = writerFor(showing);
  // The failure of an answered change always has `mayHaveHappened`.
  if (
    outcome.kind === 'failed' &&
    outcome.failure.mayHaveHappened === undefined &&
    outcome.failure.status !== undefined
  )
    return { [adviceKey]: textFor('person', outcome.failure.next.text).text };

  const { earlierDecision, isLate = false, isOfPlan } = showing;
  const described = changeOutcome(outcome, earlierDecision === undefined, write);
  if (described === undefined) return {};
  const shown = { ...described, ...(isOfPlan === true && { isOfPlan }) };
  if (earlierDecision === undefined) return { [outcomeKey]: shown };

  const earlier = write(earlierDecision);
  // Not "you did not agree", because another person may have declined.
  const sentence = shown.kind === 'declined' ? write(words('Nothing was sent.')) : shown.sentence;
  const late = { kind: 'late', sentence: earlier, details: [sentence], requestIds: {}, isOfPlan: true } as const;
  return { [outcomeKey]: (isLate ? late : { ...shown, sentence, earlier }) satisfies ChangeOutcome };
}

type Write = (text: SafeText) => string;

/** Writes texts for the person who sees the view. */
const writerFor =
  ({ translator: { translate } = english }: Showing): Write =>
  (text) =>
    textFor('person', translate(text)).text;

/** Undefined for any other result than a plan. */
function proposedChange(outcome: EndedOutcome, showing: Showing): ProposedChange | undefined {
  if (outcome.kind === 'failed' || outcome.success.plan === undefined || outcome.view?.kind !== 'plan')
    return undefined;

  const { onDecisionPage = false } = showing;
  const write = writerFor(showing);
  const { plan, decideAt } = outcome.success;
  const { found: presentState, also: otherArguments, others: otherPlanTexts = [] } = plan;
  const { accept: acceptLabel, issuedAt, expiresAt, ticket, typedName } = outcome.view;
  const sentence = shortNames(plan.summary);

  return {
    sentence: write(sentence),
    risks: plan.risks,
    isSandbox: plan.sandbox === true,
    where: placesOf(plan).map(write),
    effects: [
      ...inFull(plan, sentence),
      ...(presentState === undefined ? [] : [presentState]),
      ...plan.consequences,
      ...fieldsSentence(otherArguments),
    ].map(write),
    // `otherPlanTexts` are about other plans for the same thing.
    warnings: [...otherPlanTexts, ...plan.warnings].map(write),
    notChecked: plan.notChecked.map(write),
    defaults: plan.defaults.map(({ name, value }) => ({ name: write(name), value: write(value) })),
    tables: (plan.tables ?? []).map((table) => planTable(table, write)),
    request: requestLines(plan).join('\n'),
    issuedAt: new Date(issuedAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
    accept: write(acceptLabel),
    decline: write(declineLabel),
    typePrompt: typedName === undefined ? undefined : write(typePrompt(typedName)),
    // For hosts that do not forward clicks.
    otherWays: onDecisionPage
      ? []
      : sentences(
          outcome.view.inChat === true && say`Say yes or no to this plan in the chat.`,
          decideAt !== undefined && say`Open the page for decisions: ${defined(decideAt)}`,
          say`In a terminal, run cloudops-mcp call with the same tool and arguments.`,
        ).map(write),
    ticket,
  };
}

/**
 * Undefined for a read, and for a call that only made, showed or withdrew a plan.
 * @param namesDecision false if an earlier decision is named beside the outcome
 */
function changeOutcome(result: EndedOutcome, namesDecision: boolean, write: Write): ChangeOutcome | undefined {
  if (result.kind === 'failed') return failedOutcome(result.failure, write);
  const { success, view } = result;
  const {
    outcome: kind,
    plan,
    planExpires,
    summary,
    requestIds,
    warnings,
    notes = [],
    consent,
    sentAt,
    where = [],
  } = success;
  // A plan that waits has a time at which it expires.
  if (kind === 'waiting' && plan === undefined && planExpires === undefined)
    return { kind: 'used', sentence: write(summary), details: [], requestIds: {} };
  if (kind !== 'accepted' && kind !== 'partly') return undefined;

  const { continues = false, isSandbox = false } = view?.kind === 'ended' ? view : {};
  // The next step after an accepted change is for agents.
  const next =
    (kind === 'partly' ? success.next?.text : undefined) ??
    (continues ? words('It continues in the cloud. Follow it in the console.') : undefined);
  const isOwn = consent?.text === decisionWays.clicked || consent?.text === decisionWays.asked;
  return {
    kind,
    sentence: write(summary),
    isSandbox,
    where: where.map(write),
    details: sentences(
      ...warnings,
      ...notes,
      // The person who sees the view gave it by click or form.
      namesDecision && isOwn && words('You agreed to it.'),
      namesDecision && !isOwn && consent !== undefined && say`${asSentence(consent)}.`,
    ).map(write),
    requestIds,
    sentAt,
    next: next && write(next),
    things: endedThings(success.answer, write),
  };
}

function failedOutcome(failure: Failure, write: Write): ChangeOutcome | undefined {
  const { summary, code, status, problems = [], serviceSays, requestIds, next, notes = [] } = failure;
  const kind = outcomeKindOf(failure);
  if (kind === undefined) return undefined;

  if (kind === 'declined')
    return { kind, sentence: write(words('Nothing was sent: you did not agree to it.')), details: [], requestIds };

  // `own` quotes unusual codes, because they come from outside.
  const codeOfCloud = serviceSays?.code ?? (status === undefined ? undefined : code);
  return {
    kind,
    sentence: write(summary),
    details: sentences(
      serviceSays?.message !== undefined && say`The cloud says: ${quoted(serviceSays.message, 500)}`,
      ...problems.map(asSentence),
      ...notes,
    ).map(write),
    requestIds,
    code: codeOfCloud === undefined ? undefined : own(codeOfCloud).text,
    // Only after a rejected change is the next step for people.
    ...(kind === 'rejected' && { next: write(next.text) }),
    ...(kind === 'unknown' && {
      next: write(
        words(
          'Wait ten minutes, then check in the console whether it happened. If it did not and you still want it, ask for it again.',
        ),
      ),
    }),
  };
}

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

/** A table of a plan. Times stand without quotation marks, so that the view writes them in the reader's zone, and sizes become readable. */
export const planTable = ({ title, columns, rows, more }: PlanTable, write: Write): ShownTable => ({
  title: write(title),
  columns: columns.map(write),
  more,
  rows: rows.map((row) => row.map((cell, index) => cellOf(write(cell), columns[index]?.text))),
});

function cellOf(cell: string, column: string | undefined): string {
  const [, isoTime] = /^"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"$/.exec(cell) ?? [];
  if (isoTime !== undefined) return isoTime;
  return column === 'Size' && /^\d+$/.test(cell) ? humanBytes(Number(cell)) : cell;
}

const endings: Readonly<Record<string, SafeText>> = {
  done: words('Aborted'),
  gone: words('Gone already'),
  unverified: words('Aborted, but not seen to be gone'),
  failed: words('Failed'),
};

/** The uploads that a change has aborted, each with its ending. Undefined for the answer to any other change. */
function endedThings(answer: object | undefined, write: Write): ShownTable | undefined {
  const { data } = abortMultipartUploads.output().pick({ uploads: true, notListed: true }).safeParse(answer);
  if (data === undefined || data.uploads.length === 0) return undefined;
  const rows = data.uploads
    .slice(0, 1000)
    .map(({ bucket = '', object, size, initiated, ending: name, code }): string[] => {
      const ending = endings[name] ?? own(name);
      return [
        write(code === undefined ? ending : say`${ending} (${quoted(code, 100)})`),
        quoted(object, 200).text,
        quoted(bucket, 63).text,
        size === undefined ? '' : humanBytes(size),
        initiated === undefined ? '' : time(initiated).text,
      ];
    });
  const columns = [words('Ending'), words('Object'), words('Bucket'), words('Size'), words('Started')];
  const more = (data.notListed ?? 0) + data.uploads.length - rows.length;
  return { title: write(words('Uploads')), columns: columns.map(write), rows, more };
}

/** A service may return ETags of any length (characters). */
const longestEtag = 200;
/** Characters of all ETags of an upload, enough for about 3,000 parts. */
const maximumEtags = 100_000;

/** Returns the parts for the upload view. Undefined if the view could not draw them. */
export function partColumns(listedParts: readonly UploadPart[]): PartColumns | undefined {
  const byNumber = new Map(listedParts.map((part) => [part.partNumber, part]));
  const parts = [...byNumber.values()].sort((a, b) => a.partNumber - b.partNumber);
  if (parts.length > maximumParts || parts.some(({ partNumber, size }) => !isWhole(partNumber) || !isWhole(size)))
    return undefined;

  const etags = parts.map(({ etag = '' }) => etag.slice(0, longestEtag));
  return {
    numbers: parts.map(({ partNumber }) => partNumber),
    sizes: parts.map(({ size }) => size),
    times: parts.map(({ uploadedAt }) => (isWhole(uploadedAt) ? uploadedAt : 0)),
    ...(etags.join('').length <= maximumEtags && { etags }),
  };
}

const isWhole = (value: number) => Number.isSafeInteger(value) && value >= 0;

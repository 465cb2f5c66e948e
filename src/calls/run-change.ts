import type { Wait } from '../consent/elicitor.js';
import { obtainConsent } from '../consent/obtain.js';
import type { EndedOutcome } from '../consent/outcome.js';
import { type Consent, type ControlArguments, journalIntent, type PendingEntry } from '../consent/pending.js';
import { canBeShown, makePlan, type Plan, type PlannedCall } from '../consent/plan.js';
import { questionText } from '../consent/question.js';
import type { QuestionQueue } from '../consent/question-queue.js';
import { Refusal, tooLargeToShow } from '../consent/refusal.js';
import { type ConsentMode, decideConsent } from '../consent/required-consent.js';
import type { Budget } from '../journal/budget.js';
import type { RecordedChange } from '../journal/entry.js';
import { repetitionKey } from '../journal/repetition-key.js';
import type { SignedClient } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import { escapeInvisible } from '../util/quote.js';
import { defined, type Shown, say, words } from '../util/safe-text.js';
import { budgetSpent, type CallBudget, checkBudget } from './check-budget.js';
import type { CallContext, CallDependencies, CallOutcome } from './context.js';
import {
  type ApprovedChange,
  adviceIfUnknown,
  broken,
  conclude,
  journalEnding,
  notYetWritten,
  outcomeOf,
  withinSeconds,
  withNotes,
} from './execution-result.js';
import { answerPlanStatus, lookAt, sendToPage, settlingPlan } from './plan-status-call.js';
import { visibleCaller } from './policy.js';
import { earlierOf, repeated, repeatWarning } from './repeat.js';

/** The rules of an account for its changes. */
export interface ChangeRules {
  readonly confirm: ConsentMode;
  readonly budget: CallBudget;
}

/** Carries out an operation that is not a read: plan, consent, journal, send, journal, answer. */
export async function change(
  call: PlannedCall,
  rules: ChangeRules,
  control: ControlArguments,
  openClient: (signal: AbortSignal) => SignedClient,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const { confirm, budget } = rules;
  const { inFlight, questions, plans, pendingNotices, page, log } = dependencies;
  const { elicitor, click, look, hasView = false, agreed = false, principal } = context;
  const { planOnly, planId } = control;
  const tool = call.operation.name;
  const entry = { ...entryOf(call, context, dependencies), budget: budget.key };
  if (look !== undefined) return lookAt(look, entry, context, dependencies);
  const stepFor = (plan: Plan, hasPlanId: boolean) =>
    decideConsent({
      mode: confirm,
      ...{ planOnly, hasView, agreed, hasPlanId },
      question: elicitor === undefined ? 'none' : questionText(plan, call) === undefined ? 'tooLong' : 'fits',
      page: page?.kind ?? 'none',
    });
  const step = stepFor(makePlan(call), planId !== undefined);
  log('info', 'consent', { tool, decision: step.kind, caller: principal?.name });
  const told =
    click === undefined
      ? await answerPlanStatus(step, entry, control, context, { ...dependencies, confirm })
      : undefined;
  if (told?.kind === 'answer') return told.outcome;

  const asks = step.kind === 'ask' && click === undefined;
  // It may have to wait for the answer to a question of another client of its caller, too.
  const waiting: Wait = (asks ? context.wait : undefined) ?? ((work) => work());
  const decideAndSend = async (): Promise<CallOutcome> => {
    const prepared = {
      ...(await prepare(call, entry, rules, control, context, dependencies)),
      planNonce: told?.nonce,
    };
    return settlingPlan(tool, plans, async (claim) => {
      const pending = { ...prepared, claim };
      // The question may be too short for the plan once the journal has added to it.
      const last = asks ? stepFor(prepared.plan, false) : step;
      const consent = await waiting(() => obtainConsent(last, pending, context, { ...dependencies, confirm }));
      if (consent.kind === 'inputRequired') return consent;
      if (consent.kind !== 'given') return sendToPage(consent, pending, confirm, context, dependencies);
      const outcome = await inFlight.track(context.signal, async (signal) => {
        using client = openClient(signal);
        return await carryOut(pending, budget.limit, consent, client, visibleCaller(principal), dependencies);
      });
      return withNotes(outcome, await pendingNotices(entry.caller).catch(() => []));
    });
  };
  if (!asks || elicitor?.resumedReply !== undefined) return decideAndSend();
  // A question that is shown at once waits here, so that its plan knows what came of those before it.
  const leave = await waiting(() => enter(questions, principal?.name));
  return decideAndSend().finally(leave);
}

/** Waits for the turn of a caller. Resolves with the function that ends it. */
const enter = (questions: QuestionQueue, caller: string | undefined) =>
  new Promise<() => void>((entered) => {
    void questions.take(caller, () => new Promise<void>(entered));
  });

/**
 * Makes the plan of a change, which says what the change would repeat.
 * @throws Refusal if it would repeat another without being meant to, or is too large to be shown
 */
async function prepare(
  call: PlannedCall,
  entry: PendingEntry,
  { confirm, budget }: ChangeRules,
  control: ControlArguments,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<Omit<ApprovedChange, 'claim'>> {
  const { journal, now } = dependencies;
  const viewer = visibleCaller(context.principal);
  const { repeatable = false } = call.operation;
  const duplicate = repeatable ? undefined : await journal.findDuplicate(entry.digest).catch(() => undefined);
  if (duplicate !== undefined && !control.allowRepeat && !control.planOnly) throw refusalOf(duplicate, call, viewer);
  const left = await checkBudget(journal, budget, control.planOnly);
  const made = makePlan(call);
  // Asked for before anything is sent, so that nothing about it can fail afterwards.
  const verificationHint = call.change.verificationHint(call.input, call.endpoint.region);
  const warning = duplicate !== undefined && repeatWarning(earlierOf(duplicate, viewer));
  const plan = {
    ...made,
    consequences: sentences(...made.consequences, left ?? false),
    warnings: sentences(warning, ...made.warnings),
  };
  if (confirm !== 'off' && !canBeShown(plan)) throw tooLargeToShow(call);
  const repeats = repeatable || (control.allowRepeat && (duplicate?.id ?? ''));
  return { call, verificationHint, plan, control, repeats, entry, now };
}

/** The part of the journal's entry that is known before anybody decides. */
function entryOf(
  { operation, change, input, request, endpoint, keyId }: PlannedCall,
  context: CallContext,
  dependencies: CallDependencies,
): PendingEntry {
  return {
    id: dependencies.newId(),
    tool: operation.name,
    what: escapeInvisible(`${change.headline(input, endpoint.region)}.`),
    target: `${request.method} ${endpoint.origin}${request.target}`,
    account: endpoint.account,
    key: keyId,
    client: context.client,
    caller: context.principal?.name,
    digest: repetitionKey(endpoint, request),
    process: dependencies.process,
  };
}

/**
 * A change that has consent: its intent is on disk before it is sent, and its outcome before anything is made of the answer.
 * Nothing that goes wrong after the first byte was sent leaves this function as an exception.
 */
async function carryOut(
  pending: ApprovedChange,
  budget: Budget | undefined,
  consent: Consent,
  client: SignedClient,
  viewer: string | undefined,
  { journal, log }: CallDependencies,
): Promise<EndedOutcome> {
  const { call, verificationHint, repeats, now } = pending;
  const intent = journalIntent(pending, consent);
  const begun = await journal.begin(intent, { allowRepeat: repeats, budget });
  if (begun.kind === 'unwritable') throw new Refusal('JournalUnavailable', [say`${defined(begun.reason)}`]);
  if (begun.kind === 'consentUsed')
    throw consent.how === 'clicked'
      ? new Refusal('AlreadyDecided', [])
      : new Refusal('PlanRefused', [say`this consent was used before`]);
  if (begun.kind === 'budgetSpent') throw budgetSpent(begun.budget, begun);
  if (begun.kind === 'duplicate') throw refusalOf(begun.earlier, call, viewer);

  const sentAt = now().toISOString();
  let key: string | undefined;
  const ifUnknown = adviceIfUnknown(call, verificationHint, sentAt);
  const conclusion = await client.send(call.request).then(
    (reply) => {
      key = reply.keyId;
      return conclude(call, reply, ifUnknown);
    },
    (error: unknown) => {
      log('error', 'unexpected', { tool: intent.tool, error: error instanceof Error ? error.name : 'not an error' });
      return broken(call, error, ifUnknown);
    },
  );
  const unwritten = (error: unknown) => {
    const { tool, id } = intent;
    log('error', 'journal', { tool, id, error: error instanceof Error ? error.message : 'unknown' });
    return [words('The outcome could not be written into the journal, which will call it unknown.')];
  };
  const written = journal
    .end({ id: intent.id, time: now().toISOString(), key, ...journalEnding(conclusion) })
    .then((): Shown[] => [], unwritten);
  const outcome = outcomeOf(conclusion, pending, consent, sentAt, log);
  return withNotes(outcome, await withinSeconds(written, notYetWritten));
}

/** The refusal of a call that was sent before. */
const refusalOf = (
  earlier: RecordedChange,
  { operation, change, input, endpoint: { region } }: PlannedCall,
  viewer: string | undefined,
) => repeated(earlierOf(earlier, viewer), operation.effect, change.verificationHint(input, region));

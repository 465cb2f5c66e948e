import { canBeShown, makePlan, type Plan, type PlanInput } from './plan.js';
import { noEarlierChange } from '../consent/plans.js';
import { questionText } from './question.js';
import { tooLargeToShow } from '../calls/refusal.js';
import { relatedPlans, relatedText, subjectOf, withOtherPlans } from './open-changes.js';
import type { RecordedChange } from '../journal/entry.js';
import { idempotencyKey } from '../journal/idempotency-key.js';
import { digestOf } from '../util/digest.js';
import { sentences } from '../util/human.js';
import { reasonOf } from '../util/log.js';
import { escapeInvisible } from '../util/quote.js';
import type { SafeText } from '../util/safe-text.js';
import { checkBudget } from '../calls/check-budget.js';
import type { CallContext, CallDependencies } from '../calls/context.js';
import { visibleCaller } from '../calls/policy.js';
import { type Earlier, earlierOf, repeated, repeatWarning } from './repeat.js';
import type { DraftedChange, IntentDraft, OtherPlan, PlannedChange, ResolvedChange } from '../calls/stages.js';

/** Makes the journal entry of a change, except for the fields that follow from the decision. */
const draftIntent = (
  { operation, change, input, request, shownRequest, endpoint, keyId, budget }: ResolvedChange,
  { client, principal }: CallContext,
  { newId, process }: CallDependencies,
): IntentDraft => ({
  id: newId(),
  tool: operation.name,
  what: escapeInvisible(`${change.headline(input, endpoint.region)}.`),
  target: `${request.method} ${endpoint.origin}${shownRequest.target}`,
  account: endpoint.account,
  key: keyId,
  client,
  caller: principal?.name,
  agent: principal?.agent,
  digest: idempotencyKey(endpoint, request),
  process,
  budget: budget.key,
});

/** Makes the plan of a change, and the question if the client can ask. */
export function draftChange(call: ResolvedChange, context: CallContext, dependencies: CallDependencies): DraftedChange {
  const plan = makePlan(call);
  const question = questionFor(plan, call, context, dependencies);
  return { call, draft: draftIntent(call, context, dependencies), plan, question };
}

/** The question about a plan, if the client can ask and the plan fits. A terminal has shown the whole plan, so the summary may be the question. */
function questionFor(
  plan: Plan,
  call: ResolvedChange,
  { elicitor }: CallContext,
  { questionLimits }: CallDependencies,
): SafeText | undefined {
  if (elicitor === undefined) return undefined;
  return questionText(plan, call, questionLimits) ?? (elicitor.isDirect ? plan.summary : undefined);
}

/**
 * Checks a change against the journal, and completes its plan.
 * @returns the change with two plans: `plan`, which is stored, is the draft with remarks from the journal, such as about a repetition. `shown` also
 *   has sentences about the caller's other plans, which are not stored, because they change by themselves
 * @param noncesToOmit nonces of waiting plans that `shown` does not mention, such as the plan that this plan replaces
 * @throws Refusal if the change is an unintended repetition, is beyond the budget, or is too large to be shown
 */
export async function planChange(
  drafted: DraftedChange,
  context: CallContext,
  dependencies: CallDependencies,
  noncesToOmit: readonly (string | undefined)[] = [],
): Promise<PlannedChange> {
  const { call, draft } = drafted;
  const { control, account } = call;

  // `duplicate` is an earlier change with the same request. `repeats` tells the journal later which earlier change may be repeated.
  const { duplicate, repeats, consentDigest } = await findRepetition(drafted, context, dependencies);
  const earlier = checkRepetition(duplicate, call, context);

  const budgetText = await checkBudget(call.budget, { tool: draft.tool, planOnly: control.planOnly }, dependencies);
  // Only the body of the request can be too large. The remarks below do not change the body.
  if (account.confirm !== 'off' && !canBeShown(drafted.plan)) throw tooLargeToShow(call);

  const plan = withRemarks(drafted.plan, earlier, budgetText);
  const others = await otherPlans(drafted, noncesToOmit, context, dependencies);
  const otherTexts = others.map(({ text }) => text);
  const shown = withOtherPlans(plan, otherTexts);
  // Without additions, `shown` is the drafted plan itself. A longer plan needs a new question, or is too long for a question (undefined).
  const isLonger = shown !== drafted.plan;
  const question = isLonger ? questionFor(shown, call, context, dependencies) : drafted.question;
  return { ...drafted, plan, others, shown, question, consentDigest, repeats };
}

/**
 * Returns the part of the earlier change with the same request that this caller may know.
 * @throws Refusal if the call would repeat that change without `allowRepeat`
 */
export function checkRepetition(
  duplicate: RecordedChange | undefined,
  call: ResolvedChange,
  { principal }: Pick<CallContext, 'principal'>,
): Earlier | undefined {
  if (duplicate === undefined) return undefined;
  const { allowRepeat, planOnly } = call.control;
  const earlier = earlierOf(duplicate, visibleCaller(principal));
  // With `planOnly`, nothing is sent, and the plan warns that it would be a repetition.
  if (!allowRepeat && !planOnly) throw repeated(earlier, call);
  return earlier;
}

/** Finds the caller's other waiting plans for the same thing. Returns none for a click, because the person has seen them with the plan. */
async function otherPlans(
  { call, draft }: DraftedChange,
  noncesToOmit: readonly (string | undefined)[],
  { tokens, click }: CallContext,
  { plans, now }: CallDependencies,
): Promise<readonly OtherPlan[]> {
  const { operation, account, endpoint, input, args } = call;
  const subject = subjectOf(operation, endpoint.account, input);
  // With `off`, nobody decides on plans.
  if (subject === undefined || click !== undefined || account.confirm === 'off') return [];

  // The answer only mentions the other plans. If they cannot be read, the call goes on without them.
  const listed = await plans.list(draft).catch(() => []);
  // `list` selects the plans by a short digest of the caller, so the caller itself is compared too.
  const waiting = listed.filter(({ caller, state }) => caller === draft.caller && state === 'waiting');
  // This plan is not stored yet, so it has no nonce of its own by which `relatedPlans` would leave it out.
  const others = relatedPlans(waiting, { subject }).filter(({ nonce }) => !noncesToOmit.includes(nonce));

  const time = now();
  const thisPlan = { args, issuedAt: time.getTime() };
  return others.map((other) => ({
    text: relatedText(other, thisPlan, operation, time),
    // A planId with the use `handle` names the plan and is no consent.
    planId: tokens.issue({ use: 'handle', digest: other.digest, nonce: other.nonce }),
  }));
}

/** The result of `findRepetition`. */
interface Repetition extends Pick<PlannedChange, 'repeats' | 'consentDigest'> {
  /** The earlier change with the same request. Undefined if there is none, or if the operation may repeat any change. */
  readonly duplicate: RecordedChange | undefined;
}

/** Finds the change that a call would repeat, and makes the digest of the consent that the call needs. */
export async function findRepetition(
  { call, draft, plan }: DraftedChange,
  { click }: CallContext,
  { journal, log }: Pick<CallDependencies, 'journal' | 'log'>,
): Promise<Repetition> {
  const lookUp = () =>
    journal.findDuplicate(draft.digest).catch((error: unknown) => {
      // Nothing is sent without another look: `journal.begin` refuses a repetition, and any change if the journal cannot be read.
      log('warn', 'journal', { tool: draft.tool, error: reasonOf(error) });
      return undefined;
    });
  const duplicate = call.operation.repeatable === true ? undefined : await lookUp();
  const repeats = allowedRepetition(call, duplicate);
  // While a plan waits on the page, the change that it repeats may become too old to be found. The repetition that the page showed then counts,
  // because the person agreed to it.
  const shownRepetition = repeats === noEarlierChange ? click?.page?.repeats : undefined;
  return { duplicate, repeats, consentDigest: digestForConsent(call, plan, shownRepetition ?? repeats) };
}

/** Which earlier change a call may repeat: see `KeptPlan.repeats`. */
function allowedRepetition(
  { operation, control }: ResolvedChange,
  duplicate: RecordedChange | undefined,
): PlannedChange['repeats'] {
  if (operation.repeatable === true) return true;
  if (!control.allowRepeat) return false;
  return duplicate?.id ?? noEarlierChange;
}

/** Adds the alert of the preceding read and the journal's remarks to a plan. Returns the plan itself if there are none. */
function withRemarks(plan: Plan, earlier: Earlier | undefined, budgetText: SafeText | undefined): Plan {
  const { alert = false, consequences, warnings } = plan;
  if (earlier === undefined && budgetText === undefined && alert === false) return plan;
  return {
    ...plan,
    consequences: sentences(...consequences, budgetText ?? false),
    warnings: sentences(alert, earlier !== undefined && repeatWarning(earlier), ...warnings),
  };
}

/** The number of hexadecimal digits of a digest: 128 bits, so that models can copy the tokens that contain a digest. */
const digestDigits = 32;

/**
 * Makes the digest that binds consent to the tool, the arguments, the endpoint, the account and the source of its keys, the encoded
 * request, the plan, and the repeated change. Consent stays valid if the current access key, the answer of the preceding read, or the
 * journal's remarks change, because these change by themselves.
 * @param repeats the earlier change that may be repeated: see `KeptPlan.repeats`
 */
export function digestForConsent(call: PlanInput, plan: Plan, repeats: string | boolean): string {
  const { operation, input, endpoint, request, regionSource } = call;
  const { origin, pathPrefix, region, service, account, keys } = endpoint;
  const target = [origin, pathPrefix, region, service, account, keys.id];
  // `found`, `alert`, `where` and the values of `headers` are left out, because the present state and the access key may change by themselves.
  // `also` and `tables` only repeat the arguments, which `input` binds in any order.
  const { found: _, alert: __, where: ___, also: ____, tables: _____, headers, ...shown } = plan;
  const bound = [operation.name, input, target, request, regionSource, Object.keys(headers), shown, repeats];
  return digestOf(bound).slice(0, digestDigits);
}

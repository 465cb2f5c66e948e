import type { Plan } from '../calls/outcome.js';
import { visibleCaller } from '../calls/policy.js';
import { Refusal, tooLargeToShow } from '../calls/refusal.js';
import { secretsIn } from '../calls/resolve-call.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { sentences } from '../util/human.js';
import { reasonOf } from '../util/log.js';
import { type SafeText, words } from '../util/safe-text.js';
import { type Change, noEarlierChange, type Subject } from './change.js';
import type { ChangeRun } from './change-context.js';
import { checkBudget } from './check-budget.js';
import { isOfAnother, ofCaller } from './may-see.js';
import { otherChangeText, subjectOf } from './open-changes.js';
import { canBeShown, makePlan } from './plan.js';
import { questionText, shortQuestion } from './question.js';
import { type Earlier, earlierOf, repeated, repeatWarning } from './repeat.js';
import { requestDigest, requestKey } from './request-key.js';
import { nameToType } from './typed-name.js';

/** A change with its plan, checked against the store. */
export interface PlannedChange {
  readonly call: ResolvedChange;
  /** The plan as it is stored and shown, with remarks about a repetition, the budget and other open changes. */
  readonly plan: Plan;
  /** The plan as a question. Undefined if the client cannot ask, or if one screen cannot hold the plan. */
  readonly question: SafeText | undefined;
  /** What a person types to agree, for a deletion. */
  readonly typedName: string | undefined;
  readonly subject: Subject | undefined;
  /** The caller's waiting changes of the same thing, which this one may replace. */
  readonly replaceable: readonly Change[];
  readonly requestKey: string;
  readonly requestDigest: string;
  /** See `NewChange`. */
  readonly repeats: string | boolean;
  /** ID of the unknown change whose idempotency token is sent again. Undefined for a token of the change's own. */
  readonly tokenSource: string | undefined;
}

/**
 * Makes the plan of a change, and compares it with the store. Nothing is written.
 * @param replaced the waiting change that this one replaces, which the plan does not mention
 * @returns a refusal if the change is an unintended repetition, is beyond the budget, or is too large to be shown
 */
export async function planChange(
  call: ResolvedChange,
  replaced: Change | undefined,
  run: ChangeRun,
): Promise<PlannedChange | Refusal> {
  const { operation, control, account, budget } = call;
  const key = requestKey(call);
  const duplicate = await findDuplicate(call, key, run);
  const earlier = duplicate && earlierOf(duplicate, visibleCaller(run.principal));
  // With `planOnly`, nothing is sent, and the plan warns that it would be a repetition.
  if (earlier !== undefined && !control.allowRepeat && !control.planOnly) return repeated(earlier, call);

  const budgetText = await checkBudget(budget, { tool: operation.name, planOnly: control.planOnly }, run);
  if (budgetText !== undefined && 'code' in budgetText) return budgetText;
  const typedName = nameToType(call);
  if (typedName instanceof Refusal) return typedName;
  const madePlan = makePlan(call);
  if (account.confirm !== 'off' && !canBeShown(madePlan)) return tooLargeToShow(call);

  const settles = settlesEarlier(call, duplicate, run);
  const subject = subjectOf(operation, call.endpoint.account, call.input);
  const of = { ...ofCaller(run), subject: subject?.digest, tool: operation.name };
  // The plan names the duplicate as a repetition.
  const named = [replaced?.id, duplicate?.id];
  const open = account.confirm === 'off' ? [] : await openChanges(of, named, run);
  const plan = withRemarks(madePlan, {
    others: open.map((other) => otherChangeText(other, { args: call.args, subject }, operation, run.now())),
    budget: budgetText,
    earlier,
    settles,
  });
  return {
    call,
    plan,
    question: questionFor(plan, call, run),
    typedName,
    subject,
    replaceable: open.filter((other) => other.state === 'waiting' && other.subject?.digest === subject?.digest),
    requestKey: key,
    requestDigest: requestDigest(call, secretsIn(call), run.keys()[0]),
    repeats: allowedRepetition(call, duplicate),
    tokenSource: settles ? duplicate?.tokenSource : undefined,
  };
}

/** Finds the change that a call would repeat. */
async function findDuplicate(
  { operation }: ResolvedChange,
  key: string,
  { store, log }: ChangeRun,
): Promise<Change | undefined> {
  if (operation.repeatable === true) return undefined;
  return store.duplicateOf(key).catch((error: unknown) => {
    // Nothing is sent without another look: `begin` refuses a repetition, and any change if the store cannot be read.
    log('warn', 'journal', { tool: operation.name, error: reasonOf(error) });
    return undefined;
  });
}

/** Which earlier change a call may repeat: see `NewChange.repeats`. */
function allowedRepetition({ operation, control }: ResolvedChange, duplicate: Change | undefined): string | boolean {
  if (operation.repeatable === true) return true;
  if (!control.allowRepeat) return false;
  return duplicate?.id ?? noEarlierChange;
}

/** True if the same idempotency token settles a caller's own unknown change, because the cloud carries out one change for each token. */
const settlesEarlier = (
  { operation, control }: ResolvedChange,
  duplicate: Change | undefined,
  { principal }: ChangeRun,
): boolean =>
  operation.takesToken === true &&
  control.allowRepeat &&
  duplicate?.state === 'unknown' &&
  !isOfAnother(duplicate, principal?.name);

/** The most other changes that a plan mentions, the newest first. */
const mostOpen = 3;

/** Finds the caller's other changes that matter to a new plan. They are only mentioned, so the call goes on if they cannot be read. */
async function openChanges(
  of: Parameters<ChangeRun['store']['open']>[0],
  except: readonly (string | undefined)[],
  { store }: ChangeRun,
): Promise<readonly Change[]> {
  const found = await store.open(of).catch(() => []);
  return found.filter(({ id }) => !except.includes(id)).slice(0, mostOpen);
}

/** The question about a plan, if the client can ask and the plan fits. A terminal shows the whole plan above the question. */
function questionFor(
  plan: Plan,
  call: ResolvedChange,
  { elicitor, questionLimits, now }: ChangeRun,
): SafeText | undefined {
  if (elicitor === undefined) return undefined;
  const text = elicitor.isDirect ? shortQuestion : questionText;
  return text(plan, call, questionLimits, now());
}

interface Remarks {
  /** Sentences about other open changes of the caller. */
  readonly others: readonly SafeText[];
  readonly budget: SafeText | undefined;
  readonly earlier: Earlier | undefined;
  /** True if the earlier change's token is sent again. */
  readonly settles: boolean;
}

/** Adds the alert of the preflight read and the remarks of the store to a plan. */
function withRemarks(plan: Plan, { others, budget, earlier, settles }: Remarks): Plan {
  return {
    ...plan,
    ...(others.length > 0 && { others }),
    consequences: sentences(...plan.consequences, budget ?? false),
    warnings: sentences(
      plan.alert ?? false,
      earlier !== undefined && repeatWarning(earlier),
      settles && sameToken,
      ...plan.warnings,
    ),
  };
}

const sameToken = words(
  'It is sent with the idempotency token of the first try. So it settles the first try, and the cloud carries out only one of the two, as long as it remembers the token.',
);

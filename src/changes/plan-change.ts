import type { Plan } from '../calls/outcome.js';
import { visibleCaller } from '../calls/policy.js';
import { Refusal, tooLargeToShow } from '../calls/refusal.js';
import { secretsIn } from '../calls/resolve-call.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { sentences } from '../util/human.js';
import { reasonOf } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import { type SafeText, words } from '../util/safe-text.js';
import { type Change, type NewChange, noEarlierChange, type Subject } from './change.js';
import type { ChangeRun } from './change-context.js';
import { checkBudget } from './check-budget.js';
import { isOfAnother, ofCaller } from './may-see.js';
import { otherChangeText, subjectOf } from './open-changes.js';
import { acceptOf, canBeShown, makePlan } from './plan.js';
import { questionText, shortQuestion } from './question.js';
import { repeated, repeatWarning } from './repeat.js';
import { requestDigest, requestKey } from './request-key.js';
import { nameToType } from './typed-name.js';

/** A change with its plan, checked against the store. */
export interface PlannedChange {
  readonly call: ResolvedChange;
  /** The row without the ways to decide. Its plan has remarks about a repetition, the budget and other open changes. */
  readonly row: Omit<NewChange, 'options' | 'proof' | 'question'>;
  /** True if the call gives a secret itself, so that its arguments are not stored. */
  readonly holdsSecret: boolean;
  /** The plan as a question. Undefined if the client cannot ask, or if one screen cannot hold the plan. */
  readonly question: SafeText | undefined;
  /** The waiting change that this one replaces. */
  readonly replaced: Change | undefined;
  /** The caller's other waiting changes of the same thing, which this one may replace. */
  readonly replaceable: readonly Change[];
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
  const { operation, input, endpoint, control, account, budget } = call;
  const { principal, client } = run;
  const key = requestKey(call);
  const duplicate = await findDuplicate(call, key, run);
  const viewer = visibleCaller(principal);
  // With `planOnly`, nothing is sent, and the plan warns that it would be a repetition.
  if (duplicate !== undefined && !control.allowRepeat && !control.planOnly) return repeated(duplicate, viewer, call);

  const budgetText = await checkBudget(call, run);
  if (budgetText instanceof Refusal) return budgetText;
  const typedName = nameToType(call);
  if (typedName instanceof Refusal) return typedName;
  const madePlan = makePlan(call);
  if (account.confirm !== 'off' && !canBeShown(madePlan)) return tooLargeToShow(call);

  const settled = settledBy(call, duplicate, run);
  const subject = subjectOf(operation, endpoint.account, input, run.keys()[0]);
  // The plan names the duplicate as a repetition.
  const open = account.confirm === 'off' ? [] : await openChanges(call, subject, [replaced?.id, duplicate?.id], run);
  const others = open.map((other) => otherChangeText(other, { args: call.args, subject }, operation, run.now()));
  const plan: Plan = {
    ...madePlan,
    ...(others.length > 0 && { others }),
    consequences: sentences(...madePlan.consequences, budgetText ?? false),
    warnings: sentences(
      madePlan.alert ?? false,
      duplicate !== undefined && repeatWarning(duplicate, viewer),
      settled !== undefined && sameToken,
      ...madePlan.warnings,
    ),
  };
  const id = run.newId();
  const holdsSecret = givesSecret(call);
  return {
    call,
    row: {
      id,
      caller: principal?.name,
      personId: principal?.personId,
      scopes: principal?.scopes,
      agent: principal?.agent,
      client,
      account: endpoint.account,
      keyId: call.keyId,
      tool: operation.name,
      args: holdsSecret ? {} : call.args,
      requestKey: key,
      requestDigest: requestDigest(call, secretsIn(call), run.keys()[0]),
      repeats: allowedRepetition(call, duplicate),
      tokenSource: settled?.tokenSource ?? id,
      budget: budget.key,
      subject,
      mode: account.confirm,
      ...journalFacts(call, plan),
      plan,
      accept: acceptOf(call),
      typedName,
    },
    holdsSecret,
    question: questionFor(plan, call, run),
    replaced,
    replaceable: open.filter((other) => other.state === 'waiting' && other.subject?.digest === subject?.digest),
  };
}

/** What the journal shows of a change. If its values are private, that is only the operation and the host. */
function journalFacts(
  { operation, change, input, endpoint }: ResolvedChange,
  { method, url }: Plan,
): Pick<NewChange, 'isPrivate' | 'what' | 'target'> {
  if (operation.isPrivate?.(input) === true)
    return {
      isPrivate: true,
      what: `${operation.title} (its values are private).`,
      target: `${method} ${endpoint.origin}`,
    };
  return { what: escapeInvisible(`${change.headline(input, endpoint.region)}.`), target: `${method} ${url}` };
}

/** True if a call gives a secret itself and not the name of a secret file. */
const givesSecret = ({ operation, input, nameBySecretPath = {} }: ResolvedChange): boolean =>
  (operation.secrets ?? []).some((path) => textAt(input, path) !== undefined && nameBySecretPath[path] === undefined);

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
const allowedRepetition = ({ operation, control }: ResolvedChange, duplicate: Change | undefined): string | boolean =>
  operation.repeatable === true || (control.allowRepeat && (duplicate?.id ?? noEarlierChange));

/** The caller's own unknown change that the same idempotency token settles, because the cloud carries out one change for each token. */
function settledBy(
  { operation, control }: ResolvedChange,
  duplicate: Change | undefined,
  { principal }: ChangeRun,
): Change | undefined {
  const takesSameToken = operation.takesToken === true && control.allowRepeat && duplicate?.state === 'unknown';
  return takesSameToken && !isOfAnother(duplicate, principal?.name) ? duplicate : undefined;
}

/** The most other changes that a plan mentions, the newest first. */
const mostOpen = 3;

/** Finds the caller's other changes that matter to a new plan. They are only mentioned, so the call goes on if they cannot be read. */
async function openChanges(
  { operation }: ResolvedChange,
  subject: Subject | undefined,
  except: readonly (string | undefined)[],
  run: ChangeRun,
): Promise<readonly Change[]> {
  const of = { ...ofCaller(run), subject: subject?.digest, tool: operation.name };
  const found = await run.store.open(of).catch(() => []);
  return found.filter(({ id }) => !except.includes(id)).slice(0, mostOpen);
}

/** The question about a plan, if the client can ask and the plan fits. A terminal shows the whole plan above the question. */
function questionFor(plan: Plan, call: ResolvedChange, { elicitor, questionLimits, now }: ChangeRun) {
  if (elicitor === undefined) return undefined;
  const text = elicitor.isDirect ? shortQuestion : questionText;
  return text(plan, call, questionLimits, now());
}

const sameToken = words(
  'It is sent with the idempotency token of the first try. So it settles the first try, and the cloud carries out only one of the two, as long as it remembers the token.',
);

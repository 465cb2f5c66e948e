import type { Plan } from '../calls/outcome.js';
import { visibleCaller } from '../calls/policy.js';
import { Refusal, tooLargeToShow } from '../calls/refusal.js';
import { secretsIn } from '../calls/resolve-call.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { digestOf } from '../util/digest.js';
import { sentences } from '../util/human.js';
import { reasonOf } from '../util/log.js';
import { textsAt } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import { type SafeText, words } from '../util/safe-text.js';
import type { Change, NewChange, Subject } from './change.js';
import { type ChangeRun, ofCaller } from './change-context.js';
import { checkBudget, isOfAnother, otherChangeText, repeated, repeatWarning, subjectOf } from './other-changes.js';
import { acceptOf, canBeShown, makePlan, questionText, shortQuestion } from './plan.js';
import { requestDigest, requestKey } from './stored-call.js';
import { nameToType } from './typed-name.js';

/** A change with its plan, checked against the store. */
export interface PlannedChange {
  readonly call: ResolvedChange;
  readonly row: Omit<NewChange, 'options' | 'proof' | 'question'>;
  /** The arguments are then not stored. */
  readonly holdsSecret: boolean;
  /** Undefined if the client cannot ask, or if the plan is too long. */
  readonly question: SafeText | undefined;
  readonly replaced: Change | undefined;
  readonly replaceable: readonly Change[];
}

/** Makes the plan of a change, and compares it with the store. Nothing is written. */
export async function planChange(
  call: ResolvedChange,
  replaced: Change | undefined,
  run: ChangeRun,
): Promise<PlannedChange | Refusal> {
  const { operation, control, account } = call;
  const { principal } = run;
  const key = requestKey(call);
  const duplicate = await findDuplicate(call, key, run);
  const viewer = visibleCaller(principal);
  // Nothing is sent, and the plan warns of the repetition.
  if (duplicate !== undefined && !control.allowRepeat && !control.planOnly) return repeated(duplicate, viewer, call);

  const budgetText = await checkBudget(call, run);
  if (budgetText instanceof Refusal) return budgetText;
  const typedName = nameToType(call);
  if (typedName instanceof Refusal) return typedName;
  const madePlan = makePlan(call);
  if (account.confirm !== 'off' && !canBeShown(madePlan)) return tooLargeToShow(call);

  const settled = settledBy(call, duplicate, principal?.name);
  const subject = subjectOf(call);
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
      ...(call.foundWarnings ?? []),
      ...madePlan.warnings,
    ),
  };
  const id = run.newId();
  const holdsSecret = givesSecret(call);
  const repeats = allowedRepetition(call, duplicate);
  // The plan shows how other changes differ.
  const namesPrivate = open.some((other) => other.isPrivate === true);
  const row = rowOf(call, plan, { id, repeats, ...callerOf(run) }, { namesPrivate, run });
  return {
    call,
    row: { ...row, tokenSource: settled?.tokenSource ?? id, typedName, ...(holdsSecret && { args: {} }) },
    holdsSecret,
    question: questionFor(plan, call, run),
    replaced,
    replaceable: open.filter((other) => other.state === 'waiting' && other.subject?.digest === subject?.digest),
  };
}

const callerOf = ({ principal, client }: ChangeRun) => ({
  caller: principal?.name,
  personId: principal?.personId,
  scopes: principal?.scopes,
  agent: principal?.agent,
  client,
});

type Given = Pick<NewChange, 'id' | 'caller' | 'personId' | 'scopes' | 'agent' | 'client' | 'repeats'>;

/** Makes the row of a change, or of a part of one. */
export function rowOf(
  call: ResolvedChange,
  plan: Plan,
  given: Given,
  { namesPrivate, run: { keys } }: { readonly namesPrivate: boolean; readonly run: Pick<ChangeRun, 'keys'> },
): PlannedChange['row'] {
  const { operation, endpoint, account, keyId, args, budget, list } = call;
  return {
    ...given,
    tokenSource: given.id,
    ...{ account: endpoint.account, keyId, tool: operation.name, args, list, mode: account.confirm, plan },
    requestKey: requestKey(call),
    requestDigest: requestDigest(call, secretsIn(call), keys()[0]),
    subject: subjectOf(call),
    // The parts count in the budget, and not the whole.
    budget: call.parts === undefined ? budget.key : digestOf([budget.key]),
    ...journalFacts(call, plan, namesPrivate),
    accept: acceptOf(call),
  };
}

function journalFacts(
  { operation, change, input, endpoint }: ResolvedChange,
  { method, url }: Pick<Plan, 'method' | 'url'>,
  namesPrivate: boolean,
): Pick<NewChange, 'isPrivate' | 'what' | 'target'> {
  const what = `${operation.title} (its values are private).`;
  if (namesPrivate || operation.isPrivate?.(input) === true)
    return { isPrivate: true, what, target: `${method} ${endpoint.origin}` };
  return { what: escapeInvisible(`${change.headline(input, endpoint.region)}.`), target: `${method} ${url}` };
}

const givesSecret = ({ operation, input, nameBySecretPath = {} }: ResolvedChange): boolean =>
  (operation.secrets ?? []).some((path) => textsAt(input, path).length > 0 && nameBySecretPath[path] === undefined);

const allowedRepetition = ({ operation, control }: ResolvedChange, duplicate: Change | undefined): string | boolean =>
  operation.repeatable === true || (control.allowRepeat && (duplicate?.id ?? false));

/** The unknown change that the same idempotency token settles, because the cloud carries out one change for each token. */
const settledBy = (
  { operation, control }: ResolvedChange,
  duplicate: Change | undefined,
  caller: string | undefined,
) =>
  operation.takesToken === true &&
  control.allowRepeat &&
  duplicate?.state === 'unknown' &&
  !isOfAnother(duplicate, caller)
    ? duplicate
    : undefined;

async function findDuplicate({ operation }: ResolvedChange, key: string, { store, log }: ChangeRun) {
  if (operation.repeatable === true) return undefined;
  return store.duplicateOf(key).catch((error: unknown) => {
    // `begin` looks again, and refuses any change if it cannot read the store.
    log('warn', 'journal', { tool: operation.name, error: reasonOf(error) });
    return undefined;
  });
}

const mostOpen = 3;

/** These are only mentioned, so the call goes on without them. */
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

/** A terminal shows the whole plan. */
const questionFor = (plan: Plan, call: ResolvedChange, { elicitor, questionLimits, now }: ChangeRun) =>
  elicitor && (elicitor.isDirect ? shortQuestion : questionText)(plan, call, questionLimits, now());

const sameToken = words(
  'It is sent with the idempotency token of the first try. So it settles the first try, and the cloud carries out only one of the two, as long as it remembers the token.',
);

import type { Budget } from '../calls/account.js';
import type { EarlierCall, Plan } from '../calls/outcome.js';
import { visibleCaller } from '../calls/policy.js';
import { Refusal, tooLargeToShow } from '../calls/refusal.js';
import { secretsIn } from '../calls/resolve-call.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import type { Effect, Operation } from '../tools/define-operation.js';
import { callAgain, type Next, next } from '../tools/next.js';
import { digestOf } from '../util/digest.js';
import { fieldInWords, fieldUnit } from '../util/field-names.js';
import { sentences } from '../util/human.js';
import { reasonOf } from '../util/log.js';
import { leavesOf, textsAt, valueAt } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import {
  counted,
  defined,
  duration,
  forReader,
  join,
  quoted,
  type SafeText,
  say,
  shownValue,
  time,
  words,
} from '../util/safe-text.js';
import type { BudgetState, Change, NewChange, State, Subject } from './change.js';
import { afterStoreFailure, type ChangeRun, ofCaller } from './change-run.js';
import { type FollowedCall, stepToVerify } from './conclude-change.js';
import { acceptOf, canBeShown, makePlan, pastedSecrets, questionText, shortQuestion } from './plan.js';
import { requestDigest, requestKey } from './stored-call.js';
import { nameToType, thingToType } from './typed-name.js';

/** This file plans a change, and tells of the budget and of other changes where they matter to a plan. */

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

/** Compares the plan of a change with the store. Nothing is written. */
export async function planChange(
  call: ResolvedChange,
  replaced: Change | undefined,
  run: ChangeRun,
): Promise<PlannedChange | Refusal> {
  const { operation, control, account } = call;
  const {
    principal,
    client: { name: client },
    now,
  } = run;
  const duplicate = await findDuplicate(call, run);
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
  const others = open.map((other) => otherChangeText(other, { args: call.args, subject }, operation, now()));
  const plan: Plan = {
    ...madePlan,
    ...(others.length > 0 && { others }),
    consequences: sentences(...madePlan.consequences, budgetText ?? false),
    warnings: sentences(
      madePlan.alert ?? false,
      duplicate !== undefined && repeatWarning(duplicate, viewer),
      settled !== undefined &&
        say`It is sent with the idempotency token of the first try. So it settles the first try, and the cloud carries out only one of the two, as long as it remembers the token.`,
      ...(call.foundWarnings ?? []),
      ...madePlan.warnings,
    ),
  };
  const id = run.newId();
  const holdsSecret = pastedSecrets(call).length > 0;
  // The plan shows how other changes differ.
  const namesPrivate = open.some((other) => other.isPrivate === true);
  const by = { caller: principal?.name, personId: principal?.personId, scopes: principal?.scopes };
  const given = { ...by, id, repeats: allowedRepetition(call, duplicate), agent: principal?.agent, client };
  const row = rowOf(call, plan, given, { namesPrivate, run });
  return {
    call,
    row: { ...row, tokenSource: settled?.tokenSource ?? id, typedName, ...(holdsSecret && { args: {} }) },
    holdsSecret,
    question: questionFor(plan, call, run),
    replaced,
    replaceable: open.filter((other) => other.state === 'waiting' && other.subject?.digest === subject?.digest),
  };
}

export function rowOf(
  call: ResolvedChange,
  plan: Plan,
  given: Pick<NewChange, 'id' | 'caller' | 'personId' | 'scopes' | 'agent' | 'client' | 'repeats'>,
  { namesPrivate, run: { keys } }: { readonly namesPrivate: boolean; readonly run: ChangeRun },
): PlannedChange['row'] {
  const { operation, change, endpoint, account, keyId, args, input, budget, list } = call;
  const isPrivate = namesPrivate || operation.isPrivate?.(input) === true;
  return {
    ...given,
    tokenSource: given.id,
    account: endpoint.account,
    keyId,
    tool: operation.name,
    args,
    list,
    mode: account.confirm,
    plan,
    requestKey: requestKey(call),
    requestDigest: requestDigest(call, secretsIn(call), keys()[0]),
    subject: subjectOf(call),
    // The parts count in the budget, and not the whole.
    budget: call.parts === undefined ? budget.key : digestOf([budget.key]),
    ...(isPrivate
      ? {
          isPrivate,
          what: `${operation.title} (its values are private).`,
          target: `${plan.method} ${endpoint.origin}`,
        }
      : {
          what: escapeInvisible(`${change.headline(input, endpoint.region)}.`),
          target: `${plan.method} ${plan.url}`,
        }),
    accept: acceptOf(call),
  };
}

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

async function findDuplicate(call: ResolvedChange, { store, log }: ChangeRun): Promise<Change | undefined> {
  const { name: tool, repeatable } = call.operation;
  if (repeatable === true) return undefined;
  return store.duplicateOf(requestKey(call)).catch((error: unknown) => {
    // `begin` looks again, and refuses any change if it cannot read the store.
    log('warn', 'journal', { tool, error: reasonOf(error) });
    return undefined;
  });
}

/** These are only mentioned, so the call goes on without them. */
async function openChanges(
  { operation }: ResolvedChange,
  subject: Subject | undefined,
  except: readonly (string | undefined)[],
  run: ChangeRun,
): Promise<readonly Change[]> {
  const of = { ...ofCaller(run), subject: subject?.digest, tool: operation.name };
  const found = await run.store.open(of).catch(() => []);
  return found.filter(({ id }) => !except.includes(id)).slice(0, 3);
}

const allowedRepetition = ({ operation, control }: ResolvedChange, duplicate: Change | undefined): string | boolean =>
  operation.repeatable === true || (control.allowRepeat && (duplicate?.id ?? false));

/** A terminal shows the whole plan. */
const questionFor = (plan: Plan, call: ResolvedChange, { client, questionLimits, now }: ChangeRun) =>
  client.elicitor && (client.elicitor.isDirect ? shortQuestion : questionText)(plan, call, questionLimits, now());

/** The facts that `viewer` may know about an earlier change. Undefined for a change of another caller. */
function factsOf(change: Change, viewer: string | undefined): EarlierCall | undefined {
  if (isOfAnother(change, viewer)) return undefined;
  const { state, begunAt, madeAt, ending } = change;
  const endedOutcome = state === 'unknown' ? state : 'accepted';
  const outcome = state === 'begun' ? 'not ended' : endedOutcome;
  const sentAt = new Date(begunAt ?? madeAt).toISOString();
  return { outcome, sentAt, requestIds: ending?.requestIds ?? {} };
}

const clauses = {
  accepted: words('the same call was accepted before'),
  unknown: words('the same call was sent before, and its outcome is unknown'),
  'not ended': words('the same call was sent before and has not ended'),
} as const;

const clauseOf = (earlier: EarlierCall | undefined): SafeText =>
  earlier === undefined ? words('another caller sent the same change before') : clauses[earlier.outcome];

function repeatWarning(change: Change, viewer: string | undefined): SafeText {
  const earlier = factsOf(change, viewer);
  const sent = earlier === undefined ? words('') : say` It was sent ${time(earlier.sentAt)}.`;
  return say`This is a repeat: ${clauseOf(earlier)}.${sent}`;
}

/** Ends of a sentence: `only if they ask for`. */
const repetitions = {
  read: 'another call',
  create: 'a second one',
  alter: 'the same change once more',
  delete: 'the same deletion once more',
} as const satisfies Readonly<Record<Effect, string>>;

export function repeated(change: Change, viewer: string | undefined, call: FollowedCall): Refusal {
  const earlier = factsOf(change, viewer);
  return new Refusal('Repeated', [], {
    reason: clauseOf(earlier),
    // A caller must not learn the outcome of another caller's change.
    next: stepAfterRepetition(earlier?.outcome ?? 'unknown', call),
    ...(earlier !== undefined && { earlier }),
  });
}

function stepAfterRepetition(outcome: EarlierCall['outcome'], call: FollowedCall): Next {
  // A rejected or declined change never counts as the earlier change.
  switch (outcome) {
    case 'not ended':
      return next('agent', 'wait', 'Wait for the answer of the earlier call before you do anything else.');
    case 'accepted': {
      const { effect } = call.operation;
      const isBilled = effect === 'create' && call.change.costsMoney === true;
      const repetition = say`${words(repetitions[effect])}${words(isBilled ? ', billed separately' : '')}`;
      const agent = say`Tell the user when it was accepted, and the request IDs. Call again with allowRepeat: true only if, having heard that, they ask for ${repetition}.`;
      const person = say`Try again with allowRepeat: true only for ${repetition}.`;
      return next('user', 'decide', forReader({ agent, person }));
    }
    case 'unknown': {
      // The cloud may list a new thing only minutes after the earlier call.
      const { who, action, text } = stepToVerify(call, {
        beforeLook: words('When ten minutes have passed since then,'),
        howToRepeat: say`${callAgain} with allowRepeat: true`,
      });
      return next(who, action, say`Nobody knows whether the earlier call was carried out. ${text}`);
    }
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the thing that a change is about; undefined if the operation does not say which arguments identify it. */
function subjectOf(call: ResolvedChange): Subject | undefined {
  const { operation, change, endpoint, input, parts } = call;
  if (parts !== undefined)
    return {
      name: thingToType(call),
      digest: digestOf([operation.name, parts.map((part) => subjectOf(part)?.digest)]),
    };
  const values = (change.identifies ?? []).map((path) =>
    path.includes('[]') ? textsAt(input, path) : valueAt(input, path),
  );
  // The last identifying argument is the name of the thing, or the list of names.
  const [name, ...others] = [values.at(-1)].flat();
  if (typeof name !== 'string') return undefined;
  return {
    name: others.length === 0 ? name : thingToType(call),
    digest: digestOf([operation.name, endpoint.account, values]),
  };
}

const deeds: Readonly<Record<State, SafeText>> = {
  waiting: words('waits'),
  approved: words('was approved'),
  begun: words('is being sent'),
  accepted: words('was accepted'),
  partly: words('was accepted in part'),
  rejected: words('was rejected'),
  'not sent': words('was not sent'),
  unknown: words('ended unknown'),
  declined: words('was declined'),
  withdrawn: words('was withdrawn'),
};

const beginnings: Readonly<Partial<Record<State, SafeText>>> = { waiting: words('made '), begun: words('approved ') };

/** Describes another change beside a plan: `Another plan for "wiki" waits (disk size 100 GB), made 2 min ago.` */
export function otherChangeText(
  other: Pick<Change, 'tool' | 'args' | 'subject' | 'state' | 'madeAt' | 'decidedAt' | 'endedAt'>,
  plan: { readonly args: Fields; readonly subject?: Subject | undefined },
  operation: Pick<Operation, 'input'> | undefined,
  now: Date,
): SafeText {
  const { args, subject, state, madeAt, decidedAt, endedAt } = other;
  const at = state === 'waiting' ? madeAt : (endedAt ?? decidedAt ?? madeAt);
  const beginning = beginnings[state];
  const when = say`${beginning ?? words('')}${duration(Math.max(0, (now.getTime() - at) / 1000))} ago`;
  const deed = deeds[state];
  if (subject !== undefined && subject.digest === plan.subject?.digest)
    return say`Another plan for ${nameOf(subject)} ${deed} (${differencesOf(args, plan.args, operation)}), ${when}.`;

  const which = subject === undefined ? words('') : say` for ${nameOf(subject)}`;
  const own = plan.subject === undefined ? words('') : say`, ${nameOf(plan.subject)}`;
  const since = beginning === undefined ? say` ${when}` : say`, ${when}`;
  return say`The same operation${which} ${deed}${since}; this would be another one${own}.`;
}

const nameOf = ({ name }: Subject) => quoted(name, 100);

function differencesOf(other: Fields, args: Fields, operation: Pick<Operation, 'input'> | undefined): SafeText {
  const values = new Map(leavesOf(args));
  const otherValues = [...leavesOf(other)];
  const differing = otherValues.filter(([path, value]) => values.get(path) !== value);
  if (differing.length === 0)
    return words(otherValues.length === values.size ? 'the same change' : 'with fewer arguments');
  const schema = operation?.input();
  const texts = differing.slice(0, 5).map(([path, value]) => {
    const name = (schema && fieldInWords(schema, path)) ?? path;
    const unit = schema && fieldUnit(schema, path);
    return say`${defined(name)} ${shownValue(value, 40)}${defined(unit === undefined ? '' : ` ${unit}`)}`;
  });
  return join(texts, ', ');
}

/** Returns the plan's sentence about the budget, or a refusal if no change is left. `planOnly` is never refused. */
async function checkBudget(
  { budget: { key, limit }, operation, control: { planOnly }, parts }: ResolvedChange,
  run: ChangeRun,
): Promise<SafeText | Refusal | undefined> {
  if (limit === undefined) return undefined;
  const unreadable = afterStoreFailure(run, () => undefined, { tool: operation.name });
  const state = await run.store.budgetState(key, limit).catch(unreadable);
  if (state === undefined && planOnly) return undefined;
  if (state === undefined) return new Refusal('JournalUnavailable', [say`the changes in it cannot be counted`]);

  const count = parts?.length ?? 1;
  if (state.left >= count)
    return say`It takes ${counted(count, 'change')} of the ${state.left} that are left within ${spanOf(limit)}.`;
  const refusal =
    state.left > 0
      ? new Refusal('BudgetSpent', [
          say`these are ${counted(count, 'change')}, and ${state.left} are left within ${spanOf(limit)}`,
        ])
      : budgetSpent(limit, state.nextAt);
  // With `planOnly`, the plan is shown even if the budget is spent.
  return planOnly ? say`It cannot be sent: ${join(refusal.problems, '; ')}.` : refusal;
}

/** The refusal of a change beyond its budget. Without `nextAt`, no change is ever possible. */
export function budgetSpent(limit: Budget, nextAt: BudgetState['nextAt']): Refusal {
  if (nextAt === undefined)
    return new Refusal('BudgetSpent', [say`CLOUDOPS_MAX_CHANGES is 0, so that only plans are shown`], {
      next: next(
        'operator',
        'configure',
        forReader({
          agent:
            'Call with planOnly: true to show the user the plan. Only the person who runs this server can change the setting.',
          person: 'Only the person who runs this server can change the setting.',
          operator: 'Call with --plan to see the plan.',
        }),
      ),
    });
  const possibleAt = new Date(nextAt).toISOString();
  return new Refusal('BudgetSpent', [
    say`CLOUDOPS_MAX_CHANGES allows ${counted(limit.mostChanges, 'change')} within ${spanOf(limit)}; the next is possible at ${time(possibleAt)}`,
  ]);
}

function spanOf({ windowMs }: Budget): SafeText {
  const minutes = windowMs / 60_000;
  return minutes % 60 === 0 ? counted(minutes / 60, 'hour') : counted(minutes, 'minute');
}

const isOfAnother = ({ caller }: Pick<Change, 'caller'>, viewer: string | undefined): boolean =>
  viewer !== undefined && caller !== viewer;

import type { CallOutcome, EndedOutcome } from '../calls/outcome.js';
import { Refusal } from '../calls/refusal.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { waitForPerson } from '../calls/waiting.js';
import { callAgain, next } from '../tools/next.js';
import { reasonOf, shownReason } from '../util/log.js';
import { forReader, say } from '../util/safe-text.js';
import { addChange } from './add-change.js';
import { type Asked, askUser, readResponse } from './ask-user.js';
import { carryOut } from './carry-out.js';
import type { Change } from './change.js';
import type { ChangeRun } from './change-context.js';
import { lateOutcome } from './change-state.js';
import { storeDecision } from './decide.js';
import type { Brought } from './elicitor.js';
import { findChange } from './find-change.js';
import { ofCaller } from './may-see.js';
import { type PlannedChange, planChange } from './plan-change.js';
import { answerWithPlan } from './plan-result.js';
import { runPreflight } from './preflight.js';
import { idInProof, isProofOf } from './proof.js';
import { type ConsentRequest, type ConsentStep, decideConsent, modesWithPerson } from './required-consent.js';
import { takeVisit } from './visit-page.js';

/** This file has the verb `plan`: the call of a tool that changes something, up to its decision. */

/**
 * Runs the call of a change. Returns its outcome if there is consent, or else the plan or a question to the user.
 * @param unasked the waiting change of an earlier question, which the client could not ask. The new plan replaces it
 */
export async function runChange(
  call: ResolvedChange,
  run: ChangeRun,
  unasked?: Change,
): Promise<CallOutcome | Refusal> {
  const outcome = await planAndAnswer(call, run, unasked);
  // Without a new plan in its place, the question would wait for nobody.
  if (unasked !== undefined && outcome.kind === 'refused')
    await run.store.decide(unasked.id, { kind: 'withdrawn', way: 'withdrawn' }).catch(() => undefined);
  return outcome;
}

async function planAndAnswer(
  call: ResolvedChange,
  run: ChangeRun,
  unasked: Change | undefined,
): Promise<CallOutcome | Refusal> {
  const replaced = unasked ?? (await findReplaced(call, run));
  if (replaced instanceof Refusal) return replaced;
  const prepared = showsPlan(call, run) ? await runPreflight(call, run) : call;
  if (prepared.kind !== 'change') return prepared;

  // A client that could not ask is not asked again.
  const attempt = await planInTurn(prepared, replaced, unasked === undefined ? run : { ...run, elicitor: undefined });
  switch (attempt.kind) {
    case 'planned':
      return answerWithPlan(attempt.step, attempt.planned, replaced, run);
    case 'notAsked':
      return runChange(call, run, attempt.change);
    default:
      return attempt;
  }
}

/** True if the call ends with a plan or a question. False if the change needs no further consent. */
const showsPlan = ({ account: { confirm }, control: { planOnly } }: ResolvedChange, { agreed }: ChangeRun) =>
  planOnly || (agreed !== true && confirm !== 'off');

type Attempt =
  | CallOutcome
  | Extract<Asked, { kind: 'notAsked' }>
  | { readonly kind: 'planned'; readonly planned: PlannedChange; readonly step: Extract<ConsentStep, { kind: 'plan' }> }
  | Refusal;

/** A change that is approved and still to be carried out. */
interface Approved {
  readonly kind: 'approved';
  readonly change: Change;
}

/**
 * Plans a change, and asks the user if that is the way to consent. A new question waits for its turn until the caller's earlier questions are
 * answered and their changes were sent, because its plan names them.
 */
async function planInTurn(call: ResolvedChange, replaced: Change | undefined, run: ChangeRun): Promise<Attempt> {
  const { account, control } = call;
  const { elicitor, principal } = run;
  const mayAsk = elicitor !== undefined && !control.planOnly && modesWithPerson.includes(account.confirm);
  using _turn = mayAsk ? await waitForPerson(run, () => run.questions.enter(principal?.name)) : undefined;
  // The server may have been stopped while the call waited for its turn.
  if (mayAsk && run.stop?.aborted === true) return new Refusal('Stopping');
  const plan = () => planAndAsk(call, replaced, run);
  // While a person is asked, this call frees its place among the concurrent calls. The decision is stored before the call waits for a new place.
  const attempt = await (mayAsk ? waitForPerson(run, plan) : plan());
  return attempt.kind === 'approved' ? await carryOut(attempt.change, run) : attempt;
}

async function planAndAsk(
  call: ResolvedChange,
  replaced: Change | undefined,
  run: ChangeRun,
): Promise<Attempt | Approved> {
  const planned = await planChange(call, replaced, run);
  if (planned instanceof Refusal) return planned;
  const step = await consentStep(planned, run);
  if (step instanceof Refusal) return step;
  run.log('info', 'consent', {
    tool: call.operation.name,
    decision: step.kind,
    caller: run.principal?.name,
  });
  switch (step.kind) {
    case 'refuse':
      return new Refusal('NeedsHuman', [step.problem], run.isUnknownClient ? { next: reconnect } : {});
    case 'given': {
      const options = { byForm: false, byClick: false, onPage: false, byConfirmation: false };
      const approved = { kind: 'approved', way: step.way } as const;
      const added = await addChange(planned, { options, approved, replaced }, run);
      return added.kind === 'refused' ? added : { kind: 'approved', change: added.change };
    }
    case 'ask': {
      if (run.elicitor === undefined) return new Refusal('NeedsHuman');
      const asked = await askUser(planned, run.elicitor, replaced, run);
      return asked.kind === 'decided' ? storeAnswer(asked, run) : asked;
    }
    case 'plan':
      return { kind: 'planned', planned, step };
  }
}

const reconnect = next(
  'user',
  'configure',
  say`This server does not know what the client can do: its session is missing, or was not made by this server. ${forReader({ agent: 'Have the user reconnect', person: 'Reconnect' })} the client to this server, then ${callAgain}.`,
);

/** Chooses the next step towards consent to a plan, from the facts about the account, the call and the client. */
async function consentStep(planned: PlannedChange, run: ChangeRun): Promise<ConsentStep | Refusal> {
  const { account, control } = planned.call;
  const { hasView = false, agreed = false, principal } = run;
  const question = await questionState(planned, run);
  if (question instanceof Refusal) return question;
  return decideConsent({
    mode: account.confirm,
    planOnly: control.planOnly,
    question,
    hasView,
    page: run.page?.kind ?? 'none',
    agreed,
    isUnknownPerson: principal !== undefined && principal.personId === undefined,
  });
}

/** Finds out whether the client can be asked the question of a plan. Returns a refusal if the store cannot be read. */
async function questionState(
  { question }: PlannedChange,
  run: ChangeRun,
): Promise<ConsentRequest['question'] | Refusal> {
  if (run.elicitor === undefined) return run.isUnknownClient === true ? 'unknown' : 'none';
  // A plan that is too long has no question.
  if (question === undefined) return 'unfit';
  try {
    // A program that has answered in place of this client's user before would answer again.
    const isAnswered = await run.store.isAnsweredByProgram({ ...ofCaller(run), client: run.client });
    return isAnswered ? 'unfit' : 'fits';
  } catch (error) {
    run.log('error', 'journal', { error: reasonOf(error) });
    return new Refusal('JournalUnavailable', [say`${shownReason(error)}`]);
  }
}

/**
 * Finds the waiting change that the argument `replaces` names. Returns undefined if the argument is absent, or if that change has been decided or
 * has expired, because the call is then simply a new plan.
 */
async function findReplaced(
  { operation, args, control: { replaces, planOnly } }: ResolvedChange,
  run: ChangeRun,
): Promise<Change | undefined | Refusal> {
  if (replaces === undefined) return undefined;
  // A call with `planOnly` does not carry out its own plan, so the other plan has to stay.
  if (planOnly) return notReplaced(say`replaces: does nothing together with planOnly`);
  const change = await findChange(replaces, run);
  if (change instanceof Refusal)
    return change.code === 'UnknownChange'
      ? notReplaced(say`replaces: there is no such change of this caller`)
      : change;
  if (change.tool !== operation.name || change.args.account !== args.account)
    return notReplaced(say`replaces: that change is of another tool or account`);
  return change.state === 'waiting' && !change.isExpired ? change : undefined;
}

const notReplaced = (problem: Refusal['problems'][number]): Refusal =>
  new Refusal('InvalidArguments', [problem], {
    next: next(
      'agent',
      'call',
      'Call without replaces, or with the changeId of the other plan exactly as it was given. No plan was withdrawn.',
    ),
  });

/** Stores the decision of a person. Returns the outcome of the call, unless the change is still to be carried out. */
async function storeAnswer(
  { change, decision }: Extract<Asked, { kind: 'decided' }>,
  run: ChangeRun,
): Promise<EndedOutcome | Refusal | Approved> {
  const stored = await storeDecision(change, decision, run);
  if (stored.kind === 'decided') return stored.outcome;
  return stored.kind === 'late' ? lateOutcome(stored.change, decision.way, run) : stored;
}

/**
 * Takes what a call brings back from the person whom an earlier call asked.
 * @returns the change itself if the client could not ask, so that the call plans again
 */
export async function takeBrought(
  brought: Exclude<Brought, { kind: 'nothing' }>,
  run: ChangeRun,
): Promise<CallOutcome | Refusal | { readonly kind: 'notAsked'; readonly change: Change }> {
  const { proof } = brought;
  const id = idInProof(proof);
  const change = id === undefined ? new Refusal('UnknownChange') : await findChange(id, run);
  if (change instanceof Refusal) return change;
  if (!isProofOf(change, proof)) return new Refusal('UnknownChange');
  if (!change.options.byForm) return takeVisit(change, brought.visit, run);
  if (change.state !== 'waiting' || change.isExpired) return lateOutcome(change, 'asked', run);

  const asked = readResponse(change, brought.responseTo, proof);
  if (asked.kind !== 'decided') return asked;
  const answer = await storeAnswer(asked, run);
  return answer.kind === 'approved' ? carryOut(answer.change, run) : answer;
}

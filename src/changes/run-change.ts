import { waitForPerson } from '../calls/context.js';
import type { CallOutcome, EndedOutcome, Failure } from '../calls/outcome.js';
import { Refusal } from '../calls/refusal.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { callAgain, next } from '../tools/next.js';
import { withoutUndefined } from '../util/objects.js';
import { forReader, join, own, say, time, words } from '../util/safe-text.js';
import { addChange, askUser, readResponse, takeVisit } from './ask-user.js';
import { carryOut } from './carry-out.js';
import { type Change, type Decision, noOptions } from './change.js';
import type { Brought, ChangeRun } from './change-context.js';
import { lateOutcome } from './change-state.js';
import { decideForCall, findByProof, findChange, refusedChanges, storeDecision } from './decide.js';
import { type PlannedChange, planChange } from './plan-change.js';
import { answerWithPlan } from './plan-result.js';
import { type ConsentRequest, type ConsentStep, decideConsent, modesWithPerson } from './required-consent.js';
import { withParts } from './stored-call.js';

/** This file has the call of a tool that changes something, up to its decision. */

/** @param unasked the waiting change of an earlier question, which the client could not ask */
export async function runChange(
  call: ResolvedChange,
  run: ChangeRun,
  unasked?: Change,
): Promise<CallOutcome | Refusal> {
  if (unasked === undefined) {
    const replaced = await findReplaced(call, run);
    return replaced instanceof Refusal ? replaced : planAndAnswer(call, replaced, run);
  }
  // A client that could not ask is not asked again.
  const outcome = await planAndAnswer(call, unasked, { ...run, elicitor: undefined });
  // Without a new plan in its place, the question would wait for nobody.
  if (outcome.kind === 'refused')
    await run.store.decide(unasked.id, { kind: 'withdrawn', way: 'withdrawn' }).catch(() => undefined);
  return outcome;
}

/** A new question waits until the caller's earlier questions are answered and sent, because its plan names them. */
async function planAndAnswer(
  given: ResolvedChange,
  replaced: Change | undefined,
  run: ChangeRun,
): Promise<CallOutcome | Refusal> {
  const { account, control, operation } = given;
  const { elicitor, principal, agreed = false } = run;
  const showsPlan = control.planOnly || (!agreed && account.confirm !== 'off');
  const call = await readBefore(given, showsPlan, run);
  if (call.kind !== 'change') return call;

  const mayAsk = elicitor !== undefined && !control.planOnly && modesWithPerson.includes(account.confirm);
  using _turn = mayAsk ? await waitForPerson(run, () => run.questions.enter(principal?.name)) : undefined;
  // The server may have been stopped while the call waited for its turn.
  if (mayAsk && run.stop?.aborted === true) return new Refusal('Stopping');
  const planned = await planChange(call, replaced, run);
  if (planned instanceof Refusal) return planned;
  const question = await questionState(planned, run);
  if (question instanceof Refusal) return question;
  const step = consentStep(call, question, run);
  run.log('info', 'consent', { tool: operation.name, decision: step.kind, caller: principal?.name });
  switch (step.kind) {
    case 'refuse':
      return new Refusal('NeedsHuman', [step.problem], run.isUnknownClient ? { next: reconnect } : {});
    case 'given': {
      const added = await addChange(planned, noOptions, run, { approved: { kind: 'approved', way: step.way } });
      return added.kind === 'refused' ? added : await carryOut(added.change, run);
    }
    case 'ask':
      return await askAndCarryOut(planned, run);
    case 'plan':
      return await answerWithPlan(step.options, planned, run);
  }
}

async function readBefore(call: ResolvedChange, showsPlan: boolean, run: ChangeRun) {
  if (call.operation.many !== undefined) return chooseThings(call, run);
  return showsPlan ? runPreflight(call, run) : call;
}

/** Finds the things of a change of several, and keeps the list in the call. */
async function chooseThings(
  call: ResolvedChange,
  run: ChangeRun,
): Promise<ResolvedChange | Extract<EndedOutcome, { kind: 'failed' }> | Refusal> {
  const { operation, input, accountName: account } = call;
  const { many } = operation;
  if (many === undefined) return call;
  const { hasView: _, ...contextOfRead } = run;
  const args = withoutUndefined({ ...many.findInput(input), account });
  const outcome = await run.callRead(many.find, args, { ...contextOfRead, wantsWholeAnswer: true });
  if (outcome.kind === 'failed') {
    const summary = say`${own(operation.name)} was not sent. ${outcome.failure.summary}`;
    return { kind: 'failed', failure: { ...outcome.failure, summary, mayHaveHappened: false } };
  }
  const { answer = {}, warnings } = outcome.success;
  const chosen = many.choose(answer, input);
  if (chosen.kind === 'nothing') return new Refusal('NothingToDo', [chosen.why], { warnings });
  if (chosen.kind === 'tooMany') return new Refusal('InvalidArguments', [chosen.problem], { reason: notChosen });
  const found = say`As of ${time(run.now().toISOString())}: ${chosen.found}`;
  const foundWarnings = [...chosen.warnings, ...warnings];
  return { ...(await withParts(call, chosen.list, run)), found, foundWarnings };
}

const notChosen = words('there is no plan for what was found');

/** Makes the read that precedes a change. Returns its failure if the change would fail too. */
async function runPreflight(
  call: ResolvedChange,
  run: ChangeRun,
): Promise<ResolvedChange | Extract<EndedOutcome, { kind: 'failed' }> | Refusal> {
  const { operation, input, accountName: account } = call;
  const { preflight } = operation;
  if (preflight === undefined) return call;

  const readArguments = preflight.input(input);
  if (readArguments === undefined) return call;
  const args = account === undefined ? readArguments : { ...readArguments, account };
  const { onPage: _, hasView: __, ...contextOfRead } = run;
  const outcome = await run.callRead(preflight.operation, args, contextOfRead);
  if (outcome.kind === 'succeeded') {
    const { summary, answer = {} } = outcome.success;
    const found = say`As of ${time(run.now().toISOString())}: ${preflight.found?.(answer) ?? summary}`;
    return { ...call, found, alert: preflight.alert?.(answer) };
  }

  const { failure } = outcome;
  if (failure.code === 'Stopping') return new Refusal('Stopping');
  if (codesOf(failure).some((code) => preflight.decisiveErrors?.includes(code))) {
    const summary = say`${own(operation.name)} was not sent. ${failure.summary}`;
    return { kind: 'failed', failure: { ...failure, summary, mayHaveHappened: false } };
  }
  const reason = join([failure.summary, ...failure.problems], ' ');
  return { ...call, found: say`What is there now is not known. ${reason}` };
}

const codesOf = ({ code, serviceSays, status }: Failure) => [code, serviceSays?.code ?? code, `Http${status}`];

const consentStep = (
  { account, control }: ResolvedChange,
  question: ConsentRequest['question'],
  { hasView = false, page, agreed = false, principal }: ChangeRun,
): ConsentStep =>
  decideConsent({
    mode: account.confirm,
    planOnly: control.planOnly,
    question,
    hasView,
    page: page?.kind ?? 'none',
    agreed,
    isUnknownPerson: principal !== undefined && principal.personId === undefined,
  });

async function askAndCarryOut(planned: PlannedChange, run: ChangeRun): Promise<CallOutcome | Refusal> {
  // Frees the call's place while a person is asked. The decision is stored before the call waits for a new place.
  const answer = await waitForPerson(run, async () => {
    const asked = await askUser(planned, run);
    if (asked.kind !== 'decided') return asked;
    const stored = await storeDecision(asked.change, asked.decision, run);
    if (stored.kind === 'late') return lateOutcome(stored.change, asked.decision, run.principal);
    return stored.kind === 'decided' ? stored.outcome : stored;
  });
  if (answer.kind === 'notAsked') return runChange(planned.call, run, answer.change);
  return answer.kind === 'approved' ? carryOut(answer.change, run) : answer;
}

const reconnect = next(
  'user',
  'configure',
  say`This server does not know what the client can do: its session is missing, or was not made by this server. ${forReader({ agent: 'Have the user reconnect', person: 'Reconnect' })} the client to this server, then ${callAgain}.`,
);

/** Returns a refusal if the store cannot be read. */
async function questionState(
  { question }: PlannedChange,
  run: ChangeRun,
): Promise<ConsentRequest['question'] | Refusal> {
  if (run.elicitor === undefined) return run.isUnknownClient === true ? 'unknown' : 'none';
  if (question === undefined) return 'unfit';
  const refused = await refusedChanges(run);
  if (refused instanceof Refusal) return refused;
  // A program that has answered before would answer again.
  return refused.some(({ client, decision }) => client === run.client && decision?.way === 'program')
    ? 'unfit'
    : 'fits';
}

/** Finds the waiting change that `replaces` names. Undefined if that change was decided or has expired. */
async function findReplaced(
  { operation, args, control: { replaces, planOnly } }: ResolvedChange,
  run: ChangeRun,
): Promise<Change | undefined | Refusal> {
  if (replaces === undefined) return undefined;
  // The other plan stays, because this one is not carried out.
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

/**
 * Takes what a call brings back from the person whom an earlier call asked.
 * @returns the change itself if the client could not ask, so that the call plans again
 */
export async function takeBrought(
  { proof, visit, responseTo }: Exclude<Brought, { kind: 'nothing' }>,
  run: ChangeRun,
): Promise<CallOutcome | Refusal | { readonly kind: 'notAsked'; readonly change: Change }> {
  const change = await findByProof(proof, run);
  if (change instanceof Refusal) return change.code === 'StateUnavailable' ? change : new Refusal('UnknownChange');
  if (!change.options.byForm) return takeVisit(change, visit, run);
  const asked = readResponse(change, responseTo, proof);
  const decision: Decision = asked.kind === 'decided' ? asked.decision : { kind: 'withdrawn', way: 'asked' };
  if (change.state !== 'waiting' || change.isExpired) return lateOutcome(change, decision, run.principal);
  return asked.kind === 'decided' ? decideForCall(change, decision, run) : asked;
}

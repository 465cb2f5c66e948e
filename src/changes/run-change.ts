import { waitForPerson } from '../calls/context.js';
import type { CallOutcome, EndedOutcome, Failure } from '../calls/outcome.js';
import { Refusal } from '../calls/refusal.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { callAgain, next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import { withoutUndefined } from '../util/objects.js';
import { exact, forReader, join, own, quoted, type SafeText, say, shortNames, time, words } from '../util/safe-text.js';
import { type AddedChange, addChange, askUser, readResponse, takeVisit, visitPage } from './ask-user.js';
import { carryOut } from './carry-out.js';
import { type Change, type Decision, type DecisionOptions, noOptions } from './change.js';
import type { Brought, ChangeRun } from './change-context.js';
import { lateOutcome, thingOf } from './change-state.js';
import {
  againstAsking,
  decideForCall,
  findByProof,
  findChange,
  planInClientMs,
  refusedChanges,
  storeDecision,
} from './decide.js';
import { planText, shortQuestion } from './plan.js';
import { type PlannedChange, planChange } from './plan-change.js';
import {
  addressOf,
  type ConsentRequest,
  type ConsentStep,
  type DecisionPage,
  decideConsent,
  modesWithPerson,
} from './required-consent.js';
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
  const { elicitor, principal, brought } = run;
  const showsPlan = control.planOnly || (brought?.kind !== 'consent' && account.confirm !== 'off');
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

type Read = ResolvedChange | Extract<EndedOutcome, { kind: 'failed' }> | Refusal;

async function readBefore(call: ResolvedChange, showsPlan: boolean, run: ChangeRun): Promise<Read> {
  const { many, preflight } = call.operation;
  if (many !== undefined) return chooseThings(call, many, run);
  return showsPlan && preflight !== undefined ? runPreflight(call, preflight, run) : call;
}

const unsent = ({ operation }: ResolvedChange, failure: Failure) => {
  const summary = say`${own(operation.name)} was not sent. ${failure.summary}`;
  return { kind: 'failed', failure: { ...failure, summary, mayHaveHappened: false } } as const;
};

async function chooseThings(
  call: ResolvedChange,
  many: NonNullable<ResolvedChange['operation']['many']>,
  { hasView: _, ...run }: ChangeRun,
): Promise<Read> {
  const { input, accountName: account } = call;
  const args = withoutUndefined({ ...many.findInput(input), account });
  const outcome = await run.callRead(many.find, args, { ...run, wantsWholeAnswer: true });
  if (outcome.kind === 'failed') return unsent(call, outcome.failure);
  const { answer = {}, warnings } = outcome.success;
  const chosen = many.choose(answer, input);
  if (chosen.kind === 'nothing') return new Refusal('NothingToDo', [chosen.why], { warnings });
  if (chosen.kind === 'tooMany')
    return new Refusal('InvalidArguments', [chosen.problem], {
      reason: words('there is no plan for what was found'),
    });
  const found = say`As of ${time(run.now().toISOString())}: ${chosen.found}`;
  const foundWarnings = [...chosen.warnings, ...warnings];
  return { ...(await withParts(call, chosen.list, run)), found, foundWarnings };
}

/** Makes the read that precedes a change. Returns its failure if the change would fail too. */
async function runPreflight(
  call: ResolvedChange,
  preflight: NonNullable<ResolvedChange['operation']['preflight']>,
  { onPage: _, hasView: __, ...run }: ChangeRun,
): Promise<Read> {
  const readArguments = preflight.input(call.input);
  if (readArguments === undefined) return call;
  const args = withoutUndefined({ ...readArguments, account: call.accountName });
  const outcome = await run.callRead(preflight.operation, args, run);
  if (outcome.kind === 'succeeded') {
    const { summary, answer = {} } = outcome.success;
    const found = say`As of ${time(run.now().toISOString())}: ${preflight.found?.(answer) ?? summary}`;
    return { ...call, found, alert: preflight.alert?.(answer) };
  }

  const { failure } = outcome;
  if (failure.code === 'Stopping') return new Refusal('Stopping');
  if (codesOf(failure).some((code) => preflight.decisiveErrors?.includes(code))) return unsent(call, failure);
  const reason = join([failure.summary, ...failure.problems], ' ');
  return { ...call, found: say`What is there now is not known. ${reason}` };
}

const codesOf = ({ code, serviceSays, status }: Failure) => [code, serviceSays?.code ?? code, `Http${status}`];

const consentStep = (
  { account, control }: ResolvedChange,
  question: ConsentRequest['question'],
  { hasView = false, page, brought, principal }: ChangeRun,
): ConsentStep =>
  decideConsent({
    mode: account.confirm,
    planOnly: control.planOnly,
    question,
    hasView,
    page: page?.kind ?? 'none',
    agreed: brought?.kind === 'consent',
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
  { proof, visit, responseTo }: Extract<Brought, { kind: 'answer' }>,
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

interface OpenPlan extends PlannedChange {
  /** Undefined if nobody can agree to the plan. */
  readonly stored: AddedChange | undefined;
  /** Undefined if the caller may not know it. */
  readonly pageUrl: string | undefined;
}

/** Stores the waiting change, and returns its plan, or a refusal if nobody can agree. `planOnly` is never refused. */
async function answerWithPlan(
  options: DecisionOptions,
  planned: PlannedChange,
  run: ChangeRun,
): Promise<CallOutcome | Refusal> {
  const { page, now, questionLimits, guide } = run;
  const { call, row } = planned;
  const added = await addIfOpen(planned, options, run);
  // With `planOnly`, the plan is shown all the same.
  if (added?.kind === 'refused' && !call.control.planOnly) return added;
  const stored = added?.kind === 'added' ? added : undefined;
  const onPage = stored?.change.options.onPage === true;
  const pageUrl = onPage ? addressOf(row.id, page) : undefined;
  if (onPage) announce(stored.change, pageUrl, page);
  const answer = planOutcome({ ...planned, stored, pageUrl }, now());
  // With `approval`, another person decides.
  if (guide === undefined || stored === undefined || pageUrl === undefined || row.mode === 'approval') return answer;
  const question = shortQuestion(row.plan, call, questionLimits, now());
  return visitPage(stored, pageUrl, question, answer, guide, run);
}

/** Stores the change, unless earlier refusals close the only way to agree. */
async function addIfOpen(planned: PlannedChange, options: DecisionOptions, run: ChangeRun) {
  if (!Object.values(options).includes(true)) return undefined;
  // An agent confirms only if neither a click nor a page reaches a person.
  const closed = await againstAsking(run, options.byConfirmation ? planned.row : {});
  return closed ?? addChange(planned, options, run);
}

function announce(
  { id, tool, caller, plan, isPrivate, what }: Change,
  pageUrl: string | undefined,
  page: DecisionPage | undefined,
): void {
  // An announcement leaves for a chat, where private values have no place.
  const headline = isPrivate === true ? quoted(what, 500) : shortNames(plan.summary);
  if (page?.kind === 'local') page.show(id);
  else if (pageUrl !== undefined) page?.announce({ tool, caller, headline, decideAt: pageUrl });
}

const optionsOf = ({ stored }: OpenPlan): DecisionOptions => stored?.change.options ?? noOptions;

function planOutcome(planned: OpenPlan, now: Date): EndedOutcome {
  const { row, pageUrl, stored, replaceable } = planned;
  const { tool, plan, accept, typedName } = row;
  const { byConfirmation, byClick, onPage } = optionsOf(planned);
  const issuedAt = now.getTime();
  const expiresAt = stored?.change.expiresAt ?? issuedAt + planInClientMs;
  const planExpires = new Date(expiresAt).toISOString();
  const deadlineText = stored === undefined ? undefined : `${planExpires.slice(0, 16).replace('T', ' ')} UTC`;
  const stepsToReplace = replaceable.map(
    ({ id }) =>
      say`If this plan replaces the other one, call ${own(tool)} with the same arguments and replaces: ${exact(id)}.`,
  );
  return {
    kind: 'succeeded',
    success: {
      summary: say`Plan of ${own(tool)}; nothing was sent.`,
      // `waiting` means that nobody can decide in the client.
      outcome: onPage && !byClick ? 'waiting' : 'planned',
      ...(stored !== undefined && { changeId: row.id, planExpires }),
      show: planText(plan, deadlineText),
      // For the change view. The agent's result keeps only its request.
      plan,
      ...(pageUrl !== undefined && { decideAt: pageUrl }),
      next: next('user', 'decide', join([...stepsToReplace, nextSteps(planned)], ' ')),
      warnings: [],
      requestIds: {},
    },
    view: {
      kind: 'plan',
      accept,
      ...(typedName !== undefined && { typedName }),
      issuedAt,
      expiresAt,
      ...(byConfirmation && { inChat: true }),
      ...(byClick && stored !== undefined && { ticket: stored.proof }),
    },
  };
}

function nextSteps(planned: OpenPlan): SafeText {
  const { row, call } = planned;
  const { byClick } = optionsOf(planned);
  const aboutPeople = sentencesAboutPeople(planned);
  if (aboutPeople.length > 0)
    return join(
      sentences(
        ...aboutPeople,
        byClick && say`Wait for the decision: only a click carries this plan out.`,
        say`To learn what became of it, call get_change with this changeId; call withdraw_change if the user no longer wants it.`,
      ),
      ' ',
    );
  const showAll = say`Show the user all of "show", in their language.`;
  if (call.control.planOnly)
    return say`${showAll} Stop there. Only if they then ask for it, call ${own(row.tool)} with the same arguments, without planOnly.`;
  return say`${showAll} If they say yes to it, call confirm_change with this changeId and thing ${quoted(thingOf(row), 200)}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
}

function sentencesAboutPeople(planned: OpenPlan): readonly SafeText[] {
  const { row, pageUrl } = planned;
  const { byClick, onPage } = optionsOf(planned);
  const who = words(row.mode === 'approval' ? 'somebody other than the user' : 'a person');
  return sentences(
    byClick && say`The user sees this plan with a button to agree and one to do nothing.`,
    byClick && pageUrl !== undefined && say`If they see no button, they decide at the link.`,
    byClick &&
      pageUrl === undefined &&
      say`If they see no button, they can decide where this server runs, with cloudops-mcp call.`,
    pageUrl !== undefined && say`Give the user the link in decideAt: ${who} decides there.`,
    onPage &&
      pageUrl === undefined &&
      say`This plan waits on the machine of this server, in a browser tab or at the link in its terminal: tell the user to decide there.`,
  );
}

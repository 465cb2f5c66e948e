import { type Elicitor, type FormResponse, unlessStopped, type Visit } from '../calls/context.js';
import type { CallOutcome, EndedOutcome, Failure, Question } from '../calls/outcome.js';
import { Refusal, tooLargeToShow } from '../calls/refusal.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { callAgain, next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import { errorName } from '../util/log.js';
import { withoutUndefined } from '../util/objects.js';
import { exact, forReader, join, own, quoted, type SafeText, say, shortNames, time, words } from '../util/safe-text.js';
import { carryOut } from './carry-out.js';
import { type Change, type Decision, type DecisionOptions, noOptions } from './change.js';
import type { ChangeRun } from './change-run.js';
import { lateOutcome, outcomeOfState, thingOf } from './change-state.js';
import {
  againstAsking,
  awaitEnd,
  decideForCall,
  decideInCall,
  findByProof,
  findChange,
  makeProof,
  planInClientMs,
  refusedChanges,
  shortestReadMs,
} from './decide.js';
import { planText, shortQuestion } from './plan.js';
import { type PlannedChange, planChange } from './plan-change.js';
import {
  addressOf,
  type ConsentRequest,
  type DecisionPage,
  decideConsent,
  modesWithPerson,
} from './required-consent.js';
import { withParts } from './stored-call.js';
import { notTyped } from './typed-name.js';

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
  const client = { ...run.client, elicitor: undefined };
  const outcome = await planAndAnswer(call, unasked, { ...run, client });
  // Without a new plan in its place, the question would wait for nobody.
  if (outcome.kind === 'refused') await withdraw(unasked, run);
  return outcome;
}

const withdraw = ({ id }: Change, { store }: ChangeRun) =>
  store.decide(id, { kind: 'withdrawn', way: 'withdrawn' }).catch(() => undefined);

/** A new question waits until the caller's earlier questions are answered and sent, because its plan names them. */
async function planAndAnswer(
  given: ResolvedChange,
  replaced: Change | undefined,
  run: ChangeRun,
): Promise<CallOutcome | Refusal> {
  const { account, control, operation } = given;
  const { client, principal, brought } = run;
  const call = await readBefore(given, run);
  if (call.kind !== 'change') return call;

  const mayAsk = client.elicitor !== undefined && !control.planOnly && modesWithPerson.includes(account.confirm);
  using _turn = mayAsk ? await run.wait(() => run.questions.enter(principal?.name)) : undefined;
  // The server may have been stopped while the call waited for its turn.
  if (mayAsk && run.stop?.aborted === true) return new Refusal('Stopping');
  const planned = await planChange(call, replaced, run);
  if (planned instanceof Refusal) return planned;
  const question = await questionState(planned, run);
  if (question instanceof Refusal) return question;
  const step = decideConsent({
    mode: account.confirm,
    planOnly: control.planOnly,
    question,
    hasView: client.views === true,
    page: run.page?.kind ?? 'none',
    agreed: brought?.kind === 'consent',
    isUnknownPerson: principal !== undefined && principal.personId === undefined,
  });
  run.log('info', 'consent', { tool: operation.name, decision: step.kind, caller: principal?.name });
  switch (step.kind) {
    case 'refuse':
      return new Refusal('NeedsHuman', [step.problem], question === 'unknown' ? { next: reconnect } : {});
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

async function readBefore(call: ResolvedChange, run: ChangeRun): Promise<Read> {
  const { many, preflight } = call.operation;
  const showsPlan = call.control.planOnly || (run.brought?.kind !== 'consent' && call.account.confirm !== 'off');
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
  run: ChangeRun,
): Promise<Read> {
  const { input, accountName: account } = call;
  const args = withoutUndefined({ ...many.findInput(input), account });
  const client = { ...run.client, wantsWholeAnswer: true };
  const outcome = await run.callRead(many.find, args, { ...run, client });
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
  run: ChangeRun,
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
  const codes = [failure.code, failure.serviceSays?.code ?? failure.code, `Http${failure.status}`];
  if (codes.some((code) => preflight.decisiveErrors?.includes(code))) return unsent(call, failure);
  const reason = join([failure.summary, ...failure.problems], ' ');
  return { ...call, found: say`What is there now is not known. ${reason}` };
}

/** A stored change with the proof for clicks and responses, which no model gets. */
interface AddedChange {
  readonly kind: 'added';
  readonly change: Change;
  readonly proof: string;
}

const notOnPage = next(
  'user',
  'decide',
  say`${forReader({ agent: 'Tell the user that the change', person: 'The change' })} has to be made with cloudops-mcp call, or with a client that asks its user.`,
);

/** Stores a planned change, which is approved at once with `approved`. */
async function addChange(
  { call, row, holdsSecret, replaced }: PlannedChange,
  options: DecisionOptions,
  { heldArguments, store, newId, planLifetimeMs }: ChangeRun,
  { approved, question }: { readonly approved?: Decision; readonly question?: SafeText } = {},
): Promise<AddedChange | Refusal> {
  // The page may be served by another process, which does not have the secret.
  if (holdsSecret && options.onPage)
    return new Refusal('SecretByValue', [], call.operation.secretNames === undefined ? { next: notOnPage } : {});

  const proof = makeProof(row.id, newId());
  const lifetimeMs = options.onPage ? planLifetimeMs : planInClientMs;
  const change = { ...row, options, proof: proof.hash, question };
  const added = await store.add(change, { lifetimeMs, approved, replaces: replaced?.id });
  if (added.kind === 'tooLong')
    return tooLargeToShow(call, { reason: words('its plan is too long to wait for a decision') });
  if (added.kind === 'tooMany') return new Refusal('TooManyWaiting');
  if (added.kind === 'unwritable') return new Refusal('JournalUnavailable', [added.reason]);

  if (holdsSecret) heldArguments.set(row.id, call.args);
  const [oldest] = heldArguments.keys();
  // The oldest arguments are forgotten, and their changes can no longer be decided.
  if (heldArguments.size > 200 && oldest !== undefined) heldArguments.delete(oldest);
  return { kind: 'added', change: added.change, proof: proof.token };
}

async function askAndCarryOut(planned: PlannedChange, run: ChangeRun): Promise<CallOutcome | Refusal> {
  // Frees the call's place while a person is asked. The decision is stored before the call waits for a new place.
  const answer = await run.wait(() => askUser(planned, run));
  if (answer.kind === 'notAsked') return runChange(planned.call, run, answer.change);
  return answer.kind === 'approved' ? carryOut(answer.change, run) : answer;
}

/** The client could not ask about a change, which still waits. */
interface NotAsked {
  readonly kind: 'notAsked';
  readonly change: Change;
}

async function askUser(planned: PlannedChange, run: ChangeRun) {
  const { question, row } = planned;
  const { elicitor } = run.client;
  // The client may have cancelled the call while it waited for its turn.
  if (run.signal.aborted || elicitor === undefined || question === undefined)
    return new Refusal('NobodyAsked', [say`the client cancelled the call before anybody was asked`]);
  // Terminal users started the call themselves, so they are not rate-limited.
  const refusal = elicitor.isDirect ? undefined : await againstAsking(run, { byForm: true });
  if (refusal !== undefined) return refusal;

  const added = await addChange(planned, { ...noOptions, byForm: true }, run, { question });
  if (added.kind === 'refused') return added;
  elicitor.show?.(row.plan);
  const asked = await askUntilAnswered(added, question, elicitor, run).catch(async (error: unknown) => {
    // The server stops, so no response will come any more.
    await withdraw(added.change, run);
    throw error;
  });
  return asked.kind === 'inputRequired' || asked.kind === 'notAsked' ? asked : decideInCall(added.change, asked, run);
}

const maximumTries = 5;

async function askUntilAnswered(
  { change, proof }: AddedChange,
  question: SafeText,
  elicitor: Elicitor,
  { stop, now }: ChangeRun,
): Promise<Question | NotAsked | Decision> {
  const askedAt = now().getTime();
  let message = question;
  for (let tries = 1; ; tries += 1) {
    const response = await unlessStopped(stop, (signal) =>
      elicitor.ask(message, change.accept, signal, change.typedName),
    );
    if (response === 'later') return questionOf(change, message, proof);
    if (response.kind === 'notAsked') return { kind: 'notAsked', change };
    if (response.kind !== 'wrongName' || tries === maximumTries)
      return decisionOf(response, elicitor.isDirect ? undefined : now().getTime() - askedAt);
    message = elicitor.isDirect ? question : afterWrongName(question);
  }
}

const afterWrongName = (question: SafeText): SafeText => join([notTyped, question], '\n');

const questionOf = ({ accept, typedName }: Change, message: SafeText, state: string): Question => ({
  kind: 'inputRequired',
  message,
  answer: { accept, nameToType: typedName },
  state,
});

/** What a program says is never consent, even if it agreed. */
function decisionOf({ kind, reason }: FormResponse, answeredAfterMs: number | undefined): Decision {
  // No response.
  if (kind === 'interrupted') return { kind: 'withdrawn', way: 'withdrawn' };
  // Neither is a refusal.
  if (kind === 'wrongName' || kind === 'notAsked') return { kind: 'withdrawn', way: 'asked' };
  if (kind !== 'unanswered' && answeredAfterMs !== undefined && answeredAfterMs < shortestReadMs)
    return { kind: 'withdrawn', way: 'program', answeredAfterMs };
  if (kind === 'agreed') return { kind: 'approved', way: 'asked', answeredAfterMs };
  const isDismissed = kind !== 'declined';
  return { kind: 'declined', way: 'asked', answeredAfterMs, reason, ...(isDismissed && { isDismissed }) };
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
  if (run.client.elicitor === undefined) return run.client.isUnknown ? 'unknown' : 'none';
  if (question === undefined) return 'unfit';
  const refused = await refusedChanges(run);
  if (refused instanceof Refusal) return refused;
  // A program that has answered before would answer again.
  return refused.some(({ client, decision }) => client === run.client.name && decision?.way === 'program')
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
 * Takes the answer to the question of an earlier call, if the call brings one.
 * @returns the change itself if the client could not ask, so that the call plans again
 */
export async function takeBrought(run: ChangeRun): Promise<CallOutcome | Refusal | NotAsked | undefined> {
  if (run.brought?.kind !== 'answer') return undefined;
  const { proof, visit, responseTo } = run.brought;
  const change = await findByProof(proof, run);
  if (change instanceof Refusal) return change.code === 'StateUnavailable' ? change : new Refusal('UnknownChange');
  if (!change.options.byForm) return takeVisit(change, visit, run);
  const response = responseTo(change.accept, change.typedName);
  const decision = decisionOf(response, change.ageMs);
  if (change.state !== 'waiting' || change.isExpired) return lateOutcome(change, decision, run.principal);
  if (response.kind === 'notAsked') return { kind: 'notAsked', change };
  // Asks again after a wrong name, without a limit.
  if (response.kind === 'wrongName')
    return questionOf(change, afterWrongName(change.question ?? change.plan.summary), proof);
  return decideForCall(change, decision, run);
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
  const { page, now, questionLimits } = run;
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
  if (stored === undefined || pageUrl === undefined || row.mode === 'approval') return answer;
  const question = shortQuestion(row.plan, call, questionLimits, now());
  return visitPage(stored, pageUrl, question, answer, run);
}

/** Sends the user to the page with a plan, and waits for the decision there. Returns `answer` without a guide or a decision. */
async function visitPage(
  { change, proof }: AddedChange,
  address: string,
  question: SafeText,
  answer: EndedOutcome,
  run: ChangeRun,
): Promise<CallOutcome | Refusal> {
  const { guide } = run.client;
  if (guide === undefined) return answer;
  const message = join([question, say`You decide on a page, where you sign in. Opening it decides nothing.`], '\n');
  const askedAt = run.now().getTime();
  const ask = () => unlessStopped(run.stop, (signal) => guide(message, address, signal));
  const visit = await run.wait(ask).catch((error: unknown): Visit => {
    // A refusal is expected, so it is not logged.
    if (!(error instanceof Refusal)) run.log('error', 'unexpected', { tool: change.tool, error: errorName(error) });
    // The agent then gives the user the link.
    return 'cancelled';
  });
  if (visit === 'later') return { kind: 'inputRequired', message, answer: { address }, state: proof };
  const outcome = await takeVisit({ ...change, ageMs: run.now().getTime() - askedAt }, visit, run);
  return outcome.kind === 'succeeded' && outcome.success.outcome === 'waiting' ? answer : outcome;
}

async function takeVisit(change: Change, visit: Visit, run: ChangeRun): Promise<EndedOutcome | Refusal> {
  // A program sends an earlier response.
  if (visit === 'declined' && change.ageMs >= shortestReadMs && change.state === 'waiting')
    return decideForCall(change, { kind: 'declined', way: 'asked' }, run);
  return outcomeOfState(visit === 'opened' ? await awaitEnd(change, run) : change, run);
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

function planOutcome(planned: OpenPlan, now: Date): EndedOutcome {
  const { row, pageUrl, stored, replaceable } = planned;
  const { tool, plan, accept, typedName } = row;
  const options = stored?.change.options ?? noOptions;
  const { byConfirmation, byClick, onPage } = options;
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
      next: next('user', 'decide', join([...stepsToReplace, nextSteps(planned, options)], ' ')),
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

function nextSteps({ row, call, pageUrl }: OpenPlan, { byClick, onPage }: DecisionOptions): SafeText {
  const who = words(row.mode === 'approval' ? 'somebody other than the user' : 'a person');
  const aboutPeople = sentences(
    byClick && say`The user sees this plan with a button to agree and one to do nothing.`,
    byClick &&
      (pageUrl === undefined
        ? say`If they see no button, they can decide where this server runs, with cloudops-mcp call.`
        : say`If they see no button, they decide at the link.`),
    pageUrl !== undefined && say`Give the user the link in decideAt: ${who} decides there.`,
    onPage &&
      pageUrl === undefined &&
      say`This plan waits on the machine of this server, in a browser tab or at the link in its terminal: tell the user to decide there.`,
  );
  if (aboutPeople.length > 0) {
    const aboutOutcome = sentences(
      byClick && say`Wait for the decision: only a click carries this plan out.`,
      say`To learn what became of it, call get_change with this changeId; call withdraw_change if the user no longer wants it.`,
    );
    return join([...aboutPeople, ...aboutOutcome], ' ');
  }
  const showAll = say`Show the user all of "show", in their language.`;
  if (call.control.planOnly)
    return say`${showAll} Stop there. Only if they then ask for it, call ${own(row.tool)} with the same arguments, without planOnly.`;
  return say`${showAll} If they say yes to it, call confirm_change with this changeId and thing ${quoted(thingOf(row), 200)}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
}

import { unlessStopped, waitForPerson } from '../calls/context.js';
import type { CallOutcome, EndedOutcome, Question } from '../calls/outcome.js';
import { Refusal, tooLargeToShow } from '../calls/refusal.js';
import { next } from '../tools/next.js';
import { errorName } from '../util/log.js';
import { forReader, join, type SafeText, say, words } from '../util/safe-text.js';
import { type Change, type Decision, type DecisionOptions, noOptions } from './change.js';
import type { ChangeRun, Elicitor, FormResponse, Guide, Visit } from './change-context.js';
import { outcomeOfState } from './change-state.js';
import { againstAsking, awaitEnd, decideForCall, makeProof, planInClientMs, shortestReadMs } from './decide.js';
import type { PlannedChange } from './plan-change.js';
import { notTyped } from './typed-name.js';

/** This file asks the person behind a call, by a form or by the address of a page. */

/** A stored change with the proof for clicks and responses, which no model gets. */
export interface AddedChange {
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
export async function addChange(
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

export type Asked =
  | { readonly kind: 'decided'; readonly change: Change; readonly decision: Decision }
  | Question
  | { readonly kind: 'notAsked'; readonly change: Change };

const maximumTries = 5;

/** Stores a planned change, and asks the client's user about it. */
export async function askUser(planned: PlannedChange, run: ChangeRun): Promise<Asked | Refusal> {
  const { question, row } = planned;
  const { elicitor } = run;
  // The client may have cancelled the call while it waited for its turn.
  if (run.signal.aborted || elicitor === undefined || question === undefined)
    return new Refusal('NobodyAsked', [say`the client cancelled the call before anybody was asked`]);
  // Terminal users started the call themselves, so they are not rate-limited.
  const refusal = elicitor.isDirect ? undefined : await againstAsking(run, { byForm: true });
  if (refusal !== undefined) return refusal;

  const added = await addChange(planned, { ...noOptions, byForm: true }, run, { question });
  if (added.kind === 'refused') return added;
  elicitor.show?.(row.plan);
  return askUntilAnswered(added, question, elicitor, run).catch(async (error: unknown) => {
    // The server stops, so no response will come any more.
    await run.store.decide(row.id, { kind: 'withdrawn', way: 'withdrawn' }).catch(() => undefined);
    throw error;
  });
}

async function askUntilAnswered(
  { change, proof }: AddedChange,
  question: SafeText,
  elicitor: Elicitor,
  { stop, now }: ChangeRun,
): Promise<Asked> {
  const askedAt = now().getTime();
  let message = question;
  for (let tries = 1; ; tries += 1) {
    const response = await unlessStopped(stop, (signal) =>
      elicitor.ask(message, change.accept, signal, change.typedName),
    );
    if (response === 'later') return questionOf(change, message, proof);
    if (response.kind !== 'wrongName' || tries === maximumTries)
      return decisionOf(change, response, elicitor.isDirect ? undefined : now().getTime() - askedAt);
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

/** Reads the response that a second call brings. Asks again after a wrong name, without a limit. */
export function readResponse(
  change: Change,
  read: (accept: SafeText, nameToType?: string) => FormResponse,
  proof: string,
): Asked {
  const response = read(change.accept, change.typedName);
  if (response.kind !== 'wrongName') return decisionOf(change, response, change.ageMs);
  return questionOf(change, afterWrongName(change.question ?? change.plan.summary), proof);
}

/** What a program says is never consent, even if it agreed. */
function decisionOf(change: Change, { kind, reason }: FormResponse, answeredAfterMs: number | undefined): Asked {
  if (kind === 'notAsked') return { kind: 'notAsked', change };
  const decided = (decision: Decision): Asked => ({ kind: 'decided', change, decision });
  // No response.
  if (kind === 'interrupted') return decided({ kind: 'withdrawn', way: 'withdrawn' });
  // A wrong name is no refusal.
  if (kind === 'wrongName') return decided({ kind: 'withdrawn', way: 'asked' });
  if (kind !== 'unanswered' && answeredAfterMs !== undefined && answeredAfterMs < shortestReadMs)
    return decided({ kind: 'withdrawn', way: 'program', answeredAfterMs });
  if (kind === 'agreed') return decided({ kind: 'approved', way: 'asked', answeredAfterMs });
  const isDismissed = kind !== 'declined';
  return decided({ kind: 'declined', way: 'asked', answeredAfterMs, reason, ...(isDismissed && { isDismissed }) });
}

/** Sends the user to the page with a plan, and waits for the decision there. Returns `answer` if there is none. */
export async function visitPage(
  { change, proof }: AddedChange,
  address: string,
  question: SafeText,
  answer: EndedOutcome,
  guide: Guide,
  run: ChangeRun,
): Promise<CallOutcome | Refusal> {
  const message = join([question, say`You decide on a page, where you sign in. Opening it decides nothing.`], '\n');
  const askedAt = run.now().getTime();
  const ask = () => unlessStopped(run.stop, (signal) => guide.send(message, address, signal));
  const visit = await waitForPerson(run, ask).catch((error: unknown): Visit => {
    // A refusal is expected, so it is not logged.
    if (!(error instanceof Refusal)) run.log('error', 'unexpected', { tool: change.tool, error: errorName(error) });
    // The agent then gives the user the link.
    return 'cancelled';
  });
  if (visit === 'later') return { kind: 'inputRequired', message, answer: { address }, state: proof };
  const outcome = await takeVisit({ ...change, ageMs: run.now().getTime() - askedAt }, visit, run);
  return outcome.kind === 'succeeded' && outcome.success.outcome === 'waiting' ? answer : outcome;
}

export async function takeVisit(change: Change, visit: Visit, run: ChangeRun): Promise<EndedOutcome | Refusal> {
  // A program sends an earlier response.
  if (visit === 'declined' && change.ageMs >= shortestReadMs && change.state === 'waiting')
    return decideForCall(change, { kind: 'declined', way: 'asked' }, run);
  return outcomeOfState(visit === 'opened' ? await awaitEnd(change, run) : change, run);
}

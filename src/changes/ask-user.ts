import type { Question } from '../calls/outcome.js';
import { Refusal } from '../calls/refusal.js';
import { unlessStopped } from '../calls/waiting.js';
import { join, type SafeText, say } from '../util/safe-text.js';
import { type AddedChange, addChange } from './add-change.js';
import { type Change, type Decision, noOptions } from './change.js';
import type { ChangeRun } from './change-context.js';
import type { Elicitor, FormResponse } from './elicitor.js';
import type { PlannedChange } from './plan-change.js';
import { againstAsking } from './refusals.js';
import { notTyped } from './typed-name.js';

/** The result of asking the person behind a call. */
export type Asked =
  | { readonly kind: 'decided'; readonly change: Change; readonly decision: Decision }
  | Question
  | { readonly kind: 'notAsked'; readonly change: Change };

const maximumTries = 5;

/** A faster response (milliseconds) counts as that of a program. */
export const shortestReadMs = 1000;

/** Stores a planned change, and asks the client's user about it. */
export async function askUser(planned: PlannedChange, run: ChangeRun): Promise<Asked | Refusal> {
  const { question, row } = planned;
  const { elicitor } = run;
  // The client may have cancelled the call while it waited for its turn.
  if (run.signal.aborted || elicitor === undefined || question === undefined)
    return new Refusal('NobodyAsked', [say`the client cancelled the call before anybody was asked`]);
  // Terminal users started the call themselves, so they are not rate-limited.
  const refusal = elicitor.isDirect ? undefined : await againstAsking(run);
  if (refusal !== undefined) return refusal;

  const added = await addChange(planned, { ...noOptions, byForm: true }, run, { question });
  if (added.kind === 'refused') return added;
  elicitor.show?.(row.plan);
  try {
    return await askUntilAnswered(added, question, elicitor, run);
  } catch (error) {
    // The server stops, so nobody will respond any more.
    await run.store.decide(row.id, { kind: 'withdrawn', way: 'withdrawn' }).catch(() => undefined);
    throw error;
  }
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
    if (response.kind !== 'wrongName' || tries === maximumTries) {
      const answeredAfterMs = elicitor.isDirect ? undefined : now().getTime() - askedAt;
      return decisionOf(change, response, answeredAfterMs);
    }
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
  read: (accept: string, nameToType?: string) => FormResponse,
  proof: string,
): Asked {
  const question = change.question ?? change.plan.summary;
  const response = read(change.accept.text, change.typedName);
  if (response.kind === 'wrongName') return questionOf(change, afterWrongName(question), proof);
  return decisionOf(change, response, change.ageMs);
}

/** What a program says is never consent, even if it agreed. */
function decisionOf(change: Change, { kind, reason }: FormResponse, answeredAfterMs: number | undefined): Asked {
  if (kind === 'notAsked') return { kind: 'notAsked', change };
  const decided = (decision: Decision): Asked => ({ kind: 'decided', change, decision });
  // A wrong name is no refusal.
  if (kind === 'wrongName') return decided({ kind: 'withdrawn', way: 'asked' });
  if (kind !== 'unanswered' && answeredAfterMs !== undefined && answeredAfterMs < shortestReadMs)
    return decided({ kind: 'withdrawn', way: 'program', answeredAfterMs });
  if (kind === 'agreed') return decided({ kind: 'approved', way: 'asked', answeredAfterMs });
  const isDismissed = kind !== 'declined';
  return decided({ kind: 'declined', way: 'asked', answeredAfterMs, reason, ...(isDismissed && { isDismissed }) });
}

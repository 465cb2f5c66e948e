import type { CallOutcome, EndedOutcome } from '../calls/outcome.js';
import { Refusal } from '../calls/refusal.js';
import { unlessStopped, waitForPerson } from '../calls/waiting.js';
import { errorName } from '../util/log.js';
import { join, type SafeText, say } from '../util/safe-text.js';
import type { AddedChange } from './add-change.js';
import { shortestReadMs } from './ask-user.js';
import type { Change } from './change.js';
import type { ChangeRun } from './change-context.js';
import { awaitEnd, decideForCall, outcomeOfState } from './change-state.js';
import type { Guide, Visit } from './elicitor.js';

/** This file sends the client's user to the page with a plan. Opening the page is never consent. */

const aboutPage = say`You decide on a page, where you sign in. Opening it decides nothing.`;

/**
 * Sends the user to the page, and waits for the decision there.
 * @param answer the answer with the plan, if there is no decision
 */
export async function visitPage(
  { change, proof }: AddedChange,
  {
    address,
    question,
    answer,
  }: { readonly address: string; readonly question: SafeText; readonly answer: EndedOutcome },
  guide: Guide,
  run: ChangeRun,
): Promise<CallOutcome | Refusal> {
  const message = join([question, aboutPage], '\n');
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

/** Takes the user's response to the request to open the page. */
export async function takeVisit(change: Change, visit: Visit, run: ChangeRun): Promise<EndedOutcome | Refusal> {
  // A program sends an earlier response.
  if (visit === 'declined' && change.ageMs >= shortestReadMs && change.state === 'waiting')
    return decideForCall(change, { kind: 'declined', way: 'asked' }, run);
  return outcomeOfState(visit === 'opened' ? await awaitEnd(change, run) : change, run);
}

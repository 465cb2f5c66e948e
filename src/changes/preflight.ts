import type { EndedOutcome, Failure } from '../calls/outcome.js';
import { Refusal } from '../calls/refusal.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { join, own, say, time } from '../util/safe-text.js';
import type { ChangeRun } from './change-context.js';

/**
 * Makes the read that precedes a change, if the operation has such a read, and returns the call with a sentence about the answer. If the read
 * fails with an error after which the change would fail too, returns that failure. After any other error, the change goes on.
 */
export async function runPreflight(
  call: ResolvedChange,
  run: ChangeRun,
): Promise<ResolvedChange | Extract<EndedOutcome, { kind: 'failed' }> | Refusal> {
  const { operation, input, accountName: account } = call;
  const { preflight } = operation;
  if (preflight === undefined) return call;

  const readArguments = preflight.input(input);
  const args = account === undefined ? readArguments : { ...readArguments, account };
  // The read reports no progress and draws no view, because these belong to the change.
  const { onPage: _, hasView: __, ...contextOfRead } = run;
  const outcome = await run.callRead(preflight.operation, args, contextOfRead);
  if (outcome.kind === 'succeeded') {
    const { summary, answer = {} } = outcome.success;
    const found = say`As of ${time(run.now().toISOString())}: ${summary}`;
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

/** The codes of a failure: this server's own, the cloud's, and that of the status, such as `Http404`. */
const codesOf = ({ code, serviceSays, status }: Failure) => [code, serviceSays?.code ?? code, `Http${status}`];

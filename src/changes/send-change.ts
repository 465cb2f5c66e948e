import { refusalAfter, wireRequest } from '../calls/endpoint.js';
import { type FailedCall, faultFacts, mistakeRefusal, serverFault } from '../calls/failure.js';
import type { EndedOutcome, Failure } from '../calls/outcome.js';
import { Refusal, refusalFailure } from '../calls/refusal.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { NotSent, type SignedClient } from '../transport/signed-client.js';
import { digestOf } from '../util/digest.js';
import { type Log, reasonOf } from '../util/log.js';
import { type SafeText, say, words } from '../util/safe-text.js';
import type { Change } from './change.js';
import type { ChangeRun } from './change-context.js';
import {
  type ChangeResult,
  type Conclusion,
  concludeChange,
  concludeFailed,
  readResult,
  withNotes,
} from './conclude-change.js';

/** This file sends a begun change, and writes its ending. */

/** From the decision to sending (milliseconds). Later, `begin` would overlook a repetition that was sent meanwhile. */
const longestDelayMs = 10 * 60_000;

export const notSent = (tool: string, refusal: Refusal): Failure => refusalFailure(tool, refusal, { isChange: true });

export const isTooLate = ({ decidedAt }: Change, time: Date): boolean =>
  time.getTime() - (decidedAt ?? time.getTime()) > longestDelayMs;

/**
 * Sends a change that the store has as begun.
 * @param isAgain true if it may have been sent before, so that it cannot end as not sent
 */
export async function sendBegun(
  change: Change,
  call: ResolvedChange & FailedCall,
  client: SignedClient,
  run: ChangeRun,
  isAgain: boolean,
): Promise<EndedOutcome> {
  const { log, now } = run;
  const { id, tool, caller, target } = change;
  // The process may have been suspended while `begin` wrote, so `time` is taken after it.
  const time = now();
  const { result, keyId } =
    !isAgain && isTooLate(change, time) ? failedUnsent(tool, tooLate) : await sendAndRead(change, call, client, log);
  const sent = { call, change, sentAt: time.toISOString() };
  // Without an answer, an earlier try may have reached the cloud.
  const isUnknown = isAgain && result.kind === 'failed' && result.failure.status === undefined;
  const { state, ending, outcome } = isUnknown
    ? concludeFailed({ ...result.failure, mayHaveHappened: true })
    : concludeChange(result, sent, log);
  // A journal that was restored from a backup may lack the change.
  log('info', 'change', { id, tool, account: call.accountName, caller, target, outcome: state });
  return writeEnding(change, { state, ending: { ...ending, keyId }, outcome }, run);
}

interface Sending {
  readonly result: ChangeResult;
  readonly keyId?: string;
}

const failedUnsent = (tool: string, refusal: Refusal): Sending => ({
  result: { kind: 'failed', failure: notSent(tool, refusal) },
});

const tooLate = new Refusal('PlanExpired', [
  say`the consent was given more than ten minutes ago, and the same change may have been sent since`,
]);

/** Never rejects. After `NotSent`, the change was certainly not made. */
async function sendAndRead(
  change: Change,
  call: ResolvedChange & FailedCall,
  client: SignedClient,
  log: Log,
): Promise<Sending> {
  try {
    const reply = await client.send(await requestToSend(call, change));
    return { result: await readResult(call, reply, log), keyId: reply.keyId };
  } catch (error) {
    log('error', 'unexpected', faultFacts(call.operation, error));
    if (!(error instanceof NotSent)) return { result: { kind: 'failed', failure: serverFault(call, error) } };
    return failedUnsent(change.tool, refusalAfter(error) ?? mistakeRefusal(error));
  }
}

/** The token differs for each change, so it is not a part of the digest. */
async function requestToSend({ operation, input, endpoint, request, parts }: ResolvedChange, change: Change) {
  if (parts !== undefined || operation.many !== undefined) throw new NotSent('only its parts are sent');
  if (operation.takesToken !== true) return request;
  const firstPage = undefined;
  try {
    return wireRequest(operation, await operation.request(input, firstPage, tokenOf(change)), endpoint);
  } catch (cause) {
    throw new NotSent('the request could not be made', { cause });
  }
}

/** Makes a UUID that is the same for each attempt of a change (version 8 of RFC 9562). */
function tokenOf({ tokenSource }: Change): string {
  const digits = digestOf(['idempotency token', tokenSource]);
  const version = `8${digits.slice(13, 16)}`;
  const variant = `8${digits.slice(17, 20)}`;
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${version}-${variant}-${digits.slice(20, 32)}`;
}

/** How long an answer waits until the ending is in the store (milliseconds). */
const endingMs = 10_000;

export async function writeEnding(
  { tool, id, isPrivate }: Change,
  { state, ending, outcome }: Conclusion,
  { store, log }: ChangeRun,
): Promise<EndedOutcome> {
  const written = store.end(id, state, { ...ending, isPrivate }).then(
    (): SafeText[] => [],
    (error: unknown) => {
      log('error', 'journal', { tool, id, outcome: state, error: reasonOf(error) });
      return [words('The outcome could not be written into the journal, which will call it unknown.')];
    },
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SafeText[]>((resolve) => {
    timer = setTimeout(resolve, endingMs, [lateNote]);
  });
  return withNotes(outcome, await Promise.race([written, late]).finally(() => clearTimeout(timer)));
}

const lateNote = words('The outcome is not in the journal yet. It is written as soon as that is possible.');

import type { EndedOutcome, Failure } from '../consent/outcome.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import type { Ending, Intent } from '../journal/entry.js';
import type { BeginResult } from '../journal/journal.js';
import { NotSent, type SignedClient } from '../transport/signed-client.js';
import { digestOf } from '../util/digest.js';
import { defined, type SafeText, say, words } from '../util/safe-text.js';
import { budgetSpent } from './check-budget.js';
import { endingOf, outcomeOf, readResult, withNotes } from './conclude-change.js';
import type { CallDependencies } from './context.js';
import { keysRefusal, wireRequest } from './endpoint.js';
import { type FailedCall, faultFacts, serverFault } from './failure.js';
import { stepIfUnknown } from './follow-change.js';
import { earlierOf, repeated } from './repeat.js';
import { type ApprovedChange, intentOf, type ResolvedChange } from './stages.js';

/**
 * Sends a change that has consent. Its intent is on disk before the first byte, and its ending before the answer is put into words.
 * @param viewer the caller whose earlier changes may be named; undefined if all may be
 * @throws Refusal before the first byte, and nothing after it
 */
export async function sendChange(
  approved: ApprovedChange,
  client: SignedClient,
  viewer: string | undefined,
  { journal, log, now }: CallDependencies,
): Promise<EndedOutcome> {
  const { call, draft, repeats, consent } = approved;
  const intent = intentOf(draft, consent, now());
  const begun = await journal.begin(intent, { allowRepeat: repeats, budget: call.budget.limit });
  if (begun.kind !== 'begun') throw beginRefusal(begun, approved, viewer);

  const sentAt = now().toISOString();
  const sentCall = { ...call, ifUnknown: stepIfUnknown(call, approved.verificationHint, sentAt) };
  let key: string | undefined;
  const result = await requestToSend(call, intent)
    .then(client.send)
    .then(
      (reply) => {
        key = reply.keyId;
        return readResult(sentCall, reply, log);
      },
      (error: unknown) => {
        log('error', 'unexpected', faultFacts(call.operation, error));
        return { kind: 'failed', failure: sendingFault(sentCall, error) } as const;
      },
    );
  const ending = { id: intent.id, time: now().toISOString(), key, ...endingOf(result) };
  const notes = await writeEnding(ending, intent, { journal, log });
  return withNotes(outcomeOf(result, approved, sentAt, log), notes);
}

/**
 * Returns the request, with its idempotency token if the operation takes one. Plan, consent and idempotency key know no token, because a
 * new token for each call would make a repetition another change.
 * @throws NotSent
 */
async function requestToSend({ operation, input, endpoint, request }: ResolvedChange, intent: Intent) {
  if (operation.takesToken !== true) return request;
  try {
    return wireRequest(operation, await operation.request(input, undefined, tokenOf(intent)), endpoint);
  } catch (cause) {
    throw new NotSent('the request could not be made', { cause });
  }
}

/** A UUID that belongs to the consent of a change. Its bits that are free come from a digest (RFC 9562, version 8). */
function tokenOf({ nonce, id }: Pick<Intent, 'nonce' | 'id'>): string {
  const digits = digestOf(['idempotency token', nonce ?? id]);
  const [a, b, c, d, e] = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(13, 16),
    digits.slice(17, 20),
    digits.slice(20, 32),
  ];
  return `${a}-${b}-8${c}-8${d}-${e}`;
}

function beginRefusal(
  begun: Exclude<BeginResult, { kind: 'begun' }>,
  { call, verificationHint }: ApprovedChange,
  viewer: string | undefined,
): Refusal {
  switch (begun.kind) {
    case 'unwritable':
      return new Refusal('JournalUnavailable', [say`${defined(begun.reason)}`]);
    case 'consentUsed':
      return new Refusal('AlreadyDecided', []);
    case 'budgetSpent':
      return budgetSpent(begun.budget, begun);
    case 'duplicate':
      return repeated(earlierOf(begun.earlier, viewer), call, verificationHint);
  }
}

/** The failure of a change because of a fault of this server while it was sent. */
function sendingFault(call: FailedCall, error: unknown): Failure {
  if (!(error instanceof NotSent)) return serverFault(call);
  return refusalFailure(call.operation.name, keysRefusal(error) ?? new Refusal('InternalError', []), true);
}

/** An answer waits at most this long for its ending in the journal (milliseconds). Writing continues after that. */
const endingMs = 10_000;

/** Writes the ending of a change. Returns a note if that failed or takes too long. */
async function writeEnding(
  ending: Ending,
  { tool, id }: Intent,
  { journal, log }: Pick<CallDependencies, 'journal' | 'log'>,
): Promise<readonly SafeText[]> {
  const written = journal.end(ending).then(
    (): SafeText[] => [],
    (error: unknown) => {
      log('error', 'journal', { tool, id, error: error instanceof Error ? error.message : 'unknown' });
      return [words('The outcome could not be written into the journal, which will call it unknown.')];
    },
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SafeText[]>((resolve) => {
    timer = setTimeout(resolve, endingMs, [
      words('The outcome is not in the journal yet. It is written as soon as that is possible.'),
    ]);
  });
  return Promise.race([written, late]).finally(() => clearTimeout(timer));
}

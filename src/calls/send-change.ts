import type { EndedOutcome, Failure } from '../consent/outcome.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import type { Ending, Intent } from '../journal/entry.js';
import type { BeginResult } from '../journal/journal.js';
import { NotSent, type SignedClient } from '../transport/signed-client.js';
import { errorName } from '../util/log.js';
import { defined, type SafeText, say, words } from '../util/safe-text.js';
import { budgetSpent } from './check-budget.js';
import { adviceIfUnknown, endingOf, outcomeOf, readResult, withNotes } from './conclude-change.js';
import type { CallDependencies } from './context.js';
import { keysRefusal } from './endpoint.js';
import { type FailedCall, serverFault } from './failure.js';
import { earlierOf, repeated } from './repeat.js';
import { type ApprovedChange, intentOf } from './stages.js';

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
  const sentCall = { ...call, ifUnknown: adviceIfUnknown(approved, sentAt) };
  let key: string | undefined;
  const result = await client.send(call.request).then(
    (reply) => {
      key = reply.keyId;
      return readResult(sentCall, reply);
    },
    (error: unknown) => {
      log('error', 'unexpected', { tool: intent.tool, error: errorName(error) });
      return { kind: 'failed', failure: sendingFault(sentCall, error) } as const;
    },
  );
  const ending = { id: intent.id, time: now().toISOString(), key, ...endingOf(result) };
  const notes = await writeEnding(ending, intent, { journal, log });
  return withNotes(outcomeOf(result, approved, sentAt, log), notes);
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
      return repeated(earlierOf(begun.earlier, viewer), call.operation.effect, verificationHint);
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

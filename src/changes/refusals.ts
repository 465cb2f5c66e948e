import { Refusal } from '../calls/refusal.js';
import { reasonOf } from '../util/log.js';
import { say } from '../util/safe-text.js';
import type { Change, OfCaller } from './change.js';
import type { ChangeRun } from './change-context.js';
import { ofCaller, ofCallerOrClient } from './may-see.js';

/** This file counts what people declined, so that nobody is worn out with questions, and no agent goes past a person's no. */

/** The number of declines in ten minutes after which nobody is asked. */
const mostDeclined = 3;

/** Returns the refusal if the user declined too many changes through this client. */
export const againstAsking = (run: ChangeRun): Promise<Refusal | undefined> =>
  judge(run, ofCallerOrClient(run), (declined) =>
    declined.length >= mostDeclined ? new Refusal('TooManyRefusals') : undefined,
  );

/** Returns the refusal if `confirm_change` must not carry out a change, because a person declined it or too many others. */
export const againstConfirming = async (requestKey: string, run: ChangeRun): Promise<Refusal | undefined> =>
  (await againstAsking(run)) ??
  // The user may have declined in another client.
  judge(run, ofCaller(run), (declined) =>
    declined.some((change) => change.requestKey === requestKey && change.decision?.isDismissed !== true)
      ? new Refusal('Declined', [say`the user declined this change less than ten minutes ago`])
      : undefined,
  );

/** If the store cannot be read, nobody is asked, because the user may have declined too often. */
async function judge(
  { store, log }: ChangeRun,
  of: OfCaller,
  refusalAfter: (declined: readonly Change[]) => Refusal | undefined,
): Promise<Refusal | undefined> {
  try {
    return refusalAfter(await store.declined(of));
  } catch (error) {
    log('error', 'journal', { error: reasonOf(error) });
    return new Refusal('JournalUnavailable', [say`the refusals in it cannot be counted`]);
  }
}

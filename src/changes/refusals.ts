import { Refusal } from '../calls/refusal.js';
import { reasonOf } from '../util/log.js';
import { say } from '../util/safe-text.js';
import type { Change } from './change.js';
import type { ChangeContext, ChangeDependencies } from './change-context.js';
import { ofCaller, ofCallerOrClient } from './may-see.js';

/** This file counts what people declined, so that nobody is worn out with questions, and no agent goes past a person's no. */

/** After this number of declined or dismissed changes in ten minutes, no more questions are asked. */
const mostDeclined = 3;

type Of = Pick<ChangeContext, 'principal' | 'client'>;
type Sources = Pick<ChangeDependencies, 'store' | 'log'>;

/** Returns the refusal if the user must not be asked now, because the user declined too many changes through this client. */
export const againstAsking = (of: Of, sources: Sources): Promise<Refusal | undefined> =>
  counting(sources, async (store) =>
    (await store.declined(ofCallerOrClient(of))).length >= mostDeclined ? new Refusal('TooManyRefusals') : undefined,
  );

/** Counts declined changes. If the store cannot be read, nobody is asked, because the user may have declined too often. */
async function counting(
  { store, log }: Sources,
  count: (store: Sources['store']) => Promise<Refusal | undefined>,
): Promise<Refusal | undefined> {
  try {
    return await count(store);
  } catch (error) {
    log('error', 'journal', { error: reasonOf(error) });
    return new Refusal('JournalUnavailable', [say`the refusals in it cannot be counted`]);
  }
}

/** Returns the refusal if `confirm_change` must not carry out a change now: as in `againstAsking`, or if a person declined the same change recently. */
export async function againstConfirming(
  { requestKey }: Pick<Change, 'requestKey'>,
  of: Of,
  sources: Sources,
): Promise<Refusal | undefined> {
  const refusal = await againstAsking(of, sources);
  if (refusal !== undefined) return refusal;
  return counting(sources, async (store) => {
    // In any client, because the user may have declined this change in another one.
    const declined = await store.declined(ofCaller(of));
    const wasDeclined = declined.some(
      (change) => change.requestKey === requestKey && change.decision?.isDismissed !== true,
    );
    return wasDeclined
      ? new Refusal('Declined', [say`the user declined this change less than ten minutes ago`])
      : undefined;
  });
}

import type { EarlierCall } from '../calls/outcome.js';
import { Refusal } from '../calls/refusal.js';
import type { Effect } from '../tools/define-operation.js';
import { callAgain, type Next, next } from '../tools/next.js';
import { forReader, type SafeText, say, time, words } from '../util/safe-text.js';
import type { Change } from './change.js';
import { type FollowedCall, stepToVerify } from './follow-change.js';
import { isOfAnother } from './may-see.js';

/** The facts that `viewer` may know about an earlier change. Undefined for a change of another caller. */
function factsOf(change: Change, viewer: string | undefined): EarlierCall | undefined {
  if (isOfAnother(change, viewer)) return undefined;
  const { state, begunAt, madeAt, ending } = change;
  const outcomes = { begun: 'not ended', unknown: 'unknown' } as const;
  const outcome = state === 'begun' || state === 'unknown' ? outcomes[state] : 'accepted';
  const sentAt = new Date(begunAt ?? madeAt).toISOString();
  return { outcome, sentAt, requestIds: ending?.requestIds ?? {} };
}

const clauses = {
  accepted: words('the same call was accepted before'),
  unknown: words('the same call was sent before, and its outcome is unknown'),
  'not ended': words('the same call was sent before and has not ended'),
} as const;

const clauseOf = (earlier: EarlierCall | undefined): SafeText =>
  earlier === undefined ? words('another caller sent the same change before') : clauses[earlier.outcome];

/** The warning on a plan that would repeat an earlier change. */
export function repeatWarning(change: Change, viewer: string | undefined): SafeText {
  const earlier = factsOf(change, viewer);
  const sent = earlier === undefined ? words('') : say` It was sent ${time(earlier.sentAt)}.`;
  return say`This is a repeat: ${clauseOf(earlier)}.${sent}`;
}

/** Ends of a sentence: `only if they ask for`. */
const repetitions = {
  read: 'another call',
  create: 'a second one',
  alter: 'the same change once more',
  delete: 'the same deletion once more',
} as const satisfies Readonly<Record<Effect, string>>;

/** The refusal of an unintended repetition. */
export function repeated(change: Change, viewer: string | undefined, call: FollowedCall): Refusal {
  const earlier = factsOf(change, viewer);
  return new Refusal('Repeated', [], {
    reason: clauseOf(earlier),
    // A caller must not learn the outcome of another caller's change.
    next: stepAfterRepetition(earlier?.outcome ?? 'unknown', call),
    ...(earlier !== undefined && { earlier }),
  });
}

function stepAfterRepetition(outcome: EarlierCall['outcome'], call: FollowedCall): Next {
  // A rejected or declined change never counts as the earlier change.
  switch (outcome) {
    case 'not ended':
      return next('agent', 'wait', 'Wait for the answer of the earlier call before you do anything else.');
    case 'accepted': {
      const { operation, change } = call;
      const isBilled = operation.effect === 'create' && change.costsMoney === true;
      const repetition = say`${words(repetitions[operation.effect])}${words(isBilled ? ', billed separately' : '')}`;
      const text = forReader({
        agent: say`Tell the user when it was accepted, and the request IDs. Call again with allowRepeat: true only if, having heard that, they ask for ${repetition}.`,
        person: say`Try again with allowRepeat: true only for ${repetition}.`,
      });
      return next('user', 'decide', text);
    }
    case 'unknown': {
      // The cloud may list a new thing only minutes after the earlier call.
      const { who, action, text } = stepToVerify(call, {
        beforeLook: words('When ten minutes have passed since then,'),
        howToRepeat: say`${callAgain} with allowRepeat: true`,
      });
      return next(who, action, say`Nobody knows whether the earlier call was carried out. ${text}`);
    }
  }
}

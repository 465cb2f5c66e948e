import { Refusal, tooLargeToShow } from '../calls/refusal.js';
import { next } from '../tools/next.js';
import { forReader, type SafeText, say, words } from '../util/safe-text.js';
import type { Change, Decision, DecisionOptions } from './change.js';
import type { ChangeRun } from './change-context.js';
import type { PlannedChange } from './plan-change.js';
import { makeProof } from './proof.js';

/** How long a plan can be decided in the client (milliseconds). */
export const planInClientMs = 10 * 60_000;

/** The oldest arguments are forgotten, and their changes can no longer be decided. */
const mostHeld = 200;

/** A stored change with the proof for clicks and responses, which no model gets. */
export interface AddedChange {
  readonly kind: 'added';
  readonly change: Change;
  readonly proof: string;
}

/** For an operation that takes no name of a secret. */
const notOnPage = next(
  'user',
  'decide',
  say`${forReader({ agent: 'Tell the user that the change', person: 'The change' })} has to be made with cloudops-mcp call, or with a client that asks its user.`,
);

/**
 * Adds a planned change to the store. Returns a refusal if it cannot be stored.
 * @param approved set if the change is approved at once
 */
export async function addChange(
  { call, row, holdsSecret, replaced }: PlannedChange,
  options: DecisionOptions,
  run: ChangeRun,
  { approved, question }: { readonly approved?: Decision; readonly question?: SafeText } = {},
): Promise<AddedChange | Refusal> {
  const { heldArguments } = run;
  // The page may be served by another process, which does not have the secret.
  if (holdsSecret && options.onPage)
    return new Refusal('SecretByValue', [], call.operation.secretNames === undefined ? { next: notOnPage } : {});

  const proof = makeProof(row.id, run.newId());
  const lifetimeMs = options.onPage ? run.planLifetimeMs : planInClientMs;
  const change = { ...row, options, proof: proof.hash, question };
  const added = await run.store.add(change, { lifetimeMs, approved, replaces: replaced?.id });
  switch (added.kind) {
    case 'added': {
      if (holdsSecret) heldArguments.set(row.id, call.args);
      const [oldest] = heldArguments.keys();
      if (heldArguments.size > mostHeld && oldest !== undefined) heldArguments.delete(oldest);
      return { kind: 'added', change: added.change, proof: proof.token };
    }
    case 'tooLong':
      return tooLargeToShow(call, { reason: words('its plan is too long to wait for a decision') });
    case 'tooMany':
      return new Refusal('TooManyWaiting');
    case 'unwritable':
      return new Refusal('JournalUnavailable', [added.reason]);
  }
}

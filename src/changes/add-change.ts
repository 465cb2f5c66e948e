import type { Plan } from '../calls/outcome.js';
import { Refusal, tooLargeToShow } from '../calls/refusal.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { textAt } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import { type SafeText, words } from '../util/safe-text.js';
import type { Change, Decision, DecisionOptions, NewChange } from './change.js';
import type { ChangeRun } from './change-context.js';
import { acceptOf } from './plan.js';
import type { PlannedChange } from './plan-change.js';
import { makeProof } from './proof.js';

/** How long a plan can be decided in the client (milliseconds). A plan on the page waits longer. */
export const planInClientMs = 10 * 60_000;

interface HowAdded {
  readonly options: DecisionOptions;
  /** Set if the change is approved at once, because nobody is asked or the person agreed beforehand. */
  readonly approved?: Decision;
  readonly question?: SafeText | undefined;
  /** The waiting change that this one replaces, which is withdrawn in the same transaction. */
  readonly replaced: Change | undefined;
}

interface AddedChange {
  readonly kind: 'added';
  readonly change: Change;
  /** The proof for clicks and responses, which no model gets. */
  readonly proof: string;
}

/** Adds a planned change to the store. Returns a refusal if it cannot be stored. */
export async function addChange(
  planned: PlannedChange,
  { options, approved, question, replaced }: HowAdded,
  run: ChangeRun,
): Promise<AddedChange | Refusal> {
  const { call } = planned;
  const { store, newId, planLifetimeMs, heldArguments } = run;
  const isHeld = holdsSecret(call);
  // The page may be served by another process, which does not have the secret.
  if (isHeld && options.onPage) return new Refusal('SecretByValue');

  const id = newId();
  const proof = makeProof(id, newId());
  const lifetimeMs = options.onPage ? planLifetimeMs : planInClientMs;
  const change = {
    ...rowOf(planned, id, run),
    options,
    proof: proof.hash,
    ...(question !== undefined && { question }),
  };
  const added = await store.add(change, { lifetimeMs, ...(approved && { approved }), replaces: replaced?.id });
  switch (added.kind) {
    case 'added':
      if (isHeld) hold(heldArguments, id, call.args);
      return { kind: 'added', change: added.change, proof: proof.token };
    case 'tooLong':
      return tooLargeToShow(call, { reason: words('its plan is too long to wait for a decision') });
    case 'tooMany':
      return new Refusal('TooManyWaiting');
    case 'unwritable':
      return new Refusal('JournalUnavailable', [added.reason]);
  }
}

/** True if a call gives a secret itself and not the name of a secret file. Its arguments are never stored. */
const holdsSecret = ({ operation, input, nameBySecretPath = {} }: ResolvedChange): boolean =>
  (operation.secrets ?? []).some((path) => textAt(input, path) !== undefined && nameBySecretPath[path] === undefined);

/** Maximum number of changes whose arguments are kept in memory. The oldest are forgotten, and can then no longer be decided. */
const mostHeld = 200;

function hold(held: ChangeRun['heldArguments'], id: string, args: NewChange['args']): void {
  held.set(id, args);
  const [oldest] = held.keys();
  if (held.size > mostHeld && oldest !== undefined) held.delete(oldest);
}

function rowOf(
  { call, plan, typedName, subject, requestKey, requestDigest, repeats, tokenSource }: PlannedChange,
  id: string,
  { client, principal }: ChangeRun,
): Omit<NewChange, 'options' | 'proof'> {
  const { operation, change, input, endpoint, keyId, budget, account } = call;
  return {
    id,
    caller: principal?.name,
    personId: principal?.personId,
    scopes: principal?.scopes,
    agent: principal?.agent,
    client,
    account: endpoint.account,
    keyId,
    tool: operation.name,
    args: holdsSecret(call) ? {} : call.args,
    requestKey,
    requestDigest,
    repeats,
    tokenSource: tokenSource ?? id,
    budget: budget.key,
    subject,
    mode: account.confirm,
    what: escapeInvisible(`${change.headline(input, endpoint.region)}.`),
    target: targetOf(plan),
    plan,
    accept: acceptOf(call),
    typedName,
  };
}

const targetOf = ({ method, url }: Plan) => `${method} ${url}`;

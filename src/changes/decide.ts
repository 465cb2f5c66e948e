import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { EndedOutcome } from '../calls/outcome.js';
import { auditScope } from '../calls/policy.js';
import { Refusal, refusedChange } from '../calls/refusal.js';
import { secretsIn } from '../calls/resolve-call.js';
import { findOperation } from '../models/service-catalog.js';
import { next } from '../tools/next.js';
import { createRedactor } from '../transport/redact.js';
import { sentences } from '../util/human.js';
import { reasonOf, shownReason } from '../util/log.js';
import { own, say, words } from '../util/safe-text.js';
import { timeLimit } from '../util/time-limit.js';
import { carryOut } from './carry-out.js';
import type { Change, Decision } from './change.js';
import { afterStoreFailure, type ChangeRun, ofCaller } from './change-run.js';
import { type LateDecision, lateDecision, lateOutcome, refusalOf, thingOf, toldOutcome } from './change-state.js';
import { duplicateWindowMs } from './change-table.js';
import { longestReason } from './decline-reason.js';
import { resolveAgain, resolveStored } from './stored-call.js';
import { isTyped } from './typed-name.js';

/** This file has the verb with which every decision ends, and what else can be done with a change by its ID or its proof. */

/** How long a plan can be decided in the client (milliseconds). */
export const planInClientMs = 10 * 60_000;

/** A faster response (milliseconds) counts as a program's. */
export const shortestReadMs = 1000;

export type DecisionResult =
  | { readonly kind: 'decided'; readonly change: Change; readonly outcome: EndedOutcome }
  | LateDecision
  /** No decision was stored, and the change may still wait. */
  | Refusal;

/** A change that is still to be carried out. */
interface Approved {
  readonly kind: 'approved';
  readonly change: Change;
}

async function decide(change: Change, given: Decision, run: ChangeRun): Promise<DecisionResult | Approved> {
  const { store, heldArguments, log } = run;
  const decision = { ...given, reason: await redactReason(given.reason, change, run) };
  const decided = await store.decide(change.id, decision);
  if (decided.kind === 'gone') return new Refusal('UnknownChange');
  if (decided.kind === 'late') return lateDecision(decided.change, decision);
  if (decided.kind === 'unwritable') {
    log('error', 'journal', { tool: change.tool, id: change.id, error: decided.reason.text });
    return new Refusal('StateUnavailable', [decided.reason], { changeId: change.id });
  }
  if (decision.kind === 'approved') return { kind: 'approved', change: decided.change };

  heldArguments.delete(change.id);
  const { code, problems, more } = refusalOf(change, decision);
  const isUnwritten = decided.isUnwritten === true && decision.kind === 'declined';
  const notes = sentences(
    isUnwritten &&
      say`the refusal is not in the journal yet; it counts in this server all the same, and is written as soon as that is possible`,
  );
  return { ...decided, outcome: refusedChange(change.tool, new Refusal(code, [...problems, ...notes], more)) };
}

/** Removes secrets from a reason for declining. Drops the reason if the secrets are not known. */
async function redactReason(reason: string | undefined, change: Change, run: ChangeRun): Promise<string | undefined> {
  const text = (reason ?? '').trim().slice(0, longestReason);
  const operation = await findOperation(change.tool, run);
  if (text === '' || operation === undefined) return undefined;
  try {
    const call = await resolveStored(operation, change, run);
    const keys = await call.endpoint.keys.current().catch(() => undefined);
    return createRedactor([...secretsIn(call), keys?.secretAccessKey, keys?.sessionToken]).clean(text);
  } catch {
    return operation.secrets === undefined ? text : undefined;
  }
}

type CallResult = EndedOutcome | Refusal;

/** Returns the approved change, the outcome, or the decision that stands. */
export async function decideInCall(change: Change, decision: Decision, run: ChangeRun): Promise<CallResult | Approved> {
  const decided = await decide(change, decision, run);
  if (decided.kind === 'late') return lateOutcome(decided.change, decision, run.principal);
  return decided.kind === 'decided' ? decided.outcome : decided;
}

/** Decides, and carries out an approved change. */
export async function decideForCall(change: Change, decision: Decision, run: ChangeRun): Promise<CallResult> {
  const decided = await decideInCall(change, decision, run);
  return decided.kind === 'approved' ? carryOut(decided.change, run) : decided;
}

export interface Click {
  readonly decision: 'accept' | 'decline';
  readonly where: 'view' | 'page';
  readonly person?: string | undefined;
  readonly reason?: string | undefined;
  readonly typedName?: string | undefined;
}

/** Decides on a change by a person's click. Whether the person may see the change is checked before. */
export async function clickOnChange(change: Change, click: Click, run: ChangeRun): Promise<DecisionResult> {
  const decision = decisionOfClick(change, click);
  if (change.state !== 'waiting') return lateDecision(change, decision);
  if (change.isExpired) return new Refusal('PlanExpired');
  const decided = refusalOfClick(change, click) ?? (await decide(change, decision, run));
  return decided.kind === 'approved'
    ? { ...decided, kind: 'decided', outcome: await carryOut(decided.change, run) }
    : decided;
}

export function decisionOfClick({ ageMs }: Change, { decision, where, person, reason }: Click): Decision {
  const way = where === 'view' ? 'clicked' : 'page';
  const record = { way, answeredAfterMs: ageMs, person } as const;
  return decision === 'accept' ? { kind: 'approved', ...record } : { kind: 'declined', ...record, reason };
}

export function refusalOfClick({ options, ageMs, typedName }: Change, click: Click): Refusal | undefined {
  const isInView = click.where === 'view';
  if (isInView ? !options.byClick : !options.onPage) return new Refusal('ClickRefused');
  if (isInView && ageMs > planInClientMs) return new Refusal('PlanExpired');
  if (ageMs < shortestReadMs) return new Refusal('TooSoon', [say`the click came after ${ageMs} ms`]);
  if (click.decision === 'accept' && !isTyped(typedName, click.typedName)) return new Refusal('WrongName');
  return undefined;
}

/**
 * Carries out a waiting change after the user said yes to the agent.
 * @param thing the name that the plan shows, because a general permission is no consent to any change
 */
export async function confirmChange(change: Change, thing: string, run: ChangeRun): Promise<CallResult> {
  const decision = { kind: 'approved', way: 'confirmed' } as const;
  if (change.state !== 'waiting') return lateOutcome(change, decision, run.principal);
  const refusal = refusalOfConfirmation(change, thing, run.client.name) ?? (await againstAsking(run, change));
  if (refusal !== undefined) return refusal;
  // A plan that cannot be carried out now still waits.
  const call = await resolveAgain({ ...change, decision }, run);
  return call.kind === 'refused' ? call : decideForCall(change, decision, run);
}

export function refusalOfConfirmation(change: Change, thing: string, client: string): Refusal | undefined {
  if (!change.options.byConfirmation) return new Refusal('NotConfirmable');
  if (change.ageMs > planInClientMs) return new Refusal('PlanExpired');
  if (client !== change.client)
    return new Refusal('NotConfirmable', [say`the plan was made for another client of this caller`]);
  if (thing.trim() === thingOf(change).trim()) return undefined;
  return new Refusal('WrongName', [], {
    reason: words('thing is not the name that its plan shows'),
    next: next(
      'agent',
      'call',
      'Show the user the plan again. Only after a yes, call confirm_change with thing as the "next" of the plan gives it.',
    ),
  });
}

/** Limit of declines in ten minutes, which stops further questions, so that people are not worn out. */
const mostDeclined = 3;

/**
 * Returns the refusal of a further question or plan: people declined too many changes, or the change of `requestKey`, or too many forms ended
 * without a response.
 */
export async function againstAsking(
  run: ChangeRun,
  { byForm = false, requestKey }: { readonly byForm?: boolean; readonly requestKey?: string | undefined } = {},
): Promise<Refusal | undefined> {
  const all = await refusedChanges(run);
  if (all instanceof Refusal) return all;
  const recent = all.filter(({ decidedAgoMs = 0 }) => decidedAgoMs < duplicateWindowMs);
  const ofClient = recent.filter(({ client }) => run.principal !== undefined || client === run.client.name);
  if (ofClient.filter(isDeclined).length >= mostDeclined) return new Refusal('TooManyRefusals');
  const interrupted = ofClient.filter(
    ({ state, decision, options }) => state === 'withdrawn' && decision?.way === 'withdrawn' && options.byForm,
  );
  // An agent could ask and cancel without end.
  if (byForm && interrupted.length >= 10) return new Refusal('TooManyQuestions');
  // The user may have declined in another client.
  const isBound = recent.some(
    (change) => change.requestKey === requestKey && isDeclined(change) && change.decision?.isDismissed !== true,
  );
  return isBound ? new Refusal('Declined', [say`the user declined this change less than ten minutes ago`]) : undefined;
}

/** If the store cannot be read, no question is asked, because the user may have declined too often. */
export const refusedChanges = (run: ChangeRun): Promise<readonly Change[] | Refusal> =>
  run.store
    .refused(ofCaller(run))
    .catch(
      afterStoreFailure(run, () => new Refusal('JournalUnavailable', [say`the refusals in it cannot be counted`])),
    );

const isDeclined = ({ state, decision }: Change) => state === 'declined' && decision?.way !== 'program';

export async function withdrawChange(change: Change, run: ChangeRun): Promise<CallResult> {
  const decision = { kind: 'withdrawn', way: 'withdrawn' } as const;
  const decided = await decide(change, decision, run);
  if (decided.kind === 'refused') return decided;
  // A repeated call finds what the first has withdrawn.
  if (decided.kind === 'late' && decided.change.state !== 'withdrawn')
    return lateOutcome(decided.change, decision, run.principal);
  return toldOutcome(change, {
    summary: say`The plan of ${own(change.tool)} is withdrawn; nothing was sent.`,
    outcome: 'withdrawn',
    next: next('nobody', 'none', 'Nobody can decide on it any more. The same change needs a new plan.'),
  });
}

/** True if the change may end without a further call of its caller, for example by a click. A plan that only its caller can confirm may not. */
const isOpen = ({ state, isExpired, options: { byForm, byClick, onPage } }: Change) =>
  state === 'approved' || state === 'begun' || (state === 'waiting' && !isExpired && (byForm || byClick || onPage));

/**
 * Waits until a change has ended, up to `statusWaitMs`.
 * @returns the last state that could be read
 */
export async function awaitEnd(first: Change, run: ChangeRun): Promise<Change> {
  const { signal, stop, store, statusWaitMs, log } = run;
  let change = first;
  const poll = async () => {
    using limit = timeLimit(statusWaitMs, signal);
    while (isOpen(change) && !limit.signal.aborted && stop?.aborted !== true) {
      await delay(Math.min(500, statusWaitMs));
      const found = await store.find(change.id).catch((error: unknown) => {
        log('debug', 'journal', { id: change.id, error: reasonOf(error) });
        return change;
      });
      change = found ?? { ...change, isExpired: true };
    }
  };
  if (statusWaitMs > 0 && isOpen(change))
    await run.wait(poll).catch((error: unknown) => {
      // No place to wait outside the limit of concurrent calls.
      if (!(error instanceof Refusal)) throw error;
    });
  return change;
}

/** Finds a change of the caller, or for an auditor of anybody. */
export async function findChange(
  id: string,
  run: ChangeRun,
  { mayBeOfOthers = false } = {},
): Promise<Change | Refusal> {
  const { principal, store } = run;
  const unreadable = (error: unknown) =>
    new Refusal('StateUnavailable', [say`${shownReason(error)}`], { changeId: id });
  const change = await store.find(id).catch(afterStoreFailure(run, unreadable, { id }));
  if (change instanceof Refusal) return change;
  const isVisible =
    change?.caller === principal?.name || (mayBeOfOthers && principal?.scopes.includes(auditScope) === true);
  return change !== undefined && isVisible ? change : new Refusal('UnknownChange');
}

/** Makes the proof of a click or response. No model gets it, and the row has only a hash, so no reader of the store can click. */
export const makeProof = (id: string, secret: string) => ({ token: `${id}.${secret}`, hash: hashOf(secret) });

const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex');

/** Finds the change that a proof names. */
export async function findByProof(token: string, run: ChangeRun): Promise<Change | Refusal> {
  const [, id, secret] = /^([\w-]{22})\.([\w-]{22})$/.exec(token) ?? [];
  if (id === undefined || secret === undefined) return new Refusal('ClickRefused');
  const change = await findChange(id, run);
  if (change instanceof Refusal) return change.code === 'UnknownChange' ? new Refusal('PlanExpired') : change;
  const given = Buffer.from(hashOf(secret));
  const kept = Buffer.from(change.proof ?? '');
  return given.length === kept.length && timingSafeEqual(given, kept) ? change : new Refusal('ClickRefused');
}

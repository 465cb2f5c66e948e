import type { EndedOutcome } from '../calls/outcome.js';
import { Refusal, refusedChange } from '../calls/refusal.js';
import { secretsIn } from '../calls/resolve-call.js';
import { forAgent, next } from '../tools/next.js';
import { createRedactor } from '../transport/redact.js';
import { sentences } from '../util/human.js';
import { linesOf, type SafeText, say, words } from '../util/safe-text.js';
import { planInClientMs } from './add-change.js';
import { shortestReadMs } from './ask-user.js';
import { carryOut, resolveStored } from './carry-out.js';
import type { Change, Decision } from './change.js';
import type { ChangeRun } from './change-context.js';
import { boundedReason, reasonText } from './decline-reason.js';
import { isTyped } from './typed-name.js';

/** This file has the verb with which every decision ends: the first decision stands. */

export type DecisionResult =
  | { readonly kind: 'decided'; readonly change: Change; readonly outcome: EndedOutcome }
  | { readonly kind: 'late'; readonly change: Change }
  /** No decision was stored, and the change may still wait. */
  | Refusal;

/**
 * Decides on a change and, if it is approved, carries it out.
 * @param run the caller, with its present scopes
 */
export async function decide(change: Change, decision: Decision, run: ChangeRun): Promise<DecisionResult> {
  const stored = await storeDecision(change, decision, run);
  if (stored.kind !== 'approved') return stored;
  return { ...stored, kind: 'decided', outcome: await carryOut(stored.change, run) };
}

/** Stores a decision on a change. An approved change is still to be carried out. */
export async function storeDecision(
  change: Change,
  decision: Decision,
  run: ChangeRun,
): Promise<DecisionResult | { readonly kind: 'approved'; readonly change: Change }> {
  const { store, heldArguments, log } = run;
  const reason = await redactReason(decision.reason, change, run);
  const decided = await store.decide(change.id, { ...decision, reason });
  if (decided.kind === 'gone') return new Refusal('UnknownChange');
  if (decided.kind === 'late') return decided;
  if (decided.kind === 'unwritable') {
    log('error', 'journal', { tool: change.tool, id: change.id, error: decided.reason.text });
    return new Refusal('StateUnavailable', [decided.reason], { changeId: change.id });
  }
  if (decision.kind === 'approved') return { kind: 'approved', change: decided.change };

  heldArguments.delete(change.id);
  const { code, problems, more } = refusalOf(change, { ...decision, reason });
  const notes = sentences(decided.isUnwritten === true && decision.kind === 'declined' && unwrittenNote);
  return { ...decided, outcome: refusedChange(change.tool, new Refusal(code, [...problems, ...notes], more)) };
}

const unwrittenNote = words(
  'the refusal is not in the journal yet; it counts in this server all the same, and is written as soon as that is possible',
);

/** Removes secrets from a reason for declining. Drops the reason if the secrets are not known. */
async function redactReason(reason: string | undefined, change: Change, run: ChangeRun): Promise<string | undefined> {
  const text = boundedReason(reason);
  const operation = run.operations.find(({ name }) => name === change.tool);
  if (text === undefined || operation === undefined) return undefined;
  try {
    const call = await resolveStored(operation, change, run);
    const keys = await call.endpoint.keys.current().catch(() => undefined);
    return createRedactor([...secretsIn(call), keys?.secretAccessKey, keys?.sessionToken]).clean(text);
  } catch {
    return operation.secrets === undefined ? text : undefined;
  }
}

/** The refusal that tells of a decision. */
export function refusalOf(
  { id, mode, question, options }: Pick<Change, 'id' | 'mode' | 'question' | 'options'>,
  { kind, way, reason, answeredAfterMs = 0, isDismissed = false, replacedBy }: Decision,
): Refusal {
  const more = { changeId: id, outcome: kind === 'declined' ? 'declined' : 'withdrawn' } as const;
  const asked = sentences(question !== undefined && say`the question was: ${linesOf(question)[0] ?? question}`);
  if (way === 'program')
    return new Refusal('NobodyAsked', [say`the client answered it after ${answeredAfterMs} ms`, ...asked], more);
  if (kind === 'withdrawn' && way === 'asked') return new Refusal('WrongName', [], more);
  if (kind === 'withdrawn')
    return new Refusal('Withdrawn', [], replacedBy === undefined ? more : { ...more, ...replaced });

  const dismissed = isDismissed ? words('the user closed the question, or did not answer') : undefined;
  const deed = options.byForm || way !== 'asked' ? declines[way] : words('the user declined to open the page');
  const problems = [dismissed ?? deed ?? words('this plan was declined'), ...asked];
  if (reason !== undefined) problems.push(reasonText(reason));
  return new Refusal('Declined', problems, mode === 'approval' ? { ...more, ...byAnother } : more);
}

const replaced = { reason: words('its caller replaced the plan with a newer one') };

const byAnother = {
  reason: words('somebody other than the user declined it'),
  next: next('nobody', 'none', forAgent('Tell the user. Only a new wish of the user justifies a new plan.')),
};

const declines: Readonly<Partial<Record<Decision['way'], SafeText>>> = {
  asked: words('the user declined'),
  clicked: words('the user clicked "Do nothing"'),
  page: words('a person on the page clicked "Do nothing"'),
};

/** A click on a plan. */
export interface Click {
  readonly decision: 'accept' | 'decline';
  readonly where: 'view' | 'page';
  readonly person?: string | undefined;
  readonly reason?: string | undefined;
  readonly typedName?: string | undefined;
}

/** Returns the refusal of a click that does not count. */
export function refusalOfClick({ options, ageMs, typedName }: Change, click: Click): Refusal | undefined {
  const isInView = click.where === 'view';
  if (isInView ? !options.byClick : !options.onPage) return new Refusal('ClickRefused');
  if (isInView && ageMs > planInClientMs) return new Refusal('PlanExpired');
  // No person reads a plan faster.
  if (ageMs < shortestReadMs) return new Refusal('TooSoon', [say`the click came after ${ageMs} ms`]);
  if (click.decision === 'accept' && !isTyped(typedName, click.typedName)) return new Refusal('WrongName');
  return undefined;
}

/** The decision of a click. */
export function decisionOfClick({ ageMs }: Change, { decision, where, person, reason }: Click): Decision {
  const way = where === 'view' ? 'clicked' : 'page';
  const record = { way, answeredAfterMs: ageMs, person } as const;
  return decision === 'accept' ? { kind: 'approved', ...record } : { kind: 'declined', ...record, reason };
}

/**
 * Returns the refusal of an agent's confirmation that does not count.
 * @param thing the name that the plan shows
 */
export function refusalOfConfirmation(
  { options, ageMs, client: planningClient, subject, tool }: Change,
  thing: string,
  client: string,
): Refusal | undefined {
  if (!options.byConfirmation) return new Refusal('NotConfirmable');
  if (ageMs > planInClientMs) return new Refusal('PlanExpired');
  if (client !== planningClient)
    return new Refusal('NotConfirmable', [say`the plan was made for another client of this caller`]);
  if (thing.trim() !== thingOf({ subject, tool }).trim())
    return new Refusal('WrongName', [], {
      reason: words('thing is not the name that its plan shows'),
      next: confirmAsShown,
    });
  return undefined;
}

const confirmAsShown = next(
  'agent',
  'call',
  'Show the user the plan again. Only after a yes, call confirm_change with thing as the "next" of the plan gives it.',
);

/** The name that `confirm_change` takes. */
export const thingOf = ({ subject, tool }: Pick<Change, 'subject' | 'tool'>): string => subject?.name ?? tool;

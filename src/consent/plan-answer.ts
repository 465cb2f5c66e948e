import { type Next, next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import { join, own, type Shown, said, say, shortNames, words } from '../util/safe-text.js';
import { addressOf, type DecisionPage } from './decision-page.js';
import type { EndedOutcome, PlanClaims } from './outcome.js';
import type { PendingChange } from './pending.js';
import { acceptOf, planText } from './plan.js';
import { holdsSecret, type Plans } from './plans.js';
import { Refusal } from './refusal.js';
import type { ConsentStep } from './required-consent.js';
import { tokenLifetimeMs } from './tokens.js';
import type { ConsentInput, ConsentSettings } from './types.js';

type PlanStep = Extract<ConsentStep, { kind: 'plan' }>;

/**
 * The plan, with the ways to carry it out that no refusal has closed.
 * @throws Refusal if none is left, and more than the plan was wanted
 */
export async function planOf(
  step: PlanStep,
  pending: PendingChange,
  digest: string,
  { tokens, principal }: ConsentInput,
  settings: ConsentSettings,
): Promise<EndedOutcome> {
  const { call, entry, control } = pending;
  const { newNonce, refusals, plans } = settings;
  const againstPlanId = step.withPlanId ? await refusals.againstPlanId(entry) : undefined;
  const byPlanId = step.withPlanId && againstPlanId === undefined;
  // The same for all ways, so that a decision spends the planId too: no model carries out what a person turned down.
  const claims = { digest, nonce: newNonce() };
  const ways = await waysOfPeople(step, pending, claims, principal?.scopes, settings);
  const { byClick, onPage, decideAt, isStored } = ways;
  const reason = ways.refusal ?? againstPlanId;
  if (!control.planOnly && !byPlanId && !byClick && !onPage && reason !== undefined) throw reason;
  const use = byPlanId ? 'plan' : 'handle';
  return planned(pending, {
    byPlanId,
    planOnly: control.planOnly,
    ...((byPlanId || isStored) && { planId: tokens.issue({ use, ...claims }) }),
    ...(byClick && { claims }),
    ...(onPage && { decideAt, waitsUntil: plans.expiry() }),
    name: call.operation.name,
  });
}

/** The ways in which a person may decide on a plan, which is kept for that; with the reason if one of them is closed. */
async function waysOfPeople(
  { withTicket, withPage }: PlanStep,
  pending: PendingChange,
  claims: PlanClaims,
  scopes: readonly string[] | undefined,
  { refusals, plans, page }: ConsentSettings,
) {
  const none = { byClick: false, onPage: false, decideAt: undefined, isStored: false, refusal: undefined };
  if (!withTicket && !withPage) return none;
  const againstAsking = await refusals.againstAsking(pending.entry);
  if (againstAsking !== undefined) return { ...none, refusal: againstAsking };
  const refusal = await store(pending, claims, scopes, plans);
  const isStored = refusal === undefined;
  const onPage = withPage && isStored;
  const decideAt = onPage ? addressOf(claims.nonce, page) : undefined;
  if (onPage) announce(pending, decideAt, page);
  return { byClick: withTicket, onPage, decideAt, isStored, refusal };
}

function announce({ entry, plan }: PendingChange, decideAt: string | undefined, page: DecisionPage | undefined): void {
  const { tool, caller } = entry;
  if (page?.kind === 'local') page.show();
  else if (decideAt !== undefined) page?.announce({ tool, caller, headline: shortNames(plan.summary), decideAt });
}

/** Keeps a plan for the person who decides on it, and for the agent that asks what became of it. The result is why that cannot be. */
async function store(
  pending: PendingChange,
  claims: PlanClaims,
  scopes: readonly string[] | undefined,
  plans: Plans,
): Promise<Refusal | undefined> {
  const { call, entry, plan, repeats, now } = pending;
  if (holdsSecret(call)) return new Refusal('SecretByValue', []);
  try {
    const isAdded = await plans.add({
      ...claims,
      ...{ repeats, plan, scopes },
      args: call.args,
      requestKey: entry.digest,
      issuedAt: now().getTime(),
      tool: call.operation.name,
      caller: entry.caller,
      client: entry.client,
      accept: acceptOf(call),
    });
    return isAdded ? undefined : new Refusal('TooManyWaiting', []);
  } catch {
    return new Refusal('JournalUnavailable', [say`the plans that wait beside it cannot be written`]);
  }
}

/** The ways to carry a plan out, and whether the plan is all that was wanted. */
interface Ways {
  readonly name: string;
  readonly planOnly: boolean;
  /** Set if the planId carries the plan out. */
  readonly byPlanId: boolean;
  readonly planId?: string;
  readonly claims?: PlanClaims;
  readonly decideAt?: string | undefined;
  /** Milliseconds since 1970; of a plan that waits on a page. */
  readonly waitsUntil?: number;
}

const nextAfterPlan = (ways: Ways): Next => next('user', 'decide', afterPlan(ways));

/** What there is beside the button, for hosts that say they show views and show none, or pass no clicks on. */
function withoutButton({ name, byPlanId, decideAt }: Pick<Ways, 'name' | 'byPlanId' | 'decideAt'>): Shown {
  if (byPlanId) return say`If they see no button, show them all of "show" and let them answer in the chat.`;
  if (decideAt !== undefined) return say`If they see no button, they decide at the link.`;
  return say`If they see no button, they can decide where this server runs, with cloudops-mcp view ${own(name)} and the same arguments.`;
}

function afterPlan(ways: Ways): Shown {
  const { name, planOnly, planId, byPlanId, claims, decideAt, waitsUntil } = ways;
  const byClick = say`The user sees this plan with a button to agree and one to do nothing.`;
  const byPerson = sentences(
    ...(claims === undefined ? [] : [byClick, withoutButton(ways)]),
    decideAt !== undefined && say`Give the user the link in decideAt: a person decides there.`,
    decideAt === undefined &&
      waitsUntil !== undefined &&
      say`This plan waits in a browser tab on the machine of this server: tell the user to decide there.`,
  );
  const tool = own(name);
  if (!byPlanId && byPerson.length > 0)
    return join(
      sentences(
        ...byPerson,
        claims !== undefined && say`Wait for the decision: only a click carries this plan out.`,
        planId !== undefined && say`To learn what became of it, call ${tool} with the same arguments and this planId.`,
      ),
      ' ',
    );
  const showAll = said(
    words('Show the user all of "show", translated if they speak another language; the request can be left out'),
  );
  const condition =
    byPerson.length > 0
      ? say`${said(join(byPerson, ' '))} Leave the decision to them. Only if they tell you to go ahead instead`
      : planOnly
        ? say`${showAll}. Stop there. Only if they then ask for it`
        : say`${showAll}. If they say yes to it`;
  const withPlanId = said(words(planId === undefined ? '' : ' and this planId'));
  const call = say`call ${tool} with the same arguments${withPlanId}${said(words(planOnly ? ', without planOnly' : ''))}`;
  return say`${said(condition)}, ${said(call)}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
}

/** The plan in place of an answer. A planId, a click, either, or neither would carry it out. */
function planned({ call, plan, now }: PendingChange, ways: Ways): EndedOutcome {
  const { operation } = call;
  const { byPlanId, planId, claims, decideAt, waitsUntil } = ways;
  const issuedAt = now().getTime();
  const expiresAt = byPlanId || waitsUntil === undefined ? issuedAt + tokenLifetimeMs : waitsUntil;
  const expires = new Date(expiresAt).toISOString();
  const canBeCarriedOut = planId !== undefined || claims !== undefined;
  return {
    kind: 'succeeded',
    success: {
      summary: say`Plan of ${own(operation.name)}; nothing was sent.`,
      outcome: byPlanId || claims !== undefined || waitsUntil === undefined ? 'planned' : 'waiting',
      show: planText(plan, canBeCarriedOut ? `${expires.slice(0, 16).replace('T', ' ')} UTC` : undefined),
      plan,
      ...(planId !== undefined && { planId, planExpires: expires }),
      ...(decideAt !== undefined && { decideAt }),
      next: nextAfterPlan(ways),
      warnings: [],
      requestIds: {},
    },
    view: {
      kind: 'plan',
      accept: acceptOf(call),
      issuedAt,
      ...(byPlanId && { inChat: true }),
      ...(claims !== undefined && { claims }),
    },
  };
}

import type { EndedOutcome, PlanClaims } from '../answers/outcome.js';
import { planText, tooLargeToShow } from '../answers/plan.js';
import { Refusal } from '../answers/refusal.js';
import { type Next, next } from '../tools/next.js';
import type { Asker, Reply } from './asker.js';
import type { ConsentStep } from './decision.js';
import { consentDigest } from './digest.js';
import { type Consent, intentOf, type PendingChange } from './pending.js';
import { questionText } from './question.js';
import type { Refusals } from './refusals.js';
import { type ConsentClaims, type ConsentTokens, InvalidToken, tokenLifetimeMs } from './tokens.js';

/** The ways in which the person behind a call can be reached, and the consent that the call brings along. */
export interface ConsentInput {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /** Absent if the client cannot ask its user. */
  readonly asker?: Asker | undefined;
  /** Set if nobody knows what the client can do, because its session cannot be read. */
  readonly isUnknownClient?: boolean;
  /** Set if the client shows views (MCP Apps). */
  readonly hasView?: boolean;
  /** The click on the change view that makes this call. */
  readonly click?: Click | undefined;
  /** Set if the person who makes the call said yes beforehand, with an option of the command line. */
  readonly agreed?: boolean;
  readonly tokens: ConsentTokens;
}

/** The same for all calls of a process. */
export interface ConsentSettings {
  readonly refusals: Refusals;
  /** A new text that nobody can guess. */
  readonly newNonce: () => string;
}

/** The decision of a person who clicked on a plan, and the plan that it is bound to. */
export interface Click {
  readonly decision: 'accept' | 'decline';
  readonly claims: Omit<ConsentClaims, 'use'>;
}

/** A question that the client brings the answer to, with another entry of the same call. */
export interface Question {
  readonly kind: 'inputRequired';
  readonly message: string;
  readonly accept: string;
  readonly claims: Omit<ConsentClaims, 'issuedAt'>;
}

/**
 * Gets the consent that the settings ask for, or what the call ends with instead: a plan, or a question.
 * @param step what `decideConsent` found to be needed
 * @throws Refusal if there is no consent
 */
export async function obtainConsent(
  step: ConsentStep,
  pending: PendingChange,
  input: ConsentInput,
  settings: ConsentSettings,
): Promise<Consent | EndedOutcome | Question> {
  const { call, steering, entry, repeats } = pending;
  const { asker, click } = input;
  const { newNonce, refusals } = settings;
  const digest = consentDigest(call, repeats);
  if (click !== undefined) return clicked(pending, digest, click, refusals);
  switch (step.kind) {
    case 'given':
      return step;
    case 'refuse':
      throw new Refusal('NeedsHuman', [step.problem], input.isUnknownClient ? { next: reconnect } : {});
    case 'redeem': {
      const nonce = redeem(steering.planId ?? '', digest, input.tokens);
      const refusal = refusals.isSpent(nonce)
        ? new Refusal('Declined', ['the user declined this plan'])
        : await refusals.againstPlanId(entry);
      if (refusal !== undefined) throw refusal;
      return { kind: 'given', how: 'planId', nonce };
    }
    case 'plan':
      return planOf(step, pending, digest, input, settings);
    case 'ask': {
      if (asker === undefined) throw new Refusal('NeedsHuman', ['this client cannot ask its user']);
      return ask(pending, { use: 'question', digest, nonce: newNonce() }, asker, input.signal, refusals);
    }
  }
}

const reconnect = next(
  'user',
  'configure',
  'This server does not know what the client can do: their session is missing, or is not one of this server. Have the user reconnect ' +
    'the client to this server, then call again.',
);

/**
 * The plan, with the ways to carry it out that no refusal has closed.
 * @throws Refusal if none is left, and more than the plan was wanted
 */
async function planOf(
  { withPlanId, withTicket }: Extract<ConsentStep, { kind: 'plan' }>,
  pending: PendingChange,
  digest: string,
  { tokens }: ConsentInput,
  { newNonce, refusals }: ConsentSettings,
): Promise<EndedOutcome> {
  const { entry, steering } = pending;
  const againstPlanId = withPlanId ? await refusals.againstPlanId(entry) : undefined;
  const againstTicket = withTicket ? await refusals.againstAsking(entry) : undefined;
  const byPlanId = withPlanId && againstPlanId === undefined;
  const byClick = withTicket && againstTicket === undefined;
  const refusal = againstTicket ?? againstPlanId;
  if (!steering.planOnly && !byPlanId && !byClick && refusal !== undefined) throw refusal;
  // The same for both, so that a click spends the planId too: no model carries out what a person turned down.
  const claims = { digest, nonce: newNonce() };
  return planned(pending, {
    ...(byPlanId && { planId: tokens.issue({ use: 'plan', ...claims }) }),
    planOnly: steering.planOnly,
    ...(byClick && { claims }),
  });
}

/** The nonce of a planId that is valid for a call. */
function redeem(planId: string, digest: string, tokens: ConsentTokens): string {
  try {
    const claims = tokens.verify(planId);
    if (claims.use === 'plan' && claims.digest === digest) return claims.nonce;
  } catch (error) {
    const expired = error instanceof InvalidToken && error.reason === 'expired';
    const reason = expired ? 'the planId has expired' : 'this server did not issue the planId, or it was altered';
    throw new Refusal('PlanRefused', [reason]);
  }
  throw new Refusal('PlanRefused', [
    'the planId belongs to another tool, or to other arguments, another endpoint or account, or the same change was sent since',
  ]);
}

/** The ways to carry a plan out, and whether the plan is all that was wanted. */
interface Ways {
  readonly planOnly: boolean;
  readonly planId?: string;
  readonly claims?: PlanClaims;
}

const nextAfterPlan = (name: string, ways: Ways): Next => next('user', 'decide', afterPlan(name, ways));

function afterPlan(name: string, { planOnly, planId, claims }: Ways): string {
  const byClick = 'The user sees this plan with a button to agree and one to do nothing.';
  if (claims !== undefined && planId === undefined)
    return `${byClick} Wait for the decision: only a click carries this plan out.`;
  const showAll = 'Show the user all of "show", translated if they speak another language; the request can be left out';
  const condition =
    claims !== undefined
      ? `${byClick} Leave the decision to them. Only if they ask you to go ahead instead`
      : planOnly
        ? `${showAll}. Stop there. Only if they then ask for it`
        : `${showAll}. If they say yes to it`;
  const call = `call ${name} with the same arguments${planId === undefined ? '' : ' and this planId'}${planOnly ? ', without planOnly' : ''}`;
  return `${condition}, ${call}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
}

/** The plan in place of an answer. A planId, a click, either, or neither would carry it out. */
function planned({ call, plan, now }: PendingChange, ways: Ways): EndedOutcome {
  const { operation, change, input } = call;
  const { planId, claims } = ways;
  const issuedAt = now().getTime();
  const expires = new Date(issuedAt + tokenLifetimeMs).toISOString();
  const canBeCarriedOut = planId !== undefined || claims !== undefined;
  return {
    kind: 'succeeded',
    success: {
      summary: `Plan of ${operation.name}; nothing was sent.`,
      outcome: 'planned',
      show: planText(plan, canBeCarriedOut ? `${expires.slice(0, 16).replace('T', ' ')} UTC` : undefined),
      plan,
      ...(planId !== undefined && { planId, planExpires: expires }),
      next: nextAfterPlan(operation.name, ways),
      warnings: [],
      requestIds: {},
    },
    view: { kind: 'plan', accept: change.accept(input), issuedAt, ...(claims !== undefined && { claims }) },
  };
}

/** An answer that comes sooner was given by a program: nobody reads a question in that time (milliseconds). */
const shortestReadMs = 1000;

/** A click is consent, or a refusal that is recorded. Either spends the plan. */
async function clicked(
  pending: PendingChange,
  digest: string,
  { decision, claims }: Click,
  refusals: Refusals,
): Promise<Consent> {
  if (claims.digest !== digest)
    throw new Refusal('PlanRefused', [
      'the plan was shown for another endpoint, another account or other arguments, or the same change was sent since',
    ]);
  const answeredAfterMs = pending.now().getTime() - claims.issuedAt;
  const consent = { kind: 'given', how: 'clicked', nonce: claims.nonce, answeredAfterMs } as const;
  const byProgram = answeredAfterMs < shortestReadMs;
  if (refusals.isSpent(claims.nonce)) throw new Refusal('AlreadyDecided', []);
  if (decision === 'accept' && !byProgram) return consent;
  const reason = byProgram
    ? new Refusal('NobodyAsked', [`the click came after ${answeredAfterMs} ms`])
    : new Refusal('Declined', ['the user clicked "Do nothing"']);
  throw await declined(pending, consent, refusals, reason, new Refusal('AlreadyDecided', []));
}

/**
 * Records a refusal, and gives what to tell of it.
 * @param ifSpent for what was decided before
 */
async function declined(
  pending: PendingChange,
  consent: Consent,
  refusals: Refusals,
  reason: Refusal,
  ifSpent: Refusal,
): Promise<Refusal> {
  const recorded = await refusals.decline(intentOf(pending, consent));
  if (recorded === 'spent') return ifSpent;
  return recorded === 'declined' ? reason : new Refusal(reason.code, [...reason.problems, unwritten], reason.more);
}

const unwritten =
  'the refusal is not in the journal yet; it counts in this server all the same, and is written as soon as that is possible';

/** Asks the user. A refusal is recorded and spends the question: the same question cannot be answered twice. */
async function ask(
  pending: PendingChange,
  asked: Question['claims'],
  asker: Asker,
  signal: AbortSignal,
  refusals: Refusals,
): Promise<Consent | Question> {
  const { call, plan, now } = pending;
  const accept = call.change.accept(call.input);
  const { brought } = asker;
  if (brought === undefined) {
    // It may have waited for the answer to another question.
    if (signal.aborted) throw new Refusal('Declined', ['the client cancelled the call before anybody was asked']);
    const refusal = await refusals.againstAsking(pending.entry);
    if (refusal !== undefined) throw refusal;
  }
  if (brought !== undefined && brought.claims.digest !== asked.digest)
    throw new Refusal('PlanRefused', ['the answer belongs to a call with other arguments, endpoint or account']);
  const message = questionText(plan, call);
  if (message === undefined) throw tooLargeToShow(call);

  const claims = brought?.claims ?? asked;
  const askedAt = brought?.claims.issuedAt ?? now().getTime();
  const reply = brought?.read(accept) ?? (await asker.ask(message, accept));
  if (reply === 'later') return { kind: 'inputRequired', message, accept, claims };
  const answeredAfterMs = now().getTime() - askedAt;
  const consent = { kind: 'given', how: 'asked', nonce: claims.nonce, answeredAfterMs } as const;
  const answeredBefore = new Refusal('PlanRefused', ['this question was answered before']);
  if (refusals.isSpent(claims.nonce)) throw answeredBefore;
  const refusal = refusalOf(reply, asker.isDirect === true ? Number.POSITIVE_INFINITY : answeredAfterMs, message);
  if (refusal === undefined) return consent;
  throw await declined(pending, consent, refusals, refusal, answeredBefore);
}

/** The reason why a reply is no consent, if there is one. */
function refusalOf(reply: Reply, afterMs: number, message: string): Refusal | undefined {
  const [headline = ''] = message.split('\n');
  const shown = `the question was: ${headline}`;
  if (reply !== 'unanswered' && afterMs < shortestReadMs)
    return new Refusal('NobodyAsked', [`the client ${verbs[reply]} it after ${afterMs} ms`, shown]);
  if (reply === 'agreed') return undefined;
  return new Refusal('Declined', [replies[reply], shown]);
}

/** The words for a program that gave the reply. */
const verbs: Readonly<Record<Exclude<Reply, 'unanswered'>, string>> = {
  agreed: 'agreed to',
  declined: 'declined',
  notChosen: 'answered',
  cancelled: 'cancelled',
};

/** The words for a person who gave it. */
const replies: Readonly<Record<Exclude<Reply, 'agreed'>, string>> = {
  declined: 'the user declined',
  notChosen: 'the user answered without choosing',
  cancelled: 'the user closed the question without an answer',
  unanswered:
    'no answer came from the user; if the client never shows questions, the person who runs this server can set CLOUDOPS_CONFIRM=plan',
};

import { consentDigest, questionText } from '../answers/plan.js';
import { Refusal } from '../answers/refusal.js';
import type { ConsentWay } from '../answers/success.js';
import type { CallOutcome, Click, PendingChange, PlanClaims, Question } from '../calls/context.js';
import type { Intent } from '../journal/entry.js';
import type { Elicitor, Reply } from '../mcp/elicitation.js';
import { decideConsent } from './decision.js';
import { type ConsentTokens, InvalidToken, isDigestOf, tokenLifetimeMs } from './tokens.js';

/** Consent to a change, and how it came. */
export interface Consent {
  readonly kind: 'given';
  readonly how: ConsentWay;
  /** Makes it count once. */
  readonly nonce?: string | undefined;
  /** How long the person took to answer. */
  readonly answeredAfterMs?: number | undefined;
}

/**
 * Gets the consent that the settings ask for, or what the call ends with instead: a plan, or a question.
 * @throws Refusal if there is no consent
 */
export async function obtainConsent(pending: PendingChange): Promise<Consent | CallOutcome> {
  const { call, steering, context, dependencies } = pending;
  const { elicitor, tokens, agreed = false, hasView = false, click, principal } = context;
  const { confirm, log, newNonce, now, questions } = dependencies;
  const { planOnly, planId, allowRepeat } = steering;
  const digest = consentDigest(call, allowRepeat);
  if (click !== undefined) return clicked(pending, digest, click);
  const canAsk = elicitor !== undefined;
  const step = decideConsent({ mode: confirm, planOnly, hasPlanId: planId !== undefined, canAsk, hasView, agreed });
  log('info', 'consent', { tool: call.operation.name, digest, decision: step.kind, caller: principal?.name });
  switch (step.kind) {
    case 'given':
      return step;
    case 'refuse':
      throw new Refusal('NeedsHuman', [step.problem]);
    case 'redeem':
      return { kind: 'given', how: 'planId', nonce: redeem(planId ?? '', digest, tokens) };
    case 'plan': {
      const refusal = step.withTicket ? await refusalToAsk(pending) : undefined;
      if (refusal !== undefined && !planOnly) throw refusal;
      // A plan alone asks nobody: it is shown all the same, without buttons.
      const withTicket = step.withTicket && refusal === undefined;
      // The same for both, so that a click spends the planId too: no model carries out what a person turned down.
      const claims = { digest, nonce: newNonce() };
      return planned(pending, now().getTime(), {
        ...(step.withPlanId && { planId: tokens.issue({ use: 'plan', ...claims }) }),
        planOnly,
        ...(withTicket && { claims }),
      });
    }
    case 'ask': {
      if (elicitor === undefined) throw new Refusal('NeedsHuman', ['this client cannot ask its user']);
      const question = () => ask(pending, digest, elicitor);
      return elicitor.brought === undefined ? questions.take(principal?.name, question) : question();
    }
  }
}

/** The nonce of a planId that is valid for a call. */
function redeem(planId: string, digest: string, tokens: ConsentTokens): string {
  try {
    const claims = tokens.verify(planId);
    if (claims.use === 'plan' && isDigestOf(claims, digest)) return claims.nonce;
  } catch (error) {
    const expired = error instanceof InvalidToken && error.reason === 'expired';
    const reason = expired ? 'the planId has expired' : 'this server did not issue the planId, or it was altered';
    throw new Refusal('PlanRefused', [reason]);
  }
  throw new Refusal('PlanRefused', [
    'the planId belongs to another tool, or to other arguments, another endpoint or account',
  ]);
}

/** What would carry a plan out, and whether the plan is all that was wanted. */
interface Ways {
  readonly planOnly: boolean;
  readonly planId?: string;
  readonly claims?: PlanClaims;
}

function nextAfterPlan(name: string, { planOnly, planId, claims }: Ways): string {
  const byClick = 'The user sees this plan with a button to agree and one to do nothing.';
  if (claims !== undefined && planId === undefined)
    return `${byClick} Wait for the decision: only a click carries this plan out.`;
  const condition =
    claims !== undefined
      ? `${byClick} Leave the decision to them. Only if they ask you to go ahead instead`
      : planOnly
        ? 'Show this plan to the user and stop there. Only if they then ask for it'
        : 'Show this plan to the user. If they say yes to it';
  const call = `call ${name} with the same arguments${planId === undefined ? '' : ' and this planId'}${planOnly ? ', without planOnly' : ''}`;
  return `${condition}, ${call}. A yes counts only once they have seen this plan; other arguments need a new plan.`;
}

/** The plan in place of an answer, with what would carry it out: a planId, a click, either, or neither. */
function planned({ call, plan }: PendingChange, issuedAt: number, ways: Ways): CallOutcome {
  const { operation, change, input } = call;
  const { planId, claims } = ways;
  return {
    kind: 'succeeded',
    success: {
      summary: `Plan of ${operation.name}; nothing was sent.`,
      outcome: 'planned',
      plan,
      ...(planId !== undefined && { planId, planExpires: new Date(issuedAt + tokenLifetimeMs).toISOString() }),
      next: nextAfterPlan(operation.name, ways),
      warnings: [],
      requestIds: {},
    },
    view: { kind: 'plan', accept: change.accept(input), issuedAt, ...(claims !== undefined && { claims }) },
  };
}

/** After so many refusals within the time that a question holds, nobody is asked again. */
const mostRefusals = 3;

/** An answer that comes sooner was given by a program: nobody reads a question in that time (milliseconds). */
const shortestReadMs = 1000;

/** A click is consent, or a refusal that is recorded. Either spends the plan. */
async function clicked(pending: PendingChange, digest: string, { decision, claims }: Click): Promise<Consent> {
  if (claims.digest !== digest)
    throw new Refusal('PlanRefused', ['the plan was shown for another endpoint, another account or other arguments']);
  const answeredAfterMs = pending.dependencies.now().getTime() - claims.issuedAt;
  const consent = { kind: 'given', how: 'clicked', nonce: claims.nonce, answeredAfterMs } as const;
  const byProgram = answeredAfterMs < shortestReadMs;
  if (decision === 'accept' && !byProgram) return consent;
  if (!(await decline(pending, consent))) throw new Refusal('AlreadyDecided', []);
  if (byProgram) throw new Refusal('NobodyAsked', [`the click came after ${answeredAfterMs} ms`]);
  throw new Refusal('Declined', ['the user clicked "Do nothing"']);
}

/** What the journal says of a change before it is sent. */
export function intentOf(
  { call: { operation, request, endpoint }, plan: { summary, url }, key, context, dependencies }: PendingChange,
  { how, nonce, answeredAfterMs }: Consent,
): Intent {
  const { client, principal } = context;
  const { newId, now, process } = dependencies;
  return {
    id: newId(),
    time: now().toISOString(),
    tool: operation.name,
    what: summary,
    target: `${request.method} ${url}`,
    account: endpoint.credentials.accessKeyId,
    client,
    caller: principal?.name,
    consent: how,
    digest: key,
    nonce,
    answeredAfterMs,
    process,
  };
}

/** Writes down that a change was refused. False if what they were asked was decided before. */
function decline(pending: PendingChange, consent: Consent): Promise<boolean> {
  return pending.dependencies.journal.decline(intentOf(pending, consent)).catch(() => true);
}

/** Why this caller's user may not be asked, if that is so. */
async function refusalToAsk({ context, dependencies }: PendingChange): Promise<Refusal | undefined> {
  const { journal, now } = dependencies;
  try {
    const refused = await journal.countDeclined(now().getTime() - tokenLifetimeMs, context.principal?.name);
    return refused >= mostRefusals ? new Refusal('TooManyRefusals', []) : undefined;
  } catch {
    return new Refusal('JournalUnavailable', ['the refusals in it cannot be counted']);
  }
}

/** Asks the user. A refusal is recorded and spends the question: the same question cannot be answered twice. */
async function ask(pending: PendingChange, digest: string, elicitor: Elicitor): Promise<Consent | CallOutcome> {
  const { call, plan, context, dependencies } = pending;
  const { now, newNonce } = dependencies;
  const accept = call.change.accept(call.input);
  const { brought } = elicitor;
  if (brought === undefined) {
    // It may have waited for the answer to another question.
    if (context.signal.aborted)
      throw new Refusal('Declined', ['the client cancelled the call before anybody was asked']);
    const refusal = await refusalToAsk(pending);
    if (refusal !== undefined) throw refusal;
  }
  if (brought !== undefined && !isDigestOf(brought.claims, digest))
    throw new Refusal('PlanRefused', ['the answer belongs to a call with other arguments, endpoint or account']);
  const message = questionText(plan, call);
  if (message === undefined) throw new Refusal('TooLargeToShow', []);

  const claims: Question = brought?.claims ?? { use: 'question', digest, nonce: newNonce() };
  const askedAt = brought?.claims.issuedAt ?? now().getTime();
  const reply = brought?.read(accept) ?? (await elicitor.ask(message, accept));
  if (reply === 'later') return { kind: 'inputRequired', message, accept, claims };
  const answeredAfterMs = now().getTime() - askedAt;
  const consent = { kind: 'given', how: 'asked', nonce: claims.nonce, answeredAfterMs } as const;
  const refusal = refusalOf(reply, elicitor.isDirect === true ? Number.POSITIVE_INFINITY : answeredAfterMs, message);
  if (refusal === undefined) return consent;
  const wasFirst = await decline(pending, consent);
  if (!wasFirst) throw new Refusal('PlanRefused', ['this question was answered before']);
  throw refusal;
}

/** Why a reply is no consent, if that is so. */
function refusalOf(reply: Reply, afterMs: number, message: string): Refusal | undefined {
  const [headline = ''] = message.split('\n');
  const shown = `the question was: ${headline}`;
  if (reply !== 'unanswered' && afterMs < shortestReadMs)
    return new Refusal('NobodyAsked', [`the client ${verbs[reply]} it after ${afterMs} ms`, shown]);
  if (reply === 'agreed') return undefined;
  return new Refusal('Declined', [replies[reply], shown]);
}

/** What a program did with the question. */
const verbs: Readonly<Record<Exclude<Reply, 'unanswered'>, string>> = {
  agreed: 'agreed to',
  declined: 'declined',
  notChosen: 'answered',
  cancelled: 'cancelled',
};

/** What a person did with it. */
const replies: Readonly<Record<Exclude<Reply, 'agreed'>, string>> = {
  declined: 'the user declined',
  notChosen: 'the user answered without choosing',
  cancelled: 'the user closed the question without an answer',
  unanswered:
    'no answer came from the user; if the client never shows questions, the person who runs this server can set CLOUDOPS_CONFIRM=plan',
};

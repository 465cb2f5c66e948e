import { boundedReason, reasonText } from '../consent/decline-reason.js';
import { type Elicitor, type UserReply, unlessStopped } from '../consent/elicitor.js';
import { acceptOf } from '../consent/plan.js';
import type { PlanDecision } from '../consent/plan-decision.js';
import { declinedByAnother, Refusal, refusalFailure } from '../consent/refusal.js';
import { type ConsentStep, takesClicks } from '../consent/required-consent.js';
import { type ConsentTokens, InvalidToken } from '../consent/tokens.js';
import { isTyped, nameToType } from '../consent/typed-name.js';
import { callAgain, next } from '../tools/next.js';
import { createRedactor } from '../transport/redact.js';
import { textsAt } from '../util/objects.js';
import { forReader, type SafeText, say, upTo, words } from '../util/safe-text.js';
import type { CallContext, CallDependencies, CallOutcome, Click, Question } from './context.js';
import { ofAnotherCall, stateUnavailable } from './plan-state.js';
import { type Consent, intentOf, type PlannedChange } from './stages.js';

/** The waiting plan that a call decides, if there is one. */
type ClaimedPlan = ReturnType<typeof createClaimedPlan>;

export function createClaimedPlan({ plans, log }: Pick<CallDependencies, 'plans' | 'log'>, tool: string) {
  let claimed: string | undefined;
  /** Stores the outcome with the plan. Never rejects, because the outcome is known. */
  const settle = async (outcome: CallOutcome): Promise<void> => {
    if (claimed === undefined || outcome.kind === 'inputRequired') return;
    await plans.settle(claimed, outcome);
  };
  return {
    settle,
    /**
     * Takes a plan out of the plans that wait.
     * @throws Refusal if another decision took it first, or if the plans cannot be written
     */
    async claim(nonce: string, decision: PlanDecision): Promise<void> {
      const result = await plans.claim(nonce, decision).catch((error: unknown) => {
        throw stateUnavailable(error, tool, log);
      });
      if (result === 'taken') throw new Refusal('AlreadyDecided', []);
      if (result === 'claimed') claimed = nonce;
    },
    /** Stores the refusal that ended the call. After `AlreadyDecided`, the outcome belongs to the call that decided. */
    async settleError(error: unknown): Promise<void> {
      if (!(error instanceof Refusal) || error.code === 'AlreadyDecided') return;
      await settle({ kind: 'failed', failure: refusalFailure(tool, error, true) });
    },
  };
}

/** A decision on a plan, before it is recorded. */
interface Decision {
  readonly consent: Consent & { readonly nonce: string };
  /** Set if the person did not consent, or if a program answered. */
  readonly refusal?: Refusal | undefined;
  /** Why the person declined, as it was typed. */
  readonly reason?: string | undefined;
  /** Set if the person only closed the question. */
  readonly isDismissed?: boolean;
  /** The refusal if the nonce was used before. */
  readonly ifSpent: Refusal;
}

/**
 * Gets the consent that a change needs, or the question that the client has to answer first.
 * @param step the result of `decideConsent`; a click counts instead
 * @param waitingNonce the nonce of the plan that the call's planId names, if it still waits
 * @throws Refusal if there is no consent
 */
export async function approveChange(
  step: ConsentStep,
  planned: PlannedChange,
  claimedPlan: ClaimedPlan,
  waitingNonce: string | undefined,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<Consent | Question> {
  const decision = await decisionOn(step, planned, waitingNonce, context, dependencies);
  if ('kind' in decision) return decision;
  const { isDismissed, ifSpent } = decision;
  const { refusals, now } = dependencies;
  const reason = decision.refusal && (await withoutSecrets(boundedReason(decision.reason), planned.call));
  const consent = { ...decision.consent, reason };
  const refusal = withReason(decision.refusal, reason);
  if (refusals.isSpent(consent.nonce)) throw ifSpent;
  const kind = refusal === undefined ? 'accepted' : 'declined';
  await claimedPlan.claim(consent.nonce, { kind, person: consent.approver, at: now().getTime(), reason });
  context.click?.page?.onClaim();
  if (refusal === undefined) return consent;
  const recorded = await refusals.decline(intentOf(planned.draft, consent, now()), isDismissed);
  if (recorded === 'spent') throw ifSpent;
  if (recorded === 'declined') throw refusal;
  throw new Refusal(refusal.code, [...refusal.problems, unwritten], refusal.more);
}

/** Removes the secrets of a call from a text that a person typed. */
async function withoutSecrets(text: string | undefined, { operation, input, endpoint }: PlannedChange['call']) {
  if (text === undefined) return undefined;
  const secrets = (operation.secrets ?? []).flatMap((path) => textsAt(input, path));
  const keys = await endpoint.keys.current().catch(() => undefined);
  return createRedactor([...secrets, keys?.secretAccessKey, keys?.sessionToken]).clean(text);
}

/** The refusal with the person's reason among its problems. */
const withReason = (refusal: Refusal | undefined, reason: string | undefined): Refusal | undefined =>
  refusal &&
  (reason === undefined ? refusal : new Refusal(refusal.code, [...refusal.problems, reasonText(reason)], refusal.more));

const unwritten = words(
  'the refusal is not in the journal yet; it counts in this server all the same, and is written as soon as that is possible',
);

function decisionOn(
  step: ConsentStep,
  planned: PlannedChange,
  waitingNonce: string | undefined,
  context: CallContext,
  dependencies: CallDependencies,
): Decision | Consent | Promise<Decision | Question> {
  if (context.click !== undefined) return clickDecision(planned, context.click, dependencies.now());
  switch (step.kind) {
    case 'given':
      return step;
    case 'refuse':
      throw new Refusal('NeedsHuman', [step.problem], context.isUnknownClient ? { next: reconnect } : {});
    case 'status':
    case 'plan':
      throw new Refusal('PlanRefused', [say`only a person can decide on this plan`]);
    case 'redeem':
      return planIdDecision(planned, context.tokens, dependencies);
    case 'ask':
      return askUser(planned, waitingNonce ?? dependencies.newNonce(), context, dependencies);
  }
}

const reconnect = next(
  'user',
  'configure',
  say`This server does not know what the client can do: its session is missing, or was not made by this server. ${forReader({ agent: 'Have the user reconnect', person: 'Reconnect' })} the client to this server, then ${callAgain}.`,
);

/** A planId counts once, unless the change was refused recently. */
async function planIdDecision(
  { call, draft, digest }: PlannedChange,
  tokens: ConsentTokens,
  { refusals }: CallDependencies,
): Promise<Decision> {
  const nonce = verifyPlanId(call.control.planId ?? '', digest, tokens);
  const ifSpent = new Refusal('Declined', [say`the user declined this plan`]);
  if (refusals.isSpent(nonce)) throw ifSpent;
  const refusal = await refusals.againstPlanId(draft);
  if (refusal !== undefined) throw refusal;
  return { consent: { kind: 'given', how: 'planId', nonce }, ifSpent };
}

/** Returns the nonce of a planId that is valid for a plan. */
function verifyPlanId(planId: string, digest: string, tokens: ConsentTokens): string {
  try {
    const claims = tokens.verify(planId);
    if (claims.use === 'plan' && claims.digest === digest) return claims.nonce;
  } catch (error) {
    const expired = error instanceof InvalidToken && error.reason === 'expired';
    const reason = words(
      expired ? 'the planId has expired' : 'this server did not issue the planId, or it was altered',
    );
    throw new Refusal('PlanRefused', [reason]);
  }
  throw ofAnotherCall();
}

/** An earlier answer was given by a program, because no person reads a question in this time (milliseconds). */
export const shortestReadMs = 1000;

function clickDecision(
  { call, digest }: PlannedChange,
  { decision, claims, page, reason, typedName }: Click,
  time: Date,
): Decision {
  const { confirm } = call.account;
  if (!takesClicks(confirm, page === undefined ? 'view' : 'page'))
    throw new Refusal('PlanRefused', [say`CLOUDOPS_CONFIRM is ${confirm} by now, and this click does not count`]);
  if (claims.digest !== digest)
    throw new Refusal('PlanRefused', [
      say`the plan was shown for another endpoint, another account, another secret or other arguments, or the same change was sent since`,
    ]);
  const answeredAfterMs = time.getTime() - claims.issuedAt;
  const how = page === undefined ? 'clicked' : 'page';
  const consent = { kind: 'given', how, nonce: claims.nonce, answeredAfterMs, approver: page?.person } as const;
  const ifSpent = new Refusal('AlreadyDecided', []);
  // The plan continues to wait for a person.
  if (answeredAfterMs < shortestReadMs)
    throw new Refusal('NobodyAsked', [say`the click came after ${answeredAfterMs} ms`]);
  // The plan continues to wait here as well.
  if (decision === 'accept' && !isTyped(nameToType(call), typedName)) throw new Refusal('WrongName', []);
  if (decision === 'accept') return { consent, ifSpent };
  const who = words(page === undefined ? 'the user' : 'a person on the page');
  const problems = [say`${who} clicked "Do nothing"`];
  return {
    consent,
    ifSpent,
    reason,
    refusal: confirm === 'approval' ? declinedByAnother(problems) : new Refusal('Declined', problems),
  };
}

/** How often a name can be typed in one call. */
const mostTyping = 5;

/** Asks the client's user, or takes the answer that this request carries. */
async function askUser(
  { call, draft, shown, question, digest }: PlannedChange,
  nonce: string,
  { elicitor, signal, stop }: CallContext,
  { refusals, now }: CallDependencies,
): Promise<Decision | Question> {
  if (elicitor === undefined) throw new Refusal('NeedsHuman', [say`this client cannot ask its user`]);
  const { resumedReply } = elicitor;
  if (resumedReply === undefined) await checkMayAsk(elicitor, draft, signal, refusals);
  else if (resumedReply.claims.digest !== digest)
    throw new Refusal('PlanRefused', [say`the answer belongs to a call with other arguments, endpoint or account`]);
  if (question === undefined) throw new Refusal('NeedsHuman', [say`no question holds the plan`]);

  const accept = acceptOf(call);
  const claims = resumedReply?.claims ?? { use: 'question', digest, nonce };
  const askedAt = resumedReply?.claims.issuedAt ?? now().getTime();
  if (resumedReply === undefined) elicitor.show?.(shown);
  const typedName = nameToType(call);
  const ask = (message: SafeText) => unlessStopped(stop, (over) => elicitor.ask(message, accept, over, typedName));
  const again = say`That is not the name. ${question}`;
  let reply = resumedReply?.read(accept.text, typedName) ?? (await ask(question));
  let message = question;
  for (let asked = 1; reply !== 'later' && reply.kind === 'wrongName' && asked < mostTyping; asked += 1) {
    message = again;
    reply = await ask(again);
  }
  if (reply === 'later') return { kind: 'inputRequired', message, answer: { accept, typedName }, claims };
  const { kind, reason } = reply;
  if (kind === 'wrongName') throw new Refusal('WrongName', []);
  const answeredAfterMs = now().getTime() - askedAt;
  const readMs = elicitor.isDirect === true ? Number.POSITIVE_INFINITY : answeredAfterMs;
  const refusal = refusalOf(kind, readMs, question);
  const how = refusal?.code === 'NobodyAsked' ? 'program' : 'asked';
  return {
    consent: { kind: 'given', how, nonce: claims.nonce, answeredAfterMs },
    refusal,
    reason,
    isDismissed: kind === 'cancelled',
    ifSpent: new Refusal('AlreadyDecided', []),
  };
}

/** @throws Refusal if the user may not be asked now */
async function checkMayAsk(
  { isDirect }: Elicitor,
  draft: PlannedChange['draft'],
  signal: AbortSignal,
  refusals: CallDependencies['refusals'],
): Promise<void> {
  // The call may have waited for the answer to another question.
  if (signal.aborted) throw new Refusal('Declined', [say`the client cancelled the call before anybody was asked`]);
  // Terminal users started the call themselves, so they are not rate-limited.
  if (isDirect) return;
  const refusal = await refusals.againstAsking(draft);
  if (refusal !== undefined) throw refusal;
}

/** Returns the refusal that a reply is, or undefined for consent. */
function refusalOf(
  reply: Exclude<UserReply['kind'], 'wrongName'>,
  afterMs: number,
  message: SafeText,
): Refusal | undefined {
  const shown = say`the question was: ${upTo(message, '\n') ?? message}`;
  if (reply !== 'unanswered' && afterMs < shortestReadMs)
    return new Refusal('NobodyAsked', [say`the client ${words(verbs[reply])} it after ${afterMs} ms`, shown]);
  if (reply === 'agreed') return undefined;
  return new Refusal('Declined', [words(replies[reply]), shown]);
}

/** Replies of a program. */
const verbs = {
  agreed: 'agreed to',
  declined: 'declined',
  notChosen: 'answered',
  cancelled: 'cancelled',
} as const satisfies Readonly<Record<Exclude<UserReply['kind'], 'unanswered' | 'wrongName'>, string>>;

/** Replies of a person. */
const replies = {
  declined: 'the user declined',
  notChosen: 'the user answered without choosing',
  cancelled: 'the user closed the question without an answer',
  unanswered: 'no answer came from the user',
} as const satisfies Readonly<Record<Exclude<UserReply['kind'], 'agreed' | 'wrongName'>, string>>;

import { boundedReason, reasonText } from '../consent/decline-reason.js';
import { type Elicitor, type UserReply, unlessStopped } from '../consent/elicitor.js';
import type { EndedOutcome } from '../consent/outcome.js';
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
import type { CallContext, CallDependencies, Click, Question } from './context.js';
import { intentOf } from './plan-change.js';
import { ofAnotherCall, stateUnavailable } from './plan-state.js';
import type { Consent, PlannedChange } from './stages.js';

/** The waiting plan that a call decides, if there is one. */
export class ClaimedPlan {
  readonly #plans: CallDependencies['plans'];
  readonly #log: CallDependencies['log'];
  readonly #tool: string;
  /** Nonce of the plan. Undefined until the call has claimed a plan. */
  #nonce: string | undefined;

  constructor({ plans, log }: Pick<CallDependencies, 'plans' | 'log'>, tool: string) {
    this.#plans = plans;
    this.#log = log;
    this.#tool = tool;
  }

  /**
   * Takes a plan out of the plans that wait.
   * @throws Refusal if another decision took it first, or if the plans cannot be written
   */
  async claim(nonce: string, decision: PlanDecision): Promise<void> {
    const result = await this.#plans.claim(nonce, decision).catch((error: unknown) => {
      throw stateUnavailable(error, this.#tool, this.#log);
    });
    if (result === 'taken') throw new Refusal('AlreadyDecided', []);
    if (result === 'claimed') this.#nonce = nonce;
  }

  /** Stores the outcome with the plan. Never rejects, because the outcome is known. */
  async settle(outcome: EndedOutcome): Promise<void> {
    if (this.#nonce !== undefined) await this.#plans.settle(this.#nonce, outcome);
  }

  /** Stores the refusal that ended the call. After `AlreadyDecided`, the outcome belongs to the call that decided. */
  async settleError(error: unknown): Promise<void> {
    if (!(error instanceof Refusal) || error.code === 'AlreadyDecided') return;
    await this.settle({ kind: 'failed', failure: refusalFailure(this.#tool, error, true) });
  }
}

/** A decision on a plan, before it is recorded. */
interface Decision {
  readonly kind: 'decided';
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
 * Gets the consent that a change needs, or the question that the client has to answer first. Records the decision of a person.
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
  const decision = await getDecision(step, planned, waitingNonce, context, dependencies);
  if (decision.kind !== 'decided') return decision;
  const { refusal, ifSpent } = decision;
  const { refusals, now } = dependencies;
  const reason = refusal && (await withoutSecrets(boundedReason(decision.reason), planned.call));
  const consent = { ...decision.consent, reason };
  if (refusals.isSpent(consent.nonce)) throw ifSpent;
  const kind = refusal === undefined ? 'accepted' : 'declined';
  await claimedPlan.claim(consent.nonce, { kind, person: consent.approver, at: now().getTime(), reason });
  context.click?.page?.onClaim();
  if (refusal === undefined) return consent;

  const recorded = await refusals.decline(intentOf(planned.draft, consent, now()), decision.isDismissed);
  if (recorded === 'spent') throw ifSpent;
  const problems = [...refusal.problems];
  if (reason !== undefined) problems.push(reasonText(reason));
  if (recorded === 'unwritten') problems.push(unwritten);
  throw new Refusal(refusal.code, problems, refusal.more);
}

/** Removes the secrets of a call from a text that a person typed. */
async function withoutSecrets(text: string | undefined, { operation, input, endpoint }: PlannedChange['call']) {
  if (text === undefined) return undefined;
  const secrets = (operation.secrets ?? []).flatMap((path) => textsAt(input, path));
  const keys = await endpoint.keys.current().catch(() => undefined);
  return createRedactor([...secrets, keys?.secretAccessKey, keys?.sessionToken]).clean(text);
}

const unwritten = words(
  'the refusal is not in the journal yet; it counts in this server all the same, and is written as soon as that is possible',
);

/** Gets the decision of a person, of a planId or of a setting. */
async function getDecision(
  step: ConsentStep,
  planned: PlannedChange,
  waitingNonce: string | undefined,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<Decision | Consent | Question> {
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
  return { kind: 'decided', consent: { kind: 'given', how: 'planId', nonce }, ifSpent };
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

/**
 * The decision of a click on a plan. After `NobodyAsked` and `WrongName`, the plan continues to wait for a person.
 * @throws Refusal if the click does not count
 */
function clickDecision({ call, digest }: PlannedChange, click: Click, time: Date): Decision {
  const { decision, claims, page, reason, typedName } = click;
  const { confirm } = call.account;
  if (!takesClicks(confirm, page === undefined ? 'view' : 'page'))
    throw new Refusal('PlanRefused', [say`CLOUDOPS_CONFIRM is ${confirm} by now, and this click does not count`]);
  if (claims.digest !== digest)
    throw new Refusal('PlanRefused', [
      say`the plan was shown for another endpoint, another account, another secret or other arguments, or the same change was sent since`,
    ]);
  const answeredAfterMs = time.getTime() - claims.issuedAt;
  if (answeredAfterMs < shortestReadMs)
    throw new Refusal('NobodyAsked', [say`the click came after ${answeredAfterMs} ms`]);
  if (decision === 'accept' && !isTyped(nameToType(call), typedName)) throw new Refusal('WrongName', []);

  const how = page === undefined ? 'clicked' : 'page';
  const consent = { kind: 'given', how, nonce: claims.nonce, answeredAfterMs, approver: page?.person } as const;
  const ifSpent = new Refusal('AlreadyDecided', []);
  if (decision === 'accept') return { kind: 'decided', consent, ifSpent };
  const who = words(page === undefined ? 'the user' : 'a person on the page');
  const problems = [say`${who} clicked "Do nothing"`];
  const refusal = confirm === 'approval' ? declinedByAnother(problems) : new Refusal('Declined', problems);
  return { kind: 'decided', consent, ifSpent, reason, refusal };
}

/** Asks the client's user, or takes the answer that this request carries. */
async function askUser(
  planned: PlannedChange,
  nonce: string,
  { elicitor, signal, stop }: CallContext,
  { refusals, now }: CallDependencies,
): Promise<Decision | Question> {
  const { call, draft, question, digest } = planned;
  if (elicitor === undefined) throw new Refusal('NeedsHuman', [say`this client cannot ask its user`]);
  const { resumedReply } = elicitor;
  if (resumedReply === undefined) await checkMayAsk(elicitor, draft, signal, refusals);
  else if (resumedReply.claims.digest !== digest)
    throw new Refusal('PlanRefused', [say`the answer belongs to a call with other arguments, endpoint or account`]);
  if (question === undefined) throw new Refusal('NeedsHuman', [say`no question holds the plan`]);

  const claims = resumedReply?.claims ?? { use: 'question', digest, nonce };
  const askedAt = resumedReply?.claims.issuedAt ?? now().getTime();
  const { reply, message } = await getReply(question, planned, elicitor, stop);
  if (reply === 'later') {
    const answer = { accept: acceptOf(call), typedName: nameToType(call) };
    return { kind: 'inputRequired', message, answer, claims };
  }
  const { kind, reason } = reply;
  if (kind === 'wrongName') throw new Refusal('WrongName', []);
  const answeredAfterMs = now().getTime() - askedAt;
  const isProgram = elicitor.isDirect !== true && kind !== 'unanswered' && answeredAfterMs < shortestReadMs;
  const shown = say`the question was: ${upTo(question, '\n') ?? question}`;
  const how = isProgram ? 'program' : 'asked';
  return {
    kind: 'decided',
    consent: { kind: 'given', how, nonce: claims.nonce, answeredAfterMs },
    refusal: isProgram ? refusalByProgram(kind, answeredAfterMs, shown) : refusalByPerson(kind, shown),
    reason,
    isDismissed: kind === 'cancelled',
    ifSpent: new Refusal('AlreadyDecided', []),
  };
}

/** How often a name can be typed in one call. */
const mostTyping = 5;

/**
 * Reads the reply that this request carries, or asks the question. After a wrong name, asks again.
 * @returns the reply, and the question that it answers
 */
async function getReply(
  question: SafeText,
  { call, shown }: PlannedChange,
  elicitor: Elicitor,
  stop: AbortSignal | undefined,
): Promise<{ readonly reply: UserReply | 'later'; readonly message: SafeText }> {
  const accept = acceptOf(call);
  const typedName = nameToType(call);
  const ask = (text: SafeText) => unlessStopped(stop, (over) => elicitor.ask(text, accept, over, typedName));
  if (elicitor.resumedReply === undefined) elicitor.show?.(shown);
  let message = question;
  let reply = elicitor.resumedReply?.read(accept.text, typedName) ?? (await ask(question));
  for (let typed = 1; typed < mostTyping && reply !== 'later' && reply.kind === 'wrongName'; typed += 1) {
    message = say`That is not the name. ${question}`;
    reply = await ask(message);
  }
  return { reply, message };
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

type ProgramReply = Exclude<UserReply['kind'], 'unanswered' | 'wrongName'>;

/** The refusal of a reply that came before a person could have read the question. */
const refusalByProgram = (reply: ProgramReply, afterMs: number, shown: SafeText): Refusal =>
  new Refusal('NobodyAsked', [say`the client ${words(programReplies[reply])} it after ${afterMs} ms`, shown]);

const programReplies = {
  agreed: 'agreed to',
  declined: 'declined',
  notChosen: 'answered',
  cancelled: 'cancelled',
} as const satisfies Readonly<Record<ProgramReply, string>>;

/** The refusal by a person. Undefined for consent. */
const refusalByPerson = (reply: Exclude<UserReply['kind'], 'wrongName'>, shown: SafeText): Refusal | undefined =>
  reply === 'agreed' ? undefined : new Refusal('Declined', [words(replies[reply]), shown]);

const replies = {
  declined: 'the user declined',
  notChosen: 'the user answered without choosing',
  cancelled: 'the user closed the question without an answer',
  unanswered: 'no answer came from the user',
} as const satisfies Readonly<Record<Exclude<UserReply['kind'], 'agreed' | 'wrongName'>, string>>;

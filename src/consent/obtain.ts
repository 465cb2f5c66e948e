import { next } from '../tools/next.js';
import { firstLine, type Shown, said, say, words } from '../util/safe-text.js';
import { consentDigest } from './consent-digest.js';
import { type Elicitor, type UserReply, unlessStopped } from './elicitor.js';
import type { EndedOutcome } from './outcome.js';
import { type Consent, journalIntent, type PendingChange } from './pending.js';
import { acceptOf, planText } from './plan.js';
import { planOf } from './plan-answer.js';
import { questionText } from './question.js';
import { Refusal, tooLargeToShow } from './refusal.js';
import type { Refusals } from './refusals.js';
import { type ConsentStep, takesClicks } from './required-consent.js';
import { type ConsentTokens, InvalidToken } from './tokens.js';
import type { Click, ConsentInput, ConsentSettings, Question } from './types.js';

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
  const { call, repeats } = pending;
  const { elicitor, click } = input;
  const { confirm, newNonce, refusals } = settings;
  if (click !== undefined) {
    if (!takesClicks(confirm, click.page === undefined ? 'view' : 'page'))
      throw new Refusal('PlanRefused', [say`CLOUDOPS_CONFIRM is ${confirm} by now, and this click does not count`]);
    return clicked(pending, click, refusals);
  }
  const digest = consentDigest(call, repeats);
  switch (step.kind) {
    case 'given':
      return step;
    case 'refuse':
      throw new Refusal('NeedsHuman', [step.problem], input.isUnknownClient ? { next: reconnect } : {});
    case 'redeem':
      return redeemed(pending, digest, input.tokens, refusals);
    case 'status':
      throw new Refusal('PlanRefused', [say`only a person can decide on this plan`]);
    case 'plan':
      return planOf(step, pending, digest, input, settings);
    case 'ask': {
      if (elicitor === undefined) throw new Refusal('NeedsHuman', [say`this client cannot ask its user`]);
      const nonce = pending.planNonce ?? newNonce();
      return ask(pending, { use: 'question', digest, nonce }, elicitor, input, refusals);
    }
  }
}

const reconnect = next(
  'user',
  'configure',
  say`This server does not know what the client can do: its session is missing, or was not made by this server. Have the user reconnect the client to this server, then call again.`,
);

/** A planId is consent once, if no refusal stands against it. */
async function redeemed(
  pending: PendingChange,
  digest: string,
  tokens: ConsentTokens,
  refusals: Refusals,
): Promise<Consent> {
  const nonce = redeem(pending.control.planId ?? '', digest, tokens);
  const refusal = refusals.isSpent(nonce)
    ? new Refusal('Declined', [say`the user declined this plan`])
    : await refusals.againstPlanId(pending.entry);
  if (refusal !== undefined) throw refusal;
  await pending.claim(nonce);
  return { kind: 'given', how: 'planId', nonce };
}

/** The nonce of a planId that is valid for a call. */
function redeem(planId: string, digest: string, tokens: ConsentTokens): string {
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
  throw new Refusal('PlanRefused', [
    say`the planId belongs to another tool, or to other arguments, another endpoint or account, or the same change was sent since`,
  ]);
}

/** An answer that comes sooner was given by a program: nobody reads a question in that time (milliseconds). */
export const shortestReadMs = 1000;

/** A click is consent, or a refusal that is recorded. Either spends the plan. */
async function clicked(
  pending: PendingChange,
  { decision, claims, page }: Click,
  refusals: Refusals,
): Promise<Consent> {
  // The change that the plan said it repeats may be so long ago by now that this is none.
  const repeats = pending.repeats === '' && page !== undefined ? page.repeats : pending.repeats;
  if (claims.digest !== consentDigest(pending.call, repeats))
    throw new Refusal('PlanRefused', [
      say`the plan was shown for another endpoint, another account, another secret or other arguments, or the same change was sent since`,
    ]);
  const answeredAfterMs = pending.now().getTime() - claims.issuedAt;
  const how = page === undefined ? 'clicked' : 'page';
  const consent = { kind: 'given', how, nonce: claims.nonce, answeredAfterMs, approver: page?.person } as const;
  const byProgram = answeredAfterMs < shortestReadMs;
  if (refusals.isSpent(claims.nonce)) throw new Refusal('AlreadyDecided', []);
  await pending.claim(claims.nonce);
  if (decision === 'accept' && !byProgram) return consent;
  const reason = byProgram
    ? new Refusal('NobodyAsked', [say`the click came after ${answeredAfterMs} ms`])
    : new Refusal('Declined', [
        say`${said(words(page === undefined ? 'the user' : 'a person on the page'))} clicked "Do nothing"`,
      ]);
  throw await declined(pending, consent, refusals, reason, new Refusal('AlreadyDecided', []));
}

/**
 * Records a refusal, and gives what to tell of it.
 * @param ifSpent for what was decided before
 * @param isDismissed set if the person only closed the question
 */
async function declined(
  pending: PendingChange,
  consent: Consent,
  refusals: Refusals,
  reason: Refusal,
  ifSpent: Refusal,
  isDismissed = false,
): Promise<Refusal> {
  const recorded = await refusals.decline(journalIntent(pending, consent), isDismissed);
  if (recorded === 'spent') return ifSpent;
  return recorded === 'declined' ? reason : new Refusal(reason.code, [...reason.problems, unwritten], reason.more);
}

const unwritten = words(
  'the refusal is not in the journal yet; it counts in this server all the same, and is written as soon as that is possible',
);

/** Asks the user. A refusal is recorded and spends the question: the same question cannot be answered twice. */
async function ask(
  pending: PendingChange,
  asked: Question['claims'],
  elicitor: Elicitor,
  { signal, stop }: ConsentInput,
  refusals: Refusals,
): Promise<Consent | Question> {
  const { call, plan, now } = pending;
  const accept = acceptOf(call);
  const { resumedReply } = elicitor;
  if (resumedReply === undefined) await expectQuestion(pending, elicitor, signal, refusals);
  else if (resumedReply.claims.digest !== asked.digest)
    throw new Refusal('PlanRefused', [say`the answer belongs to a call with other arguments, endpoint or account`]);
  const message = questionText(plan, call);
  if (message === undefined) throw tooLargeToShow(call);

  const claims = resumedReply?.claims ?? asked;
  const askedAt = resumedReply?.claims.issuedAt ?? now().getTime();
  if (resumedReply === undefined) elicitor.show?.(planText(plan, undefined));
  const reply = resumedReply?.read(accept) ?? (await unlessStopped(stop, () => elicitor.ask(message, accept)));
  if (reply === 'later') return { kind: 'inputRequired', message, answer: { accept }, claims };
  const answeredAfterMs = now().getTime() - askedAt;
  const consent = { kind: 'given', how: 'asked', nonce: claims.nonce, answeredAfterMs } as const;
  const answeredBefore = new Refusal('PlanRefused', [say`this question was answered before`]);
  if (refusals.isSpent(claims.nonce)) throw answeredBefore;
  await pending.claim(claims.nonce);
  const refusal = refusalOf(reply, elicitor.isDirect === true ? Number.POSITIVE_INFINITY : answeredAfterMs, message);
  if (refusal === undefined) return consent;
  throw await declined(pending, consent, refusals, refusal, answeredBefore, reply === 'cancelled');
}

/** @throws Refusal if the user may not be asked */
async function expectQuestion(
  { entry }: PendingChange,
  { isDirect }: Elicitor,
  signal: AbortSignal,
  refusals: Refusals,
): Promise<void> {
  // It may have waited for the answer to another question.
  if (signal.aborted) throw new Refusal('Declined', [say`the client cancelled the call before anybody was asked`]);
  // Whoever sits at the terminal asked for it themself: nobody wears them out with questions.
  if (isDirect) return;
  const refusal = await refusals.againstAsking(entry);
  if (refusal !== undefined) throw refusal;
}

/** The reason why a reply is no consent, if there is one. */
function refusalOf(reply: UserReply, afterMs: number, message: Shown): Refusal | undefined {
  const shown = say`the question was: ${said(firstLine(message))}`;
  if (reply !== 'unanswered' && afterMs < shortestReadMs)
    return new Refusal('NobodyAsked', [say`the client ${said(words(verbs[reply]))} it after ${afterMs} ms`, shown]);
  if (reply === 'agreed') return undefined;
  return new Refusal('Declined', [words(replies[reply]), shown]);
}

/** The words for a program that gave the reply. */
const verbs = {
  agreed: 'agreed to',
  declined: 'declined',
  notChosen: 'answered',
  cancelled: 'cancelled',
} as const satisfies Readonly<Record<Exclude<UserReply, 'unanswered'>, string>>;

/** The words for a person who gave it. */
const replies = {
  declined: 'the user declined',
  notChosen: 'the user answered without choosing',
  cancelled: 'the user closed the question without an answer',
  unanswered:
    'no answer came from the user; if the client never shows questions, the person who runs this server can set CLOUDOPS_CONFIRM=plan',
} as const satisfies Readonly<Record<Exclude<UserReply, 'agreed'>, string>>;

import { boundedReason } from './decline-reason.js';
import { type Elicitor, type UserReply, unlessStopped } from './elicitor.js';
import { acceptOf } from './plan.js';
import { declinedByAnother, Refusal } from '../calls/refusal.js';
import { type ConsentStep, takesClicks } from './required-consent.js';
import type { ConsentClaims } from '../consent/tokens.js';
import { isTyped, nameToType } from './typed-name.js';
import { callAgain, next } from '../tools/next.js';
import { createRedactor } from '../transport/redact.js';
import { forReader, type SafeText, say, upTo, words } from '../util/safe-text.js';
import type { ChangeDecision } from '../calls/claim-plan.js';
import type { CallContext, CallDependencies, Click, Question } from '../calls/context.js';
import { ofAnotherCall } from '../calls/plan-state.js';
import { secretsIn } from '../calls/resolve-call.js';
import type { PlannedChange } from '../calls/stages.js';

/** A step that leads to a decision in this call, or to a refusal. The other steps answer with the plan or with its state. */
export type DecidingStep =
  | Exclude<ConsentStep, { kind: 'plan' | 'status' }>
  /** Take the click that makes this call as the decision. */
  | { readonly kind: 'click'; readonly click: Click };

/**
 * Gets the decision on a change: from a person, by planId, or beforehand from a setting or an option. Returns the question if the client has
 * to ask the user first.
 * @param claims the content of the call's planId, if the call decides on its plan. A click brings its own claims
 * @throws Refusal if there is no decision
 */
export async function getDecision(
  step: DecidingStep,
  planned: PlannedChange,
  claims: ConsentClaims | undefined,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<ChangeDecision | Question> {
  switch (step.kind) {
    case 'click':
      return clickDecision(planned, step.click, dependencies.now());
    case 'given':
      return { kind: 'accepted', record: { consent: step.how, nonce: claims?.nonce } };
    case 'refuse':
      // The client is unknown if its session was lost. After reconnecting, a new session says whether the client can ask its user.
      throw new Refusal('NeedsHuman', [step.problem], context.isUnknownClient ? { next: reconnect } : {});
    case 'redeem':
      return planIdDecision(planned, claims, dependencies);
    case 'ask':
      // The question has the nonce of its plan, so that only one decision on the plan counts.
      return askUser(planned, claims?.nonce ?? dependencies.newNonce(), context, dependencies);
  }
}

const reconnect = next(
  'user',
  'configure',
  say`This server does not know what the client can do: its session is missing, or was not made by this server. ${forReader({ agent: 'Have the user reconnect', person: 'Reconnect' })} the client to this server, then ${callAgain}.`,
);

/** The consent by planId, with which an agent says that the user agreed. It counts once, and not if the user refused the change recently. */
async function planIdDecision(
  { draft, consentDigest }: PlannedChange,
  claims: ConsentClaims | undefined,
  { refusals }: CallDependencies,
): Promise<ChangeDecision> {
  // `findOwnPlan` has verified that the planId is genuine. With the use `handle`, a planId only names a plan and is no consent.
  if (claims?.use !== 'plan' || claims.digest !== consentDigest) throw ofAnotherCall();
  const { nonce } = claims;
  if (refusals.isSpent(nonce)) throw new Refusal('Declined', [say`the user declined this plan`]);
  const recentRefusal = await refusals.againstPlanId(draft);
  if (recentRefusal !== undefined) throw recentRefusal;
  return { kind: 'accepted', record: { consent: 'planId', nonce } };
}

/** An answer that comes sooner (milliseconds) counts as the answer of a program, because no person reads a question in this time. */
export const shortestReadMs = 1000;

/**
 * The decision of a click on a plan, in a view or on the decision page.
 * @throws Refusal if the click does not count. The plan then still waits for a person
 */
async function clickDecision(
  { call, consentDigest }: PlannedChange,
  click: Click,
  time: Date,
): Promise<ChangeDecision> {
  const { decision, claims, page, reason, typedName } = click;
  const { confirm } = call.account;
  const isInView = page === undefined;

  // The setting may have changed since the plan was shown.
  if (!takesClicks(confirm, isInView ? 'view' : 'page'))
    throw new Refusal('PlanRefused', [say`CLOUDOPS_CONFIRM is ${confirm} by now, and this click does not count`]);
  // The digest has changed if the call would now make another change, or if it would repeat a change that was sent since.
  if (claims.digest !== consentDigest)
    throw new Refusal('PlanRefused', [
      say`the plan was shown for another endpoint, another account, another secret or other arguments, or the same change was sent since`,
    ]);

  // No person reads a plan in less than `shortestReadMs`, so a program has clicked.
  const answeredAfterMs = time.getTime() - claims.issuedAt;
  if (answeredAfterMs < shortestReadMs)
    throw new Refusal('NobodyAsked', [say`the click came after ${answeredAfterMs} ms`]);
  const requiredName = nameToType(call);
  if (decision === 'accept' && !isTyped(requiredName, typedName)) throw new Refusal('WrongName');

  const consent = isInView ? 'clicked' : 'page';
  const record = { consent, nonce: claims.nonce, answeredAfterMs, approver: page?.person } as const;
  if (decision === 'accept') return { kind: 'accepted', record };

  const who = words(isInView ? 'the user' : 'a person on the page');
  const problems = [say`${who} clicked "Do nothing"`];
  // With `approval`, the person who decides is never the user.
  const refusal = confirm === 'approval' ? declinedByAnother(problems) : new Refusal('Declined', problems);
  return { kind: 'declined', record: { ...record, reason: await redactReason(reason, call) }, refusal };
}

/**
 * Asks the client's user. From the 2026-07-28 protocol on, a first call ends with the question (`inputRequired`), and a second call brings the
 * reply (`resumedReply`), together with the claims of the question.
 */
async function askUser(
  planned: PlannedChange,
  nonce: string,
  { elicitor, signal, stop }: CallContext,
  { refusals, now }: CallDependencies,
): Promise<ChangeDecision | Question> {
  const { call, draft, question: questionText, consentDigest } = planned;
  if (elicitor === undefined) throw new Refusal('NeedsHuman', [say`this client cannot ask its user`]);
  const { resumedReply } = elicitor;
  // A call without a reply asks the user now.
  if (resumedReply === undefined) await checkMayAsk(elicitor, draft, signal, refusals);
  // A reply has to belong to a question about this change.
  const isOfOtherCall = resumedReply !== undefined && resumedReply.claims.digest !== consentDigest;
  if (isOfOtherCall)
    throw new Refusal('PlanRefused', [say`the answer belongs to a call with other arguments, endpoint or account`]);
  // The plan is too long for a question.
  if (questionText === undefined) throw new Refusal('NeedsHuman', [say`no question holds the plan`]);

  // If the reply of a second call is a wrong name, that call asks again (`getReply`), with the claims of the first question. Their nonce counts
  // once, so both questions together allow one decision.
  const claims: Question['claims'] = resumedReply?.claims ?? { use: 'question', digest: consentDigest, nonce };
  const askedAt = resumedReply?.claims.issuedAt ?? now().getTime();
  const { reply, message } = await getReply(questionText, planned, elicitor, stop);
  if (reply === 'later')
    return { kind: 'inputRequired', message, answer: { accept: acceptOf(call), nameToType: nameToType(call) }, claims };

  const { kind, reason } = reply;
  // A wrong name is no decision, even if a program sent the name.
  if (kind === 'wrongName') throw new Refusal('WrongName');
  const decidingReply = { kind, reason, nonce: claims.nonce, answeredAfterMs: now().getTime() - askedAt };
  return decisionByReply(decidingReply, questionText, call, elicitor);
}

/** A reply that decides on a change, by consent or by refusal. */
interface DecidingReply {
  readonly kind: PersonReply;
  readonly reason: string | undefined;
  /** The nonce of the question. */
  readonly nonce: string;
  readonly answeredAfterMs: number;
}

/** The decision of a reply: the user's consent or refusal, or the refusal of a program that replied in place of the user. */
async function decisionByReply(
  { kind: replyKind, reason: givenReason, nonce, answeredAfterMs }: DecidingReply,
  questionText: SafeText,
  call: PlannedChange['call'],
  { isDirect }: Elicitor,
): Promise<ChangeDecision> {
  // A client that replies too early for a person has answered by itself. This cannot happen at this process's own terminal (`isDirect`), and
  // without a reply (`unanswered`).
  const isClientsReply = isDirect !== true && replyKind !== 'unanswered';
  const isByProgram = isClientsReply && answeredAfterMs < shortestReadMs;
  const record = { consent: isByProgram ? 'program' : 'asked', nonce, answeredAfterMs } as const;
  const shownQuestion = say`the question was: ${upTo(questionText, '\n') ?? questionText}`;
  // What a program says is never consent, even if it agreed.
  const refusal = isByProgram
    ? refusalByProgram(replyKind, answeredAfterMs, shownQuestion)
    : refusalUnlessAgreed(replyKind, shownQuestion);
  if (refusal === undefined) return { kind: 'accepted', record };
  const reason = await redactReason(givenReason, call);
  // A program's refusal ends the plan as `withdrawn`. If the server stops before the journal has the record, only this kind is known, and
  // `declined` would then count as a person's refusal.
  const decisionKind = isByProgram ? 'withdrawn' : 'declined';
  return { kind: decisionKind, record: { ...record, reason }, refusal, isDismissed: replyKind === 'cancelled' };
}

/** Shortens a person's reason for declining, and removes the secrets of the call from it. */
async function redactReason(reason: string | undefined, call: PlannedChange['call']) {
  const text = boundedReason(reason);
  if (text === undefined) return undefined;
  const keys = await call.endpoint.keys.current().catch(() => undefined);
  return createRedactor([...secretsIn(call), keys?.secretAccessKey, keys?.sessionToken]).clean(text);
}

/** The number of times that a person can type the name of the thing to delete in one call. */
const maximumTries = 5;

/**
 * Asks the question and returns the reply, or reads the reply that this call brings. Asks again after a wrong name, until this call has had
 * `maximumTries` replies.
 * @returns the reply, or `later` if the client will bring it with another call; and the text of the question that was asked last
 */
async function getReply(
  question: SafeText,
  { call, shown }: PlannedChange,
  elicitor: Elicitor,
  stop: AbortSignal | undefined,
): Promise<{ readonly reply: UserReply | 'later'; readonly message: SafeText }> {
  const acceptLabel = acceptOf(call);
  /** The name that the user has to type to accept; undefined if no name is needed. */
  const requiredName = nameToType(call);
  const ask = (text: SafeText) =>
    unlessStopped(stop, (signal) => elicitor.ask(text, acceptLabel, signal, requiredName));

  let message = question;
  let reply: UserReply | 'later';
  if (elicitor.resumedReply === undefined) {
    elicitor.show?.(shown);
    reply = await ask(message);
  } else {
    // An earlier call has shown the plan and asked the question.
    reply = elicitor.resumedReply.read(acceptLabel.text, requiredName);
  }
  // A client that brings each reply with another call answers `later` here, which ends the loop. Nothing limits the number of such calls.
  for (let replies = 1; reply !== 'later' && reply.kind === 'wrongName' && replies < maximumTries; replies += 1) {
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
  // The client may have cancelled the call while it waited for the answer to another question.
  if (signal.aborted) throw new Refusal('Declined', [say`the client cancelled the call before anybody was asked`]);
  // Terminal users started the call themselves, so they are not rate-limited.
  if (isDirect) return;
  const refusal = await refusals.againstAsking(draft);
  if (refusal !== undefined) throw refusal;
}

type ProgramReply = Exclude<UserReply['kind'], 'unanswered' | 'wrongName'>;

/** The refusal of a reply that came before a person could have read the question. */
const refusalByProgram = (reply: ProgramReply, afterMs: number, question: SafeText): Refusal =>
  new Refusal('NobodyAsked', [say`the client ${words(programReplies[reply])} it after ${afterMs} ms`, question]);

const programReplies = {
  agreed: 'agreed to',
  declined: 'declined',
  notChosen: 'answered',
  cancelled: 'cancelled',
} as const satisfies Readonly<Record<ProgramReply, string>>;

type PersonReply = Exclude<UserReply['kind'], 'wrongName'>;

/** Returns the refusal by a person; undefined if the person agreed. */
const refusalUnlessAgreed = (reply: PersonReply, question: SafeText): Refusal | undefined =>
  reply === 'agreed' ? undefined : new Refusal('Declined', [words(personReplies[reply]), question]);

const personReplies = {
  declined: 'the user declined',
  notChosen: 'the user answered without choosing',
  cancelled: 'the user closed the question without an answer',
  unanswered: 'no answer came from the user',
} as const satisfies Readonly<Record<Exclude<PersonReply, 'agreed'>, string>>;

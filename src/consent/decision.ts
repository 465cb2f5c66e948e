/** Whose word lets a mutation go ahead. */
export const consentModes = ['ask', 'human', 'plan', 'off'] as const;
export type ConsentMode = (typeof consentModes)[number];

/** What a token stands for: one plan or one question, shown once. */
export interface ConsentClaims {
  readonly use: 'plan' | 'question';
  /** Binds it to tool, arguments, endpoint and account. */
  readonly digest: string;
  /** Makes it usable once. */
  readonly nonce: string;
}

/** What a person did with the question. */
export type Reply = 'agreed' | 'unticked' | 'declined' | 'cancelled' | 'unanswered';

/** Signs grants, and checks that a token is one of ours and not expired. */
export interface ConsentTokens {
  issue(grant: ConsentClaims): Promise<string>;
  /** @throws Error whose message names the reason, if the token is not ours or expired */
  verify(token: string): Promise<ConsentClaims>;
}

/** The way to the person behind the client, if the client offers one. */
export interface Elicitor {
  /** The person's reply, or `later` if the client brings it with another entry of the same call. */
  ask(message: string, grant: ConsentClaims): Promise<Reply | 'later'>;
  /** The reply that this entry brings, and the question it belongs to. */
  readonly reply?: { readonly grant: ConsentClaims; readonly reply: Reply };
}

/** What consent comes to. */
export type Decision =
  | { readonly kind: 'go'; readonly how: 'asked' | 'planId' | 'option' | 'off'; readonly nonce?: string }
  /** To be asked with this grant; the answer comes with another entry of the call. */
  | { readonly kind: 'later'; readonly grant: ConsentClaims }
  | { readonly kind: 'plan'; readonly planId?: string }
  | { readonly kind: 'refused'; readonly code: 'Declined' | 'NeedsHuman' | 'PlanRefused'; readonly reason: string };

export interface Question {
  readonly mode: ConsentMode;
  readonly digest: string;
  readonly planOnly: boolean;
  readonly planId: string | undefined;
  /** Shown to the person. */
  readonly message: string;
  readonly elicitor: Elicitor | undefined;
  /** Whether the person who makes the call said yes beforehand, with an option of the command line. */
  readonly agreed: boolean;
  readonly tokens: ConsentTokens;
  readonly newNonce: () => string;
}

/** Decides whether a mutation may go ahead. Nothing that goes wrong here lets it. */
export async function decide(question: Question): Promise<Decision> {
  const { mode, digest, planOnly, planId, elicitor, agreed, tokens, newNonce } = question;
  const asks = (mode === 'ask' || mode === 'human') && elicitor !== undefined;
  const takesPlans = mode === 'plan' || (mode === 'ask' && elicitor === undefined);
  const mintPlanId = () => tokens.issue({ use: 'plan', digest, nonce: newNonce() });
  if (planOnly) return { kind: 'plan', ...(takesPlans && { planId: await mintPlanId() }) };
  if (mode === 'off') return { kind: 'go', how: 'off' };
  if (agreed && mode === 'human')
    return refuse('NeedsHuman', 'CLOUDOPS_CONFIRM is "human": what is typed at the question counts, --yes does not');
  if (agreed) return { kind: 'go', how: 'option' };
  if (asks) return elicitConsent(question, elicitor);
  if (!takesPlans) return refuse('NeedsHuman', 'CLOUDOPS_CONFIRM is "human", and this client cannot ask its user');
  if (planId === undefined) return { kind: 'plan', planId: await mintPlanId() };
  return redeem(planId, digest, tokens);
}

async function redeem(planId: string, digest: string, tokens: ConsentTokens): Promise<Decision> {
  try {
    const grant = await tokens.verify(planId);
    return grant.use === 'plan' && grant.digest === digest
      ? { kind: 'go', how: 'planId', nonce: grant.nonce }
      : refuse('PlanRefused', 'the planId is that of a plan with another tool, other arguments, endpoint or account');
  } catch (error) {
    const expired = error instanceof Error && error.message === 'expired';
    return refuse(
      'PlanRefused',
      expired ? 'the planId has expired' : 'the planId is not one of this server, or was altered',
    );
  }
}

async function elicitConsent({ digest, message, newNonce }: Question, elicitor: Elicitor): Promise<Decision> {
  const { reply: brought } = elicitor;
  if (brought !== undefined && brought.grant.digest !== digest)
    return refuse('PlanRefused', 'the answer belongs to a call with other arguments, endpoint or account');
  const grant: ConsentClaims = brought?.grant ?? { use: 'question', digest, nonce: newNonce() };
  const reply = brought?.reply ?? (await elicitor.ask(message, grant));
  if (reply === 'later') return { kind: 'later', grant };
  if (reply === 'agreed') return { kind: 'go', how: 'asked', nonce: grant.nonce };
  return refuse('Declined', replies[reply]);
}

const replies: Record<Exclude<Reply, 'agreed'>, string> = {
  unticked: 'the user answered without ticking the box',
  declined: 'the user declined',
  cancelled: 'the user closed the question without an answer',
  unanswered: 'no answer came from the user',
};

const refuse = (code: 'Declined' | 'NeedsHuman' | 'PlanRefused', reason: string): Decision => ({
  kind: 'refused',
  code,
  reason,
});

/** Whose word lets a mutation go ahead. */
export const consentModes = ['ask', 'human', 'plan', 'off'] as const;
export type ConsentMode = (typeof consentModes)[number];

/** What a token stands for: one plan or one question, shown once. */
export interface Grant {
  readonly use: 'plan' | 'question';
  /** Binds it to tool, arguments, endpoint and account. */
  readonly digest: string;
  /** Makes it usable once. */
  readonly nonce: string;
}

/** What a person did with the question. */
export type Reply = 'agreed' | 'unticked' | 'declined' | 'cancelled' | 'unanswered';

/** Signs grants, and checks that a token is one of ours and not expired. */
export interface Seal {
  mint(grant: Grant): Promise<string>;
  /** @throws Error whose message names the reason, if the token is not ours or expired */
  verify(token: string): Promise<Grant>;
}

/** The way to the person behind the client, if the client offers one. */
export interface Asker {
  /** The person's reply, or `later` if the client brings it with another entry of the same call. */
  ask(message: string, grant: Grant): Promise<Reply | 'later'>;
  /** The reply that this entry brings, and the question it belongs to. */
  readonly reply?: { readonly grant: Grant; readonly reply: Reply };
}

/** What consent comes to. */
export type Decision =
  | { readonly kind: 'go'; readonly how: 'asked' | 'planId' | 'option' | 'off'; readonly nonce?: string }
  /** To be asked with this grant; the answer comes with another entry of the call. */
  | { readonly kind: 'later'; readonly grant: Grant }
  | { readonly kind: 'plan'; readonly planId?: string }
  | { readonly kind: 'refused'; readonly code: 'Declined' | 'NeedsHuman' | 'PlanRefused'; readonly reason: string };

export interface Question {
  readonly mode: ConsentMode;
  readonly digest: string;
  readonly planOnly: boolean;
  readonly planId: string | undefined;
  /** Shown to the person. */
  readonly message: string;
  readonly asker: Asker | undefined;
  /** Whether the person who makes the call said yes beforehand, with an option of the command line. */
  readonly agreed: boolean;
  readonly seal: Seal;
  readonly newNonce: () => string;
}

/** Decides whether a mutation may go ahead. Nothing that goes wrong here lets it. */
export async function decide(question: Question): Promise<Decision> {
  const { mode, digest, planOnly, planId, asker, agreed, seal, newNonce } = question;
  const asks = (mode === 'ask' || mode === 'human') && asker !== undefined;
  const takesPlans = mode === 'plan' || (mode === 'ask' && asker === undefined);
  const mintPlanId = () => seal.mint({ use: 'plan', digest, nonce: newNonce() });
  if (planOnly) return { kind: 'plan', ...(takesPlans && { planId: await mintPlanId() }) };
  if (mode === 'off') return { kind: 'go', how: 'off' };
  if (agreed && mode === 'human')
    return refuse('NeedsHuman', 'CLOUDOPS_CONFIRM is "human": what is typed at the question counts, --yes does not');
  if (agreed) return { kind: 'go', how: 'option' };
  if (asks) return askUser(question, asker);
  if (!takesPlans) return refuse('NeedsHuman', 'CLOUDOPS_CONFIRM is "human", and this client cannot ask its user');
  if (planId === undefined) return { kind: 'plan', planId: await mintPlanId() };
  return redeem(planId, digest, seal);
}

async function redeem(planId: string, digest: string, seal: Seal): Promise<Decision> {
  try {
    const grant = await seal.verify(planId);
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

async function askUser({ digest, message, newNonce }: Question, asker: Asker): Promise<Decision> {
  const { reply: brought } = asker;
  if (brought !== undefined && brought.grant.digest !== digest)
    return refuse('PlanRefused', 'the answer belongs to a call with other arguments, endpoint or account');
  const grant: Grant = brought?.grant ?? { use: 'question', digest, nonce: newNonce() };
  const reply = brought?.reply ?? (await asker.ask(message, grant));
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

import * as z from 'zod';
import { lazy, parseJson } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import { tokenLifetimeMs } from './tokens.js';

/** An action token holds a call as the client made it, bound to the plan that the person saw. Views get and send it as `ticket`. */
const schema = lazy(() =>
  z.object({
    tool: z.string(),
    args: z.record(z.string(), z.unknown()),
    claims: z.object({
      /** Digest of the plan (see `PlanClaims`). */
      digest: z.string(),
      /** Ensures that a decision counts once. */
      nonce: z.string(),
      issuedAt: z.number(),
    }),
  }),
);
export type ActionToken = Readonly<z.output<ReturnType<typeof schema>>>;

/** Seals action tokens, and opens the tokens that views send back. */
export type ActionTokens = ReturnType<typeof createActionTokens>;

/** Maximum length of a token that is opened (characters). The token of any call that a view can show is shorter. */
const longest = 256 * 1024;

/**
 * Seals tokens for one caller. A token holds the whole call, so any replica with the same key can carry out the call, and no replica has
 * to remember the call.
 * @param keys at least 32 bytes each
 */
export function createActionTokens(keys: SealingKeys, caller: string, now: () => Date) {
  const seal = createSeal(keys, { purpose: 'cloudops change ticket', associatedData: caller, longest });
  return {
    seal: (token: ActionToken): string => seal.seal(JSON.stringify(token)),
    /** Opens a token of any age. Undefined if it was not sealed for this caller, or if another version of this server sealed other fields. */
    open(sealed: string): { readonly token: ActionToken; readonly isExpired: boolean } | undefined {
      const { data: token } = schema().safeParse(parseJson(seal.open(sealed) ?? ''));
      return token && { token, isExpired: now().getTime() - token.claims.issuedAt > tokenLifetimeMs };
    },
  };
}

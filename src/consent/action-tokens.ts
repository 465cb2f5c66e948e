import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import { InvalidToken, tokenLifetimeMs } from './tokens.js';

/** An action token holds a call as the client made it, bound to the plan that the person saw. */
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

/** Maximum length of a token that is opened. It is longer than the token of any call that can be shown. */
const longest = 256 * 1024;

/**
 * Seals tokens for one caller. A token holds the whole call, so that any replica with the same key can carry it out and no replica has
 * to remember it.
 * @param key at least 32 bytes
 */
export function createActionTokens(keys: SealingKeys, caller: string, now: () => Date) {
  const { seal, open } = createSeal(keys, { purpose: 'cloudops change ticket', associatedData: caller, longest });
  return {
    seal: (ticket: ActionToken): string => seal(JSON.stringify(ticket)),
    /**
     * @param longestMs maximum age of the token, by default the lifetime of a plan
     * @throws InvalidToken
     */
    open(sealed: string, longestMs = tokenLifetimeMs): ActionToken {
      const ticket = read(open(sealed));
      if (now().getTime() - ticket.claims.issuedAt > longestMs) throw new InvalidToken('expired');
      return ticket;
    },
  };
}

/** Parses a token that this server or another version of it sealed. */
function read(text: string | undefined): ActionToken {
  try {
    return schema().parse(JSON.parse(text ?? ''));
  } catch {
    throw new InvalidToken('forged');
  }
}

import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import { InvalidToken, tokenLifetimeMs } from './tokens.js';

/** The content of a ticket: a call as the client made it, bound to the plan that the person was shown. */
const schema = lazy(() =>
  z.object({
    tool: z.string(),
    args: z.record(z.string(), z.unknown()),
    claims: z.object({
      /** Of the consent: tool, arguments, endpoint and account. */
      digest: z.string(),
      /** Makes it count once. */
      nonce: z.string(),
      issuedAt: z.number(),
    }),
  }),
);
export type ActionToken = Readonly<z.output<ReturnType<typeof schema>>>;

/** Seals tickets, and opens those that views bring back. */
export type ActionTokens = ReturnType<typeof createActionTokens>;

/** No call that can be shown is as large. */
const longest = 256 * 1024;

/**
 * Tickets are sealed for the caller that they are for, where callers have names. They hold the whole call, so that any replica
 * with the same key can carry it out and none has to remember it.
 * @param key at least 32 bytes
 */
export function createActionTokens(keys: SealingKeys, caller: string, now: () => Date) {
  const { seal, open } = createSeal(keys, { purpose: 'cloudops change ticket', associatedData: caller, longest });
  return {
    seal: (ticket: ActionToken): string => seal(JSON.stringify(ticket)),
    /**
     * @param longestMs the age at which it no longer counts: one that decides nothing counts at any
     * @throws InvalidToken
     */
    open(sealed: string, longestMs = tokenLifetimeMs): ActionToken {
      const ticket = read(open(sealed));
      if (now().getTime() - ticket.claims.issuedAt > longestMs) throw new InvalidToken('expired');
      return ticket;
    },
  };
}

/** A ticket in a text that this server sealed, though perhaps another version of it. */
function read(text: string | undefined): ActionToken {
  try {
    return schema().parse(JSON.parse(text ?? ''));
  } catch {
    throw new InvalidToken('forged');
  }
}

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import * as z from 'zod';
import { InvalidToken, tokenLifetimeMs } from '../consent/tokens.js';
import { once } from '../util/once.js';

/** What a click on the change view carries out: a call as the client made it, and the plan that the person was shown. */
export interface Ticket {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly claims: {
    /** Of the consent: tool, arguments, endpoint and account. */
    readonly digest: string;
    /** Makes it count once. */
    readonly nonce: string;
    /** Milliseconds since 1970. */
    readonly issuedAt: number;
  };
}

/** Seals tickets, and opens those that views bring back. */
export interface Tickets {
  seal(ticket: Ticket): string;
  /** @throws InvalidToken */
  open(sealed: string): Ticket;
}

/** Longer tickets are not opened: no call that can be shown is as large. */
const maximumSealed = 256 * 1024;

const ivBytes = 12;
const tagBytes = 16;

const schema = z.object({
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
  claims: z.object({ digest: z.string(), nonce: z.string(), issuedAt: z.number() }),
});

/**
 * Tickets are sealed (AES-256-GCM) for the caller that they are for, where callers have names. They hold the whole call, so that
 * any replica with the same key can carry it out and none has to remember it, and nobody can read or make one without the key.
 * @param key at least 32 bytes
 */
export function createTickets(key: Uint8Array | string, caller: string, now: () => Date): Tickets {
  // Most servers live for one request, and seal nothing.
  const sealingKey = once(() => createHmac('sha256', key).update('cloudops change ticket\0').digest());
  const bound = Buffer.from(caller);
  return {
    seal(ticket) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', sealingKey(), iv).setAAD(bound);
      const text = Buffer.concat([cipher.update(JSON.stringify(ticket), 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url');
    },
    open(sealed) {
      const ticket = unseal(sealed, sealingKey(), bound);
      if (now().getTime() - ticket.claims.issuedAt > tokenLifetimeMs) throw new InvalidToken('expired');
      return ticket;
    },
  };
}

function unseal(sealed: string, key: Buffer, bound: Buffer): Ticket {
  if (sealed.length > maximumSealed) throw new InvalidToken('forged');
  const bytes = Buffer.from(sealed, 'base64url');
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
    decipher.setAAD(bound).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const text = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]);
    return schema.parse(JSON.parse(text.toString('utf8')));
  } catch {
    throw new InvalidToken('forged');
  }
}

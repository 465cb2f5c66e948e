import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import * as z from 'zod';
import { once } from '../util/objects.js';
import { InvalidToken, tokenLifetimeMs } from './tokens.js';

/** The content of a ticket: a call as the client made it, bound to the plan that the person was shown. */
const schema = z.object({
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
  claims: z.object({
    /** Of the consent: tool, arguments, endpoint and account. */
    digest: z.string(),
    /** Makes it count once. */
    nonce: z.string(),
    issuedAt: z.number(),
  }),
});
export type Ticket = Readonly<z.output<typeof schema>>;

/** Seals tickets, and opens those that views bring back. */
export type Tickets = ReturnType<typeof createTickets>;

/** Longer tickets are not opened: no call that can be shown is as large. */
const maximumSealed = 256 * 1024;

const ivBytes = 12;
const tagBytes = 16;

/**
 * Tickets are sealed (AES-256-GCM) for the caller that they are for, where callers have names. They hold the whole call, so that
 * any replica with the same key can carry it out and none has to remember it, and nobody can read or make one without the key.
 * @param key at least 32 bytes
 */
export function createTickets(key: Uint8Array | string, caller: string, now: () => Date) {
  // Most servers live for one request, and seal nothing.
  const sealingKey = once(() => createHmac('sha256', key).update('cloudops change ticket\0').digest());
  const bound = Buffer.from(caller);
  return {
    seal(ticket: Ticket): string {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', sealingKey(), iv).setAAD(bound);
      const text = Buffer.concat([cipher.update(JSON.stringify(ticket), 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url');
    },
    /** @throws InvalidToken */
    open(sealed: string): Ticket {
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

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { lazy } from './objects.js';

/** A secret of at least 32 bytes. */
export type SealingKey = Uint8Array | string;
/** Several keys, so that a key can be replaced. The first key seals, and all keys open. */
export type KeyRing = readonly [SealingKey, ...SealingKey[]];
/** Returns the keys. A function, because most servers neither seal nor open anything, and making random keys loads cryptography. */
export type SealingKeys = () => KeyRing;

/** Seals texts that this server gives away, and opens those that come back. */
interface Seal {
  /** The sealed text, as base64url. */
  seal(text: string): string;
  /** The text, or undefined if it was not sealed with one of the keys, was altered, or is too long. */
  open(sealed: string): string | undefined;
}

/** The purpose of a seal. A text that was sealed for one purpose, or with one associated data, opens with no other. */
export interface SealUse {
  readonly purpose: string;
  /** Data that is not in the text, but is needed to open it, such as the name of the caller. */
  readonly associatedData: string;
  /** Length limit of a sealed text (characters). */
  readonly longest: number;
}

const ivBytes = 12;
const tagBytes = 16;

/**
 * Seals with AES-256-GCM and a key that is derived for each purpose. Without the key, a sealed text can be neither read nor made. Any
 * replica with the key can open texts of the others, and no replica has to remember them.
 */
export function createSeal(keys: SealingKeys, { purpose, associatedData, longest }: SealUse): Seal {
  // Most servers live for one request, and seal nothing.
  const sealingKeys = lazy(() => keys().map((key) => createHmac('sha256', key).update(`${purpose}\0`).digest()));
  const associated = Buffer.from(associatedData);
  return {
    seal(text) {
      const [key = Buffer.alloc(0)] = sealingKeys();
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(associated);
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64url');
    },
    open(sealed) {
      if (sealed.length > longest) return undefined;
      const bytes = Buffer.from(sealed, 'base64url');
      for (const key of sealingKeys()) {
        const text = decrypt(bytes, key, associated);
        if (text !== undefined) return text;
      }
      return undefined;
    },
  };
}

/** Returns undefined if the key or the associated data is not that of the seal. */
function decrypt(bytes: Buffer, key: Buffer, associated: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
    decipher.setAAD(associated).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

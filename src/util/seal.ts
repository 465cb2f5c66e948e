import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { attempt, lazy } from './objects.js';

/** At least 32 bytes. */
export type SealingKey = Uint8Array | string;
/** The first key seals. Every key opens, so that keys can be replaced. */
export type KeyRing = readonly [SealingKey, ...SealingKey[]];
/** A function, because random keys load cryptography. */
export type SealingKeys = () => KeyRing;

export interface SealUse {
  readonly purpose: string;
  /** Such as the caller's name, so that the text is useless to other callers. */
  readonly associatedData: string;
  /** Characters of the sealed text. */
  readonly longest: number;
}

const ivBytes = 12;
const tagBytes = 16;

/** Creates a seal with AES-256-GCM. Without the key, a sealed text can be neither read nor forged. */
export function createSeal(keys: SealingKeys, { purpose, associatedData, longest }: SealUse) {
  const derivedKeys = lazy(() => keys().map((key) => createHmac('sha256', key).update(`${purpose}\0`).digest()));
  const associated = Buffer.from(associatedData);

  return {
    /** Returns base64url. */
    seal(text: string): string {
      const [key = Buffer.alloc(0)] = derivedKeys();
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(associated);
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64url');
    },

    /** Undefined if the text was altered or is too long, or for another key or use. */
    open(sealed: string): string | undefined {
      // Anybody may send a very long text.
      if (sealed.length > longest) return undefined;

      const bytes = Buffer.from(sealed, 'base64url');
      for (const key of derivedKeys()) {
        const text = attempt(() => decrypt(bytes, key, associated), undefined);
        if (text !== undefined) return text;
      }
      return undefined;
    },
  };
}

function decrypt(bytes: Buffer, key: Buffer, associated: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(associated).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8');
}

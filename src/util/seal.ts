import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { lazy } from './objects.js';

/** A secret of at least 32 bytes, from which the keys of seals are derived. */
export type SealingKey = Uint8Array | string;
/** The first key seals texts, and every key opens them. So after a key is replaced, texts that the old key sealed can still be opened. */
export type KeyRing = readonly [SealingKey, ...SealingKey[]];
/** Returns the keys. It is a function, because making random keys loads cryptography, and most servers never use a seal. */
export type SealingKeys = () => KeyRing;

/** Seals texts that this server hands to clients, and opens them when they come back. */
interface Seal {
  /** Returns the sealed text as base64url. */
  seal(text: string): string;
  /** Returns the text; undefined if it was sealed with another key or for another use, was altered, or is too long. */
  open(sealed: string): string | undefined;
}

/** The use of a seal. A text opens only with the `purpose` and the `associatedData` with which it was sealed. */
export interface SealUse {
  readonly purpose: string;
  /** Data that is needed to open the text, such as the name of the caller, so that the text is useless to other callers. */
  readonly associatedData: string;
  /** Length limit of a sealed text (characters). */
  readonly longest: number;
}

const ivBytes = 12;
const tagBytes = 16;

/**
 * Creates a seal with AES-256-GCM and a key that is derived for the purpose. Without the key, a sealed text can be neither read nor forged.
 * Replicas with the same key open each other's texts, and do not have to store them.
 */
export function createSeal(keys: SealingKeys, { purpose, associatedData, longest }: SealUse): Seal {
  // Derived at the first use, because most servers live for one request and seal nothing.
  const derivedKeys = lazy(() => keys().map((key) => createHmac('sha256', key).update(`${purpose}\0`).digest()));
  const associated = Buffer.from(associatedData);

  return {
    seal(text) {
      // A key ring has at least one key, so the default, which Node rejects, is for the compiler.
      const [key = Buffer.alloc(0)] = derivedKeys();
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(associated);
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64url');
    },

    open(sealed) {
      // Anybody may send a text, so a very long one is not decrypted. Callers of `seal` stay below the limit themselves.
      if (sealed.length > longest) return undefined;

      const bytes = Buffer.from(sealed, 'base64url');
      for (const key of derivedKeys()) {
        const text = decrypt(bytes, key, associated);
        if (text !== undefined) return text;
      }
      // The text was altered, sealed for another use, or sealed with a key that is not in the ring any more.
      return undefined;
    },
  };
}

/** Decrypts a sealed text. Returns undefined if the key or the associated data is wrong, or if the text was altered. */
function decrypt(bytes: Buffer, key: Buffer, associated: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
    decipher.setAAD(associated).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

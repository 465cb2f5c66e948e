import { createHash } from 'node:crypto';
import { textsAt, withTexts } from '../util/objects.js';
import { hiddenInPlan, secretNamed } from '../util/placeholder.js';
import { encodeSegment } from '../util/uri.js';
import type { ResolvedChange } from './resolved-call.js';

/** This file puts words in place of the secrets of a call. */

type SecretsOfCall = Pick<ResolvedChange, 'operation' | 'input' | 'nameBySecretPath'>;

/** Copies a value with words in place of each secret of a call (`secretMarks`). Without secrets, returns the value itself. */
export function withoutSecrets<Value>(call: SecretsOfCall, value: Value): Value {
  // All secrets are replaced in one copy, because a list may have a thousand of them.
  const marks = secretMarks(call);
  return marks.size === 0 ? value : withTexts(value, marks);
}

/** The words in place of each secret of a call: the name of the secret file, or a fingerprint. */
function secretMarks({ operation, input, nameBySecretPath = {} }: SecretsOfCall): ReadonlyMap<string, string> {
  const marks = new Map<string, string>();
  for (const path of operation.secrets ?? []) {
    const name = nameBySecretPath[path];
    for (const secret of textsAt(input, path)) {
      if (marks.has(secret)) continue;
      marks.set(secret, name === undefined ? fingerprint(secret) : secretNamed(name));
    }
  }
  return marks;
}

/**
 * Decodes the words in place of secrets. If a request has a secret in base64 or percent-encoded, the words in its place are encoded too, and would
 * look like the secret.
 */
export function withDecodedSecretMarks(call: SecretsOfCall, body: unknown): unknown {
  const readable = new Map<string, string>();
  for (const mark of secretMarks(call).values()) {
    const encoded = Buffer.from(mark).toString('base64');
    for (const form of [encoded, encodeSegment(encoded), encodeSegment(mark)]) readable.set(form, mark);
  }
  if (typeof body !== 'string') return withTexts(body, readable);
  return [...readable].reduce((text, [form, mark]) => text.replaceAll(form, () => mark), body);
}

/** A shorter secret can be guessed from its SHA-256 (characters). */
const shortestWithHash = 16;

/**
 * The words in place of a secret: at most `longestName` characters, so that no table cuts them. The beginning of the SHA-256 tells people whether
 * two secrets are the same.
 */
export function fingerprint(secret: string): string {
  if (secret.length < shortestWithHash) return hiddenInPlan();
  return hiddenInPlan(createHash('sha256').update(secret).digest('hex').slice(0, 8));
}

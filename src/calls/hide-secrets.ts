import { createHash } from 'node:crypto';
import { textsAt, withTexts } from '../util/objects.js';
import { hiddenInPlan, secretNamed } from '../util/quote.js';
import { encodeSegment } from '../util/uri.js';
import type { ResolvedChange } from './resolved-call.js';

type SecretsOfCall = Pick<ResolvedChange, 'operation' | 'input' | 'nameBySecretPath'>;

/** Copies a value with words in place of each secret. Without secrets, returns the value itself. */
export function withoutSecrets<Value>(call: SecretsOfCall, value: Value): Value {
  const marks = secretMarks(call);
  return marks.size === 0 ? value : withTexts(value, marks);
}

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

/** Decodes words that a request has in base64 or percent-encoded, because they would look like the secret. */
export function withDecodedSecretMarks(call: SecretsOfCall, body: unknown): unknown {
  const readable = new Map<string, string>();
  for (const mark of secretMarks(call).values()) {
    const encoded = Buffer.from(mark).toString('base64');
    for (const form of [encoded, encodeSegment(encoded), encodeSegment(mark)]) readable.set(form, mark);
  }
  if (typeof body !== 'string') return withTexts(body, readable);
  return [...readable].reduce((text, [form, mark]) => text.replaceAll(form, () => mark), body);
}

/** The words in place of a secret. The beginning of the SHA-256 shows whether two secrets are the same. */
export function fingerprint(secret: string): string {
  // A shorter secret can be guessed from its SHA-256 (characters).
  if (secret.length < 16) return hiddenInPlan();
  return hiddenInPlan(createHash('sha256').update(secret).digest('hex').slice(0, 8));
}

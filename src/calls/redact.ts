/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

/**
 * Makes the function that takes secrets out of text. A secret is recognised as it is, as JSON and URLs write it, and, if it is a
 * JSON object itself, by the keys and tokens in it. What is too short to be told from ordinary words is left alone.
 */
export function redactor(secrets: readonly (string | undefined)[]): Redact {
  const forms = secrets
    .filter((secret) => secret !== undefined)
    .flatMap((secret) => [secret, ...textsIn(secret)])
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())])
    .filter((form) => form.length >= shortest)
    .sort((a, b) => b.length - a.length);
  return (text) =>
    forms.reduce((left, form) => left.replaceAll(form, '[secret]'), text.replace(signature, 'Signature=[secret]'));
}

/** In a header that a service repeats. */
const signature = /Signature=[0-9a-f]{64}/g;

const shortest = 8;

/** The secret texts inside a secret that is a JSON object, such as the private key inside a service account key. */
function textsIn(secret: string): string[] {
  try {
    const parsed: unknown = JSON.parse(secret);
    if (typeof parsed !== 'object' || parsed === null) return [];
    return Object.entries(parsed).flatMap(([name, value]) =>
      typeof value === 'string' && /key|secret|token|password/i.test(name) ? [value] : [],
    );
  } catch {
    return [];
  }
}

/** Takes secrets out of data, names included. Data that holds none, which is nearly all of it, is returned as it is. */
export function redactData(given: unknown, redact: Redact): unknown {
  if (typeof given === 'string') return redact(given);
  if (typeof given !== 'object' || given === null || !holdsSecret(given, redact)) return given;
  if (Array.isArray(given)) return given.map((element) => redactData(element, redact));
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [redact(name), redactData(value, redact)]));
}

function holdsSecret(given: unknown, redact: Redact): boolean {
  if (typeof given === 'string') return redact(given) !== given;
  if (typeof given !== 'object' || given === null) return false;
  if (Array.isArray(given)) return given.some((element) => holdsSecret(element, redact));
  return Object.keys(given).some((name) => redact(name) !== name || holdsSecret(Reflect.get(given, name), redact));
}

import { isObject, leavesOf, parseJson } from '../util/objects.js';
import { removedFromAnswer } from '../util/quote.js';

export interface Redactor {
  finds(text: string): boolean;
  /** Replaces the texts and field names that contain a secret. */
  clean<Data>(data: Data): Data;
}

/** Shorter secrets would match ordinary words. */
const shortestSecret = 8;
/** This number of characters at the beginning or end of a secret reveals it, because services truncate messages. */
const endLength = 16;
/** Lines of a key are this long. Shorter lines may be harmless. */
const shortestLine = 40;

/** Creates a redactor. It also finds secrets in JSON text, in a query, in base64 or broken by white space, and all private keys and signatures. */
export function createRedactor(secrets: readonly (string | undefined)[]): Redactor {
  const given = secrets.flatMap((secret) => (secret === undefined ? [] : formsOf(secret)));
  const forms = [...new Set([...given, ...privateKeyForms])];
  const finds = (text: string): boolean => {
    const plain = normalise(text);
    return looksSecret.test(plain) || forms.some((form) => plain.includes(form));
  };

  const removeSecrets = (data: unknown): unknown => {
    if (typeof data === 'string') return finds(data) ? removedFromAnswer : data;
    if (Array.isArray(data)) return data.map(removeSecrets);
    if (!isObject(data)) return data;
    return Object.fromEntries(
      Object.entries(data).map(([name, value]) => [finds(name) ? removedFromAnswer : name, removeSecrets(value)]),
    );
  };
  return {
    finds,
    // Hardly any data holds a secret, so all texts are first searched together.
    clean: (data) => (finds(JSON.stringify(data) ?? '') ? (removeSecrets(data) as typeof data) : data),
  };
}

const looksSecret = /(?:BEGIN|END)[A-Z]{0,20}PRIVATEKEY|[Ss]ignature=(?:[0-9a-f]{64}|[\w+/]{43}=)/;

/** Both ends of the secret and of its long lines, as they are, in a form, as bytes and in base64. */
function formsOf(secret: string): string[] {
  const inner = secretFields(secret);
  return (inner.length > 0 ? inner : [secret])
    .flatMap((text) => [text, ...text.split('\n').filter((line) => line.length >= shortestLine)])
    .flatMap((text) =>
      [text, text.replaceAll(' ', '+'), Buffer.from(text).toString('latin1'), ...inBase64(text)].map(normalise),
    )
    .filter((form) => form.length >= shortestSecret)
    .flatMap((form) => [form.slice(0, endLength), form.slice(-endLength)]);
}

/** At all three offsets, without the ends, which depend on the text around them. */
const inBase64 = (text: string): string[] =>
  [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
      .toString('base64')
      .slice(4, -4),
  );

const privateKeyForms = inBase64(' PRIVATE KEY-----');

const harmless = /(?:^|[.\]])(?:type|project(?:_?id)?|client_?(?:id|email)|universe_domain|\w*_ur[il])$/i;

function secretFields(secret: string): string[] {
  if (!/^\s*[{["]/.test(secret)) return [];
  return [...leavesOf(parseJson(secret))].flatMap(([path, value]) => {
    if (typeof value !== 'string' || harmless.test(path)) return [];
    return value.length >= endLength || /key|secret|token|pass|credential/i.test(path) ? [value] : [];
  });
}

/** Decodes percent encodings to bytes, removes white space and the escapes of JSON, and maps both alphabets of base64 to one. */
const normalise = (text: string): string =>
  text
    // A signature encodes a path twice.
    .replace(/%(?:25)*([\da-f]{2})/gi, (_, byte) => String.fromCharCode(Number.parseInt(byte, 16)))
    .replace(/\\[nrt]|[\\\s]/g, '')
    // `replaceAll` would build a new string for each `-`.
    .replace(/-/g, '+')
    .replace(/_/g, '/');

import { lazy, leavesOf } from '../util/objects.js';
import { removedFromAnswer } from '../util/placeholder.js';
import { resolveReferences } from './parse-body.js';

/** Finds and removes secrets in answers. */
export interface Redactor {
  /** True if a text contains a secret, in any encoding. */
  finds(text: string): boolean;
  /** Returns a copy without the texts and field names that contain a secret. */
  clean<Data>(data: Data): Data;
}

/** A text contains a secret if they share this number of consecutive characters, so that a wrapped or truncated secret is found too. */
const sharedLength = 16;
const pieceLength = sharedLength / 2;
/** Secrets with fewer characters are ignored, because ordinary words would match them. */
const shortestSecret = 8;

/**
 * Creates a redactor for some secrets. It also finds them in base64, broken by white space, or escaped as in JSON, URLs or HTML. It finds
 * private keys and signatures even if they are not among the secrets. Its time is proportional to the lengths of secrets and texts.
 */
export function createRedactor(secrets: readonly (string | undefined)[]): Redactor {
  /** The texts to search for: each secret as it is and encoded, and the words `PRIVATE KEY` of key files in base64. */
  const secretForms = new Set([
    ...secrets.flatMap((secret) => (secret === undefined ? [] : formsOf(secret))),
    ...privateKeyForms,
  ]);
  // Long forms are found by any `sharedLength` characters in a row (a run) that a text shares with them, and short forms only as a whole.
  const longForms = [...secretForms].filter((form) => form.length >= sharedLength);
  const shortForms = [...secretForms].filter((form) => form.length >= shortestSecret && form.length < sharedLength);
  const sharesRun = createRunSearch(longForms);
  const finds = (text: string): boolean => {
    const plain = normalise(text);
    return looksSecret.test(plain) || shortForms.some((form) => plain.includes(form)) || sharesRun(plain);
  };

  const removeSecrets = (data: unknown): unknown => {
    if (typeof data === 'string') return finds(data) ? removedFromAnswer : data;
    if (Array.isArray(data)) return data.map(removeSecrets);
    if (typeof data !== 'object' || data === null) return data;
    return Object.fromEntries(
      Object.entries(data).map(([name, value]) => [finds(name) ? removedFromAnswer : name, removeSecrets(value)]),
    );
  };
  return {
    finds,
    // All texts are first searched together. They are searched one by one only if they hold a secret, which hardly any data does.
    clean: (data) => (finds([...textsOf(data)].join(textSeparator)) ? (removeSecrets(data) as typeof data) : data),
  };
}

/**
 * Stands between two texts that are searched together. The line feed keeps a backslash at the end of the first text from being decoded.
 * `normalise` then removes the line feed as white space. The null character stays, so that nothing is found across two texts.
 */
const textSeparator = '\n\0';

/**
 * Returns a function that tells if a text shares a run of 16 characters with a secret. It cuts the text into pieces at 0, 8, 16 …, and looks
 * closer only around a piece that is part of a secret, which hardly any piece is. No run is missed, because 16 characters at any position
 * of the text contain a whole piece. A table of hashes rules out most pieces without making a string of each.
 */
function createRunSearch(secrets: readonly string[]): (text: string) => boolean {
  const secretPieces = substrings(secrets, pieceLength);
  /** 1 at the hash of each piece. */
  const isPieceHash = new Uint8Array(2 ** 16);
  for (const piece of secretPieces) isPieceHash[hashAt(piece, 0)] = 1;
  const secretRuns = lazy(() => substrings(secrets, sharedLength));

  /** True if any run that contains the piece at `pieceStart` is part of a secret. */
  const hasRunAround = (text: string, pieceStart: number): boolean => {
    for (let start = Math.max(0, pieceStart - pieceLength); start <= pieceStart; start += 1) {
      if (secretRuns().has(text.slice(start, start + sharedLength))) return true;
    }
    return false;
  };

  return (text) => {
    for (let start = 0; start + pieceLength <= text.length; start += pieceLength) {
      if (isPieceHash[hashAt(text, start)] === 0) continue;
      const piece = text.slice(start, start + pieceLength);
      if (secretPieces.has(piece) && hasRunAround(text, start)) return true;
    }
    return false;
  };
}

/** Returns a hash (16 bits) of the piece at a position. Half of its characters are enough to rule out most pieces. */
const hashAt = (text: string, start: number): number =>
  (text.charCodeAt(start) ^
    (text.charCodeAt(start + 2) << 3) ^
    (text.charCodeAt(start + 4) << 6) ^
    (text.charCodeAt(start + 7) << 9)) &
  0xffff;

/** Collects the texts and field names of a value without duplicates, because all elements of a list have the same field names. */
function textsOf(data: unknown, texts = new Set<string>()): Set<string> {
  if (typeof data === 'string') texts.add(data);
  else if (Array.isArray(data)) for (const element of data) textsOf(element, texts);
  else if (typeof data === 'object' && data !== null)
    for (const [name, value] of Object.entries(data)) {
      texts.add(name);
      textsOf(value, texts);
    }
  return texts;
}

/** All substrings with `length` characters, at any position. */
function substrings(texts: Iterable<string>, length: number): Set<string> {
  const result = new Set<string>();
  for (const text of texts)
    for (let at = 0; at + length <= text.length; at += 1) result.add(text.slice(at, at + length));
  return result;
}

/** Matches private keys and signatures in a normalised text. */
const looksSecret = /(?:BEGIN|END)[A-Z]{0,20}PRIVATEKEY|[Ss]ignature=[0-9a-f]{64}/;

/**
 * Returns the normalised forms of a secret: as it is, in base64, and as `decodePercents` leaves it, with one character for each byte of
 * UTF-8. For a JSON object, only its secret fields.
 */
function formsOf(secret: string): string[] {
  const inner = secretFields(secret);
  return (inner.length > 0 ? inner : [secret]).flatMap((text) =>
    [text, Buffer.from(text).toString('latin1'), ...inBase64(text)].map(normalise),
  );
}

/** Encodes a text in base64 at each of the three offsets. Drops the first and last characters, which depend on the text around it. */
const inBase64 = (text: string): string[] =>
  [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
      .toString('base64')
      .slice(4, -4),
  );

/** The forms in base64 of a text that every private key in PEM contains. */
const privateKeyForms = inBase64(' PRIVATE KEY-----');

/** Matches the paths of fields in a service account key that are not secret. */
const harmless = /(?:^|[.\]])(?:type|project(?:_?id)?|client_?(?:id|email)|universe_domain|\w*_ur[il])$/i;

/** Returns the secrets inside a JSON object, such as the private key of a service account. */
function secretFields(secret: string): string[] {
  if (!secret.trimStart().startsWith('{')) return [];
  try {
    return [...leavesOf(JSON.parse(secret))].flatMap(([path, value]) => {
      if (typeof value !== 'string' || harmless.test(path)) return [];
      return value.length >= sharedLength || /key|secret|token|pass|credential/i.test(path) ? [value] : [];
    });
  } catch {
    return [];
  }
}

/** The number of times that a text is decoded, for escapes within escapes such as `%2541`. */
const passes = 3;

/** Decodes escapes, removes white space, and maps both alphabets of base64 to one: `a%2Bb\n` and `a-b` become `a+b`. */
function normalise(text: string): string {
  let plain = text;
  for (let pass = 0; pass < passes && /[%&\\]/.test(plain); pass += 1) {
    const decoded = resolveReferences(decodePercents(decodeBackslashes(plain)));
    // A `%` or `&` that is no escape stays. It must not cause further passes, because each takes long for a page of megabytes.
    if (decoded === plain) break;
    plain = decoded;
  }
  // Regular expressions, because `replaceAll('-', '+')` would build a new string for each `-`, and lists of objects have many.
  return plain.replace(/\s/g, '').replace(/-/g, '+').replace(/_/g, '/');
}

/** Decodes the escapes of JSON, and removes escaped white space such as `\n`. */
const decodeBackslashes = (text: string): string =>
  text.replace(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code, escaped) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return 'nrtbf'.includes(escaped) ? '' : escaped;
  });

/**
 * Decodes the escapes of URLs, each byte to one character, because secrets get that form too: see `formsOf`. A regular expression would
 * take ten times as long for a list of encoded object names.
 */
function decodePercents(text: string): string {
  if (!text.includes('%')) return text;

  /** The decoded text in UTF-16, with two bytes for each character. Decoding only shortens a text, so there is enough room. */
  const utf16 = new Uint8Array(2 * text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    let character = text.charCodeAt(at);
    const escapedByte = character === percent ? byteAt(text, at + 1) : -1;
    if (escapedByte >= 0) {
      character = escapedByte;
      at += 2;
    }
    utf16[length] = character & 0xff;
    utf16[length + 1] = character >> 8;
    length += 2;
  }
  return Buffer.from(utf16.buffer, 0, length).toString('utf16le');
}

const percent = 37;

/** Returns the value of the two hexadecimal digits at a position. Negative if one is no digit, because -1 has all bits set. */
const byteAt = (text: string, at: number) => (digitAt(text, at) << 4) | digitAt(text, at + 1);

/** Returns the value of the hexadecimal digit at a position, or -1 for another character. */
function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 48 && code <= 57) return code - 48;
  const upper = code & 0xffdf;
  return upper >= 65 && upper <= 70 ? upper - 55 : -1;
}

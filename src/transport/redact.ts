import { lazy, leavesOf, parseJson } from '../util/objects.js';
import { removedFromAnswer } from '../util/quote.js';
import { resolveReferences } from './parse-body.js';

/** Finds and removes secrets in answers. */
export interface Redactor {
  finds(text: string): boolean;
  /** Replaces the texts and field names that contain a secret. */
  clean<Data>(data: Data): Data;
}

/** Number of consecutive characters that reveal a secret, even if it is truncated. */
const sharedLength = 16;
const pieceLength = sharedLength / 2;
/** Shorter secrets would match ordinary words. */
const shortestSecret = 8;

/** Creates a redactor. It also finds secrets in base64, escaped or broken by white space, and all private keys and signatures. */
export function createRedactor(secrets: readonly (string | undefined)[]): Redactor {
  const secretForms = new Set([
    ...secrets.flatMap((secret) => (secret === undefined ? [] : formsOf(secret))),
    ...privateKeyForms,
  ]);
  // Short forms are found only as a whole.
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
    // Hardly any data holds a secret, so all texts are first searched together.
    clean: (data) => (finds([...textsOf(data)].join(textSeparator)) ? (removeSecrets(data) as typeof data) : data),
  };
}

/** Nothing is found across the null character. The line feed keeps a backslash before it from being decoded. */
const textSeparator = '\n\0';

/** Every run of `sharedLength` characters contains a whole piece, so only pieces are looked up. */
function createRunSearch(secrets: readonly string[]): (text: string) => boolean {
  const secretPieces = substrings(secrets, pieceLength);
  const isPieceHash = new Uint8Array(2 ** 16);
  for (const piece of secretPieces) isPieceHash[hashAt(piece, 0)] = 1;
  const secretRuns = lazy(() => substrings(secrets, sharedLength));

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

const hashAt = (text: string, start: number): number =>
  (text.charCodeAt(start) ^
    (text.charCodeAt(start + 2) << 3) ^
    (text.charCodeAt(start + 4) << 6) ^
    (text.charCodeAt(start + 7) << 9)) &
  0xffff;

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

function substrings(texts: Iterable<string>, length: number): Set<string> {
  const result = new Set<string>();
  for (const text of texts)
    for (let at = 0; at + length <= text.length; at += 1) result.add(text.slice(at, at + length));
  return result;
}

const looksSecret = /(?:BEGIN|END)[A-Z]{0,20}PRIVATEKEY|[Ss]ignature=(?:[0-9a-f]{64}|[\w+/]{43}=)/;

/** The secret itself, in base64, and as `decodePercents` leaves it. */
function formsOf(secret: string): string[] {
  const inner = secretFields(secret);
  return (inner.length > 0 ? inner : [secret]).flatMap((text) =>
    [text, Buffer.from(text).toString('latin1'), ...inBase64(text)].map(normalise),
  );
}

/** At all three offsets, without the ends, which depend on the text around them. */
const inBase64 = (text: string): string[] =>
  [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
      .toString('base64')
      .slice(4, -4),
  );

const privateKeyForms = inBase64(' PRIVATE KEY-----');

/** Fields of a service account key that are not secret. */
const harmless = /(?:^|[.\]])(?:type|project(?:_?id)?|client_?(?:id|email)|universe_domain|\w*_ur[il])$/i;

function secretFields(secret: string): string[] {
  if (!secret.trimStart().startsWith('{')) return [];
  return [...leavesOf(parseJson(secret))].flatMap(([path, value]) => {
    if (typeof value !== 'string' || harmless.test(path)) return [];
    return value.length >= sharedLength || /key|secret|token|pass|credential/i.test(path) ? [value] : [];
  });
}

/** For escapes within escapes, such as `%2541`. */
const passes = 3;

/** Maps both alphabets of base64 to one. */
function normalise(text: string): string {
  let plain = text;
  for (let pass = 0; pass < passes && /[%&\\]/.test(plain); pass += 1) {
    const decoded = resolveReferences(decodePercents(decodeBackslashes(plain)));
    // A `%` or `&` that is no escape must not cause slow further passes.
    if (decoded === plain) break;
    plain = decoded;
  }
  // `replaceAll` would build a new string for each `-`.
  return plain.replace(/\s/g, '').replace(/-/g, '+').replace(/_/g, '/');
}

const decodeBackslashes = (text: string): string =>
  text.replace(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code, escaped) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return 'nrtbf'.includes(escaped) ? '' : escaped;
  });

/** A regular expression would take ten times as long. */
function decodePercents(text: string): string {
  if (!text.includes('%')) return text;

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

/** Negative if one is no digit, because -1 has all bits set. */
const byteAt = (text: string, at: number) => (digitAt(text, at) << 4) | digitAt(text, at + 1);

function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 48 && code <= 57) return code - 48;
  const upper = code & 0xffdf;
  return upper >= 65 && upper <= 70 ? upper - 55 : -1;
}

import { lazy, leavesOf } from '../util/objects.js';

/** Finds and removes secrets in answers. */
export interface Redactor {
  /** True if a text contains a secret, in any encoding. */
  finds(text: string): boolean;
  /** Returns a copy without the texts and field names that contain a secret. */
  clean<Data>(data: Data): Data;
}

const removed = '[removed: it held a secret]';

/** A text contains a secret if it shares this many consecutive characters with the secret, in any encoding, wrapped or truncated. */
const sharedLength = 16;
/** Each run of `sharedLength` characters contains a piece of this length that starts at a multiple of `pieceLength`. */
const pieceLength = sharedLength / 2;
/** Shorter secrets are ignored, because ordinary words would match them. */
const shortest = 8;

/**
 * Creates a redactor for some secrets. It ignores white space and the escapes of JSON, URLs and HTML, and finds secrets in base64 too. It
 * also finds private keys and signatures that are not among the secrets. Its time is proportional to the lengths of secrets and texts.
 */
export function createRedactor(secrets: readonly (string | undefined)[]): Redactor {
  const forms = new Set([
    ...secrets.flatMap((secret) => (secret === undefined ? [] : formsOf(secret))),
    ...keyInBase64,
  ]);
  const shortForms = [...forms].filter((form) => form.length >= shortest && form.length < sharedLength);
  const sharesRun = createRunSearch(forms);
  const finds = (text: string): boolean => {
    const plain = normalise(text);
    return looksSecret.test(plain) || shortForms.some((form) => plain.includes(form)) || sharesRun(plain);
  };
  const clean = (data: unknown): unknown => {
    if (typeof data === 'string') return finds(data) ? removed : data;
    if (Array.isArray(data)) return data.map(clean);
    if (typeof data !== 'object' || data === null) return data;
    return Object.fromEntries(
      Object.entries(data).map(([name, value]) => [finds(name) ? removed : name, clean(value)]),
    );
  };
  return {
    finds,
    // Hardly any data holds a secret, so one search in all texts together comes first.
    clean: (data) => (finds([...textsOf(data)].join('\0')) ? (clean(data) as typeof data) : data),
  };
}

/**
 * Returns a function that tells if a text shares `sharedLength` consecutive characters with one of the forms. It looks for short pieces at
 * multiples of `pieceLength` first, because hardly any text contains one.
 */
function createRunSearch(forms: ReadonlySet<string>): (text: string) => boolean {
  const pieces = substrings(forms, pieceLength);
  const runs = lazy(() => substrings(forms, sharedLength));
  /** True if a run includes the piece at a position of the text. */
  const hasRunAround = (text: string, pieceAt: number): boolean => {
    for (let start = Math.max(0, pieceAt - pieceLength); start <= pieceAt; start += 1)
      if (runs().has(text.slice(start, start + sharedLength))) return true;
    return false;
  };
  return (text) => {
    for (let pieceAt = 0; pieceAt + pieceLength <= text.length; pieceAt += pieceLength) {
      const piece = text.slice(pieceAt, pieceAt + pieceLength);
      if (pieces.has(piece) && hasRunAround(text, pieceAt)) return true;
    }
    return false;
  };
}

/** Collects the texts and field names of a value, each once, because the field names of a list repeat. */
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

/** All substrings of a length. */
function substrings(texts: Iterable<string>, length: number): Set<string> {
  const result = new Set<string>();
  for (const text of texts)
    for (let at = 0; at + length <= text.length; at += 1) result.add(text.slice(at, at + length));
  return result;
}

/** Matches private keys and signatures in a normalised text. */
const looksSecret = /(?:BEGIN|END)[A-Z]{0,20}PRIVATEKEY|[Ss]ignature=[0-9a-f]{64}/;

/** Returns the normalised forms of a secret, or of the secret fields of a JSON object. Each form is also there in base64. */
function formsOf(secret: string): string[] {
  const inner = secretFields(secret);
  return (inner.length > 0 ? inner : [secret]).flatMap((text) =>
    [text, Buffer.from(text).toString('latin1'), ...inBase64(text)].map(normalise),
  );
}

/** Encodes a text in base64 at each of the three offsets, without the first and last characters, which depend on neighbouring text. */
const inBase64 = (text: string): string[] =>
  [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
      .toString('base64')
      .slice(4, -4),
  );

/** Every private key in PEM contains this text, here in base64. */
const keyInBase64 = inBase64(' PRIVATE KEY-----');

/** Fields of a service account key that are no secrets. */
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

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Escapes within escapes are decoded to this depth. */
const passes = 3;

/** Decodes escapes, removes white space, and maps both alphabets of base64 to one: `a%2Bb\n` and `a-b` become `a+b`. */
function normalise(text: string): string {
  let plain = text;
  for (let pass = 0; pass < passes && /[%&\\]/.test(plain); pass += 1)
    plain = decodeHtml(decodePercents(decodeBackslashes(plain)));
  return plain.replace(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/');
}

/** Decodes the escapes of JSON. Escaped white space is removed. */
const decodeBackslashes = (text: string): string =>
  text.replace(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code, escaped) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return 'nrtbf'.includes(escaped) ? '' : escaped;
  });

const decodeHtml = (text: string): string =>
  text.replace(/&(?:#(\d{1,20})|#x([0-9a-f]{1,20})|(amp|lt|gt|quot|apos));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });

/** Decodes the escapes of URLs, each to the character with the number of its byte. A regular expression would take ten times as long for a page of percent-encoded keys. */
function decodePercents(text: string): string {
  if (!text.includes('%')) return text;
  /** The decoded text in UTF-16: two bytes for each character. */
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

/** Returns the value of two hexadecimal digits; negative if they are no digits. */
const byteAt = (text: string, at: number) => (digitAt(text, at) << 4) | digitAt(text, at + 1);

function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 48 && code <= 57) return code - 48;
  const upper = code & 0xffdf;
  return upper >= 65 && upper <= 70 ? upper - 55 : -1;
}

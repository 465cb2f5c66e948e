import { lazy, leavesOf } from '../util/objects.js';

/** Finds secrets in answers, and removes them. */
export interface Redactor {
  /** True if a text holds a secret, in any encoding. */
  finds(text: string): boolean;
  /** A copy in which every text with a secret in it is replaced, names of fields included. */
  clean<Data>(data: Data): Data;
}

const removed = '[removed: it held a secret]';

/** A text holds a secret if they have this many characters in common, in any encoding, wrapped or cut. */
const sharedLength = 16;
/** Every run of `sharedLength` characters holds a whole piece of this length that begins at a multiple of it. */
const pieceLength = sharedLength / 2;
/** Shorter secrets are not searched for, because ordinary words would match them. */
const shortest = 8;

/**
 * Makes a redactor for some secrets. It compares texts without white space and without the escapes of JSON, URLs and HTML,
 * and knows the secrets in base64 too. It also finds blocks of private keys and signatures that are nobody's known secret.
 * Its time is proportional to the lengths of secrets and texts.
 * @param others finds further secrets
 */
export function createRedactor(secrets: readonly (string | undefined)[], others?: Redactor): Redactor {
  const known = new Set([
    ...secrets.flatMap((secret) => (secret === undefined ? [] : formsOf(secret))),
    ...keyInBase64,
  ]);
  const short = [...known].filter((form) => form.length >= shortest && form.length < sharedLength);
  const pieces = substrings(known, pieceLength);
  // Hardly any text has a piece.
  const runs = lazy(() => substrings(known, sharedLength));
  const sharesRun = (text: string) => {
    for (let at = 0; at + pieceLength <= text.length; at += pieceLength)
      if (pieces.has(text.slice(at, at + pieceLength)))
        for (let start = Math.max(0, at - pieceLength); start <= at; start += 1)
          if (runs().has(text.slice(start, start + sharedLength))) return true;
    return false;
  };
  const finds = (text: string): boolean => {
    if (others?.finds(text)) return true;
    const plain = normalise(text);
    return looksSecret.test(plain) || short.some((form) => plain.includes(form)) || sharesRun(plain);
  };
  const clean = (data: unknown): unknown => {
    if (typeof data === 'string') return finds(data) ? removed : data;
    if (Array.isArray(data)) return data.map(clean);
    if (typeof data !== 'object' || data === null) return data;
    return Object.fromEntries(
      Object.entries(data).map(([name, value]) => [finds(name) ? removed : name, clean(value)]),
    );
  };
  return { finds, clean: (data) => (finds([...textsOf(data)].join('\0')) ? (clean(data) as typeof data) : data) };
}

/** Collects the different texts of a value, names of fields included. Those of a list repeat. */
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
  const found = new Set<string>();
  for (const text of texts)
    for (let at = 0; at + length <= text.length; at += 1) found.add(text.slice(at, at + length));
  return found;
}

/** Blocks of private keys and signatures, in a normalised text. */
const looksSecret = /(?:BEGIN|END)[A-Z]{0,20}PRIVATEKEY|[Ss]ignature=[0-9a-f]{64}/;

/** The texts to search for: a secret or, if it is a JSON object, its secret fields; each also in base64 at any offset. */
function formsOf(secret: string): string[] {
  const inner = secretFields(secret);
  return (inner.length > 0 ? inner : [secret]).flatMap((text) =>
    [text, Buffer.from(text).toString('latin1'), ...inBase64(text)].map(normalise),
  );
}

/** A text in base64, at each of the three offsets, without the first and last characters, which depend on the text beside it. */
const inBase64 = (text: string): string[] =>
  [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
      .toString('base64')
      .slice(4, -4),
  );

/** Part of every block of a private key. */
const keyInBase64 = inBase64(' PRIVATE KEY-----');

/** Paths in a service account key that hold no secret. */
const harmless = /(?:^|[.\]])(?:type|project(?:_?id)?|client_?(?:id|email)|universe_domain|\w*_ur[il])$/i;

/** The secrets inside a JSON object, such as the private key of a service account. */
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

/** Depth to which escapes within escapes are resolved. */
const passes = 3;

/** A text without escapes, white space and hyphens, in one spelling of base64: `a%2Bb\n` and `a-b` become `a+b`. */
function normalise(text: string): string {
  let plain = text;
  for (let pass = 0; pass < passes && /[%&\\]/.test(plain); pass += 1)
    plain = withoutPercents(
      plain.replace(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code, escaped) =>
        code === undefined
          ? 'nrtbf'.includes(escaped)
            ? ''
            : escaped
          : String.fromCharCode(Number.parseInt(code, 16)),
      ),
    ).replace(/&(?:#(\d{1,20})|#x([0-9a-f]{1,20})|(amp|lt|gt|quot|apos));/gi, (whole, decimal, hex, name) => {
      if (name !== undefined) return entities[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    });
  return plain.replace(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/');
}

/** A text with the escapes of URLs resolved. An expression takes ten times as long for a page of keys, which are nothing else. */
function withoutPercents(text: string): string {
  if (!text.includes('%')) return text;
  const units = new Uint8Array(2 * text.length);
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    let unit = text.charCodeAt(at);
    const escaped = unit === percent ? byteAt(text, at + 1) : -1;
    if (escaped >= 0) {
      unit = escaped;
      at += 2;
    }
    units[end] = unit & 0xff;
    units[end + 1] = unit >> 8;
    end += 2;
  }
  return Buffer.from(units.buffer, 0, end).toString('utf16le');
}

const percent = 37;

/** The value of two hexadecimal digits, or a negative number where they are none. */
const byteAt = (text: string, at: number) => (digitAt(text, at) << 4) | digitAt(text, at + 1);

function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 48 && code <= 57) return code - 48;
  const upper = code & 0xffdf;
  return upper >= 65 && upper <= 70 ? upper - 55 : -1;
}

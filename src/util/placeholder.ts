import { quote } from './quote.js';

/** This file has the words that stand in place of a value, and recognizes them, so that nobody writes them into the cloud in place of the value. */

/** Stands for a secret in an answer. */
export const hiddenInAnswer = '(hidden, because it may be a secret)';

/** Stands, in the journal, for a secret that the caller got in the answer. */
export const shownOnce = '(shown once, and not kept)';

/** Stands for a text in which a secret of the call was found. */
export const removedFromAnswer = '[removed: it held a secret]';

/** Stands for a secret argument in a plan. `digest` is the beginning of its SHA-256. */
export const hiddenInPlan = (digest?: string): string =>
  digest === undefined ? 'hidden secret' : `hidden secret (SHA-256 ${digest})`;

/** Stands for the content of a secret file in a plan. */
export const secretNamed = (name: string): string => `the secret ${quote(name)} of this server`;

const hiddenSecret = /^hidden secret(?: \(SHA-256 [0-9a-f]{8}\))?$/;
const namedSecret = /^the secret ".*" of this server$/;
/** Matches the length of a value that is not shown, such as `69 bytes` or `(3000 characters)`. */
const count = /^\(?\d+ (?:bytes?|characters?)\)?$/;
/** Matches a text that was cut, with the quotation mark and the length that `quote` adds. */
const cutText = /…"? \((?:cut, )?\d+ characters\)$/;

/** True for a text that this server writes in place of a value. */
export const isPlaceholder = (text: string): boolean =>
  text === hiddenInAnswer ||
  text === shownOnce ||
  text === removedFromAnswer ||
  [hiddenSecret, namedSecret, count, cutText].some((pattern) => pattern.test(text));

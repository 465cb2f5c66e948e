import { quote } from './quote.js';

/** Words in place of a value, recognized so that nobody writes them into the cloud. */

export const hiddenInAnswer = '(hidden, because it may be a secret)';

/** For a secret in the journal. */
export const shownOnce = '(shown once, and not kept)';

export const removedFromAnswer = '[removed: it held a secret]';

export const hiddenInPlan = (digest?: string): string =>
  digest === undefined ? 'hidden secret' : `hidden secret (SHA-256 ${digest})`;

export const secretNamed = (name: string): string => `the secret ${quote(name)} of this server`;

const hiddenSecret = /^hidden secret(?: \(SHA-256 [0-9a-f]{8}\))?$/;
const namedSecret = /^the secret ".*" of this server$/;
/** Such as `69 bytes`. */
const count = /^\(?\d+ (?:bytes?|characters?)\)?$/;
/** A text that `quote` has cut. */
const cutText = /…"? \((?:cut, )?\d+ characters\)$/;

export const isPlaceholder = (text: string): boolean =>
  text === hiddenInAnswer ||
  text === shownOnce ||
  text === removedFromAnswer ||
  [hiddenSecret, namedSecret, count, cutText].some((pattern) => pattern.test(text));

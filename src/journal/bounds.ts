import { createHash } from 'node:crypto';

/**
 * Bounds of texts, in bytes. With every byte escaped an entry stays below 128 KiB, far below the 512 KiB from which Node
 * writes in pieces.
 */
export const maximumBytes = {
  what: 4096,
  target: 8192,
  client: 1024,
  caller: 1024,
  account: 1024,
  code: 512,
  requestId: 512,
};

/** A text within a bound. What is cut says so, with a digest that tells it from another that begins the same. */
export function bounded(text: string, bytes: number): string {
  const length = Buffer.byteLength(text);
  if (length <= bytes) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const mark = `… [cut, ${length} bytes, SHA-256 ${digest}]`;
  const kept = Buffer.from(text).subarray(0, bytes - Buffer.byteLength(mark));
  return `${kept.toString('utf8').replace(/\ufffd$/, '')}${mark}`;
}

/** The name of a caller as it is in the journal. */
export const boundedCaller = (caller: string | undefined) =>
  caller === undefined ? undefined : bounded(caller, maximumBytes.caller);

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { type Ending, endingSchema, type Intent, intentSchema } from './journal.js';

/**
 * Bounds of texts, in bytes. With every byte escaped an entry stays below 128 KiB, far below the 512 KiB from which Node
 * writes in pieces.
 */
const maximumBytes = { what: 4096, target: 8192, client: 1024, caller: 1024, account: 1024, code: 512, requestId: 512 };
const maximumRequestIds = 8;

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

export const boundedIntent = (intent: Intent): Intent => ({
  ...intent,
  what: bounded(intent.what, maximumBytes.what),
  target: bounded(intent.target, maximumBytes.target),
  account: bounded(intent.account, maximumBytes.account),
  client: bounded(intent.client, maximumBytes.client),
  ...(intent.caller !== undefined && { caller: boundedCaller(intent.caller) }),
});

export const boundedEnding = (ending: Ending): Ending => ({
  ...ending,
  ...(ending.code !== undefined && { code: bounded(ending.code, maximumBytes.code) }),
  ...(ending.requestIds !== undefined && {
    requestIds: Object.fromEntries(
      Object.entries(ending.requestIds)
        .slice(0, maximumRequestIds)
        .map(([name, value]) => [bounded(name, maximumBytes.requestId), bounded(value, maximumBytes.requestId)]),
    ),
  }),
});

/**
 * Older versions do not understand an entry with a value that they do not know. They get the nearest that they know, and
 * the value itself is in `exactly`.
 */
const forOlder = { clicked: 'asked', declined: 'rejected' } as const;

export const storedIntent = (intent: Intent): object =>
  intent.consent === 'clicked' ? { ...intent, consent: forOlder.clicked, exactly: intent.consent } : intent;

export const storedEnding = (ending: Ending): object =>
  ending.outcome === 'declined' ? { ...ending, outcome: forOlder.declined, exactly: ending.outcome } : ending;

export const storedIntentSchema = intentSchema
  .extend({ exactly: z.literal('clicked').optional().catch(undefined) })
  .transform(({ exactly, ...intent }): Intent => (exactly === undefined ? intent : { ...intent, consent: exactly }));

export const storedEndingSchema = endingSchema
  .extend({ exactly: z.literal('declined').optional().catch(undefined) })
  .transform(({ exactly, ...ending }): Ending => (exactly === undefined ? ending : { ...ending, outcome: exactly }));

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { once } from '../util/objects.js';

/**
 * What is written before a change is sent. It holds no secret. Times are ISO 8601, UTC. The schema is made when an entry is
 * read: most servers start with an empty journal, or none.
 */
export const intentSchema = once(() =>
  z.object({
    id: z.string(),
    time: z.string(),
    tool: z.string(),
    /** What would happen, in a sentence. */
    what: z.string(),
    /** Method and URL. */
    target: z.string(),
    account: z.string(),
    /** Name and version of the client, as it says. */
    client: z.string(),
    /** Who called, where callers are authenticated. */
    caller: z.string().optional(),
    /** How consent was given; `other` is a way that only a newer version knows. */
    consent: z.enum(['asked', 'clicked', 'planId', 'option', 'off', 'other']).catch('other'),
    /** How long the person took to answer. */
    answeredAfterMs: z.number().optional().catch(undefined),
    /** The same for the same change. */
    digest: z.string(),
    /** Of the plan or question that was answered. Consent with the same nonce counts once. */
    nonce: z.string().optional(),
    process: z.object({ pid: z.int(), host: z.string() }),
  }),
);
export type Intent = z.output<ReturnType<typeof intentSchema>>;

/** What came of the intent with the same id. */
export const endingSchema = once(() =>
  z.object({
    id: z.string(),
    time: z.string(),
    /** An outcome that only a newer version knows may mean that the change was made. */
    outcome: z.enum(['accepted', 'rejected', 'unknown', 'not sent', 'declined']).catch('unknown'),
    status: z.int().optional(),
    code: z.string().optional(),
    requestIds: z.record(z.string(), z.string()).optional(),
  }),
);
export type Ending = z.output<ReturnType<typeof endingSchema>>;

/** An intent with what came of it, if anything did yet. */
export type RecordedChange = Intent & { readonly ending?: Ending | undefined };

/** A line of the journal. */
export type Entry = { readonly intent: Intent } | { readonly ending: Ending };

/** A text within a bound, in bytes. What is cut says so, with a digest that tells it from another that begins the same. */
export function bounded(text: string, bytes: number): string {
  const length = Buffer.byteLength(text);
  if (length <= bytes) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const mark = `… [cut, ${length} bytes, SHA-256 ${digest}]`;
  const kept = Buffer.from(text).subarray(0, bytes - Buffer.byteLength(mark));
  return `${kept.toString('utf8').replace(/\ufffd$/, '')}${mark}`;
}

/** The name of a caller as it is in the journal. */
export const boundedCaller = (caller: string | undefined) => (caller === undefined ? undefined : bounded(caller, 1024));

/**
 * An intent whose texts are within bounds. With every byte escaped an entry stays below 128 KiB, far below the 512 KiB from
 * which Node writes in pieces.
 */
export const boundedIntent = (intent: Intent): Intent => ({
  ...intent,
  what: bounded(intent.what, 4096),
  target: bounded(intent.target, 8192),
  account: bounded(intent.account, 1024),
  client: bounded(intent.client, 1024),
  caller: boundedCaller(intent.caller),
});

/** An ending whose texts are within bounds, with 8 request IDs at most. */
export const boundedEnding = (ending: Ending): Ending => ({
  ...ending,
  code: ending.code === undefined ? undefined : bounded(ending.code, 512),
  requestIds:
    ending.requestIds &&
    Object.fromEntries(
      Object.entries(ending.requestIds)
        .slice(0, 8)
        .map((pair) => pair.map((text) => bounded(text, 512))),
    ),
});

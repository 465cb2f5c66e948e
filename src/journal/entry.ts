import { createHash } from 'node:crypto';
import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { keyFormat } from './idempotency-key.js';

/** The program that acts for a caller, as the caller's token names it. */
export const agentSchema = lazy(() =>
  z.object({
    /** Claim `client_id`. */
    clientId: z.string().optional(),
    /** Subjects of the claim `act`, the present one first (RFC 8693, section 4.1). */
    actors: z.array(z.string()),
  }),
);
export type Agent = z.output<ReturnType<typeof agentSchema>>;

/**
 * The entry that is written before a change is sent. It holds no secret. Times are ISO 8601, UTC. The schema is built lazily, because
 * most servers start with an empty journal, or none.
 */
export const intentSchema = lazy(() =>
  z.object({
    id: z.string(),
    time: z.string(),
    tool: z.string(),
    /** The change in a sentence. */
    what: z.string(),
    target: z.string(),
    /** Name of the account, or in entries of earlier versions the ID of its key. */
    account: z.string(),
    /** ID of the key that was to sign it. */
    key: z.string().optional(),
    /** Name and version, as the client reports them. */
    client: z.string(),
    /** Name of the caller, if callers are authenticated. */
    caller: z.string().optional(),
    agent: agentSchema().optional().catch(undefined),
    /** How consent was given. `other` stands for values of newer versions. */
    consent: z
      .enum(['asked', 'clicked', 'page', 'planId', 'option', 'off', 'withdrawn', 'program', 'other'])
      .catch('other'),
    /** Name of the person who decided, if that is not the caller. */
    approver: z.string().optional(),
    /** Why the person declined. Earlier versions ignore it. */
    reason: z.string().optional().catch(undefined),
    /** How long the person took to answer. */
    answeredAfterMs: z.number().optional().catch(undefined),
    /** Digest of the request. Two changes with the same digest are the same change. */
    digest: z.string(),
    /** The format of the digest. An entry without it is of an earlier version. */
    keyFormat: z.int().optional(),
    /** Digest of the account and its caller. Changes with the same digest share a budget. */
    budget: z.string().optional(),
    /** Nonce of the plan or question that was answered. Consent with a nonce counts once. */
    nonce: z.string().optional(),
    process: z.object({ pid: z.int(), host: z.string() }),
    /** When a server wrote the entry again from its memory, because the file was gone. */
    restored: z.string().optional(),
  }),
);
export type Intent = z.output<ReturnType<typeof intentSchema>>;

/** The kinds of consent of declined changes that no person refused. */
export const withoutRefusal: readonly Intent['consent'][] = ['withdrawn', 'program'];

/** The possible outcomes of a change. */
export const outcomes = ['accepted', 'rejected', 'unknown', 'not sent', 'declined'] as const;

/** The outcome of the intent with the same id. */
export const endingSchema = lazy(() =>
  z.object({
    id: z.string(),
    time: z.string(),
    /** An outcome of a newer version may mean that the change was made, so it counts as unknown. */
    outcome: z.enum(outcomes).catch('unknown'),
    /** ID of the key that signed the request. */
    key: z.string().optional(),
    status: z.int().optional(),
    code: z.string().optional(),
    requestIds: z.record(z.string(), z.string()).optional(),
    /** Set if an accepted change was done in part: the number of failed entries, and their codes. */
    failed: z
      .object({ count: z.int(), codes: z.array(z.string()) })
      .optional()
      .catch(undefined),
  }),
);
export type Ending = z.output<ReturnType<typeof endingSchema>>;

/** An intent with its ending, if it has one. */
export type RecordedChange = Intent & { readonly ending?: Ending | undefined };

/** A line of the journal. */
export type Entry = { readonly intent: Intent } | { readonly ending: Ending };

/** Truncates a text to a number of bytes. A truncated text ends with a digest, which tells it from texts with the same beginning. */
export function bounded(text: string, bytes: number): string {
  const length = Buffer.byteLength(text);
  if (length <= bytes) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const mark = `… [cut, ${length} bytes, SHA-256 ${digest}]`;
  const kept = Buffer.from(text).subarray(0, bytes - Buffer.byteLength(mark));
  return `${kept.toString('utf8').replace(/\ufffd$/, '')}${mark}`;
}

/** Longest name of a client. */
export const clientBytes = 1024;

/** The name of a caller as the journal has it. */
export const boundedCaller = (caller: string | undefined) => (caller === undefined ? undefined : bounded(caller, 1024));

/**
 * An intent as this version writes it: with the format of its key, and with texts within bounds. Even if every byte is escaped, an entry
 * stays below 128 KiB. Node writes entries of 512 KiB and more in pieces.
 */
export const boundedIntent = (intent: Intent): Intent => ({
  ...intent,
  keyFormat,
  what: bounded(intent.what, 4096),
  target: bounded(intent.target, 8192),
  account: bounded(intent.account, 1024),
  key: intent.key === undefined ? undefined : bounded(intent.key, 1024),
  client: bounded(intent.client, clientBytes),
  caller: boundedCaller(intent.caller),
  approver: boundedCaller(intent.approver),
  reason: intent.reason === undefined ? undefined : bounded(intent.reason, 1024),
});

/** An ending whose texts are within bounds, with at most 8 request IDs and codes of failed entries. */
export function boundedEnding(ending: Ending): Ending {
  const { key, code, requestIds = {}, failed } = ending;
  const ids = Object.entries(requestIds).slice(0, 8);
  const boundedIds = ids.map(([name, id]) => [bounded(name, 512), bounded(id, 512)]);
  return {
    ...ending,
    key: key === undefined ? undefined : bounded(key, 1024),
    code: code === undefined ? undefined : bounded(code, 512),
    requestIds: ending.requestIds && Object.fromEntries(boundedIds),
    failed: failed && { ...failed, codes: failed.codes.slice(0, 8).map((failedCode) => bounded(failedCode, 512)) },
  };
}

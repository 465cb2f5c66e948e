import { createHash } from 'node:crypto';
import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { keyFormat } from './idempotency-key.js';

/** The program that acts for a caller, as the caller's token names it. */
export const agentSchema = lazy(() =>
  z.object({
    /** Claim `client_id`. */
    clientId: z.string().optional(),
    /** Subjects of the claim `act`, the current actor first (RFC 8693, section 4.1). */
    actors: z.array(z.string()),
  }),
);
export type Agent = z.output<ReturnType<typeof agentSchema>>;

/** The entry that is written before a change is sent. It has no secrets. Built lazily, because most servers start with an empty journal. */
export const intentSchema = lazy(() =>
  z.object({
    id: z.string(),
    /** ISO 8601, UTC. */
    time: z.string(),
    tool: z.string(),
    /** The change in a sentence. */
    what: z.string(),
    target: z.string(),
    /** Name of the account. In entries of earlier versions, the ID of its access key. */
    account: z.string(),
    /** ID of the access key that was chosen to sign the request. */
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
    /** The change's `idempotencyKey`. Two changes with the same digest are the same change. */
    digest: z.string(),
    /** The format of `digest`. An entry without a format is of an earlier version. */
    keyFormat: z.int().optional(),
    /** Digest of the account and its caller, whose changes share a budget. */
    budget: z.string().optional(),
    /** Nonce of the plan or question that was answered. Consent with a nonce counts once. */
    nonce: z.string().optional(),
    process: z.object({ pid: z.int(), host: z.string() }),
    /** The time when a server wrote the entry again from its memory, because the file was gone. */
    restored: z.string().optional(),
  }),
);
export type Intent = z.output<ReturnType<typeof intentSchema>>;

/** Kinds of consent in changes that were `declined`, but not by a person: by their caller or by a program. */
export const notRefusedByPerson: readonly Intent['consent'][] = ['withdrawn', 'program'];

/** `not sent`: stopped by a conflict or an error after its intent was written. `declined`: by a person, its caller or a program. */
export const outcomes = ['accepted', 'rejected', 'unknown', 'not sent', 'declined'] as const;

/** The outcome of the intent with the same id. */
export const endingSchema = lazy(() =>
  z.object({
    id: z.string(),
    time: z.string(),
    /** An outcome of a newer version may mean that the change was made, so it counts as unknown. */
    outcome: z.enum(outcomes).catch('unknown'),
    /** ID of the access key that signed the request. */
    key: z.string().optional(),
    status: z.int().optional(),
    code: z.string().optional(),
    requestIds: z.record(z.string(), z.string()).optional(),
    /** Set if an accepted change was done in part, such as the deletion of some objects: the number of failures, and their codes. */
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

/** Shortens a text to `bytes` bytes. A shortened text ends with a digest, which distinguishes it from texts with the same beginning. */
export function shorten(text: string, bytes: number): string {
  const length = Buffer.byteLength(text);
  if (length <= bytes) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const mark = `… [cut, ${length} bytes, SHA-256 ${digest}]`;
  const kept = Buffer.from(text).subarray(0, bytes - Buffer.byteLength(mark));
  // A character that was cut in half is decoded as U+FFFD.
  return `${kept.toString('utf8').replace(/\ufffd$/, '')}${mark}`;
}

/** Length limit of a client's name in bytes. */
export const clientBytes = 1024;

/** The name of a caller as the journal stores it. */
export const storedCaller = (caller: string | undefined) => caller && shorten(caller, 1024);

/** Shortens the texts of an intent, so that its entry stays below 128 KiB, far below `maximumBytes` of a write. */
export const shortenIntent = (intent: Intent): Intent => ({
  ...intent,
  keyFormat,
  what: shorten(intent.what, 4096),
  target: shorten(intent.target, 8192),
  account: shorten(intent.account, 1024),
  key: intent.key && shorten(intent.key, 1024),
  client: shorten(intent.client, clientBytes),
  caller: storedCaller(intent.caller),
  approver: storedCaller(intent.approver),
  reason: intent.reason && shorten(intent.reason, 1024),
});

/** Shortens the texts of an ending, and keeps at most 8 request IDs and 8 codes of failures. */
export function shortenEnding(ending: Ending): Ending {
  const { key, code, requestIds = {}, failed } = ending;
  const ids = Object.entries(requestIds).slice(0, 8);
  const shortIds = ids.map(([name, id]) => [shorten(name, 512), shorten(id, 512)]);
  return {
    ...ending,
    key: key && shorten(key, 1024),
    code: code && shorten(code, 512),
    requestIds: ending.requestIds && Object.fromEntries(shortIds),
    failed: failed && { ...failed, codes: failed.codes.slice(0, 8).map((failedCode) => shorten(failedCode, 512)) },
  };
}

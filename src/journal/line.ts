import * as z from 'zod';
import { isObject, lazy } from '../util/objects.js';
import { type Ending, type Entry, endingSchema, type Intent, intentSchema } from './entry.js';
import { keyFormat } from './idempotency-key.js';

/** An intent as the journal's window keeps it: the fields that conflicts and budgets depend on, and all fields for `parseIntent`. */
export interface IntentLine {
  readonly kind: 'intent';
  readonly id: string;
  /** Milliseconds, by the clock of the server that wrote the line. NaN if the line has no valid time. */
  readonly time: number;
  readonly digest: string;
  readonly nonce?: string | undefined;
  readonly budget?: string | undefined;
  /** True if the entry was written again after its file was lost. The intent then keeps its first position, if known. */
  readonly isRestored: boolean;
  /** True if the digest has the format of an earlier version, so that the same change has another digest today. */
  readonly isOlder: boolean;
  readonly fields: unknown;
}

export interface EndingLine extends Pick<Ending, 'id' | 'outcome'> {
  readonly kind: 'ending';
  readonly time: number;
  readonly fields: unknown;
}

/** An intent that this version cannot read, for example of a newer version. It may be in conflict with any other intent. */
interface NotUnderstood {
  readonly kind: 'notUnderstood';
  /** Milliseconds; infinite if the line has no valid time. */
  readonly time: number;
}

export type Line = IntentLine | EndingLine | NotUnderstood;

/** The fields that conflicts and budgets depend on. Only they decide if a line is understood, because later versions may change the rest. */
const intentFields = lazy(() =>
  intentSchema()
    .pick({ id: true, time: true, digest: true, nonce: true, budget: true, restored: true })
    .extend({ keyFormat: z.int().max(keyFormat).optional() }),
);
const endingFields = lazy(() => endingSchema().pick({ id: true, time: true, outcome: true }));
const timeField = lazy(() => z.object({ time: z.iso.datetime() }));

/** Reads a line of the journal. Returns undefined if the line is no entry, for example because a crash cut it short. */
export function readLine(text: string): Line | undefined {
  const { intent, ending } = parseLine(text);
  if (intent === undefined) return readEnding(ending);
  const { data } = intentFields().safeParse(intent);
  if (data === undefined) return notUnderstood(intent);
  const { id, time, digest, nonce, budget, restored } = data;
  const isRestored = restored !== undefined;
  const isOlder = data.keyFormat !== keyFormat;
  return { kind: 'intent', id, time: Date.parse(time), digest, nonce, budget, isRestored, isOlder, fields: intent };
}

function readEnding(ending: unknown): EndingLine | undefined {
  const { data } = endingFields().safeParse(ending);
  if (data === undefined) return undefined;
  return { kind: 'ending', id: data.id, time: Date.parse(data.time), outcome: data.outcome, fields: ending };
}

function notUnderstood(intent: unknown): NotUnderstood {
  const { data } = timeField().safeParse(intent);
  return { kind: 'notUnderstood', time: data === undefined ? Number.POSITIVE_INFINITY : Date.parse(data.time) };
}

const beginning = /^\{"(intent|ending)":\{"id":"([\w-]{1,64})"/;

/** Reads the kind and the id of a line. Both are at its beginning, so most lines need not be parsed. */
export function readId(text: string): { readonly kind: Line['kind']; readonly id: string } | undefined {
  const [, kind, id] = beginning.exec(text) ?? [];
  if (id !== undefined) return { kind: kind === 'intent' ? 'intent' : 'ending', id };
  const line = readLine(text);
  return line === undefined || line.kind === 'notUnderstood' ? undefined : line;
}

/** Reads a whole entry. Returns undefined if this version does not understand all of its fields. */
export function readEntry(text: string): Entry | undefined {
  const { intent, ending } = parseLine(text);
  if (intent === undefined) {
    const { data } = endingSchema().safeParse(ending);
    return data && { ending: data };
  }
  const { data } = intentSchema().safeParse(intent);
  return data !== undefined && (data.keyFormat ?? 0) <= keyFormat ? { intent: data } : undefined;
}

/**
 * The whole intent of a line.
 * @throws if this version does not understand all of its fields
 */
export const parseIntent = ({ fields }: Pick<IntentLine, 'fields'>): Intent => intentSchema().parse(fields);

/** The whole ending of a line. If this version does not understand all fields, only the id, the time and the outcome. */
export function parseEnding({ id, time, outcome, fields }: Omit<EndingLine, 'kind'>): Ending {
  const { data } = endingSchema().safeParse(fields);
  return data ?? { id, time: new Date(time).toISOString(), outcome };
}

function parseLine(text: string): Readonly<Record<string, unknown>> {
  try {
    const entry: unknown = JSON.parse(text);
    return isObject(entry) ? entry : {};
  } catch {
    return {};
  }
}

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { withStoredTexts } from '../util/safe-text.js';
import {
  type Change,
  type Decision,
  type Ending,
  type JournalEntry,
  type NewChange,
  type OfCaller,
  states,
  storedParts,
} from './change.js';
import type { Transaction, Value } from './sql.js';
import { storedSchemas } from './stored-plan.js';

/** This file converts changes to rows and back. */

/** A text from outside as a column. A long text becomes a digest, because PostgreSQL limits index entries. */
export function keyOf(text: string | undefined): string {
  const json = JSON.stringify(text ?? null);
  return json.length <= 500 ? json : `sha256:${createHash('sha256').update(json).digest('hex')}`;
}

/** The row of a change that waits for `lifetimeMs`. */
export function newRow(
  change: NewChange,
  { now, wall }: Pick<Transaction, 'now' | 'wall'>,
  lifetimeMs: number,
): Readonly<Record<string, Value>> {
  const { id, tool, requestKey, budget, ...others } = change;
  const { caller, personId, agent, client, account, keyId, mode, subject, what, target, ...details } = others;
  const facts = { caller, personId, agent, client, account, keyId, mode, subject, what, target };
  const { byForm, byClick, onPage } = details.options;
  return {
    id,
    state: 'waiting',
    caller: keyOf(caller),
    client: keyOf(client),
    tool,
    request_key: requestKey,
    budget,
    subject: subject?.digest ?? null,
    asks: byForm || byClick || onPage ? 1 : 0,
    facts: JSON.stringify({ ...facts, madeAt: wall, expiresAt: wall + lifetimeMs }),
    plan: JSON.stringify(withStoredTexts(details)),
    made: now,
    expires: now + lifetimeMs,
    changed: now,
  };
}

export const storedDecision = (decision: Decision, wall: number): string =>
  JSON.stringify({ ...decision, decidedAt: wall });

/** Limits of texts from the cloud. */
const mostEntries = 8;
const longestText = 512;
/** In characters. */
const longestOutcome = 1024 * 1024;

const bounded = (text: string) => text.slice(0, longestText);

/** The columns `ending` and `outcome` of an ended change. */
export function storedEnding(
  { outcome, sealed, requestIds, failed, code, ...ending }: Ending,
  wall: number,
): [string, string | null] {
  const ids = Object.entries(requestIds ?? {}).slice(0, mostEntries);
  const facts = {
    ...ending,
    code: code && bounded(code),
    requestIds: requestIds && Object.fromEntries(ids.map(([name, id]) => [bounded(name), bounded(id)])),
    failed: failed && { count: failed.count, codes: failed.codes.slice(0, mostEntries).map(bounded) },
    endedAt: wall,
  };
  const storedOutcome = sealed === undefined ? outcome && withStoredTexts(outcome) : { kind: 'sealed', sealed };
  const outcomeText = storedOutcome === undefined ? null : JSON.stringify(storedOutcome);
  return [JSON.stringify(facts), outcomeText !== null && outcomeText.length > longestOutcome ? null : outcomeText];
}

/** A condition on the caller. The client counts only for callers without a name. */
export function callerCondition({ caller, client }: OfCaller): readonly [sql: string, values: readonly Value[]] {
  if (caller === undefined) return ['', []];
  if (caller !== null) return [' and caller = ?', [keyOf(caller)]];
  return client === undefined
    ? [' and caller = ?', [keyOf(undefined)]]
    : [' and caller = ? and client = ?', [keyOf(undefined), keyOf(client)]];
}

const json = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .transform((text, { issues }): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        issues.push({ code: 'custom', input: undefined, message: 'is not JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);

const time = () => z.coerce.number();

const entrySchema = lazy(() => {
  const { facts, decision, ending } = storedParts();
  return z.object({
    id: z.string(),
    state: z.enum(states),
    tool: z.string(),
    request_key: z.string(),
    budget: z.string(),
    made: time(),
    expires: time(),
    decided: time().nullable(),
    begun: time().nullable(),
    at: time().nullable(),
    facts: json(facts.extend({ madeAt: z.number(), expiresAt: z.number() })),
    decision: json(
      decision
        .extend({ decidedAt: z.number() })
        .transform(({ decidedAt, ...stored }) => ({ decision: stored, decidedAt })),
    ).nullable(),
    ending: json(
      ending.extend({ endedAt: z.number() }).transform(({ endedAt, ...stored }) => ({ ending: stored, endedAt })),
    ).nullable(),
  });
});

const detailsSchema = lazy(() =>
  z.object({
    plan: json(storedParts().details),
    outcome: json(
      z.union([
        z.object({ kind: z.literal('sealed'), sealed: z.string() }).transform(({ sealed }) => ({ sealed })),
        storedSchemas().outcome.transform((outcome) => ({ outcome })),
      ]),
    ).nullable(),
  }),
);

export const entryColumns =
  'id, state, tool, request_key, budget, made, expires, decided, begun, at, facts, decision, ending, changed';

/**
 * Reads a row without the plan. `now` is the time of the store.
 * @throws if the row is not of this version
 */
export function entryOf(row: unknown, now: number): JournalEntry {
  const { request_key: requestKey, facts, decision, ending, ...columns } = entrySchema().parse(row);
  const { made, expires, decided, begun, at, ...shown } = columns;
  return {
    ...shown,
    ...facts,
    requestKey,
    ...decision,
    ...(begun !== null && at !== null && { begunAt: at }),
    ...ending,
    isExpired: shown.state === 'waiting' && expires <= now,
    ageMs: Math.max(0, now - made),
    decidedAgoMs: decided === null ? undefined : Math.max(0, now - decided),
  };
}

/**
 * Reads a row with all columns.
 * @throws if the row is not of this version
 */
export function changeOf(row: unknown, now: number): Change {
  const entry = entryOf(row, now);
  const { plan, outcome } = detailsSchema().parse(row);
  const ending = entry.ending === undefined || outcome === null ? entry.ending : { ...entry.ending, ...outcome };
  return { ...entry, ...plan, ending };
}

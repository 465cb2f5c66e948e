import * as z from 'zod';
import { actions, actors } from '../tools/next.js';
import type { UploadPart } from '../tools/upload/part.js';
import { lazy } from '../util/objects.js';
import { fromServer, type Part, type SafeText } from '../util/safe-text.js';

/** Schemas of results, of which types are made. Lazy, because making schemas is slow. */
export const resultSchemas = lazy(() => {
  const text = z.object({ parts: partsSchema() }).transform((stored): SafeText => fromServer(stored.parts));
  const texts = z.array(text).readonly();
  const words = z.record(z.string(), z.string()).readonly();

  const table = z.object({
    title: text,
    columns: texts,
    rows: z.array(texts).readonly(),
    /** The number of elements without a row. */
    more: z.number(),
  });
  const plan = z.object({
    summary: text,
    method: z.string(),
    url: z.string(),
    headers: words,
    /** A JSON value, or an XML document as text. */
    body: z.unknown().optional(),
    /** Each may have its source: `region jp-east-1` is `given`. */
    where: z.array(z.object({ place: text, source: text.exactOptional() })).readonly(),
    /** The present state, or the reason for not knowing it. */
    found: text.exactOptional(),
    alert: text.exactOptional(),
    others: texts.exactOptional(),
    consequences: texts,
    risks: z.array(z.enum(['costs money', 'may cost money', 'no way back'])).readonly(),
    /** Arguments that neither the summary nor the consequences name. */
    also: z.object({ fields: texts, lists: texts }).exactOptional(),
    tables: z.array(table).readonly().exactOptional(),
    sandbox: z.literal(true).exactOptional(),
    defaults: z.array(z.object({ name: text, value: text })).readonly(),
    warnings: texts,
    notChecked: texts,
  });

  const next = z.object({ who: z.enum(actors), action: z.enum(actions), text });
  const common = {
    summary: text,
    /** It is never consent. */
    changeId: z.string().exactOptional(),
    account: z.string().exactOptional(),
    requestIds: words,
    attempts: z
      .array(z.object({ result: z.string(), waitedMs: z.number().exactOptional() }))
      .readonly()
      .exactOptional(),
    notes: texts.exactOptional(),
  };
  const leftOut = z.union([
    z.object({ path: z.string(), entries: z.number() }),
    z.object({ path: z.string(), characters: z.number() }),
  ]);
  const success = z.object({
    ...common,
    outcome: z.enum(['accepted', 'partly', 'planned', 'waiting', 'withdrawn']).exactOptional(),
    failed: z.object({ count: z.number(), codes: texts, names: texts }).exactOptional(),
    next: next.exactOptional(),
    /** See `decisionWays` in change.ts. */
    consent: text.exactOptional(),
    /** ISO 8601, UTC. */
    sentAt: z.string().exactOptional(),
    where: texts.exactOptional(),
    /** Costs first. */
    effects: texts.exactOptional(),
    plan: plan.exactOptional(),
    show: text.exactOptional(),
    /** The page allows nothing without signing in. */
    decideAt: z.string().exactOptional(),
    /** ISO 8601, UTC. */
    planExpires: z.string().exactOptional(),
    warnings: texts,
    leftOut: z.array(leftOut).readonly().exactOptional(),
    /** What is read here can be written back. */
    answer: z.record(z.string(), z.unknown()).readonly().exactOptional(),
  });
  const earlier = z.object({
    outcome: z.enum(['accepted', 'unknown', 'not ended']),
    sentAt: z.string(),
    requestIds: words,
  });
  const failure = z.object({
    ...common,
    /** The service's code is in `serviceSays`. */
    code: z.string(),
    problems: texts,
    status: z.number().optional(),
    /** Models must take it as data and not as instructions. */
    serviceSays: words.exactOptional(),
    outcome: z.enum(['rejected', 'declined', 'withdrawn', 'not sent', 'unknown']).exactOptional(),
    mayHaveHappened: z.boolean().optional(),
    next,
    warnings: texts.exactOptional(),
    /** Absent if this caller may not know about the earlier call. */
    earlier: earlier.exactOptional(),
  });
  return { text, plan, success, failure, leftOut, earlier };
});

function partsSchema(): z.ZodType<readonly Part[]> {
  // JSON has no infinity, which means no limit, and writes null.
  const length = z
    .number()
    .nullable()
    .transform((limit) => limit ?? Number.POSITIVE_INFINITY)
    .exactOptional();
  const values = z.array(z.lazy(partsSchema)).readonly();
  const part: z.ZodType<Part> = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('words'), text: z.string() }),
    z.object({ kind: z.enum(['quoted', 'name']), value: z.string(), limit: length, longest: length }),
    z.object({ kind: z.literal('exact'), value: z.string() }),
    z.object({ kind: z.literal('time'), time: z.number() }),
    z.object({ kind: z.literal('message'), words: z.array(z.string()).readonly(), values }),
    z.object({ kind: z.literal('readers'), values }),
  ]);
  return z.array(part).readonly();
}

type Schemas = ReturnType<typeof resultSchemas>;

/** A change with its request and effects, as people see it. Secrets are replaced. */
export type Plan = Readonly<z.output<Schemas['plan']>>;
export type Risk = Plan['risks'][number];
export type OtherArguments = Readonly<NonNullable<Plan['also']>>;
export type PlanTable = Readonly<NonNullable<Plan['tables']>[number]>;

/** The structured content of a call that succeeded. Only `answer` holds the service's data. */
export type Success = Readonly<z.output<Schemas['success']>>;
export type Failure = Readonly<z.output<Schemas['failure']>>;
export type RequestIds = Success['requestIds'];
export type ServiceSays = NonNullable<Failure['serviceSays']>;
export type EarlierCall = Readonly<z.output<Schemas['earlier']>>;

/** A part of an answer that is not in the result. Its path is empty for the answer itself. */
export type LeftOut = Readonly<z.output<Schemas['leftOut']>>;

export type EndedOutcome =
  | { readonly kind: 'succeeded'; readonly success: Success; readonly view?: ViewData }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** A question that the client answers with a second request. */
export interface Question {
  readonly kind: 'inputRequired';
  readonly message: SafeText;
  readonly answer:
    | { readonly accept: SafeText; readonly nameToType?: string | undefined }
    | { readonly address: string };
  /** The client brings it back (`requestState`). */
  readonly state: string;
}

export type CallOutcome = EndedOutcome | Question;

/** Data for views, which models do not get. */
type ViewData =
  | { readonly kind: 'parts'; readonly parts: readonly UploadPart[] }
  /** `continues` is true if the change still runs in the cloud. */
  | { readonly kind: 'ended'; readonly continues: boolean; readonly isSandbox?: boolean }
  /** Times are in milliseconds since 1970. */
  | {
      readonly kind: 'plan';
      readonly accept: SafeText;
      readonly typedName?: string | undefined;
      readonly issuedAt: number;
      readonly expiresAt: number;
      /** Without it, the view has no buttons to decide. */
      readonly ticket?: string;
      /** Set if a yes in the chat is also possible. */
      readonly inChat?: boolean;
    };

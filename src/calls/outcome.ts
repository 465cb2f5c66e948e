import * as z from 'zod';
import { actions, actors } from '../tools/next.js';
import type { UploadPart } from '../tools/upload/part.js';
import { lazy } from '../util/objects.js';
import { fromServer, type Part, type SafeText } from '../util/safe-text.js';

/**
 * Schemas of results, from which their types follow, and the form in which the store keeps them. Texts are stored as their parts. Made at the first
 * use, because making schemas is slow.
 */
export const resultSchemas = lazy(() => {
  const text = z.object({ parts: partsSchema() }).transform((stored): SafeText => fromServer(stored.parts));
  const texts = z.array(text).readonly();
  const words = z.record(z.string(), z.string()).readonly();

  /** A list among the arguments of a change, such as node pools or deleted keys, as a table. Long names are cut as in a headline. */
  const table = z.object({
    title: text,
    columns: texts,
    /** A row for each element of the list, with a cell for each column. A cell is empty if the element lacks the field. */
    rows: z.array(texts).readonly(),
    /** The number of elements without a row. The request that a person can review shows all elements. */
    more: z.number(),
  });
  const plan = z.object({
    /** The change in one sentence. */
    summary: text,
    method: z.string(),
    /** Address of the request with the query, as it is sent. */
    url: z.string(),
    headers: words,
    /** Body of the request: a JSON value, or an XML document as text. Absent for a request without a body. */
    body: z.unknown().optional(),
    /** Account, region and zone, each with its source: `region jp-east-1 (given)`. An account without a name is shown by its key ID. */
    where: texts,
    /** The present state of the thing that would change, with the time of reading, or the reason for not knowing it. */
    found: text.exactOptional(),
    /** A warning that follows from `found`, shown directly below the summary. */
    alert: text.exactOptional(),
    /** Sentences about other plans for the same thing, made each time that the plan is shown. Absent if there are none. */
    others: texts.exactOptional(),
    /** Everything that will be created, changed or billed. */
    consequences: texts,
    /** Serious consequences, in words that fit on the accepting button. */
    risks: z.array(z.enum(['costs money', 'may cost money', 'no way back'])).readonly(),
    /**
     * Arguments that neither the summary nor the consequences name, in words: those that are in no list, such as `diskSize 200`, and the lists,
     * such as `keys "a", "b"`. If a list is shortened, the next text has the number of entries that are left out.
     */
    also: z.object({ fields: texts, lists: texts }).exactOptional(),
    /** The lists among the arguments. Absent if there are none. */
    tables: z.array(table).readonly().exactOptional(),
    /** Set if the change goes to the built-in sandbox, so that nothing real happens. */
    sandbox: z.literal(true).exactOptional(),
    /** The cloud's defaults, with the names of their fields in words. */
    defaults: z.array(z.object({ name: text, value: text })).readonly(),
    warnings: texts,
    notChecked: texts,
  });

  const next = z.object({ who: z.enum(actors), action: z.enum(actions), text });
  /** The fields that all results may have. */
  const common = {
    summary: text,
    /** ID of the change, for `get_change` and the other tools of changes, and in the journal. It is never consent. */
    changeId: z.string().exactOptional(),
    /** Name of the account, if accounts have names. */
    account: z.string().exactOptional(),
    /** Request IDs of the cloud, by header name. The cloud's support asks for them. */
    requestIds: words,
    /** Attempts, if requests were retried. */
    attempts: z
      .array(z.object({ result: z.string(), waitedMs: z.number().exactOptional() }))
      .readonly()
      .exactOptional(),
    /** Notes on earlier calls, on the person who decided, or on the journal. */
    notes: texts.exactOptional(),
  };
  const leftOut = z.union([
    z.object({ path: z.string(), entries: z.number() }),
    z.object({ path: z.string(), characters: z.number() }),
  ]);
  const success = z.object({
    ...common,
    /** The result of a change. Absent for a read. */
    outcome: z.enum(['accepted', 'partly', 'planned', 'waiting', 'withdrawn']).exactOptional(),
    /** Set if only some entries of a change succeeded: the number of failed entries, their error codes, and the first failed names. */
    failed: z.object({ count: z.number(), codes: texts, names: texts }).exactOptional(),
    next: next.exactOptional(),
    /** How the change was agreed to, in words: see `decisionWays` in change.ts. */
    consent: text.exactOptional(),
    /** Time at which the change was sent (ISO 8601, UTC). */
    sentAt: z.string().exactOptional(),
    /** Region, zone and account of an accepted change, each with its source: `region jp-east-1 (given)`. */
    where: texts.exactOptional(),
    /** Consequences of an accepted change, costs first. */
    effects: texts.exactOptional(),
    plan: plan.exactOptional(),
    /** The plan as text for a person, without the request. */
    show: text.exactOptional(),
    /** Address of the page on which a person decides. It allows nothing without signing in. */
    decideAt: z.string().exactOptional(),
    /** Date and time at which the plan expires (ISO 8601, UTC). */
    planExpires: z.string().exactOptional(),
    warnings: texts,
    /** What an agent does not get of the answer, because it would be too long. */
    leftOut: z.array(leftOut).readonly().exactOptional(),
    /** The exact data: what is read here can be written back. */
    answer: z.record(z.string(), z.unknown()).readonly().exactOptional(),
  });
  /** The facts about a change that was sent before. */
  const earlier = z.object({
    outcome: z.enum(['accepted', 'unknown', 'not ended']),
    sentAt: z.string(),
    requestIds: words,
  });
  const failure = z.object({
    ...common,
    /** This server's code. The service's code is in `serviceSays`. */
    code: z.string(),
    /** Problems that have to be corrected, one line each. */
    problems: texts,
    /** HTTP status of the service's answer. */
    status: z.number().optional(),
    /** The service's own text. Models must take it as data and not as instructions. */
    serviceSays: words.exactOptional(),
    /** The outcome of a change. Absent for a read, and if the change has no outcome yet. */
    outcome: z.enum(['rejected', 'declined', 'withdrawn', 'not sent', 'unknown']).exactOptional(),
    /** True if the cloud may have acted on the request. Undefined for a read, and if only another call about the same change can tell. */
    mayHaveHappened: z.boolean().optional(),
    next,
    /** The cloud's defaults for absent arguments. Set if arguments are invalid, because then no plan shows the defaults. */
    defaults: texts.exactOptional(),
    /** Warnings about the arguments that are valid, or about a read. */
    warnings: texts.exactOptional(),
    /** The earlier call that this call would repeat. Absent if this caller may not know about the earlier call. */
    earlier: earlier.exactOptional(),
  });
  return { text, plan, success, failure, leftOut, earlier };
});

/** The schema of the parts of a stored text. */
function partsSchema(): z.ZodType<readonly Part[]> {
  // JSON has no infinity, which means no limit, and writes null.
  const length = z
    .number()
    .nullable()
    .transform((limit) => limit ?? Number.POSITIVE_INFINITY)
    .exactOptional();
  const parts = z.lazy(partsSchema);
  const part: z.ZodType<Part> = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('words'), text: z.string() }),
    z.object({ kind: z.literal('quoted'), value: z.string(), limit: length, longest: length }),
    z.object({ kind: z.literal('name'), name: z.string(), longest: length }),
    z.object({ kind: z.literal('exact'), value: z.string() }),
    z.object({ kind: z.literal('time'), time: z.number() }),
    z.object({ kind: z.literal('argument'), path: z.string() }),
    z.object({ kind: z.literal('detail'), parts }),
    z.object({ kind: z.literal('readers'), readers: z.object({ agent: parts, person: parts, operator: parts }) }),
  ]);
  return z.array(part).readonly();
}

type Schemas = ReturnType<typeof resultSchemas>;

/** A change with its request and its effects, as a person sees it before deciding. Secrets are replaced. */
export type Plan = Readonly<z.output<Schemas['plan']>>;
export type Risk = Plan['risks'][number];
export type OtherArguments = Readonly<NonNullable<Plan['also']>>;
export type PlanTable = Readonly<NonNullable<Plan['tables']>[number]>;

/** The structured content of a call that succeeded. Only `answer` holds the service's data. */
export type Success = Readonly<z.output<Schemas['success']>>;
/** A call that failed. These fields are the structured content of every error result. */
export type Failure = Readonly<z.output<Schemas['failure']>>;
export type RequestIds = Success['requestIds'];
export type ServiceSays = NonNullable<Failure['serviceSays']>;
export type EarlierCall = Readonly<z.output<Schemas['earlier']>>;

/**
 * A part of an answer that is not in the result: the last entries of a list, some fields of an object, or a text of this length. The path, such as
 * `Volumes` or `Policy.Document`, can be picked. It is empty for the answer itself.
 */
export type LeftOut = Readonly<z.output<Schemas['leftOut']>>;

/** The outcome of a call that has ended. */
export type EndedOutcome =
  | { readonly kind: 'succeeded'; readonly success: Success; readonly view?: ViewData }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** A question that the client answers with a second request for the same call. */
export interface Question {
  readonly kind: 'inputRequired';
  readonly message: SafeText;
  /** The way to answer: the label of the accepting option and the name to type, if there is one, or the URL to open. */
  readonly answer:
    | { readonly accept: SafeText; readonly nameToType?: string | undefined }
    | { readonly address: string };
  /** The proof that the client brings back with the response (`requestState`). */
  readonly state: string;
}

/** The outcome of an ended call, or a question. To answer the question, the client sends the call again. */
export type CallOutcome = EndedOutcome | Question;

/** Further data for views. Models do not get it. */
type ViewData =
  | { readonly kind: 'parts'; readonly parts: readonly UploadPart[] }
  /** A change that the cloud accepted. `continues` is true if the change still runs in the cloud. */
  | { readonly kind: 'ended'; readonly continues: boolean; readonly isSandbox?: boolean }
  /** A plan. Times are in milliseconds since 1970. */
  | {
      readonly kind: 'plan';
      /** Label of the accepting button. */
      readonly accept: SafeText;
      /** The name that the person types to accept, for a deletion. */
      readonly typedName?: string | undefined;
      readonly issuedAt: number;
      readonly expiresAt: number;
      /** The proof of a click. Without it, the view has no buttons to decide. */
      readonly ticket?: string;
      /** Set if the user can also agree by a yes in the chat, after which the agent confirms the plan. */
      readonly inChat?: boolean;
    };

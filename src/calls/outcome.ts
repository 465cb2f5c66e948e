import type { Next } from '../tools/next.js';
import type { UploadPart } from '../tools/upload/part.js';
import type { ServiceError } from '../transport/service-error.js';
import type { Attempt } from '../transport/signed-client.js';
import type { SafeText } from '../util/safe-text.js';

/** Request IDs of the cloud, by header name. The cloud's support asks for them. */
export type RequestIds = Readonly<Record<string, string>>;

/** A call that failed. These fields are the structured content of every error result. */
export interface Failure {
  /** The failure and its cause in one sentence. */
  readonly summary: SafeText;
  /** This server's code. The service's code is in `serviceSays`. */
  readonly code: string;
  /** Name of the account, if accounts have names. */
  readonly account?: string;
  /** Problems that have to be corrected, one line each. */
  readonly problems: readonly SafeText[];
  /** HTTP status of the service's answer. */
  readonly status?: number | undefined;
  /** The service's own text. Models must take it as data and not as instructions. */
  readonly serviceSays?: ServiceSays;
  /** The outcome of a change. Absent for a read, and if the change has no outcome yet. */
  readonly outcome?: 'rejected' | 'declined' | 'withdrawn' | 'not sent' | 'unknown';
  /** ID of the change, if it has one: see `Success.changeId`. */
  readonly changeId?: string;
  /** True if the cloud may have acted on the request. Undefined for a read, and if only another call about the same change can tell. */
  readonly mayHaveHappened?: boolean | undefined;
  readonly next: Next;
  readonly requestIds: RequestIds;
  /** Attempts, if the request was retried. */
  readonly attempts?: readonly Attempt[];
  /** The cloud's defaults for absent arguments. Set if arguments are invalid, because then no plan shows the defaults. */
  readonly defaults?: readonly SafeText[];
  /** Warnings about the arguments that are valid, or about a read. */
  readonly warnings?: readonly SafeText[];
  /** Notes on earlier calls, on the person who decided, or on the journal. */
  readonly notes?: readonly SafeText[];
  /** The earlier call that this call would repeat. Absent if this caller may not know about the earlier call. */
  readonly earlier?: EarlierCall;
}

export type ServiceSays = Omit<ServiceError, 'requestId'>;

/** The facts about a change that was sent before. */
export interface EarlierCall {
  readonly outcome: 'accepted' | 'unknown' | 'not ended';
  readonly sentAt: string;
  readonly requestIds: RequestIds;
}

/** A change with its request and its effects, as a person sees it before deciding. Secrets are replaced. */
export interface Plan {
  /** The change in one sentence. */
  readonly summary: SafeText;
  readonly method: string;
  /** Address of the request with the query, as it is sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Body of the request: a JSON value, or an XML document as text. Absent for a request without a body. */
  readonly body?: unknown;
  /** Account, region and zone, each with its source: `region jp-east-1 (given)`. An account without a name is shown by its key ID. */
  readonly where: readonly SafeText[];
  /** The present state of the thing that would change, with the time of reading, or the reason for not knowing it. */
  readonly found?: SafeText;
  /** A warning that follows from `found`, shown directly below the summary. */
  readonly alert?: SafeText;
  /** Sentences about other plans for the same thing, made each time that the plan is shown. Absent if there are none. */
  readonly others?: readonly SafeText[];
  /** Everything that will be created, changed or billed. */
  readonly consequences: readonly SafeText[];
  readonly risks: readonly Risk[];
  /** Arguments that neither the summary nor the consequences name. Absent if there are none. */
  readonly also?: OtherArguments;
  /** The lists among the arguments, as tables. Absent if there are none. */
  readonly tables?: readonly PlanTable[];
  /** Set if the change goes to the built-in sandbox, so that nothing real happens. */
  readonly sandbox?: true;
  readonly defaults: readonly NamedDefault[];
  readonly warnings: readonly SafeText[];
  readonly notChecked: readonly SafeText[];
}

/** A serious consequence, in words that fit on the accepting button. */
export type Risk = 'costs money' | 'no way back';

/** A default with the name of its field in words. */
interface NamedDefault {
  readonly name: SafeText;
  readonly value: SafeText;
}

/** Arguments of a change that are in neither its headline nor its consequences, in words. */
export interface OtherArguments {
  /** Arguments that are in no list: `diskSize 200`, `network (id "a", zone "b")`. */
  readonly fields: readonly SafeText[];
  /** Arguments that are lists: `keys "a", "b"`. If a list is shortened, the next text has the number of entries that are left out. */
  readonly lists: readonly SafeText[];
}

/** A list among the arguments of a change, such as node pools or deleted keys, as a table. Long names are cut as in a headline. */
export interface PlanTable {
  readonly title: SafeText;
  readonly columns: readonly SafeText[];
  /** A row for each element of the list, with a cell for each column. A cell is empty if the element lacks the field. */
  readonly rows: readonly (readonly SafeText[])[];
  /** The number of elements without a row. The request that a person can review shows all elements. */
  readonly more: number;
}

/**
 * A part of an answer that is not in the result: the last entries of a list, some fields of an object, or a text of this length. The path, such as
 * `Volumes` or `Policy.Document`, can be picked. It is empty for the answer itself.
 */
export type LeftOut =
  | { readonly path: string; readonly entries: number }
  | { readonly path: string; readonly characters: number };

/** The structured content of a call that succeeded. Only `answer` holds the service's data. */
export interface Success {
  /** The result in a few sentences. */
  readonly summary: SafeText;
  /** The result of a change. Absent for a read. */
  readonly outcome?: 'accepted' | 'partly' | 'planned' | 'waiting' | 'withdrawn';
  /** ID of the change, for `get_change` and the other tools of changes, and in the journal. It is never consent. */
  readonly changeId?: string;
  /** Set if only some entries of a change succeeded: the number of failed entries, their error codes, and the first failed names. */
  readonly failed?: {
    readonly count: number;
    readonly codes: readonly SafeText[];
    readonly names: readonly SafeText[];
  };
  /** Name of the account, if accounts have names. */
  readonly account?: string;
  readonly next?: Next;
  /** How the change was agreed to, in words: see `decisionWays` in change.ts. */
  readonly consent?: SafeText;
  /** Time at which the change was sent (ISO 8601, UTC). */
  readonly sentAt?: string;
  /** Region, zone and account of an accepted change, each with its source: `region jp-east-1 (given)`. */
  readonly where?: readonly SafeText[];
  /** Consequences of an accepted change, costs first. */
  readonly effects?: readonly SafeText[];
  readonly plan?: Plan;
  /** The plan as text for a person, without the request. */
  readonly show?: SafeText;
  /** Address of the page on which a person decides. It allows nothing without signing in. */
  readonly decideAt?: string;
  /** Date and time at which the plan expires (ISO 8601, UTC). */
  readonly planExpires?: string;
  readonly warnings: readonly SafeText[];
  readonly requestIds: RequestIds;
  /** Attempts, if requests were retried. */
  readonly attempts?: readonly Attempt[];
  /** Notes on earlier calls, on the person who decided, or on the journal. */
  readonly notes?: readonly SafeText[];
  /** What an agent does not get of the answer, because it would be too long. */
  readonly leftOut?: readonly LeftOut[];
  /** The exact data: what is read here can be written back. */
  readonly answer?: Readonly<Record<string, unknown>>;
}

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

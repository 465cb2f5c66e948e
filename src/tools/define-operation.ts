import type * as z from 'zod';
import { lazy } from '../util/objects.js';
import type { SafeText } from '../util/safe-text.js';
import type { Query } from '../util/uri.js';
import type { Next } from './next.js';
import type { RequestBody } from './request-body.js';
import type { UploadPart } from './upload/part.js';

/** The APIs of the cloud. Settings describe the endpoint and the signing service of each (docs/API.md, Endpoints). */
export const builtInServices = ['storage', 'catalog', 'devops'] as const;

/** Name of an API: built-in, or described by `Operation.signing`. */
export type Service = string;

/** The signature of requests to an API that is not built in. */
export interface Signing {
  /** Service name in the credential scope. */
  readonly service: string;
  /** `s3` sends x-amz-content-sha256 and signs the path as it is. `api` is for all other APIs. */
  readonly headers: 's3' | 'api';
  /** Region that all requests go to and are signed for, if the API is global. It replaces the configured region and that of the request. */
  readonly region?: string;
}

/** A JSON Schema as hosts receive it. */
export type JsonSchema = Record<string, unknown>;

/** HTTP methods of requests. */
export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A read that shows the progress of a change. */
export interface Follow {
  /** Tool name of the read, or the name of its operation in the API. */
  readonly read: string;
  /** Paths of the values of the read's arguments: `input.…` in the arguments of the change, `answer.…` in the record of its answer. */
  readonly arguments: Readonly<Record<string, string>>;
  /** Values of fields in the read's answer, by path, when the change is finished. */
  readonly done?: Readonly<Record<string, string>> | undefined;
}

/** The effect on the account. A replacement is `alter`. */
export type Effect = 'read' | 'create' | 'alter' | 'delete';

/** A request of an operation, without endpoint and signature. */
export interface ApiRequest {
  /** Absolute path below the endpoint, percent-encoded once, as it is sent. */
  readonly path: string;
  /** Names and values before encoding. `true` is a name without a value. */
  readonly query?: Query;
  /** Further headers, except those that the server sets itself. `content-type` replaces the type of the body. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Made by `json`, `xml`, `form` or `plainText`. */
  readonly body?: RequestBody;
  /** Region of endpoint and signature. If absent, the configured region is used. */
  readonly region?: string | undefined;
}

/** An answer with a status from 200 to 299, as `Operation.errorOf` gets it. */
export interface SuccessAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as `extract` gets it. Undefined for an empty body, and for a body without the format of the operation. */
  readonly body: unknown;
}

/** An error that came with a status from 200 to 299. */
export interface AnsweredError {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/**
 * One operation as data and pure functions. Its file uses no SDK, network, clock or environment.
 *
 * Paths of arguments and fields are dotted: `networkConfig.networkId`.
 */
export interface Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
> {
  /** Tool name. It is the API's operation name in snake_case. */
  readonly name: string;
  /** Operation name in the API. */
  readonly api: string;
  readonly title: string;
  /** Description for a model that does not know the API. Some clients show only the first 150 characters. */
  readonly description: string;
  /** Extra sentences for the server's instructions. Models read them, and some clients search them for tools. */
  readonly instructions?: readonly Instruction[];
  readonly effect: Effect;
  /** True if the change is idempotent. Then a repetition needs no `allowRepeat`. */
  readonly repeatable?: boolean;
  readonly service: Service;
  /**
   * Required if the API is not built in, and then equal in all operations of the API. `CLOUDOPS_ENDPOINT_<NAME>_URL` sets the endpoint
   * of the API.
   */
  readonly signing?: Signing;
  /**
   * Protocol that defines the operation, if the API reference does not. The tool is offered if the store speaks the protocol, or if
   * `CLOUDOPS_TOOLS` names the tool.
   */
  readonly extension?: 's3';
  /** Regions that the API reference lists for the operation. Another region gets a warning. */
  readonly regions?: readonly string[];
  readonly method: HttpMethod;
  /** Fixed beginning of the host that is put before the host of the endpoint, such as `api.`. */
  readonly hostPrefix?: string;
  /**
   * Makes the request. `after` is the start of the page that `pages.add` returned; undefined for the first page. `token` is the
   * idempotency token, if the operation takes one and the request is about to be sent; plan, consent and idempotency key have none.
   */
  request(input: z.output<Input>, after?: PageStart, token?: string): ApiRequest | Promise<ApiRequest>;
  /**
   * True if the API knows a repeated request by a token in it. The token is a UUID that belongs to the consent, so retries of one change
   * have the same token.
   */
  readonly takesToken?: boolean;
  /**
   * Format of the body of a successful answer. With `none`, the body is empty and `extract` is not called. For an empty body whose headers
   * matter, use `text`. `xmlText` is text that the operation parses as XML, so malformed XML is not passed to it.
   */
  readonly answer: 'json' | 'xml' | 'xmlText' | 'text' | 'none';
  /**
   * Returns the record in an answer, or a promise of it.
   * @param body a JSON value, nested objects of text for XML, or the text of the body for `text` and `xmlText`
   * @param headers by lower-case name
   * @param status from 200 to 299
   */
  extract(body: unknown, input: z.output<Input>, headers: Readonly<Record<string, string>>, status: number): unknown;
  /**
   * Returns the error in an answer with a status from 200 to 299, or undefined. An XML document `Error` is an error in any case. If the
   * operation has this function, an answer that cannot be read leaves the outcome unknown.
   */
  errorOf?(answer: SuccessAnswer): AnsweredError | undefined | Promise<AnsweredError | undefined>;
  /** The read that shows the progress of a change. */
  readonly follow?: Follow;
  /** Path of the list of failed entries in the record, for a change that may be done in part. */
  readonly failures?: string;
  /** For a read whose answer has pages. */
  readonly pages?: Pages<z.output<Input>, PageSchema, Lenient<z.output<Output>>, State>;
  /** A second read that runs at the same time and completes the record. The call continues without it if it fails or is not allowed. */
  readonly companionRead?: CompanionRead<z.output<Input>>;
  /** Summarizes the answer in a few sentences. */
  summarize(record: Lenient<z.output<Output>>, input: z.output<Input>): SafeText;
  /**
   * Returns the next step, if there is one. After a change, it replaces the advice to look in the console.
   * @param isOffered true for the name of a tool that the caller may use in the same account
   */
  next?(
    record: Lenient<z.output<Output>>,
    input: z.output<Input>,
    isOffered: (tool: string) => boolean,
  ): Next | undefined;
  /** Names of fields of a read whose values agents pass back as arguments. Invisible characters in them are not escaped. */
  readonly exact?: readonly string[];
  /**
   * Names of important fields of the answer by path, such as `{ 'instance.region': 'its region' }`. The result says if one of the fields
   * is missing.
   */
  readonly tellIfMissing?: Readonly<Record<string, string>>;
  /**
   * Strict object schema with every rule for the arguments. Arguments for regions and zones must be named `region`, `regions`,
   * `availabilityZone` or `availabilityZones` at any depth, because settings limit them by name.
   */
  input(): Input;
  /** Paths of arguments whose values are never shown. */
  readonly secrets?: readonly string[];
  /** Maps the path of an argument that names a secret file to the path of the argument that the file's content replaces. */
  readonly secretNames?: Readonly<Record<string, string>>;
  /** Object schema of the answer. A missing required field is logged and is not an error. */
  output(): Output;
  /** True if hosts get no schema of the answer, because it would be long, as for the operations of a model. */
  readonly isAnswerOpen?: boolean;
  /** Advice for the agent on what to ask or tell the user, by error code of the service or by the beginning of the code. */
  readonly errors?: Readonly<Record<string, ErrorAdvice>>;
  /** Gaps in the API reference, one sentence each. */
  readonly undocumented: readonly string[];
  /** Tasks that users may expect but the operation cannot do, each with an alternative. */
  readonly limitations: readonly string[];
  /** Documented defaults of the cloud for absent arguments. They are shown in plans and never sent. */
  readonly defaults: readonly Default[];
  /** Paths of optional arguments whose defaults are not documented. */
  readonly unknownDefaults?: readonly string[];
  /** Paths of the arguments that affect the price although their defaults are not documented. */
  readonly costDrivers?: readonly string[];
  /** Texts for the person who decides. Required unless `effect` is `read`. */
  readonly change?: Change<z.output<Input>, Lenient<z.output<Output>>>;
  /** A read that runs before the question of a change. The plan shows its result; the request does not depend on it. */
  readonly preflight?: Preflight<z.output<Input>>;
  /**
   * Arguments of a call that succeeds, or a function that makes them, or returns undefined if it finds none. Tests call the built-in
   * operations with them on the sandbox.
   */
  readonly example: z.input<Input> | (() => z.input<Input> | undefined);
  /** A call with which `doctor` checks keys and endpoint. Only for reads. */
  readonly probe?: Probe<z.input<Input>>;
  /** JSON Schemas for hosts. Absent if the build generates them. */
  readonly schemas?: { readonly input: JsonSchema; readonly output?: JsonSchema };
}

/** A sentence for models. */
export interface Instruction {
  readonly text: string;
  /** Tool that makes the sentence wrong. If the tool is offered, the sentence is left out. */
  readonly unless?: string;
}

/** A read of another operation. Its arguments are derived from the arguments of the call. */
export interface Preflight<Input> {
  readonly operation: Operation;
  input(input: Input): Readonly<Record<string, unknown>>;
  /** Error codes of the read that end the call, because the change would fail. After other errors, the call continues. */
  readonly decisiveErrors?: readonly string[];
  /** Returns a warning about the answer, which the plan shows directly below the headline, or undefined. */
  alert?(answer: Readonly<Record<string, unknown>>): SafeText | undefined;
}

/** A simultaneous read of another operation in the same service and region. */
export interface CompanionRead<Input> {
  readonly operation: Operation;
  /** Returns the arguments, or undefined if the read is not needed. */
  input(input: Input): Readonly<Record<string, unknown>> | undefined;
  /** The read ends after this number of pages. */
  readonly maximumPages: number;
  /** For a part of the record that never changes. Later calls about the same thing get the part without another read. */
  readonly lasting?: LastingPart<Input>;
}

/** The part of a companion read's record that never changes. */
export interface LastingPart<Input> {
  /** Returns the values that name the thing. */
  names(input: Input): readonly string[];
  /** Returns a value of the main read's state that is the same as long as the call is about the same thing, or undefined. */
  witness(state: unknown): string | undefined;
  /** Returns undefined if the record does not have the part. */
  part(record: Readonly<Record<string, unknown>>, input: Input): Readonly<Record<string, unknown>> | undefined;
}

/** The texts about a change, for the person who decides and the agent that reports. `region` is the region of the request. */
export interface Change<Input = Readonly<Record<string, unknown>>, Output = unknown> {
  /** True if the change costs money. The server's instructions tell models. */
  readonly costsMoney: boolean;
  /** True if the documentation has no way to undo the change. If absent, true for the effect `delete`. */
  readonly irreversible?: boolean;
  /** True if the change continues in the cloud after the answer. */
  readonly continues: boolean;
  /** The decision as one sentence without a full stop: `Create DevOps server "wiki" in jp-east-1`. */
  headline(input: Input, region: string): SafeText;
  /** Label of the accepting button: `Create server "wiki"`. */
  accept(input: Input): SafeText;
  /** Everything that is created, changed or billed besides the headline, one sentence each, costs first. */
  consequences(input: Input, region: string): readonly SafeText[];
  /**
   * Warnings about values that are allowed but probably wrong, one sentence each. `input` lacks invalid arguments, because one answer
   * reports errors and warnings together.
   */
  warnings(input: Partial<Input>, region: string): readonly SafeText[];
  /** Facts that the server cannot check before it sends the request: `that the backup exists`. */
  readonly notChecked: readonly string[];
  /** Paths of the arguments that identify the thing that is changed. The last one is its name. */
  readonly identifies?: readonly string[];
  /** Paths of the arguments in headline and consequences, with `[]` for the elements of a list. The question lists all other arguments. */
  readonly named: readonly string[];
  /** Completes "look in the console for" if the outcome is unknown: `a DevOps server "wiki" in jp-east-1`. */
  verificationHint(input: Input, region: string): SafeText;
  /**
   * Advice if the change is too large to show. Default: "Split it into smaller changes." A replacement needs its own advice, because it
   * cannot be split.
   */
  readonly ifTooLarge?: string;
  /** Returns differences between answer and request: `region "jp-east-1" instead of "jp-east-3"`. */
  contradictions?(record: Output, input: Input, region: string): readonly SafeText[];
}

/** Advice on an error. If a model and people read it differently, both readings. */
export type ErrorAdvice = string | { readonly agent: string; readonly person: string };

/** A default of the cloud for an argument. */
export interface Default {
  readonly path: string;
  readonly value: string;
  /** Values by region, if the default depends on the region. */
  readonly inRegion?: Readonly<Record<string, string>>;
}

/** One page of an answer. */
export interface Page<PageRecord> {
  readonly record: PageRecord;
  /** Page number, from 1. */
  readonly number: number;
  /** Time of the answer's `Date` header (ISO 8601). */
  readonly answeredAt?: string;
}

/**
 * Reduces the pages of an answer one by one. Pages are not kept, so the size of the state must not depend on their number. The caller
 * detects pages that form a circle, and limits the number of pages.
 */
export interface Pages<Input, PageSchema extends z.ZodObject, Output, State> {
  /** Object schema of one page. A missing required field is logged and is not an error. */
  page(): PageSchema;
  /** Returns the state before the first page. */
  start(input: Input): State;
  /** Adds a page to the state, and finds the start of the next page. May modify `state`. */
  add(state: State, page: Page<Lenient<z.output<PageSchema>>>, input: Input): PageStep<State>;
  /**
   * Returns the record of the call, after the last page.
   * @param companionRead record of the companion read, if it succeeded
   * @param rest start of the first unread page, if the list is longer than one call reads. The record has to say how to continue. A
   * warning already says that the record is incomplete
   */
  result(state: State, input: Input, companionRead?: Readonly<Record<string, unknown>>, rest?: PageStart): Output;
  /** Returns the parts that the upload view draws, or undefined if the pages are not the complete upload. */
  parts?(state: State, input: Input): readonly UploadPart[] | undefined;
  /** Returns the number of entries on a page, for progress messages. */
  count(record: Lenient<z.output<PageSchema>>): number;
}

/** Start of a page as query parameters of the service, such as a token or a marker. */
export type PageStart = Readonly<Record<string, string>>;

/** The step after a page. `inconsistent` ends the call with an error, because the pages contradict each other. */
export type PageStep<State> =
  | { readonly kind: 'end'; readonly state: State }
  | { readonly kind: 'next'; readonly state: State; readonly after: PageStart }
  | { readonly kind: 'inconsistent'; readonly problem: SafeText };

/** A call that shows if the service accepts the keys. It works in an empty account. */
export interface Probe<Arguments> {
  /** `doctor --bucket` replaces the argument `bucket`. */
  readonly arguments: Arguments;
  /** Error codes that the service sends only if the signature is valid, such as `NoSuchUpload`. */
  readonly accepted: readonly string[];
}

/** The same type with all fields optional, at any depth. */
export type Lenient<T> = T extends readonly (infer Element)[]
  ? readonly Lenient<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Lenient<T[Key]> | undefined }
    : T;

/** An operation that is written by hand. Its example is data. */
export interface DefinedOperation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
> extends Operation<Input, Output, PageSchema, State> {
  readonly example: z.input<Input>;
}

/** Arguments of a call that succeeds. */
export type ExampleInput = Readonly<Record<string, unknown>>;

/** The example of an operation, or undefined if none is found. */
export const exampleOf = ({ example }: Operation): ExampleInput | undefined =>
  typeof example === 'function' ? example() : example;

/**
 * Infers the types of an operation from its schemas. Each schema is made at its first use, because a server that only lists its tools
 * needs none.
 */
export function defineOperation<
  Input extends z.ZodObject,
  Output extends z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
>(operation: DefinedOperation<Input, Output, PageSchema, State>): DefinedOperation<Input, Output, PageSchema, State> {
  const { input, output, pages } = operation;
  return {
    ...operation,
    input: lazy(input),
    output: lazy(output),
    ...(pages !== undefined && { pages: { ...pages, page: lazy(pages.page) } }),
  };
}

import type * as z from 'zod';
import { lazy } from '../util/objects.js';
import type { SafeText } from '../util/safe-text.js';
import type { Query } from '../util/uri.js';
import type { Next } from './next.js';
import type { RequestBody } from './request-body.js';
import type { UploadPart } from './upload/part.js';

/** The built-in APIs of the cloud. Settings give each its endpoint and its signing service (docs/API.md: Endpoints). */
export const builtInServices = ['storage', 'catalog', 'devops'] as const;
/** True for an API that is in `builtInServices`. */
export const isBuiltInService = (service: string): boolean => builtInServices.some((builtIn) => builtIn === service);

/** Name of an API. It is in `builtInServices`, or operation files choose it and describe the API in `Operation.signing`. */
export type Service = string;

/** How requests to an API that is not built in are signed. */
export interface Signing {
  /** Service name in the credential scope of signatures. The API expects it, and it may differ from `Operation.service`. */
  readonly service: string;
  /** `s3` sends x-amz-content-sha256 and signs the path as it is. `api` has no such header, and signs the path percent-encoded again. */
  readonly headers: 's3' | 'api';
  /** The one region of a global API. All requests go there and are signed for it. Regions in the settings and in requests are ignored. */
  readonly region?: string;
}

/** A JSON Schema, as the MCP client gets it in the list of tools. */
export type JsonSchema = Record<string, unknown>;

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A read that shows the progress of a change. */
export interface Follow {
  /** Tool name of the read, or the name of its operation in the API. */
  readonly read: string;
  /**
   * For each argument of the read, a path in the change's arguments or in its answer: `{ group: 'input.group', id: 'answer.task.id' }`. A path
   * in a list, such as `['input.id']`, gives a list of this value, and a path with `[]` the list of all values: `answer.disks[].id`.
   */
  readonly arguments: Readonly<Record<string, string | readonly [string]>>;
  /** Fields of the read's answer that show that the change is finished: `{ 'instance.state': 'RUNNING' }`. */
  readonly done?: Readonly<Record<string, string>> | undefined;
  /** Values of fields of the read's answer that show that the change has failed: `{ 'instance.state': ['BROKEN'] }`. */
  readonly failed?: Readonly<Record<string, readonly string[]>> | undefined;
  /** True if the change is finished when the read does not find the thing. */
  readonly gone?: boolean | undefined;
}

/** The effect of an operation on the account. An operation that replaces something has the effect `alter`. */
export type Effect = 'read' | 'create' | 'alter' | 'delete';

/** A request of an operation, without endpoint and signature. */
export interface ApiRequest {
  /** Absolute path below the endpoint, percent-encoded once, as it is sent. */
  readonly path: string;
  /** Names and values before encoding. `true` is a name without a value; a name with `undefined` is left out. */
  readonly query?: { readonly [Name in keyof Query]: Query[Name] | undefined };
  /** Headers besides those that this server sets. `content-type` replaces the usual type of the body. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, made by `json`, `form` or `plainText`. */
  readonly body?: RequestBody;
  /** Region that the request goes to and is signed for. If absent, the configured region is used. */
  readonly region?: string | undefined;
}

/** An answer with a status from 200 to 299, as `Operation.errorOf` gets it. */
export interface SuccessAnswer {
  readonly status: number;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as `extract` gets it. Undefined if the body is empty, or not in the format of `Operation.answer`. */
  readonly body: unknown;
}

/** An error in an answer whose status, from 200 to 299, means success. */
export interface AnsweredError {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/**
 * One operation as data and pure functions. Its file uses no SDK, network, clock or environment.
 *
 * All paths of arguments and fields are dotted: `networkConfig.networkId`.
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
  /** Sentences for the `instructions` of the MCP server. Models read them, and some clients search them for tools. */
  readonly instructions?: readonly Instruction[];
  readonly effect: Effect;
  /** True if the author of the file insists on `effect`, although the name or the method of the operation suggests another. */
  readonly effectIsSure?: boolean;
  /** True if the change is idempotent, so that repeating it needs no argument `allowRepeat`. */
  readonly repeatable?: boolean;
  readonly service: Service;
  /** Required if the API is not built in, and the same in all its operations. `CLOUDOPS_ENDPOINT_<NAME>_URL` sets its endpoint. */
  readonly signing?: Signing;
  /**
   * Protocol that defines the operation, if the cloud's API reference does not. The tool is offered if the object storage speaks the
   * protocol, or if `CLOUDOPS_TOOLS` names the tool.
   */
  readonly extension?: 's3';
  /** Regions that the API reference lists for the operation. A call with another region gets a warning. */
  readonly regions?: readonly string[];
  readonly method: HttpMethod;
  /** Text that is put before the host name of the endpoint: `api.` makes `api.example.com` of `example.com`. */
  readonly hostPrefix?: string;
  /**
   * Makes the request.
   * @param after the start of the page, as `pages.add` returned it; undefined for the first page
   * @param token the idempotency token, if `takesToken`. Plans show a request with a word as the token. The `idempotencyKey` is made from a
   * request without a token
   */
  request(input: z.output<Input>, after?: PageStart, token?: string): ApiRequest | Promise<ApiRequest>;
  /** True if the API recognises a repetition by a token (a UUID) in the request. All retries of an approved change send the same token. */
  readonly takesToken?: boolean;
  /**
   * Format of the body of a successful answer. With `none`, the body is empty and `extract` is not called. For an answer with headers only,
   * use `text`. With `xmlText`, `extract` gets the text of the XML to parse it itself, but never malformed XML. With `jsonText`, it gets
   * the text of any body except an HTML page.
   */
  readonly answer: 'json' | 'jsonText' | 'xml' | 'xmlText' | 'text' | 'none';
  /** The expected body of a successful answer, if `output` also has fields that are not in it. */
  readonly answerBody?: AnswerBody;
  /**
   * Returns the record of an answer, or a promise of the record. Returns undefined for the body of something else, such as an error page.
   * @param body a JSON value for `json`, nested objects of text for `xml`, or the text of the body for the other formats
   * @param headers with names in lower case
   * @param status from 200 to 299
   */
  extract(body: unknown, input: z.output<Input>, headers: Readonly<Record<string, string>>, status: number): unknown;
  /**
   * Finds an error in an answer whose status, from 200 to 299, means success; undefined if there is none. An XML document `Error` counts
   * as an error even without this function. With this function, the outcome of a change is unknown if the answer cannot be read, because
   * it might hold an error.
   */
  errorOf?(answer: SuccessAnswer): AnsweredError | undefined | Promise<AnsweredError | undefined>;
  readonly follow?: Follow;
  /** Path of the list of failed entries in the record, if a change may succeed for some entries and fail for others. */
  readonly failures?: string;
  /** Name of the field that only the failed entries of this list have. Absent if all of its entries failed. */
  readonly failureField?: string;
  /** For a read whose answer comes in pages. */
  readonly pages?: Pages<z.output<Input>, PageSchema, Lenient<z.output<Output>>, State>;
  /** Another read, made after the pages if they leave a question open. The call succeeds without it, too. */
  readonly followUpRead?: FollowUpRead<z.output<Input>, State>;
  /** Summarizes the answer in a few sentences. */
  summarize(record: Lenient<z.output<Output>>, input: z.output<Input>): SafeText;
  /**
   * Returns the next step, if there is one. After a change, it replaces the advice to look in the console.
   * @param isOffered returns true if the caller may use the named tool in the same account
   */
  next?(
    record: Lenient<z.output<Output>>,
    input: z.output<Input>,
    isOffered: (tool: string) => boolean,
  ): Next | undefined;
  /** Important fields by path, named for people: `{ 'instance.region': 'its region' }`. The result says if such a field is missing. */
  readonly tellIfMissing?: Readonly<Record<string, string>>;
  /**
   * Strict object schema with every rule for the arguments. Arguments for regions and zones must be named `region`, `regions`,
   * `availabilityZone` or `availabilityZones` at any depth, because the settings for allowed regions find them by name.
   */
  input(): Input;
  /** Replaces other names of arguments in a call, such as the names in requests, by those in `input`. Absent if there are no other names. */
  rename?(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /** Name of the argument of a read that picks fields of the answer by their paths. Absent if the read has no such argument. */
  readonly fieldsArgument?: string;
  /** Paths of arguments whose values are never shown. */
  readonly secrets?: readonly string[];
  /** True if a call gives private values, or its answer may hold some. The store then has the change sealed. By default, no call does. */
  readonly isPrivate?: (input: Readonly<Record<string, unknown>>) => boolean;
  /** Returns an answer with words in place of the secrets that the caller sees once, as the store keeps it. Absent if there are none. */
  readonly withoutShown?: (record: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** For each argument that names a secret file, the argument that gets the file's content: `{ 'config.keyName': 'config.key' }`. */
  readonly secretNames?: Readonly<Record<string, string>>;
  /** Object schema of the answer. A missing required field is logged and is not an error. */
  output(): Output;
  /** True if MCP clients get no schema of the answer, because it would be too long. Operations generated from an API's model set this. */
  readonly isAnswerOpen?: boolean;
  /** Advice for the agent on what to ask or tell the user, by error code of the service or by the beginning of the code. */
  readonly errors?: Readonly<Record<string, ErrorAdvice>>;
  /** Gaps in the API reference, one sentence each. */
  readonly undocumented: readonly string[];
  /** Tasks that users may expect but the operation cannot do, each with an alternative. */
  readonly limitations: readonly string[];
  /** The cloud's documented defaults for absent arguments. Plans show them, but requests do not send them. */
  readonly defaults: readonly Default[];
  /** Paths of optional arguments whose defaults are not documented. */
  readonly unknownDefaults?: readonly string[];
  /** Paths of arguments that affect the price. Plans warn if such an argument is absent and its default is not documented. */
  readonly costDrivers?: readonly string[];
  /** Texts for the person who decides on a change. Required unless `effect` is `read`. */
  readonly change?: ChangeTexts<z.output<Input>, Lenient<z.output<Output>>>;
  /** A read that runs before the user is asked about a change. The plan shows the result; the request does not depend on it. */
  readonly preflight?: Preflight<z.output<Input>>;
  /**
   * Arguments of a call that succeeds. Tests make this call on the sandbox for each built-in operation. A function may compute the
   * arguments, and returns undefined if it finds none.
   */
  readonly example: z.input<Input> | (() => z.input<Input> | undefined);
  /** A call with which the command `doctor` checks keys and endpoint. Only for reads. */
  readonly probe?: Probe<z.input<Input>>;
  /** JSON Schemas for the list of tools. Absent if the build generates them from `input` and `output`. */
  readonly schemas?: { readonly input: JsonSchema; readonly output?: JsonSchema };
}

/** The expected body of an answer. */
export interface AnswerBody {
  /** Paths of the fields of the record that come from the body, and not from headers or the status. */
  readonly fields: readonly string[];
  /** Name of the root element. Undefined if the body is not XML, or if its root does not matter. */
  readonly root?: string | undefined;
}

/** A sentence in the `instructions` of the MCP server. */
export interface Instruction {
  readonly text: string;
  /** Name of a tool. If this tool is offered, the sentence would be wrong and is left out. */
  readonly unless?: string;
}

/** A read by another operation, with arguments that are derived from those of the call. */
export interface Preflight<Input> {
  readonly operation: Operation;
  input(input: Input): Readonly<Record<string, unknown>>;
  /** If the read fails with any of these error codes, the call ends, because the change would fail too. */
  readonly decisiveErrors?: readonly string[];
  /** Returns a warning that the plan shows directly below its headline, or undefined. */
  alert?(answer: Readonly<Record<string, unknown>>): SafeText | undefined;
}

/** A read by another operation of the same API and in the same region, made after the pages. */
export interface FollowUpRead<Input, State = unknown> {
  readonly operation: Operation;
  /** Returns the arguments of the read, or undefined if the pages leave no question open. */
  input(input: Input, state: State): Readonly<Record<string, unknown>> | undefined;
}

/** The texts about a change, for the person who decides and the agent that reports. Each `region` is the region of the request. */
export interface ChangeTexts<Input = Readonly<Record<string, unknown>>, Output = unknown> {
  /** True if the change costs money. The `instructions` of the MCP server say so to models. Undefined if nobody knows. */
  readonly costsMoney: boolean | undefined;
  /** True if no way to undo the change is documented. If absent, `delete` is irreversible and other effects are not. */
  readonly irreversible?: boolean;
  /** True if the change continues in the cloud after the answer. */
  readonly continues: boolean;
  /** The decision as one sentence without a full stop: `Create DevOps server "wiki" in jp-east-1`. */
  headline(input: Input, region: string): SafeText;
  /** Label of the accepting button: `Create server "wiki"`. */
  accept(input: Input): SafeText;
  /** Everything that is created, changed or billed and that the headline does not say, one sentence each, costs first. */
  consequences(input: Input, region: string): readonly SafeText[];
  /**
   * Warnings about values that are allowed but probably wrong, one sentence each. This function also runs if some arguments are
   * invalid, so that one answer reports errors and warnings together. The invalid arguments are then missing in `input`, and `given` has all
   * arguments, unchecked.
   */
  warnings(input: Partial<Input>, region: string, given: Readonly<Record<string, unknown>>): readonly SafeText[];
  /** Facts that cannot be checked before the request is sent: `that the backup exists`. */
  readonly notChecked: readonly string[];
  /** Paths of the arguments that identify the changed thing. The last of them is the thing's name, or a list of names: `keys[]`. */
  readonly identifies?: readonly string[];
  /** Paths of the arguments that headline and consequences name: `nodePools[].name`. The question to the user lists the other arguments. */
  readonly named: readonly string[];
  /** Completes the advice after an unknown outcome, "look in the console for": `a DevOps server "wiki" in jp-east-1`. */
  verificationHint(input: Input, region: string): SafeText;
  /** Advice if the change is too large to show. Required if the usual advice, to split the change, is wrong, as for a replacement. */
  readonly ifTooLarge?: string;
  /** Returns differences between answer and request: `region "jp-east-1" instead of "jp-east-3"`. */
  contradictions?(record: Output, input: Input, region: string): readonly SafeText[];
}

/** Advice on an error: one text, or two if a model and a person need different words. */
export type ErrorAdvice = string | { readonly agent: string; readonly person: string };

/** A default of the cloud for an argument. */
export interface Default {
  readonly path: string;
  readonly value: string;
  /** Values by region, if the default depends on the region. */
  readonly inRegion?: Readonly<Record<string, string>>;
}

/** One page of an answer that comes in pages. */
export interface Page<PageRecord> {
  readonly record: PageRecord;
  /** Page number, from 1. */
  readonly number: number;
  /** Time of the answer's `Date` header (ISO 8601). */
  readonly answeredAt?: string;
  /** Time when the answer arrived, by the clock of this machine (ISO 8601). */
  readonly receivedAt: string;
}

/** How the pages of a read ended. */
export interface PagesEnd {
  /** Record of the follow-up read, if it was made and succeeded. */
  readonly followUp?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Start of the first page that was not read, if the list is longer than one call reads. Then a warning says that the record is incomplete,
   * and the record has to say how to continue.
   */
  readonly unread?: PageStart | undefined;
  /** True if nothing shows that the list is complete. A warning says so, too. */
  readonly mayHaveMore: boolean;
  /** True if lists must not be shortened, because the call picks fields from the record, or because a program gets it. */
  readonly isWhole?: boolean;
}

/**
 * Reduces the pages of an answer to a state, page by page, and the state to a record. Pages are not kept, so that long lists need little
 * memory. The caller of these functions limits the number of pages, and detects pages that form a circle.
 */
export interface Pages<Input, PageSchema extends z.ZodObject, Output, State> {
  /** Object schema of one page. A missing required field is logged and is not an error. */
  page(): PageSchema;
  /** True if the record has all entries of the pages, so that reading ends with the last page that fits into the budget of an answer. */
  readonly endsWithBudget?: boolean;
  /** Returns the state before the first page. */
  start(input: Input): State;
  /** Adds a page to the state, and finds the start of the next page. May modify `state`. */
  add(state: State, page: Page<Lenient<z.output<PageSchema>>>, input: Input): PageStep<State>;
  /** Returns the record of the call, after the last page. */
  result(state: State, input: Input, end: PagesEnd): Output;
  /** Returns the parts of an upload for the user interface that draws them, or undefined if the pages are not the whole list of parts. */
  parts?(state: State, input: Input): readonly UploadPart[] | undefined;
  /** Returns the number of entries on a page, for progress messages. */
  count(record: Lenient<z.output<PageSchema>>): number;
}

/** Query parameters with which the service returns a certain page, such as a token or a marker. */
export type PageStart = Readonly<Record<string, string>>;

/**
 * The step after a page. `warning` is about this page. `doubt` says why entries may be missing after the last page, as the end of a sentence.
 */
export type PageStep<State> =
  | {
      readonly kind: 'end';
      readonly state: State;
      readonly doubt?: SafeText | undefined;
      readonly warning?: SafeText | undefined;
    }
  | {
      readonly kind: 'next';
      readonly state: State;
      readonly after: PageStart;
      readonly warning?: SafeText | undefined;
    };

/** A call that shows if the API accepts the access keys. It works in an empty account. */
export interface Probe<Arguments> {
  /** The option `--bucket` of the command `doctor` replaces the argument `bucket`. */
  readonly arguments: Arguments;
  /** Error codes that show a valid signature too, because the API checks the signature first: `NoSuchUpload`. */
  readonly accepted: readonly string[];
}

/** The type `T` with all fields optional, at any depth. */
export type Lenient<T> = T extends readonly (infer Element)[]
  ? readonly Lenient<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Lenient<T[Key]> | undefined }
    : T;

/** An operation that is written by hand. Its `example` is data, no function. */
export interface DefinedOperation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
> extends Operation<Input, Output, PageSchema, State> {
  readonly example: z.input<Input>;
}

export type ExampleInput = Readonly<Record<string, unknown>>;

/** Returns the arguments of an operation's example, or undefined if its function finds none. */
export const exampleOf = ({ example }: Operation): ExampleInput | undefined =>
  typeof example === 'function' ? example() : example;

/** Finds the read that a change's `follow` names. If several services have a read with this API name, the change's service comes first. */
export function readOfFollow(
  { service }: Pick<Operation, 'service'>,
  follow: Follow,
  operations: readonly Operation[],
): Operation | undefined {
  const reads = operations.filter(({ effect }) => effect === 'read');
  const namesakes = reads.filter(({ api }) => api === follow.read);
  const ofService = namesakes.find((read) => read.service === service);
  return reads.find(({ name }) => name === follow.read) ?? ofService ?? namesakes[0];
}

/** Infers the types of an operation from its schemas. Each schema is made at its first use, because listing the tools needs none. */
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

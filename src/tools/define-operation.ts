import type * as z from 'zod';
import { lazy, textsAt, valueAt } from '../util/objects.js';
import type { SafeText } from '../util/safe-text.js';
import type { Query } from '../util/uri.js';
import type { Next } from './next.js';
import type { RequestBody } from './request-body.js';
import type { UploadPart } from './upload/part.js';

/** True for the APIs of the cloud that are built in (docs/API.md: Endpoints). */
export const isBuiltInService = (service: string): boolean => ['storage', 'catalog', 'devops'].includes(service);

/** Name of an API, built in or from operation files. */
export type Service = string;

/** How requests to an API that is not built in are signed. */
export interface Signing {
  /** In the credential scope of signatures. */
  readonly service: string;
  /**
   * Version 4: `s3` signs the path as it is, `api` signs it percent-encoded again. `v2` and `v3` are older versions, for services whose
   * model names them.
   */
  readonly variant: 's3' | 'api' | 'v2' | 'v3';
  /** The one region of a global API, whatever region the settings and requests name. */
  readonly region?: string;
}

export type JsonSchema = Record<string, unknown>;

type Fields = Readonly<Record<string, unknown>>;

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A read that shows the progress of a change. */
export interface Follow {
  /** Tool name of the read, or its API name. */
  readonly read: string;
  /** Paths in the change by argument of the read: `{ id: 'answer.task.id' }`. `['input.id']` gives a list of this value. */
  readonly arguments: Readonly<Record<string, string | readonly [string]>>;
  /** Fields that show the end of the change: `{ 'instance.state': 'RUNNING' }`. */
  readonly done?: Readonly<Record<string, string>> | undefined;
  /** Values of fields of the read's answer that show that the change has failed: `{ 'instance.state': ['BROKEN'] }`. */
  readonly failed?: Readonly<Record<string, readonly string[]>> | undefined;
  /** True if the change is finished when the read does not find the thing. */
  readonly gone?: boolean | undefined;
  /** Between reads. Default: 5, then growing. */
  readonly pauseSeconds?: number | undefined;
  /** Default: an hour. */
  readonly limitSeconds?: number | undefined;
}

/** The effect on the account. A replacement is `alter`. */
export type Effect = 'read' | 'create' | 'alter' | 'delete';

/** A request of an operation, without endpoint and signature. */
export interface ApiRequest {
  /** Absolute path below the endpoint, percent-encoded once. */
  readonly path: string;
  /** Before encoding. `true` is a name without a value. */
  readonly query?: { readonly [Name in keyof Query]: Query[Name] | undefined };
  /** `content-type` replaces the usual type of the body. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  /** Default: the configured region. */
  readonly region?: string | undefined;
}

type AnsweredError = { readonly code?: string | undefined; readonly message?: string | undefined } | undefined;

/** One operation as data and pure functions. Paths of arguments and fields are dotted: `networkConfig.networkId`. */
export interface Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
> {
  /** The API's name in snake_case. */
  readonly name: string;
  readonly api: string;
  /** Name among all operations of its service, such as `s3:AbortMultipartUpload`, if agents can call it by this name. */
  readonly serviceName?: string;
  readonly title: string;
  /** Some clients show only the first 150 characters. */
  readonly description: string;
  readonly effect: Effect;
  /** True if the author insists on `effect`, whatever the name suggests. */
  readonly effectIsSure?: boolean;
  /** True if repeating the change needs no `allowRepeat`. */
  readonly repeatable?: boolean;
  readonly service: Service;
  /** Required if the API is not built in. */
  readonly signing?: Signing;
  /** Set if a protocol, and not the API reference, defines the operation. */
  readonly extension?: 's3';
  readonly method: HttpMethod;
  /** Put before the host name: `api.` makes `api.example.com`. */
  readonly hostPrefix?: string;
  /**
   * @param after from `pages.add`; undefined for the first page
   * @param token a UUID, if `takesToken`
   */
  request(input: z.output<Input>, after?: PageStart, token?: string): ApiRequest | Promise<ApiRequest>;
  /** True if the API recognises a repetition by a token in the request. */
  readonly takesToken?: boolean;
  /** With `none`, `extract` is not called. With `xmlText` and `jsonText`, it gets the text. */
  readonly answer: 'json' | 'jsonText' | 'xml' | 'xmlText' | 'text' | 'none';
  /** Required if `output` also has fields that are not in the body. `fields` are the paths of those that are. */
  readonly answerBody?: { readonly fields: readonly string[]; readonly root?: string | undefined };
  /**
   * Returns the record, or undefined for something else, such as an error page.
   * @param headers with names in lower case
   */
  extract(body: unknown, input: z.output<Input>, headers: Readonly<Record<string, string>>, status: number): unknown;
  /**
   * Finds an error in an answer with a successful status. With this function, an unreadable answer leaves a change unknown.
   * @param answer its `body` is undefined if empty or malformed, and the names of headers are in lower case
   */
  errorOf?(answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: unknown;
  }): AnsweredError | Promise<AnsweredError>;
  errorDetails?(code: string, error: Fields): Fields;
  readonly follow?: Follow;
  /** Path of the list of failed entries. */
  readonly failures?: string;
  /** Field that only the failed entries have. */
  readonly failureField?: string;
  readonly pages?: Pages<z.output<Input>, PageSchema, Lenient<z.output<Output>>, State>;
  /** Composes a call of several reads. Undefined for a call with one. */
  manyReads?(input: z.output<Input>): ManyReads | undefined;
  /** A read by another operation, made after the pages. The call succeeds without it, too. */
  readonly followUpRead?: {
    readonly operation: Operation;
    input(input: z.output<Input>, state: State): Fields | undefined;
  };
  summarize(record: Lenient<z.output<Output>>, input: z.output<Input>): SafeText;
  /** @param isOffered true if the caller may use the tool */
  next?(
    record: Lenient<z.output<Output>>,
    input: z.output<Input>,
    isOffered: (tool: string) => boolean,
  ): Next | undefined;
  /** Strict schema. The settings for allowed regions find only arguments named `region`, `regions`, `availabilityZone` or `availabilityZones`. */
  input(): Input;
  /** Translates other names of arguments. */
  rename?(args: Fields): Fields;
  readonly fieldsArgument?: string;
  /** Paths of arguments whose values are never shown. */
  readonly secrets?: readonly string[];
  /** True if a call or its answer may hold private values, which the store then seals. */
  readonly isPrivate?: (input: Fields) => boolean;
  /** Returns an answer for the store, without secrets that the caller sees once. */
  readonly withoutShown?: (record: Fields) => Fields;
  /** For each argument that names a secret file, the argument that gets its content. */
  readonly secretNames?: Readonly<Record<string, string>>;
  /** Paths of secrets that calls have in base64. */
  readonly blobSecrets?: readonly string[];
  /** A missing field is logged and is not an error. */
  output(): Output;
  /** True if the schema of the answer is too long for clients. */
  readonly isAnswerOpen?: boolean;
  /** By error code, or by its beginning. */
  readonly errors?: Readonly<Record<string, ErrorAdvice>>;
  /** Gaps in the API reference. */
  readonly undocumented: readonly string[];
  /** Each names an alternative. */
  readonly limitations: readonly string[];
  /** Plans show them, but requests do not send them. */
  readonly defaults: readonly Default[];
  /** Paths of arguments whose defaults are not documented. The price depends on those in `costDrivers`. */
  readonly unknownDefaults?: readonly string[];
  readonly costDrivers?: readonly string[];
  readonly change?: ChangeTexts<z.output<Input>, Lenient<z.output<Output>>>;
  /** A change of several things. Each becomes a change of its own, of another operation. */
  readonly many?: ManyChanges<z.output<Input>>;
  /** A read before the question to the user. The plan shows its result. */
  readonly preflight?: Preflight<z.output<Input>>;
  /** Describes the arguments, or what is inside the argument at a path, for agents that know only the name of the operation. */
  outline?(path: string): OperationOutline;
  /** Arguments of a call that succeeds on the sandbox. */
  readonly example: z.input<Input> | (() => z.input<Input> | undefined);
  /** A read with which `doctor` checks keys and endpoint. Its option `--bucket` replaces `bucket`. */
  readonly probe?: {
    readonly arguments: z.input<Input>;
    /** Error codes that show a valid signature too. */
    readonly accepted: readonly string[];
  };
  readonly schemas?: { readonly input: JsonSchema; readonly output?: JsonSchema };
}

export interface OperationOutline {
  /** By name, with a `?` after the name of an optional argument. */
  readonly arguments: Readonly<Record<string, string>>;
  /** Names of further optional arguments. */
  readonly more: readonly string[];
  /** Fields of the answer that are masked, because they give out secrets. */
  readonly hidden: readonly string[];
}

/** A read by another operation, made before a change. */
interface Preflight<Input> {
  readonly operation: Operation;
  input(input: Input): Fields | undefined;
  /** Error codes of the read after which the change is not sent. */
  readonly decisiveErrors?: readonly string[];
  found?(answer: Fields): SafeText;
  alert?(answer: Fields): SafeText | undefined;
}

/** The plan of such a change holds the list of the things, and nothing else is changed. Its own request is never sent. */
interface ManyChanges<Input> {
  /** The argument of the texts that has the list. Callers cannot give it. */
  readonly list: string;
  readonly find: Operation;
  findInput(input: Input): Fields;
  choose(answer: Fields, input: Input): Chosen;
  readonly operation: Operation;
  inputOf(entry: Fields, input: Input): Fields;
  /** Path and query of all its requests, with names in place of what differs. */
  readonly shownTarget: string;
  /** The read of one thing, which shows if the thing is gone. */
  readonly verify: Operation;
  /** Error codes for a thing that is gone. */
  readonly gone: readonly string[];
  isGone(answer: Fields): boolean;
}

export type Chosen =
  | {
      readonly kind: 'chosen';
      readonly list: readonly Fields[];
      readonly found: SafeText;
      readonly warnings: readonly SafeText[];
    }
  | { readonly kind: 'nothing'; readonly why: SafeText }
  | { readonly kind: 'tooMany'; readonly problem: SafeText };

/**
 * Yields reads of the same account that are made at the same time, and gets their endings in the same order. A tool that the caller may not
 * use is refused. Returns the function that makes the record, whose lists must not be shortened if `isWhole` is true. The call fails with its
 * first read.
 */
export type ManyReads = Generator<
  readonly { readonly tool: string; readonly input: Fields }[],
  (isWhole: boolean) => Fields,
  readonly PartialReadEnd[]
>;

export type PartialReadEnd =
  | { readonly kind: 'read'; readonly record: Fields }
  | { readonly kind: 'refused'; readonly code: string }
  /** No more reads are made, because the call has reached a limit, or because no answer came. */
  | { readonly kind: 'stopped' };

export interface ChangeTexts<Input = Fields, Output = unknown> {
  /** Undefined if it is not known. */
  readonly costsMoney: boolean | undefined;
  /** By default, only `delete` is irreversible. */
  readonly irreversible?: boolean;
  /** True if the change goes on in the cloud after the answer. */
  readonly continues: boolean;
  /** Without a full stop: `Create DevOps server "wiki" in jp-east-1`. */
  headline(input: Input, region: string): SafeText;
  /** In place of a headline that is too long. */
  shortHeadline?(input: Input): SafeText;
  accept(input: Input): SafeText;
  /** What is changed or billed and the headline does not say, costs first. */
  consequences(input: Input, region: string): readonly SafeText[];
  /** Warns about allowed values that are probably wrong. */
  warnings(input: Input, region: string): readonly SafeText[];
  /** Facts that cannot be checked: `that the backup exists`. */
  readonly notChecked: readonly string[];
  /** Paths of the arguments that identify the changed thing, its name last. */
  readonly identifies?: readonly string[];
  /** Typed with the number of several things: `abort 3`. The default is `delete`. */
  readonly typedVerb?: string;
  /** Paths of the arguments that the texts name. The question lists the others. */
  readonly named: readonly string[];
  /** Completes "look in the console for" after an unknown outcome. */
  verificationHint(input: Input, region: string): SafeText;
  /** Replaces the advice to split a change that is too large to show. */
  readonly ifTooLarge?: string;
  /** Differences between answer and request. */
  contradictions?(record: Output, input: Input, region: string): readonly SafeText[];
}

export type ErrorAdvice = string | { readonly agent: string; readonly person: string };

export interface Default {
  readonly path: string;
  readonly value: string;
  /** Set if the default depends on the region. */
  readonly inRegion?: Readonly<Record<string, string>>;
}

export interface Page<PageRecord> {
  readonly record: PageRecord;
  /** From 1. */
  readonly number: number;
  /** The `Date` header (ISO 8601). */
  readonly answeredAt?: string | undefined;
  /** By the clock of this machine (ISO 8601). */
  readonly receivedAt: string;
}

/** Reduces the pages of an answer to a state, so that long lists need little memory. */
export interface Pages<Input, PageSchema extends z.ZodObject, Output, State> {
  page(): PageSchema;
  /** Reading ends with the last page that fits into the budget of an answer. */
  readonly endsWithBudget?: boolean;
  start(input: Input): State;
  /** May modify `state`. */
  add(state: State, page: Page<Lenient<z.output<PageSchema>>>, input: Input): PageStep<State>;
  result(
    state: State,
    input: Input,
    end: {
      readonly followUp?: Fields | undefined;
      /** Start of the first page that was not read. */
      readonly unread?: PageStart | undefined;
      /** Nothing shows that the list is complete. */
      readonly mayHaveMore: boolean;
      /** Lists must not be shortened. */
      readonly isWhole?: boolean;
    },
  ): Output;
  parts?(state: State, input: Input): readonly UploadPart[] | undefined;
  count(record: Lenient<z.output<PageSchema>>): number;
}

/** Query parameters of a page, such as a token or a marker. */
export type PageStart = Readonly<Record<string, string>>;

/** The step after a page. `doubt` says why entries may be missing. */
export type PageStep<State> = { readonly state: State; readonly warning?: SafeText | undefined } & (
  | { readonly kind: 'end'; readonly doubt?: SafeText | undefined }
  | { readonly kind: 'next'; readonly after: PageStart }
);

/** The type `T` with all fields optional, at any depth. */
export type Lenient<T> = T extends readonly (infer Element)[]
  ? readonly Lenient<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Lenient<T[Key]> | undefined }
    : T;

export interface DefinedOperation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
> extends Operation<Input, Output, PageSchema, State> {
  readonly example: z.input<Input>;
}

export type ExampleInput = Fields;

export const exampleOf = ({ example }: Operation): ExampleInput | undefined =>
  typeof example === 'function' ? example() : example;

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

/** Returns the value at a source of `Follow`. */
export function valueAtSource(sources: object, source: Follow['arguments'][string]): unknown {
  if (typeof source !== 'string') {
    const value = valueAt(sources, source[0]);
    return value === undefined ? undefined : [value];
  }
  if (!source.includes('[]')) return valueAt(sources, source);
  const values = textsAt(sources, source);
  return values.length === 0 ? undefined : values;
}

/** Infers the types of an operation. Schemas are made at their first use. */
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

/** A fault of an operation of a model. The message quotes no other error, because an error may quote a secret. */
export class OperationFault extends Error {
  override readonly name = 'OperationFault';
  readonly functionName: string;

  constructor(functionName: string, problem: string, options?: ErrorOptions) {
    super(`${functionName} ${problem}`, options);
    this.functionName = functionName;
  }
}

import type * as z from 'zod';
import { lazy } from '../util/objects.js';
import type { SafeText } from '../util/safe-text.js';
import type { Query } from '../util/uri.js';
import type { Next } from './next.js';
import type { RequestBody } from './request-body.js';
import type { UploadPart } from './upload/part.js';

/** The three APIs of the cloud. Each has an endpoint and a signing service name of its own (docs/API.md: Endpoints). */
export const builtInServices = ['storage', 'catalog', 'devops'] as const;

/** One of the three APIs, or one that `Operation.signing` describes. */
export type Service = string;

/** The signing of requests to an API beside the three. */
export interface Signing {
  /** The service name in the signature. */
  readonly service: string;
  /** `s3`: x-amz-* with the hash of the body, the path signed as it is; `api`: x-amz-* for all other APIs. */
  readonly headers: 's3' | 'api';
}

/** A JSON Schema as hosts receive it. */
export type JsonSchema = Record<string, unknown>;

/** The effect on the account: none, something new, something altered, or something removed. */
export type Effect = 'read' | 'create' | 'alter' | 'delete';

/** A request as an operation wants it sent, before endpoint and signature are known. */
export interface ApiRequest {
  /** Absolute path below the endpoint, percent-encoded once: exactly what goes on the wire. */
  readonly path: string;
  readonly query?: Query;
  /** Made by `json` or `xml`; absent for a request without one. */
  readonly body?: RequestBody;
  /** Region whose endpoint and signature to use; absent means the configured one. */
  readonly region?: string | undefined;
}

/**
 * One operation, as data and pure functions.
 *
 * The file of an operation holds all there is to know about it. It sees no SDK, no network, no clock and no environment.
 */
export interface Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
> {
  /** Tool name: the API's operation name in snake_case. */
  readonly name: string;
  /** The operation's name in the API. */
  readonly api: string;
  readonly title: string;
  /** Written for a model that has never seen the API. Some clients show only the first 150 characters. */
  readonly description: string;
  readonly effect: Effect;
  readonly service: Service;
  /** For an API beside the three; the same in all its operations. Its endpoint is `CLOUDOPS_ENDPOINT_<NAME>_URL`. */
  readonly signing?: Signing;
  /** The schemas that hosts are shown, where the build did not make them. */
  readonly schemas?: { readonly input: JsonSchema; readonly output: JsonSchema };
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The form of the body of a success. With `none`, an empty one is the success, and `extract` is not asked. */
  readonly answer: 'json' | 'xml' | 'none';
  /** The protocol that defines the operation, if not the reference. It is offered only where the store speaks that protocol, or by name. */
  readonly extension?: 's3';
  /**
   * A strict object; carries every rule of the reference for this operation's arguments. One that names a region or
   * a zone is called `region` or `availabilityZone`, or the plural, at any depth: settings limit them by these names.
   */
  input(): Input;
  /** Arguments of a call that succeeds on the sandbox. */
  readonly example: z.input<Input>;
  /** Dotted paths of arguments whose values must never be shown. */
  readonly secrets?: readonly string[];
  /** Arguments that name a secret file in place of a secret, by dotted paths: the name's and the secret's. */
  readonly secretNames?: Readonly<Record<string, string>>;
  /** The cloud's values for absent arguments; the server never sends them. */
  readonly defaults: readonly Default[];
  /** Arguments, by dotted path, of which nobody knows what the cloud uses when they are absent. */
  readonly unknownDefaults?: readonly string[];
  /** Those of them, by dotted path, that decide what it costs. */
  readonly costDrivers?: readonly string[];
  /** Regions that the reference lists for it. Others are possible. */
  readonly regions?: readonly string[];
  /** Questions that the reference leaves open, one sentence each. */
  readonly undocumented: readonly string[];
  /** Things that cannot be done with it, and the place to do them instead, one sentence each. */
  readonly limitations: readonly string[];
  /** Error codes of its own, or how they begin, as the service sends them (`Client.…`), each with what to ask or tell the user. */
  readonly errors?: Readonly<Record<string, string>>;
  /** The answer's record. A field that is not optional is expected: where it is missing, the log says so. */
  output(): Output;
  /** Names of fields of a read's record that are passed back as arguments: their texts are not altered to be shown. */
  readonly exact?: readonly string[];
  /** Fields of the answer that a person wants to know, by path, in words (`the region`): where one is missing, it is said. */
  readonly tellIfMissing?: Readonly<Record<string, string>>;
  /** Further sentences about it for the text about the server that models read, and in which some clients search for tools. */
  readonly instructions?: readonly Instruction[];
  /** @param after where the next page begins, as `pages` found it; undefined for the first */
  request(input: z.output<Input>, after?: PageStart): ApiRequest;
  /** Picks the record out of the decoded body: a JSON value, or an XML document as nested objects of text. */
  extract(body: unknown, input: z.output<Input>): unknown;
  /** For an operation that is not a read: what a person needs to decide on it. */
  readonly change?: Change<z.output<Input>, Lenient<z.output<Output>>>;
  /** Another read that tells more about the same thing. Where the policy does not allow it, or it fails, the answer does without. */
  readonly companionRead?: CompanionRead<z.output<Input>>;
  /** For an operation that answers in pages. */
  readonly pages?: Pages<z.output<Input>, PageSchema, Lenient<z.output<Output>>, State>;
  /** For a read: the call with which `doctor` tries keys and endpoint of its service. */
  readonly probe?: Probe<z.input<Input>>;
  /** A read that is made first. What it finds is for people and models to know; the request does not depend on it. */
  readonly preflight?: Preflight<z.output<Input>>;
  /** For a change: true if carrying it out twice does what once does. No `allowRepeat` is asked for then. */
  readonly repeatable?: boolean;
  /** The meaning of the answer in a few sentences of plain text. */
  summarize(record: Lenient<z.output<Output>>, input: z.output<Input>): SafeText;
  /** The next step, if there is one. After a change, it stands in place of looking in the console. */
  next?(record: Lenient<z.output<Output>>, input: z.output<Input>): Next | undefined;
}

/** A sentence for models, which is left out where a tool is offered that makes it wrong. */
export interface Instruction {
  readonly text: string;
  /** The name of that tool. */
  readonly unless?: string;
}

/** One read of another operation, with arguments made of those of a call. */
export interface Preflight<Input> {
  readonly operation: Operation;
  input(input: Input): Readonly<Record<string, unknown>>;
}

/** A read of another operation at the same time, of the same service and region. */
export interface CompanionRead<Input> {
  readonly operation: Operation;
  /** Its arguments; undefined if it is not needed for these. */
  input(input: Input): Readonly<Record<string, unknown>> | undefined;
  /** Its record tells of no more pages than this. */
  readonly maximumPages: number;
}

/** A change in words, for the person who decides and for the agent that reports it. `region` is the one it goes to. */
export interface Change<Input = Readonly<Record<string, unknown>>, Output = unknown> {
  /** True if carrying it out costs money: models are told so before they choose it. */
  readonly costsMoney: boolean;
  /** True if there is no way back, as far as is documented. Absent, that is so of what deletes. */
  readonly irreversible?: boolean;
  /** True if it continues in the cloud after the answer; false if the answer is its end. */
  readonly continues: boolean;
  /** The whole decision in one sentence, without its full stop: `Create DevOps server "wiki" in jp-east-1`. */
  headline(input: Input, region: string): SafeText;
  /** The same in some 60 characters, where the beginning of the headline is not the heart of it. */
  brief?(input: Input, region: string): SafeText;
  /** The words of the button that agrees: `Create server "wiki"`. */
  accept(input: Input): SafeText;
  /** Everything else that will be created, changed or billed, one sentence each, costs first. */
  consequences(input: Input, region: string): readonly SafeText[];
  /**
   * Values that are allowed but probably not meant, one sentence each. Where some arguments are wrong, those are left out of the
   * input: the others are warned of in the same answer.
   */
  warnings(input: Partial<Input>, region: string): readonly SafeText[];
  /** Facts that this server cannot check before sending: `that the backup exists`. */
  readonly notChecked: readonly string[];
  /** Dotted paths of arguments that headline and consequences name, `[]` for each element of a list; a person is shown all others. */
  readonly named: readonly string[];
  /** The thing to look for in the console when the outcome is not known, as the end of a sentence: `a DevOps server "wiki" in jp-east-1`. */
  verificationHint(input: Input, region: string): SafeText;
  /** The way out where it is too large to be shown, in one sentence. "Split it into smaller changes." if absent: wrong for what replaces a whole. */
  readonly ifTooLarge?: string;
  /** Contradictions between answer and request: `region "jp-east-1" instead of "jp-east-3"`. */
  contradictions?(record: Output, input: Input, region: string): readonly SafeText[];
}

/** A default of the cloud, by the dotted path of the argument. */
export interface Default {
  readonly path: string;
  readonly value: string;
  /** The value in a region, where it depends on it. */
  readonly inRegion?: Readonly<Record<string, string>>;
}

/** One page of an answer. */
export interface Page<PageRecord> {
  readonly record: PageRecord;
  /** Its place in the order in which pages were read, from 1. */
  readonly number: number;
  /** The time at which the service says it answered (the `Date` header, as ISO 8601). */
  readonly answeredAt?: string;
}

/**
 * The pages of an answer, reduced one by one: no page is kept, so the state has to be of a size that does not depend on their
 * number. Pages that lead back to where one began end the call without help from here, and too many of them end the list.
 */
export interface Pages<Input, PageSchema extends z.ZodObject, Output, State> {
  /** The record of one page. A field that is not optional is expected, as in `output`. */
  page(): PageSchema;
  /** The state before the first page. */
  start(input: Input): State;
  /** Takes in a page, and finds where the next one begins. It may change the state that it is given. */
  add(state: State, page: Page<Lenient<z.output<PageSchema>>>, input: Input): PageStep<State>;
  /**
   * The record that the call answers with, after the last page.
   * @param companionRead the record of the read beside this one, if there is one and it was answered
   * @param rest where the first page begins that was not read, where the list is longer than one call reads: the record says how to
   * go on from there. A warning says already that it is of a part of the list
   */
  result(state: State, input: Input, companionRead?: Readonly<Record<string, unknown>>, rest?: PageStart): Output;
  /** The parts of an upload that the operation's view draws; undefined where the pages are not the whole. */
  parts?(state: State, input: Input): readonly UploadPart[] | undefined;
  /** The number of entries on a page, for progress. */
  count(record: Lenient<z.output<PageSchema>>): number;
}

/** The beginning of a page in the service's terms: a token or a marker. It is no argument of the tool. */
export type PageStart = Readonly<Record<string, string>>;

/** The step after a page: none, another page, or an error that ends the call because the pages cannot be the whole list. */
export type PageStep<State> =
  | { readonly kind: 'end'; readonly state: State }
  | { readonly kind: 'next'; readonly state: State; readonly after: PageStart }
  | { readonly kind: 'inconsistent'; readonly problem: SafeText };

/** A call that shows whether the service accepts the keys, without needing anything that exists. */
export interface Probe<Arguments> {
  /** `bucket`, if it is among them, gives way to the one that `doctor --bucket` names. */
  readonly arguments: Arguments;
  /** Error codes that the service answers only to a valid signature: `NoSuchUpload`. */
  readonly accepted: readonly string[];
}

/** A record of which any field, at any depth, may be missing. */
export type Lenient<T> = T extends readonly (infer Element)[]
  ? readonly Lenient<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Lenient<T[Key]> | undefined }
    : T;

/**
 * Lets TypeScript infer an operation's types from its schemas, which are made when a call first needs them: a server that only lists
 * its tools needs none.
 */
export function defineOperation<
  Input extends z.ZodObject,
  Output extends z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
>(operation: Operation<Input, Output, PageSchema, State>): Operation<Input, Output, PageSchema, State> {
  const { input, output, pages } = operation;
  return {
    ...operation,
    input: lazy(input),
    output: lazy(output),
    ...(pages !== undefined && { pages: { ...pages, page: lazy(pages.page) } }),
  };
}

import type * as z from 'zod';

/** The three APIs of the platform. Each has an endpoint and a signing service name of its own (reference, section 4). */
export type Service = 'storage' | 'catalog' | 'devops';

/** What an operation does to the account: nothing, make something new, or alter what exists. */
export type Effect = 'read' | 'create' | 'change';

/** A request as an operation wants it sent, before endpoint and signature are known. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** Absolute path below the endpoint, percent-encoded once: exactly what goes on the wire. */
  readonly path: string;
  /** Names and values as they are meant, not yet encoded. No name occurs twice. */
  readonly query: Readonly<Record<string, string>>;
  /** Sent as JSON; absent for a request without a body. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Region whose endpoint and signature to use; absent means the configured one. */
  readonly region?: string;
}

/**
 * One operation of the reference, as data and pure functions.
 *
 * The file of an operation holds all there is to know about it. It sees no SDK, no network, no clock and no environment.
 */
export interface Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
> {
  /** Tool name: the reference's operation name in snake_case. */
  readonly name: string;
  /** The operation's name in the reference. */
  readonly api: string;
  readonly title: string;
  /** Written for a model that has never seen the API. */
  readonly description: string;
  readonly effect: Effect;
  readonly service: Service;
  /** A strict object; carries every rule of the reference for this operation's arguments. */
  readonly input: Input;
  /** Dotted paths of arguments whose values must never be shown. */
  readonly secrets: readonly string[];
  /** Arguments that name a secret file in place of a secret, by dotted paths: the name's and the secret's. */
  readonly secretNames?: Readonly<Record<string, string>>;
  /** What the cloud uses for arguments that are absent; the server never sends it. */
  readonly defaults: readonly Default[];
  /** What the reference leaves open, one sentence each. */
  readonly undocumented: readonly string[];
  /** The answer's record. A field that is not optional is expected: where it is missing, the reader is warned. */
  readonly output: Output;
  request(input: z.output<Input>): ApiRequest;
  /** Picks the record out of the decoded body: a JSON value, or an XML document as nested objects of text. */
  record(body: unknown): unknown;
  /** For an operation that creates or changes: what a person needs to decide on it. */
  readonly change?: Change<z.output<Input>>;
  /** For an operation that answers in pages. */
  readonly pages?: Pages<z.output<Input>, PageSchema, Lenient<z.output<Output>>>;
  /** What the answer means, in a few sentences of plain text. */
  explain(record: Lenient<z.output<Output>>): string;
}

/** What a mutation would do, in sentences. `region` is the one it goes to. */
export interface Change<Input = Readonly<Record<string, unknown>>> {
  /** What will be created, changed or billed. */
  consequences(input: Input, region: string): readonly string[];
  /** What is allowed but probably not meant. */
  warnings(input: Input, region: string): readonly string[];
}

/** A default of the cloud, by the dotted path of the argument. */
export interface Default {
  readonly path: string;
  readonly value: string;
  /** The value in a region, where it depends on it. */
  readonly inRegion?: Readonly<Record<string, string>>;
}

/** One page of an answer, with the time at which the service says it answered (the `Date` header). */
export interface Page<Record> {
  readonly record: Record;
  readonly answeredAt?: string;
}

/** How the pages of an answer are read, followed and put together. */
export interface Pages<Input, PageSchema extends z.ZodObject, Output> {
  /** The record of one page. A field that is not optional is expected, as in `output`. */
  readonly page: PageSchema;
  /** Path of the XML element that a page repeats up to thousands of times. */
  readonly rows: string;
  /**
   * The input that asks for the page after the last one; undefined if the call needs no more. A problem ends the call
   * with an error: the pages cannot be trusted to end.
   */
  next(
    input: Input,
    pages: readonly Page<Lenient<z.output<PageSchema>>>[],
  ): { readonly input: Input } | { readonly problem: string } | undefined;
  /** The record that the call answers with. */
  combine(input: Input, pages: readonly Page<Lenient<z.output<PageSchema>>>[]): Output;
}

/** A record of which any field, at any depth, may be missing. */
export type Lenient<T> = T extends readonly (infer Element)[]
  ? readonly Lenient<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Lenient<T[Key]> | undefined }
    : T;

/** Lets TypeScript infer an operation's types from its schemas. */
export function defineOperation<
  Input extends z.ZodObject,
  Output extends z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
>(operation: Operation<Input, Output, PageSchema>): Operation<Input, Output, PageSchema> {
  return operation;
}

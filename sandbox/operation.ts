import type * as z from 'zod';
import type { Cloud } from './cloud.js';
import type { Answer, ApiRequest, ServiceName } from './http.js';
import type { DocumentForm } from './storage/xml.js';

/** The names in braces as a union type: `'bucket' | 'key'` for `GET /{bucket}/{key}`. */
type ParameterOf<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

interface OperationRequest<Request extends string, Input> extends ApiRequest {
  /** The decoded path parameters by name, such as `bucket`. */
  readonly parameters: Readonly<Record<ParameterOf<Request>, string>>;
  /** The body after it was parsed by the operation's `rules`. Undefined without rules. */
  readonly input: Input;
}

/** The description of one operation, from which routing, faults, the header `x-sandbox-invented`, tests and docs/SANDBOX.md are derived. */
export interface Operation<Request extends string = string, Input = unknown> {
  /** The API of the operation; object storage by default. */
  readonly service?: ServiceName;
  /** Method, path and required query names, such as `GET /{bucket}/{key}?uploadId`. Of the parameters, only `{key}` may contain slashes. */
  readonly request: Request;
  /** Optional query names. A request with any other query name is refused. */
  readonly options?: readonly string[];
  /** Headers that an operation of object storage understands, besides those of every request. `x-amz-meta-` stands for all with this prefix. */
  readonly headers?: readonly string[];
  /** Who describes the operation: docs/API.md (`reference`), S3, to which docs/API.md refers (`s3`, the default), or only the sandbox (`sandbox`). */
  readonly source?: 'reference' | 's3' | 'sandbox';
  /** Parts of the answer that the `source` does not describe, so that the sandbox had to invent them. */
  readonly invents?: readonly (keyof typeof inventedWords)[];
  /** Set if the answer is the content of an object. All other GET and POST operations answer with a JSON or XML document. */
  readonly answersBytes?: true;
  /** Set if the operation itself reads the body from the request's `stream`. Other operations get a short body in `body`. */
  readonly streams?: true;
  /** Rules for the parsed body. They apply to the JSON value, or to the fields that `readDocument` returns for an XML document. */
  readonly rules?: z.ZodType<Input>;
  /** Set if the body is an XML document. Without it, a body with rules is JSON. */
  readonly document?: DocumentForm;
  /** Answers the request. Throws a `ServiceError` to refuse it. */
  handle(request: OperationRequest<Request, Input>, cloud: Cloud): Answer | Promise<Answer>;
}

export const defineOperation = <const Request extends string, Input>(operation: Operation<Request, Input>): Operation =>
  operation;

/** The values of the header `x-sandbox-invented`, each with its meaning. The header names the parts of an answer that the sandbox invented. */
export const inventedWords = {
  error: 'the error: its code and status follow similar clouds',
  operation: 'the operation: the APIs only refer to it, or do not have it; it follows S3',
  content: 'the bytes: parts that were there from the start are zeros',
  read: 'the operation: the APIs have none that reads groups, clusters or servers; the records are those of changes',
  status: 'the status after the first, and when it comes',
  versions: 'versions that were not in the request',
  servers: 'IDs and addresses of servers and disks, at most 100 servers a pool',
  balancer: 'id and name of the load balancer, and addresses that were not in the request',
  groups: 'firewall group, parameter group and disk size that were not in the request',
  urls: 'the addresses of the server and of the person to alert',
} as const;

/** Adds the names of things that the sandbox invented to the header `x-sandbox-invented` of an answer. */
export function markInvented(answer: Answer, words: readonly (keyof typeof inventedWords)[]): Answer {
  const earlierWords = answer.headers['x-sandbox-invented']?.split(',') ?? [];
  const allWords = [...new Set([...earlierWords, ...words])].join(',');
  return allWords === '' ? answer : { ...answer, headers: { ...answer.headers, 'x-sandbox-invented': allWords } };
}

/** The values of `x-sandbox-invented` in every answer of an operation, by its `source`. All operations of the source `sandbox` are reads. */
export const inventedBySource = { reference: [], s3: ['operation'], sandbox: ['read'] } as const;

import type * as z from 'zod';
import type { Cloud } from './cloud.js';
import type { Answer, ApiRequest, ServiceName } from './http.js';
import type { DocumentForm } from './storage/xml.js';

/** The names of the path parameters: `bucket` and `key` in `GET /{bucket}/{key}`. */
type ParameterOf<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

interface OperationRequest<Request extends string, Input> extends ApiRequest {
  /** Parameters of the path, decoded. */
  readonly parameters: Readonly<Record<ParameterOf<Request>, string>>;
  /** The body, if the operation has rules for it. */
  readonly input: Input;
}

/** One operation. Routing, faults, the header `x-sandbox-invented`, tests and docs/SANDBOX.md are derived from it. */
export interface Operation<Request extends string = string, Input = unknown> {
  /** The service of the operation; object storage by default. */
  readonly service?: ServiceName;
  /** Method, path, and required query names. `{key}` may contain slashes, other parameters may not. */
  readonly request: Request;
  /** Optional query names. All others are refused. */
  readonly options?: readonly string[];
  /** Storage only: headers that this operation understands, in addition to the headers of every request. `x-amz-meta-` stands for all headers with this prefix. */
  readonly headers?: readonly string[];
  /** The description that the operation follows: the API reference, S3 (the default, to which the reference refers), or the sandbox's own. */
  readonly source?: 'reference' | 's3' | 'sandbox';
  /** Parts of the answer that its source does not describe. */
  readonly invents?: readonly (keyof typeof inventedWords)[];
  /** Set if the operation answers with bytes. All other GET and POST operations answer with a document. */
  readonly answersBytes?: true;
  /** Set if the operation reads a body of any size from the request's `stream`. */
  readonly streams?: true;
  /** Rules for the body: for the JSON value, or for the XML document as `readDocument` returns it. */
  readonly rules?: z.ZodType<Input>;
  /** Set if the body is an XML document. */
  readonly document?: DocumentForm;
  /** Answers the request. Throws a `ServiceError` to refuse it. */
  handle(request: OperationRequest<Request, Input>, cloud: Cloud): Answer | Promise<Answer>;
}

export const defineOperation = <const Request extends string, Input>(operation: Operation<Request, Input>): Operation =>
  operation;

/** Values of the header `x-sandbox-invented`, which names the parts of an answer that the reference does not describe. */
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

/** Adds values of `inventedWords` to an answer. */
export function invented(answer: Answer, ...words: readonly (keyof typeof inventedWords)[]): Answer {
  const before = answer.headers['x-sandbox-invented']?.split(',') ?? [];
  const all = [...new Set([...before, ...words])].join(',');
  return all === '' ? answer : { ...answer, headers: { ...answer.headers, 'x-sandbox-invented': all } };
}

/** The values for every answer of an operation, by its source. */
export const sourceWords = { reference: [], s3: ['operation'], sandbox: ['read'] } as const;

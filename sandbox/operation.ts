import type * as z from 'zod';
import type { Cloud } from './cloud.js';
import type { Answer, ApiRequest, ServiceName } from './http.js';
import type { DocumentForm } from './storage/xml.js';

/** `bucket` and `key` of `GET /{bucket}/{key}`. */
type ParameterOf<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

export interface OperationRequest<Request extends string, Input> extends ApiRequest {
  /** Parameters of the path, decoded. */
  readonly parameters: Readonly<Record<ParameterOf<Request>, string>>;
  /** The body, if the operation has rules for it. */
  readonly input: Input;
}

/** One operation. Routing, faults, marks, tests and docs/SANDBOX.md follow from it. */
export interface Operation<Request extends string = string, Input = unknown> {
  /** By default storage. */
  readonly service?: ServiceName;
  /** Method, path, and the names that a query must have. `{key}` takes slashes, other parameters do not. */
  readonly request: Request;
  /** Other names that a query may have. All further ones are refused. */
  readonly options?: readonly string[];
  /** Storage: headers understood beside those of every request. `x-amz-meta-` stands for all headers that begin with it. */
  readonly headers?: readonly string[];
  /** Description it follows: the API reference; by default S3, to which the reference refers; or none but the sandbox's own. */
  readonly source?: 'reference' | 's3' | 'sandbox';
  /** Parts of its answer that its source does not show. */
  readonly invents?: readonly (keyof typeof inventedWords)[];
  /** Answers with bytes. All other operations with GET and POST answer with a document. */
  readonly answersBytes?: true;
  /** Reads a body of any size from the request's `stream`. */
  readonly streams?: true;
  /** Rules for the body: for its JSON, or for its document as `readDocument` reads it. */
  readonly rules?: z.ZodType<Input>;
  /** Set if the body is an XML document. */
  readonly document?: DocumentForm;
  /** Throws a `ServiceError` to refuse. */
  handle(request: OperationRequest<Request, Input>, cloud: Cloud): Answer | Promise<Answer>;
}

export const defineOperation = <const Request extends string, Input>(operation: Operation<Request, Input>): Operation =>
  operation;

/** Words of the header `x-sandbox-invented`, which marks the parts of an answer that the reference does not show. */
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

/** Marks an answer with words of `inventedWords`. */
export function invented(answer: Answer, ...words: readonly (keyof typeof inventedWords)[]): Answer {
  const known = answer.headers['x-sandbox-invented']?.split(',') ?? [];
  const all = [...new Set([...known, ...words])].join(',');
  return all === '' ? answer : { ...answer, headers: { ...answer.headers, 'x-sandbox-invented': all } };
}

/** Words for all answers of an operation, by its source. */
export const sourceWords = { reference: [], s3: ['operation'], sandbox: ['read'] } as const;

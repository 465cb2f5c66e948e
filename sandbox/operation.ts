import type * as z from 'zod';
import type { Cloud } from './cloud.js';
import type { Answer, ApiRequest, ServiceName } from './http.js';

/** `bucket` and `key` of `GET /{bucket}/{key}`. */
type ParameterOf<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

export interface OperationRequest<Request extends string, Input> extends ApiRequest {
  /** Of the path, decoded. */
  readonly parameters: Readonly<Record<ParameterOf<Request>, string>>;
  /** The JSON body, if the operation has rules for it. */
  readonly input: Input;
}

/** One operation, with all that routing, faults, marks, tests and docs/SANDBOX.md need to know about it. */
export interface Operation<Request extends string = string, Input = unknown> {
  /** Storage if not given. */
  readonly service?: ServiceName;
  /** Method, path, and the names that a query must have. `{key}` takes slashes, other parameters do not. */
  readonly request: Request;
  /** Other names that a query may have. Any further one is refused. */
  readonly options?: readonly string[];
  /** Storage: headers that it understands beside those of every request; `x-amz-meta-` stands for all that begin so. */
  readonly headers?: readonly string[];
  /** What describes it: the API reference, S3 (which the reference refers to) if not given, or nothing but the sandbox. */
  readonly source?: 'reference' | 's3' | 'sandbox';
  /** What its answer holds that its source does not show. */
  readonly invents?: readonly (keyof typeof inventedWords)[];
  /** Its answer is bytes: not a document, as other answers to GET and POST are. */
  readonly answersBytes?: true;
  /** It reads a body of any size from the request's `stream` by itself. */
  readonly streams?: true;
  /** For a JSON body: the reference, read a second time. */
  readonly rules?: z.ZodType<Input>;
  /** Throws a `ServiceError` to refuse. */
  handle(request: OperationRequest<Request, Input>, cloud: Cloud): Answer | Promise<Answer>;
}

export type NamedOperation = Operation & { readonly name: string };

export const defineOperation = <const Request extends string, Input>(operation: Operation<Request, Input>): Operation =>
  operation;

/** What an answer may hold that the reference does not show, by the words of the header `x-sandbox-invented`. */
export const inventedWords = {
  error: 'the error: its code and status follow similar services',
  operation: 'the operation: the reference only refers to it, or does not know it; it follows S3',
  content: 'the bytes: parts that were there from the start are zeros',
  read: 'the operation: the reference has none that reads groups, clusters or servers; their records have its shapes',
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

/** What every answer of an operation has to be marked with, by what describes it. */
export const sourceWords = { reference: [], s3: ['operation'], sandbox: ['read'] } as const;

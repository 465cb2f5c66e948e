/** The protocols of AWS's SDKs. This file is loaded with the first request of an operation from a model. */
import {
  AwsEc2QueryProtocol,
  AwsJson1_0Protocol,
  AwsJson1_1Protocol,
  AwsQueryProtocol,
  AwsRestJsonProtocol,
  AwsRestXmlProtocol,
} from '@aws-sdk/core/protocols';
import { HttpResponse as Response } from '@smithy/core/protocols';
import { fromBase64, fromUtf8, toBase64, toUtf8 } from '@smithy/core/serde';
import type { $ClientProtocol, $OperationSchema, HttpRequest, HttpResponse, SerdeFunctions } from '@smithy/types';
import { hasTrait, type ModelService, type Protocol, shapeName } from './model.js';
import { isNifcloud } from './nifcloud.js';

export interface ProtocolRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface ProtocolAnswer {
  readonly status: number;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface LoadedProtocol {
  /**
   * Makes a request. Times are `Date`, and blobs are bytes.
   * @throws Error for values that the protocol cannot hold
   */
  serialize(operation: $OperationSchema, values: Readonly<Record<string, unknown>>): Promise<ProtocolRequest>;
  /**
   * Reads the answer to a request that succeeded.
   * @param isUnwrapped true if an answer in `awsQuery` has its fields in the root
   * @throws Error if the answer does not have the format of the protocol
   */
  deserialize(
    operation: $OperationSchema,
    answer: ProtocolAnswer,
    isUnwrapped: boolean,
  ): Promise<Readonly<Record<string, unknown>>>;
}

/** Makes the protocol of a service, which writes requests and reads answers, but sends nothing. */
export function createProtocol(service: ModelService): LoadedProtocol {
  const protocol = protocolOf(service, service.protocol);
  const unwrappedProtocol = isNifcloud(service.protocol) ? protocolOf(service, 'ec2Query') : protocol;
  const encoders = {
    base64Encoder: toBase64,
    base64Decoder: fromBase64,
    utf8Encoder: toUtf8,
    utf8Decoder: fromUtf8,
    streamCollector: () => Promise.reject(new Error('bodies are not streamed')),
  } satisfies SerdeFunctions;
  protocol.setSerdeContext(encoders);
  unwrappedProtocol.setSerdeContext(encoders);
  // The protocols require an endpoint, but its host is not used.
  const endpoint = () => Promise.resolve({ protocol: 'https:', hostname: 'endpoint.invalid', path: '/' });

  return {
    serialize: async (operation, values) => {
      const request = await protocol.serializeRequest(operation, values, { ...encoders, endpoint });
      return { path: request.path, query: queryOf(request), headers: request.headers, body: textOf(request.body) };
    },
    deserialize: async (operation, { status, headers, text }, isUnwrapped) => {
      const body = Buffer.from(text);
      const response = new Response({ statusCode: status, headers: { ...headers }, body });
      const reader = isUnwrapped ? unwrappedProtocol : protocol;
      const { $metadata: _, ...values } = await reader.deserializeResponse(operation, encoders, response);
      return values;
    },
  };
}

function protocolOf(
  { id, traits, version, xmlNamespace = '' }: ModelService,
  protocol: Protocol,
): $ClientProtocol<HttpRequest, HttpResponse> {
  // Any text will do, because only reading errors uses the namespace.
  const defaultNamespace = id;
  const jsonOptions = {
    defaultNamespace,
    serviceTarget: shapeName(id),
    awsQueryCompatible: hasTrait(traits, 'aws.protocols#awsQueryCompatible'),
  };
  switch (protocol) {
    case 'restJson1':
      return new AwsRestJsonProtocol({ defaultNamespace });
    case 'awsJson1_0':
      return new AwsJson1_0Protocol(jsonOptions);
    case 'awsJson1_1':
      return new AwsJson1_1Protocol(jsonOptions);
    case 'restXml':
      return new AwsRestXmlProtocol({ defaultNamespace, xmlNamespace });
    case 'awsQuery':
    case 'computing':
    case 'ess':
    case 'nas':
    case 'rdb':
      return new AwsQueryProtocol({ defaultNamespace, xmlNamespace, version });
    case 'ec2Query':
      return new AwsEc2QueryProtocol({ defaultNamespace, xmlNamespace, version });
  }
}

const queryOf = ({ query }: HttpRequest): ProtocolRequest['query'] =>
  Object.fromEntries(Object.entries(query ?? {}).map(([name, value]) => [name, value ?? '']));

function textOf(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  throw new Error('the body is not text');
}

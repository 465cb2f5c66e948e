/** The protocols of the SDKs. Requests of models load this file with its libraries. */
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
import { hasTrait, type ModelService, shapeName } from './model.js';

/** A request as a protocol makes it. A query parameter may have several values. */
export interface ProtocolRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** An answer as a protocol reads it. */
export interface ProtocolAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface LoadedProtocol {
  /**
   * Makes a request. Values are by the names of members: times are `Date`, blobs are bytes.
   * @throws Error for values that the protocol cannot hold, and for a body that is not text
   */
  serialize(operation: $OperationSchema, values: Readonly<Record<string, unknown>>): Promise<ProtocolRequest>;
  /**
   * Reads the answer of a request that succeeded.
   * @throws Error if it does not have the format of the protocol
   */
  deserialize(operation: $OperationSchema, answer: ProtocolAnswer): Promise<Readonly<Record<string, unknown>>>;
}

/** Makes the protocol of a service. */
export function createProtocol(service: ModelService): LoadedProtocol {
  const protocol = protocolOf(service);
  const encoders = {
    base64Encoder: toBase64,
    base64Decoder: fromBase64,
    utf8Encoder: toUtf8,
    utf8Decoder: fromUtf8,
    streamCollector: () => Promise.reject(new Error('bodies are not streamed')),
  } satisfies SerdeFunctions;
  protocol.setSerdeContext(encoders);
  // The protocols require a host, but only the other parts of their requests are used.
  const endpoint = () => Promise.resolve({ protocol: 'https:', hostname: 'endpoint.invalid', path: '/' });
  return {
    serialize: async (operation, values) => {
      const request = await protocol.serializeRequest(operation, values, { ...encoders, endpoint });
      return { path: request.path, query: queryOf(request), headers: request.headers, body: textOf(request.body) };
    },
    deserialize: async (operation, { status, headers, text }) => {
      const body = Buffer.from(text);
      const response = new Response({ statusCode: status, headers: { ...headers }, body });
      const { $metadata: _, ...values } = await protocol.deserializeResponse(operation, encoders, response);
      return values;
    },
  };
}

function protocolOf({
  id,
  protocol,
  traits,
  version,
  xmlNamespace = '',
}: ModelService): $ClientProtocol<HttpRequest, HttpResponse> {
  const defaultNamespace = id;
  const rpc = {
    defaultNamespace,
    serviceTarget: shapeName(id),
    awsQueryCompatible: hasTrait(traits, 'aws.protocols#awsQueryCompatible'),
  };
  switch (protocol) {
    case 'restJson1':
      return new AwsRestJsonProtocol({ defaultNamespace });
    case 'awsJson1_0':
      return new AwsJson1_0Protocol(rpc);
    case 'awsJson1_1':
      return new AwsJson1_1Protocol(rpc);
    case 'restXml':
      return new AwsRestXmlProtocol({ defaultNamespace, xmlNamespace });
    case 'awsQuery':
      return new AwsQueryProtocol({ defaultNamespace, xmlNamespace, version });
    case 'ec2Query':
      return new AwsEc2QueryProtocol({ defaultNamespace, xmlNamespace, version });
  }
}

const queryOf = ({ query }: HttpRequest): ProtocolRequest['query'] =>
  Object.fromEntries(Object.entries(query ?? {}).map(([name, value]) => [name, value ?? '']));

/** @throws Error for bytes that are not UTF-8, because requests are text */
function textOf(body: unknown): string | undefined {
  if (body === undefined || body === null || typeof body === 'string') return body ?? undefined;
  if (body instanceof Uint8Array) return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  throw new Error('the body is not text');
}

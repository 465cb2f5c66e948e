/** Writes requests and reads answers with the protocols of AWS's SDKs. The first request loads this file. */
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
import type { $ClientProtocol, HttpRequest, HttpResponse, SerdeFunctions } from '@smithy/types';
import type { ApiRequest } from '../tools/define-operation.js';
import {
  bodyMemberOf,
  hasTrait,
  isIdempotencyToken,
  isXml,
  type Model,
  type ModelOperation,
  type ModelService,
  type Protocol,
  shapeName,
  textTrait,
  unwrappedTrait,
} from './model.js';
import { isNifcloud, nifcloudForm } from './nifcloud.js';
import { operationSchemasOf } from './sdk-schema.js';

type Values = Readonly<Record<string, unknown>>;

export interface ProtocolAnswer {
  readonly status: number;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Codec {
  /**
   * Makes a request. Times are `Date`, blobs are bytes.
   * @throws Error for values that the protocol cannot hold
   */
  encode(operation: ModelOperation, values: Values, idempotencyToken?: string): Promise<ApiRequest>;
  /**
   * Reads the answer to a request that succeeded. Numbers that JavaScript would round are text. Returns undefined if the answer cannot be read.
   */
  decode(operation: ModelOperation, answer: ProtocolAnswer): Promise<Values | undefined>;
}

const encoders = {
  base64Encoder: toBase64,
  base64Decoder: fromBase64,
  utf8Encoder: toUtf8,
  utf8Decoder: fromUtf8,
  streamCollector: () => Promise.reject(new Error('bodies are not streamed')),
} satisfies SerdeFunctions;

/** The protocols require an endpoint, but its host is not used. */
const endpoint = () => Promise.resolve({ protocol: 'https:', hostname: 'endpoint.invalid', path: '/' });

export function createCodec({ service }: Model): Codec {
  const requestSchemaOf = operationSchemasOf('request');
  const answerSchemaOf = operationSchemasOf(isXml(service) ? 'xml' : 'json');
  const protocol = protocolOf(service, service.protocol);
  const exactText = isXml(service) ? withoutLargeReferences : withLargeNumbersAsText;
  const unwrappedProtocol = isNifcloud(service.protocol) ? protocolOf(service, 'ec2Query') : protocol;
  return {
    encode: async (operation, values, idempotencyToken) => {
      refuseEmptyLabels(operation, values);
      const member = idempotencyToken === undefined ? undefined : operation.input.members.find(isIdempotencyToken);
      // A token among the values has priority.
      const valuesToSend = member === undefined ? values : { [member.name]: idempotencyToken, ...values };
      const context = { ...encoders, endpoint };
      const request = await protocol.serializeRequest(requestSchemaOf(operation), valuesToSend, context);
      // Otherwise the protocols write an empty object, which is no valid union.
      const body = isUnionBodyMissing(operation, values) ? undefined : textOf(request.body);
      return apiRequest(service, operation, request, body);
    },
    decode: async (operation, { status, headers, text }) => {
      const bodyMember = bodyMemberOf(operation.output);
      const { kind } = bodyMember?.shape ?? operation.output;
      // The text of a body that is not UTF-8 has lost bytes.
      if (kind === 'blob' && text.includes('\uFFFD')) return undefined;
      // Some of the protocols throw for `null`.
      const isNull = text.trim() === 'null' && bodyMember === undefined;
      const isPlain = ['enum', 'text', 'blob'].includes(kind);
      const body = Buffer.from(isNull ? '' : isPlain ? text : exactText(text));
      const reader = hasTrait(operation.traits, unwrappedTrait) ? unwrappedProtocol : protocol;
      const response = new Response({ statusCode: status, headers: { ...headers }, body });
      try {
        const values: Values = { ...(await reader.deserializeResponse(answerSchemaOf(operation), encoders, response)) };
        // If the output has no members, the protocols return every field of the answer.
        const known = operation.output.members.filter(({ name }) => values[name] != null);
        return Object.fromEntries(known.map(({ name }) => [name, values[name]]));
      } catch {
        // The protocols throw many kinds of errors, such as a SyntaxError for an HTML page.
        return undefined;
      }
    },
  };
}

function protocolOf(service: ModelService, name: Protocol): $ClientProtocol<HttpRequest, HttpResponse> {
  const protocol = newProtocol(service, name);
  protocol.setSerdeContext(encoders);
  return protocol;
}

function newProtocol({ id, traits, version, xmlNamespace = '' }: ModelService, name: Protocol) {
  // Any text will do, because only reading errors uses the namespace.
  const defaultNamespace = id;
  const jsonOptions = {
    defaultNamespace,
    serviceTarget: shapeName(id),
    awsQueryCompatible: hasTrait(traits, 'aws.protocols#awsQueryCompatible'),
  };
  switch (name) {
    case 'restJson1':
      return new AwsRestJsonProtocol({ defaultNamespace });
    case 'awsJson1_0':
      return new AwsJson1_0Protocol(jsonOptions);
    case 'awsJson1_1':
      return new AwsJson1_1Protocol(jsonOptions);
    case 'restXml':
      return new AwsRestXmlProtocol({ defaultNamespace, xmlNamespace });
    case 'ec2Query':
      return new AwsEc2QueryProtocol({ defaultNamespace, xmlNamespace, version });
    default:
      // NIFCLOUD's protocols, too.
      return new AwsQueryProtocol({ defaultNamespace, xmlNamespace, version });
  }
}

function textOf(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  throw new Error('the body is not text');
}

/** The library reads only 16 bits of a reference such as `&#x1f600;`. */
const withoutLargeReferences = (xml: string): string =>
  xml.replace(
    /<!\[CDATA\[[\s\S]*?\]\]>|&#(?:x([\da-f]{5,6})|(\d{5,7}));/gi,
    (found, hex?: string, decimal?: string) => {
      const codePoint = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return codePoint > 0xffff && codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : found;
    },
  );

/** Puts quotation marks around the numbers that JavaScript would round. */
function withLargeNumbersAsText(json: string): string {
  if (!/\d[\d.]{15}/.test(json)) return json;
  const pieces: string[] = [];
  let at = 0;
  // A long string with many escapes would overflow the stack of a regular expression.
  while (at < json.length) {
    const quote = json.indexOf('"', at);
    const start = quote < 0 ? json.length : quote;
    pieces.push(json.slice(at, start).replace(/-?\d[\d.eE+-]*/g, quotedIfRounded));
    at = endOfString(json, start);
    pieces.push(json.slice(start, at));
  }
  return pieces.join('');
}

function quotedIfRounded(number: string): string {
  const isInteger = /^-?\d+$/.test(number);
  const digits = number.replace(/e.*$|[-.]/gi, '').replace(/^0+/, '').length;
  // JavaScript holds fractions with 17 digits.
  const isRounded = isInteger ? String(Number(number)) !== number : digits > 17;
  return isRounded ? `"${number}"` : number;
}

function endOfString(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    if (json[at] === '"') return at + 1;
    if (json[at] === '\\') at += 1;
  }
  return json.length;
}

/** @throws Error for an empty value in the path, because `DELETE /{Bucket}/{Key}` would then delete the bucket */
function refuseEmptyLabels({ input }: ModelOperation, values: Values): void {
  for (const { name, ownTraits } of input.members) {
    const isEmpty = values[name] === undefined || values[name] === null || values[name] === '';
    if (isEmpty && hasTrait(ownTraits, 'smithy.api#httpLabel'))
      throw new Error(`${name} is a part of the path, and must not be empty`);
  }
}

function isUnionBodyMissing({ input }: ModelOperation, values: Values): boolean {
  const { name = '', shape } = bodyMemberOf(input) ?? {};
  return shape?.kind === 'structure' && shape.isUnion && values[name] === undefined;
}

function apiRequest(
  { protocol }: ModelService,
  { name, http, input, traits }: ModelOperation,
  { path, query, headers }: HttpRequest,
  body: string | undefined,
): ApiRequest {
  const { 'content-type': contentType, ...otherHeaders } = headers;
  /** True if an argument may set this header, or if the server sets it in place of the argument. */
  const takesHeader = (header: string) =>
    input.members.some(({ ownTraits }) => textTrait(ownTraits, 'smithy.api#httpHeader')?.toLowerCase() === header);
  const parameters = Object.entries(query ?? {}).map(([parameter, value]) => [parameter, value ?? '']);
  const request = { path, query: Object.fromEntries(parameters), headers: otherHeaders };
  if (isNifcloud(protocol)) {
    const text = nifcloudForm(protocol, name, body ?? '');
    const form = 'application/x-www-form-urlencoded; charset=utf-8';
    return { ...request, path: http.uri, body: { kind: 'text', text, contentType: form } };
  }
  // Without a body, the type is that of an object that later requests send.
  if (body === undefined) return takesHeader('content-type') ? { ...request, headers } : request;
  const { requestChecksumRequired = takesHeader('content-md5') } = Object(traits['aws.protocols#httpChecksum']);
  const needsChecksum = hasTrait(traits, 'smithy.api#httpChecksumRequired') || requestChecksumRequired === true;
  return {
    ...request,
    body: {
      kind: 'text',
      text: body,
      ...(contentType !== undefined && { contentType }),
      ...(needsChecksum && { contentMd5: true }),
    },
  };
}

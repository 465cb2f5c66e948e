import type { ApiRequest } from '../tools/define-operation.js';
import { lazy } from '../util/objects.js';
import {
  bodyMemberOf,
  hasTrait,
  isIdempotencyToken,
  isXml,
  type Model,
  type ModelOperation,
  type Shape,
  textTrait,
  unwrappedTrait,
} from './model.js';
import { formType, isNifcloud, nifcloudForm } from './nifcloud.js';
import type { LoadedProtocol, ProtocolAnswer, ProtocolRequest } from './protocol.js';
import { operationSchemasOf } from './sdk-schema.js';

type Values = Readonly<Record<string, unknown>>;

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

/** Makes the codec of a model. The libraries of the protocols are loaded with the first request. */
export function createCodec(model: Model): Codec {
  const requestSchemaOf = operationSchemasOf('request');
  const answerSchemaOf = operationSchemasOf(isXml(model.service) ? 'xml' : 'json');
  const loadProtocol = lazy(async (): Promise<LoadedProtocol> => {
    const { createProtocol } = await import('./protocol.js');
    return createProtocol(model.service);
  });
  return {
    encode: async (operation, values, idempotencyToken) => {
      refuseEmptyLabels(operation, values);
      const protocol = await loadProtocol();
      const valuesToSend = withIdempotencyToken(operation, values, idempotencyToken);
      const request = await protocol.serialize(requestSchemaOf(operation), valuesToSend);
      // Otherwise the protocols write an empty object, which is no valid union.
      const body = isUnionBodyMissing(operation, values) ? undefined : request.body;
      return apiRequest(operation, nifcloudRequest(model, operation, { ...request, body }));
    },
    decode: async (operation, answer) => {
      const bodyShape = bodyMemberOf(operation.output)?.shape ?? operation.output;
      // The text of a body that is not UTF-8 has lost bytes.
      if (bodyShape.kind === 'blob' && answer.text.includes('\uFFFD')) return undefined;
      const text = exactText(answer.text, bodyShape, isXml(model.service));
      const readableAnswer = withoutNullBody(operation, { ...answer, text });
      const protocol = await loadProtocol();
      try {
        const isUnwrapped = hasTrait(operation.traits, unwrappedTrait);
        const values = await protocol.deserialize(answerSchemaOf(operation), readableAnswer, isUnwrapped);
        // If the output has no members, the protocols return every field of the answer.
        return knownMembers(operation, values);
      } catch {
        // The protocols throw many kinds of errors, such as a SyntaxError for an HTML page.
        return undefined;
      }
    },
  };
}

/** A token among the values has priority. */
function withIdempotencyToken({ input }: ModelOperation, values: Values, token: string | undefined): Values {
  const member = input.members.find(isIdempotencyToken);
  return member === undefined || token === undefined ? values : { [member.name]: token, ...values };
}

/** Some of the protocols throw for `null`. */
const withoutNullBody = ({ output }: ModelOperation, answer: ProtocolAnswer): ProtocolAnswer => {
  return answer.text.trim() === 'null' && bodyMemberOf(output) === undefined ? { ...answer, text: '' } : answer;
};

/** Rewrites the values that the libraries would read inexactly. */
function exactText(text: string, body: Shape, isXml: boolean): string {
  if (['enum', 'text', 'blob'].includes(body.kind)) return text;
  return isXml ? withoutLargeReferences(text) : withLargeNumbersAsText(text);
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
  const isRounded = isInteger ? String(Number(number)) !== number : digits > exactDigits;
  return isRounded ? `"${number}"` : number;
}

/** JavaScript holds fractions with this number of digits. */
const exactDigits = 17;

function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end < 0 ? json.length : end + 1;
}

function isEscaped(json: string, at: number): boolean {
  let backslashes = 0;
  while (json[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

const knownMembers = ({ output }: ModelOperation, values: Values): Values =>
  Object.fromEntries(output.members.flatMap(({ name }) => (values[name] == null ? [] : [[name, values[name]]])));

/** @throws Error for an empty value in the path, because `DELETE /{Bucket}/{Key}` would then delete the bucket */
function refuseEmptyLabels({ input }: ModelOperation, values: Values): void {
  for (const { name, ownTraits } of input.members) {
    const isEmpty = values[name] === undefined || values[name] === null || values[name] === '';
    if (isEmpty && hasTrait(ownTraits, 'smithy.api#httpLabel'))
      throw new Error(`${name} is a part of the path, and must not be empty`);
  }
}

function isUnionBodyMissing({ input }: ModelOperation, values: Values): boolean {
  const payload = bodyMemberOf(input);
  return (
    payload !== undefined &&
    values[payload.name] === undefined &&
    payload.shape.kind === 'structure' &&
    payload.shape.isUnion
  );
}

function nifcloudRequest(
  { service: { protocol } }: Model,
  { name, http }: ModelOperation,
  request: ProtocolRequest,
): ProtocolRequest {
  if (!isNifcloud(protocol)) return request;
  const { headers, body = '' } = request;
  return {
    ...request,
    path: http.uri,
    headers: { ...headers, 'content-type': formType },
    body: nifcloudForm(protocol, name, body),
  };
}

/** True if an argument may set this header, or if the server sets it in place of the argument. */
const takesHeader = ({ input }: ModelOperation, header: string): boolean =>
  input.members.some(({ ownTraits }) => textTrait(ownTraits, 'smithy.api#httpHeader')?.toLowerCase() === header);

function requiresChecksum(operation: ModelOperation): boolean {
  const { traits } = operation;
  const { requestChecksumRequired = takesHeader(operation, 'content-md5') } = Object(
    traits['aws.protocols#httpChecksum'],
  );
  return hasTrait(traits, 'smithy.api#httpChecksumRequired') || requestChecksumRequired === true;
}

function apiRequest(operation: ModelOperation, { path, query, headers, body }: ProtocolRequest): ApiRequest {
  const { 'content-type': contentType, ...otherHeaders } = headers;
  // Without a body, the type is that of an object that later requests send.
  if (body === undefined)
    return { path, query, headers: takesHeader(operation, 'content-type') ? headers : otherHeaders };
  return {
    path,
    query,
    headers: otherHeaders,
    body: {
      kind: 'text',
      text: body,
      ...(contentType !== undefined && { contentType }),
      ...(requiresChecksum(operation) && { contentMd5: true }),
    },
  };
}

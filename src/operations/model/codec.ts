import type { ApiRequest } from '../../tools/define-operation.js';
import { lazy } from '../../util/objects.js';
import { hasTrait, isIdempotencyToken, isXml, type Model, type ModelOperation, type Shape } from './model.js';
import type { LoadedProtocol, ProtocolAnswer, ProtocolRequest } from './protocol.js';
import { operationSchemasOf } from './sdk-schema.js';

type Values = Readonly<Record<string, unknown>>;

/** Encodes the requests of a model's operations, and decodes their answers. Both use the names of members in the model. */
export interface Codec {
  /**
   * Makes a request. Times are `Date`, blobs are bytes.
   * @param idempotencyToken undefined for a request that is only planned, or if the operation takes no such token
   * @throws Error for values that the protocol cannot hold
   */
  encode(operation: ModelOperation, values: Values, idempotencyToken?: string): Promise<ApiRequest>;
  /**
   * Reads the answer to a request that succeeded. Its simple values are as they came: texts, and the numbers and booleans of JSON. Numbers that
   * JavaScript would round are text, and a blob that is the whole body is bytes. Returns undefined if the answer cannot be read.
   */
  decode(operation: ModelOperation, answer: ProtocolAnswer): Promise<Values | undefined>;
}

/** Makes the codec of a model. The libraries of the protocols are loaded with the first request. */
export function createCodec(model: Model): Codec {
  const requestSchemaOf = operationSchemasOf(model, 'request');
  const answerSchemaOf = operationSchemasOf(model, isXml(model.service) ? 'xml' : 'json');
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
      // If the body is a union that is not given, the protocols write an empty object, which is no valid union.
      const body = isUnionBodyMissing(model, operation, values) ? undefined : request.body;
      return apiRequest(operation, { ...request, body });
    },
    decode: async (operation, answer) => {
      const bodyShape = shapeOfBody(model, operation);
      // The text of a body that is not UTF-8 has lost bytes, so the blob would be another one.
      if (bodyShape.kind === 'simple' && bodyShape.type === 'blob' && answer.text.includes('\uFFFD')) return undefined;
      const text = exactText(answer.text, bodyShape, isXml(model.service));
      const readableAnswer = withoutNullBody(operation, { ...answer, text });
      const protocol = await loadProtocol();
      try {
        const values = await protocol.deserialize(answerSchemaOf(operation), readableAnswer);
        // If the output has no members, the protocols return every field of the answer, even though the model describes none.
        return knownMembers(operation, values);
      } catch {
        // The protocols throw many kinds of errors for an answer in another format, such as a SyntaxError for an HTML page.
        return undefined;
      }
    },
  };
}

/** Adds the idempotency token if the operation takes one. A token among the values has priority. */
function withIdempotencyToken({ input }: ModelOperation, values: Values, token: string | undefined): Values {
  const member = input.members.find(isIdempotencyToken);
  return member === undefined || token === undefined ? values : { [member.name]: token, ...values };
}

/** Replaces the body `null` by an empty body, because some of the protocols throw for `null`. */
const withoutNullBody = ({ output }: ModelOperation, answer: ProtocolAnswer): ProtocolAnswer => {
  const isWholeBodyOneMember = output.members.some(({ traits }) => hasTrait(traits, 'smithy.api#httpPayload'));
  return answer.text.trim() === 'null' && !isWholeBodyOneMember ? { ...answer, text: '' } : answer;
};

/** Returns the shape of the body of an answer: the output, or the member that is the whole body. */
function shapeOfBody({ shape }: Model, { output }: ModelOperation): Shape {
  const payload = output.members.find(({ traits }) => hasTrait(traits, 'smithy.api#httpPayload'));
  return payload === undefined ? output : shape(payload.target);
}

/** Rewrites the values in JSON or XML that the libraries would read inexactly. A body that is a single text or blob stays. */
function exactText(text: string, body: Shape, isXml: boolean): string {
  if (body.kind === 'enum' || (body.kind === 'simple' && ['string', 'blob'].includes(body.type))) return text;
  return isXml ? withoutLargeReferences(text) : withLargeNumbersAsText(text);
}

/** Replaces references to characters beyond 16 bits, such as `&#x1f600;`, because the library reads only 16 bits. */
const withoutLargeReferences = (xml: string): string =>
  xml.replace(
    /<!\[CDATA\[[\s\S]*?\]\]>|&#(?:x([\da-f]{5,6})|(\d{5,7}));/gi,
    (found, hex?: string, decimal?: string) => {
      const codePoint = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return codePoint > 0xffff && codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : found;
    },
  );

/** Puts quotation marks around the numbers in a JSON text that JavaScript would round: large integers, and fractions of many digits. */
function withLargeNumbersAsText(json: string): string {
  if (!/\d[\d.]{15}/.test(json)) return json;
  const pieces: string[] = [];
  let at = 0;
  // No regular expression finds the strings, because a long string with many escapes would overflow its stack.
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

/** Returns the index after the string that begins at `start`, or the length of a text that ends before. */
function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end < 0 ? json.length : end + 1;
}

/** True if the number of backslashes before a character is odd. */
function isEscaped(json: string, at: number): boolean {
  let backslashes = 0;
  while (json[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

/** Keeps only the members of the output that have a value. */
const knownMembers = ({ output }: ModelOperation, values: Values): Values =>
  Object.fromEntries(output.members.flatMap(({ name }) => (values[name] == null ? [] : [[name, values[name]]])));

/** @throws Error for an empty value in the path. With an empty key, for example, `DELETE /{Bucket}/{Key}` would delete the bucket */
function refuseEmptyLabels({ input }: ModelOperation, values: Values): void {
  for (const { name, traits } of input.members) {
    const isEmpty = values[name] === undefined || values[name] === null || values[name] === '';
    if (isEmpty && hasTrait(traits, 'smithy.api#httpLabel'))
      throw new Error(`${name} is a part of the path, and must not be empty`);
  }
}

/** True if the whole body of the request (the trait `httpPayload`) is a union, and the union is not given. */
const isUnionBodyMissing = ({ shape }: Model, { input }: ModelOperation, values: Values): boolean =>
  input.members.some(
    ({ name, target, traits }) =>
      hasTrait(traits, 'smithy.api#httpPayload') && shape(target).kind === 'union' && values[name] === undefined,
  );

const requiresChecksum = ({ traits }: ModelOperation): boolean =>
  hasTrait(traits, 'smithy.api#httpChecksumRequired') ||
  Object(traits['aws.protocols#httpChecksum']).requestChecksumRequired === true;

/** Converts the request of a protocol to the form of this server, in which the content type is a part of the body. */
function apiRequest(operation: ModelOperation, { path, query, headers, body }: ProtocolRequest): ApiRequest {
  const { 'content-type': contentType, ...otherHeaders } = headers;
  const withoutBody = { path, query, headers: otherHeaders };
  if (body === undefined) return withoutBody;
  return {
    ...withoutBody,
    body: {
      kind: 'text',
      text: body,
      ...(contentType !== undefined && { contentType }),
      ...(requiresChecksum(operation) && { contentMd5: true }),
    },
  };
}

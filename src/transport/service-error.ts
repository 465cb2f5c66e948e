import { isObject, valueAt } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import type { Body } from './parse-body.js';

/** Details of an error from the service. All are optional. */
export interface ServiceError {
  readonly code?: string;
  readonly message?: string;
  readonly requestId?: string;
  /** The region that the service names for the request. */
  readonly region?: string;
  /** The address that the service names for the request: a host or, in a redirect, a URL. */
  readonly host?: string;
  /** The time of the service. Only an error about the clocks has one. */
  readonly serverTime?: string;
}

/**
 * S3's names for faults that other APIs name otherwise. For APIs that use one code for a wrong clock and a wrong signature, a pattern
 * includes the message.
 */
const namesInS3: readonly (readonly [pattern: RegExp, name: string])[] = [
  [
    /^(Throttling(Exception)?|Throttled(Exception)?|RequestThrottled(Exception)?|ProvisionedThroughputExceededException|RequestLimitExceeded|TooManyRequestsException|PriorRequestNotComplete|BandwidthLimitExceeded)$/,
    'SlowDown',
  ],
  [
    /^(InvalidSignatureException|SignatureDoesNotMatch): .*signature (expired|not yet current)/i,
    'RequestTimeTooSkewed',
  ],
  [/^(RequestExpired|RequestInTheFuture)$/, 'RequestTimeTooSkewed'],
  [/^InvalidSignatureException$/, 'SignatureDoesNotMatch'],
  [/^(UnrecognizedClientException|InvalidClientTokenId)$/, 'InvalidAccessKeyId'],
];

/** Returns S3's name for the fault of an error, or else the error's own code, so that all APIs share rules by code. */
export function commonCode({ code, message = '' }: ServiceError): string | undefined {
  if (code === undefined) return undefined;
  const texts = [code, `${code}: ${message}`];
  return namesInS3.find(([pattern]) => texts.some((text) => pattern.test(text)))?.[1] ?? code;
}

/** Reads the details of an error from headers and body, in the forms of similar services, because the API reference documents no errors. */
export function readServiceError(body: Body, headers: Readonly<Record<string, string>>): ServiceError {
  return {
    ...textField('code', plainCode(headers['x-amzn-errortype'])),
    ...errorInBody(body),
    ...textField('region', headers['x-amz-bucket-region']),
    ...textField('host', headers.location),
  };
}

function errorInBody(body: Body): ServiceError {
  switch (body.kind) {
    case 'xml':
      return errorInXml(body.value);
    case 'json':
      return errorInJson(body.value);
    case 'html':
      return textField('message', pageText(body.text));
    case 'text':
      return textField('message', body.text);
    case 'malformed':
      return { message: `(the body looked like ${body.format}, but ${body.problem})` };
    case 'empty':
      return {};
  }
}

/**
 * Reads the error in the field `error` or `Error`, in the list `errors`, or else in the whole value. Its code may be in the field `__type`, or
 * be the text of `error` if the whole value has the message.
 */
function errorInJson(value: unknown): ServiceError {
  const error = valueAt(value, 'error') ?? valueAt(value, 'Error');
  const list = valueAt(value, 'errors') ?? valueAt(value, 'Errors');
  const whole = errorObject(value);
  if (typeof error === 'string')
    return { ...textField(whole.message === undefined ? 'message' : 'code', error), ...whole };
  if (isObject(error)) return { ...whole, ...errorObject(error) };
  return Array.isArray(list) ? { ...whole, ...errorInList(list) } : whole;
}

/** Reads the code of the first error in a list, which may be a number, and the messages of all. An error may be only a text. */
function errorInList(list: readonly unknown[]): ServiceError {
  const errors = list.map((entry) => (typeof entry === 'string' ? textField('message', entry) : errorObject(entry)));
  const [first] = list;
  const number = valueAt(first, 'code');
  const messages = errors.flatMap(({ message }) => message ?? []);
  return {
    ...textField('code', typeof number === 'number' ? String(number) : undefined),
    ...errors[0],
    ...textField('message', messages.join('; ')),
  };
}

/** Reads the fields of an error in JSON, whose code may be qualified by a namespace. */
function errorObject(error: unknown): ServiceError {
  const code = valueAt(error, 'code');
  const isQualified = typeof code === 'string' && code.includes('#');
  return {
    ...textField('code', plainCode(valueAt(error, '__type'))),
    ...errorFields(error),
    ...(isQualified && textField('code', plainCode(code))),
  };
}

/** Reads the error in `<Error>`, `<ErrorResponse><Error>` or `<Response><Errors><Error>`, or else in the root element. */
function errorInXml(document: Readonly<Record<string, unknown>>): ServiceError {
  const [root] = Object.values(document);
  const inner = document.Error ?? valueAt(root, 'Error') ?? valueAt(root, 'Errors.Error');
  const firstError = Array.isArray(inner) ? inner[0] : inner;
  const requestId = valueAt(root, 'RequestId') ?? valueAt(root, 'RequestID');
  return { ...textField('requestId', requestId), ...errorFields(firstError ?? root) };
}

/** Takes the code out of AWS's form `namespace#Code:address`. */
const plainCode = (value: unknown) =>
  typeof value === 'string' ? value.replace(/:.*$/s, '').replace(/^.*#/s, '') : undefined;

/** Shortens the code and the message that an operation's `errorOf` returned. */
export const shortenServiceError = (error: Readonly<Record<string, unknown>>): ServiceError => ({
  ...textField('code', plainCode(error.code)),
  ...textField('message', error.message),
});

/** Names of the field with the message, in XML or JSON, also of OAuth (`error_description`) and of RFC 9457 (`detail`, `title`). */
const messageFields = ['Message', 'message', 'errorMessage', 'error_description', 'detail', 'description', 'title'];

/** Reads the fields of an error, with names as in XML or as in JSON. If the error is only a text, the text is the message. */
function errorFields(source: unknown): ServiceError {
  const messages = messageFields.map((name) => valueAt(source, name));
  const message =
    typeof source === 'string' ? source : messages.find((text) => typeof text === 'string' && text !== '');
  const [, regionInMessage] = /\bregion\b.*\bexpecting '([^']+)'/i.exec(String(message)) ?? [];
  return {
    ...textField('code', valueAt(source, 'Code') ?? valueAt(source, 'code') ?? valueAt(source, 'errorCode')),
    ...textField('message', message),
    ...textField('requestId', valueAt(source, 'RequestId') ?? valueAt(source, 'requestId')),
    ...textField('region', valueAt(source, 'Region') ?? regionInMessage),
    ...textField('host', valueAt(source, 'Endpoint')),
    ...textField('serverTime', valueAt(source, 'ServerTime') ?? valueAt(source, 'serverTime')),
  };
}

/** Length limits in characters. */
const maximumLengths: Readonly<Record<keyof ServiceError, number>> = {
  code: 200,
  message: 2000,
  requestId: 200,
  region: 100,
  host: 300,
  serverTime: 60,
};

/**
 * Returns an object with one field, or an empty object if there is no text. The text becomes a single line, so that it cannot pass for a
 * line of this server.
 */
const textField = (name: keyof ServiceError, value: unknown): ServiceError => {
  const line = typeof value === 'string' ? value.slice(0, maximumLengths[name]).replace(/\s+/g, ' ').trim() : '';
  return line === '' ? {} : { [name]: escapeInvisible(line) };
};

const pageText = (html: string) => html.replace(/<(script|style)\b[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ');

/** Response headers with request IDs for the service's support (docs/API.md: Request IDs). */
const idHeaders = [
  'x-ext-request-id',
  'x-ext-id-2',
  'x-store-sg-trace-id',
  'x-gw-endpoint-request',
  'x-amz-request-id',
  'x-amz-id-2',
  'x-amzn-requestid',
  'x-trans-id',
  'x-request-id',
];

export const requestIdsOf = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    idHeaders.flatMap((name) => {
      const id = headers[name];
      return id === undefined ? [] : [[name, escapeInvisible(id.slice(0, maximumLengths.requestId))]];
    }),
  );

import { isObject, valueAt } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import type { Body } from './parse-body.js';

export interface ServiceError {
  readonly code?: string;
  readonly message?: string;
  readonly requestId?: string;
  readonly region?: string;
  /** A host or, in a redirect, a URL. */
  readonly host?: string;
  readonly serverTime?: string;
}

/** S3's names for faults. The message matters if an API has one code for several faults. */
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

export function commonCode({ code, message = '' }: ServiceError): string | undefined {
  if (code === undefined) return undefined;
  const texts = [code, `${code}: ${message}`];
  return namesInS3.find(([pattern]) => texts.some((text) => pattern.test(text)))?.[1] ?? code;
}

/** Codes of refusals before anything is done. After every other code, the change may have been made. */
const refusalCode = new RegExp(
  '^(?:Client\\.|AccessDenied|AuthFailure|Authorization|Bad(?:Digest|Request)|Conditional|Conflict|Entity(?:TooLarge|TooSmall)' +
    '|Expired|Forbidden|Illegal|Incomplete(?:Body|Signature)|InsufficientPermission|Invalid|KeyTooLong|Limit(?:Exceeded|Reached)' +
    '|Malformed|Method(?:NotAllowed)|Missing|NoSuch|NotAuthorized|NotFound|NotImplemented|ObjectLock|OperationNotPermitted' +
    '|OptInRequired|Precondition|Quota|Request(?:Expired|TimeTooSkewed)|Signature|Token(?:Refresh)|TooManyRequests|Unauthorized' +
    '|Unrecognized|Unsupported|Validation)' +
    '|(?:AlreadyExists|AlreadyOwnedByYou|Denied|Forbidden|InUse|LimitExceeded|NotAllowed|NotEmpty|NotFound|NotPermitted' +
    '|NotSupported|QuotaExceeded|TooLarge|TooSmall|Unauthorized)(?:Exception|Error|Fault)?$',
);

/** True if this error code means that the service did nothing. */
export const isServiceRefusal = (code: string | undefined): boolean => code !== undefined && refusalCode.test(code);

/** Reads the forms of similar services, because the API reference documents no errors. */
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

/** Returns the fields of the error in a body. */
export function errorFieldsIn(body: Body): Readonly<Record<string, unknown>> {
  const found = body.kind === 'xml' ? xmlError(body.value) : body.kind === 'json' ? jsonError(body.value) : undefined;
  return isObject(found) ? found : {};
}

const jsonError = (value: unknown) => [valueAt(value, 'error'), valueAt(value, 'Error')].find(isObject) ?? value;

function xmlError(document: Readonly<Record<string, unknown>>): unknown {
  const [root] = Object.values(document);
  const inner = document.Error ?? valueAt(root, 'Error') ?? valueAt(root, 'Errors.Error');
  return (Array.isArray(inner) ? inner[0] : inner) ?? root;
}

/** A detail of an error on one line. */
export const detailText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const { message = '' } = textField('message', text);
  return text.length > maximumLengths.message ? `${message}…` : message;
};

/** Reads `error`, `errors`, or else the whole value. If the whole value has the message, the text of `error` is the code. */
function errorInJson(value: unknown): ServiceError {
  const list = valueAt(value, 'errors') ?? valueAt(value, 'Errors');
  const error = valueAt(value, 'error') ?? valueAt(value, 'Error') ?? list;
  const whole = errorObject(value);
  if (typeof error === 'string')
    return { ...textField(whole.message === undefined ? 'message' : 'code', error), ...whole };
  if (isObject(error)) return { ...whole, ...errorObject(error) };
  return Array.isArray(list) ? { ...whole, ...errorInList(list) } : whole;
}

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

function errorObject(error: unknown): ServiceError {
  const code = valueAt(error, 'code');
  const isQualified = typeof code === 'string' && code.includes('#');
  return {
    ...textField('code', plainCode(valueAt(error, '__type'))),
    ...errorFields(error),
    ...(isQualified && textField('code', plainCode(code))),
  };
}

function errorInXml(document: Readonly<Record<string, unknown>>): ServiceError {
  const [root] = Object.values(document);
  const requestId = valueAt(root, 'RequestId') ?? valueAt(root, 'RequestID');
  return { ...textField('requestId', requestId), ...errorFields(xmlError(document)) };
}

/** Takes the code out of AWS's form `namespace#Code:address`. */
const plainCode = (value: unknown) =>
  typeof value === 'string' ? value.replace(/:.*$/s, '').replace(/^.*#/s, '') : undefined;

export const shortenServiceError = (error: Readonly<Record<string, unknown>>): ServiceError => ({
  ...textField('code', plainCode(error.code)),
  ...textField('message', error.message),
});

/** Includes fields of OAuth (`error_description`) and RFC 9457 (`detail`, `title`). */
const messageFields = ['Message', 'message', 'errorMessage', 'error_description', 'detail', 'description', 'title'];

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

/** In characters. */
const maximumLengths: Readonly<Record<keyof ServiceError, number>> = {
  code: 200,
  message: 2000,
  requestId: 200,
  region: 100,
  host: 300,
  serverTime: 60,
};

/** One line, so that the text cannot pass for a line of this server. */
const textField = (name: keyof ServiceError, value: unknown): ServiceError => {
  const line = typeof value === 'string' ? value.slice(0, maximumLengths[name]).replace(/\s+/g, ' ').trim() : '';
  return line === '' ? {} : { [name]: escapeInvisible(line) };
};

const pageText = (html: string) => html.replace(/<(script|style)\b[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ');

/** Request IDs for the service's support (docs/API.md: Request IDs). */
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

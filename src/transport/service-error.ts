import { isObject, textAt, valueAt } from '../util/objects.js';
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
  if (body.kind === 'html') {
    const text = body.text.replace(/<(script|style)\b[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ');
    return textField('message', text);
  }
  if (body.kind === 'text') return textField('message', body.text);
  if (body.kind === 'malformed') return { message: `(the body looked like ${body.format}, but ${body.problem})` };
  const { errors, around } = errorsIn(body);
  const whole = errorFields(around);
  const [first] = errors;
  // OAuth has the code in `error`, and the message beside it.
  if (typeof first === 'string' && isObject(around) && whole.message !== undefined)
    return { ...textField('code', first), ...whole };
  const fields = errors.map(errorFields);
  const messages = fields.flatMap(({ message }) => message ?? []);
  const number = valueAt(first, 'code');
  const numberText = typeof number === 'number' ? String(number) : undefined;
  return { ...whole, ...textField('code', numberText), ...fields[0], ...textField('message', messages.join('; ')) };
}

/** The errors in a document, and the object that has them or is itself the error. */
function errorsIn(body: Body): { readonly errors: readonly unknown[]; readonly around: unknown } {
  const document = body.kind === 'xml' || body.kind === 'json' ? body.value : undefined;
  const around = body.kind === 'xml' ? Object.values(body.value)[0] : document;
  const paths = body.kind === 'xml' ? ['Error', 'Errors.Error'] : ['error', 'Error', 'errors', 'Errors'];
  const found =
    valueAt(document, 'Error') ??
    paths.map((path) => valueAt(around, path) ?? undefined).find((value) => value !== undefined);
  return { errors: found === undefined ? [] : [found].flat(), around };
}

export function errorFieldsIn(body: Body): Readonly<Record<string, unknown>> {
  const { errors, around } = errorsIn(body);
  return [...errors, around].find(isObject) ?? {};
}

export const detailText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const { message = '' } = textField('message', text);
  return text.length > maximumLengths.message ? `${message}…` : message;
};

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
  const first = (...names: readonly string[]) => names.map((name) => textAt(source, name)).find((text) => text);
  const message = typeof source === 'string' ? source : first(...messageFields);
  const code = first('Code', 'code', 'errorCode', '__type');
  const [, regionInMessage] = /\bregion\b.*\bexpecting '([^']+)'/i.exec(String(message)) ?? [];
  return {
    ...textField('code', String(code).includes('#') ? plainCode(code) : code),
    ...textField('message', message),
    ...textField('requestId', first('RequestId', 'RequestID', 'requestId')),
    ...textField('region', valueAt(source, 'Region') ?? regionInMessage),
    ...textField('host', valueAt(source, 'Endpoint')),
    ...textField('serverTime', first('ServerTime', 'serverTime')),
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

import type { Operation } from '../tools/define-operation.js';
import type { Body } from '../transport/parse-body.js';
import { readServiceError, type ServiceError, shortenServiceError } from '../transport/service-error.js';
import type { FinalReply } from '../transport/signed-client.js';
import { isObject } from '../util/objects.js';

/** Finds errors in answers whose status is a success. */

type AnsweredReply = FinalReply & { kind: 'answered' };

/** True if the operation parses the text of a body itself. Malformed XML is left out, because its parser might accept a part of it. */
export const isReadAsText = (format: Operation['answer'], body: Body): boolean =>
  format === 'text' || (format === 'xmlText' && body.kind !== 'malformed');

/** Passes the body of an answer to a function, as the operation's format has it, or undefined if the body has another format. */
export async function readBody(
  { answer }: Pick<Operation, 'answer'>,
  { body, readText }: AnsweredReply,
  read: (body: unknown) => unknown,
): Promise<unknown> {
  if (isReadAsText(answer, body)) return readText(read);
  return read('value' in body && body.kind === answer ? body.value : undefined);
}

/** Returns the error that an XML document is, or that the operation finds in an answer. */
export async function declaredError(operation: Operation, reply: AnsweredReply): Promise<ServiceError | undefined> {
  const { body, response } = reply;
  const { status, headers } = response;
  if (body.kind === 'xml' && Object.keys(body.value).some((root) => root === 'Error' || root === 'ErrorResponse'))
    return readServiceError(body, headers);
  const { errorOf } = operation;
  if (errorOf === undefined) return undefined;
  const error = await readBody(operation, reply, (content) => errorOf({ status, headers, body: content }));
  return isObject(error) ? shortenServiceError(error) : undefined;
}

/** Codes that some APIs put into each successful answer. */
const meansSuccess = /^(ok|success\w*|succeeded|0+|2\d\d)$/i;

/**
 * Returns the error that a JSON answer seems to be: it has a code, and the record has none of the fields that the operation expects. An
 * operation that names no fields, or reads the text itself, has to find such errors by `errorOf`.
 * @param record as `extract` returned it
 */
export function apparentError(
  { answer, output, pages }: Operation,
  { body, response }: AnsweredReply,
  record: unknown,
): ServiceError | undefined {
  if (body.kind !== 'json' || isReadAsText(answer, body)) return undefined;
  const expected = answer === 'none' ? [] : Object.keys((pages?.page ?? output)().shape);
  const isUnclear = answer !== 'none' && expected.length === 0;
  if (isUnclear || expected.some((name) => isObject(record) && Object.hasOwn(record, name))) return undefined;
  const error = readServiceError(body, response.headers);
  return error.code === undefined || meansSuccess.test(error.code) ? undefined : error;
}

/**
 * Error codes with which a service refuses a request before it does anything. The words stand at the beginning or the end of a code, such
 * as `NoSuchUpload` and `ResourceNotFoundException`. Every other code leaves open whether the change was made.
 */
const refusalCode = new RegExp(
  '^(?:Client\\.|AccessDenied|AuthFailure|Authorization|Bad(?:Digest|Request)|Conditional|Conflict|Entity(?:TooLarge|TooSmall)' +
    '|Expired|Forbidden|Illegal|Incomplete(?:Body|Signature)|InsufficientPermission|Invalid|KeyTooLong|Limit(?:Exceeded|Reached)' +
    '|Malformed|Method(?:NotAllowed)|Missing|NoSuch|NotAuthorized|NotFound|NotImplemented|ObjectLock|OperationNotPermitted' +
    '|OptInRequired|Precondition|Quota|Request(?:Expired|TimeTooSkewed)|Signature|Token(?:Refresh)|TooManyRequests|Unauthorized' +
    '|Unrecognized|Unsupported|Validation)' +
    '|(?:AlreadyExists|AlreadyOwnedByYou|Denied|Forbidden|InUse|LimitExceeded|NotAllowed|NotEmpty|NotFound|NotPermitted' +
    '|NotSupported|QuotaExceeded|TooLarge|TooSmall|Unauthorized)(?:Exception|Error|Fault)?$',
);

/** True if a service did not do what it answers with this error code. */
export const isServiceRefusal = (code: string | undefined): boolean => code !== undefined && refusalCode.test(code);

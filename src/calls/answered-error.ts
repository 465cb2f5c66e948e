import type { Operation } from '../tools/define-operation.js';
import type { Body } from '../transport/parse-body.js';
import { readServiceError, type ServiceError, shortenServiceError } from '../transport/service-error.js';
import type { FinalReply } from '../transport/signed-client.js';
import { isObject } from '../util/objects.js';

/** This file finds errors in answers whose status is a success. */

type AnsweredReply = FinalReply & { kind: 'answered' };

/** True if the operation parses the text of a body itself. False for malformed XML, of which the operation might accept a part. */
export const isReadAsText = (format: Operation['answer'], body: Body): boolean =>
  format === 'text' || (format === 'xmlText' && body.kind !== 'malformed');

/** Passes the body of an answer to `read`, as parsed value or as text. Passes undefined if the body is not in the operation's format. */
export async function readBody(
  { answer }: Pick<Operation, 'answer'>,
  { body, readText }: AnsweredReply,
  read: (body: unknown) => unknown,
): Promise<unknown> {
  if (isReadAsText(answer, body)) return readText(read);
  return read('value' in body && body.kind === answer ? body.value : undefined);
}

/** Returns the error in an answer that is an XML error document, or in which the operation's `errorOf` finds an error. */
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

/** Matches codes such as `OK`, `Success` and `200`, which some APIs put into each successful answer. */
const meansSuccess = /^(ok|success\w*|succeeded|0+|2\d\d)$/i;

/**
 * Returns the error in a JSON answer that has a code, but none of the fields that the operation expects. An operation that expects no
 * named fields, or reads the text itself, has to find such errors by `errorOf`.
 * @param record the record that the operation's `extract` returned
 */
export function apparentError(
  { answer, output, pages }: Operation,
  { body, response }: AnsweredReply,
  record: unknown,
): ServiceError | undefined {
  if (body.kind !== 'json' || isReadAsText(answer, body)) return undefined;

  const expectedFields = answer === 'none' ? [] : Object.keys((pages?.page ?? output)().shape);
  const namesNoFields = answer !== 'none' && expectedFields.length === 0;
  const hasField = expectedFields.some((name) => isObject(record) && Object.hasOwn(record, name));
  if (namesNoFields || hasField) return undefined;
  const error = readServiceError(body, response.headers);
  return error.code === undefined || meansSuccess.test(error.code) ? undefined : error;
}

/**
 * Error codes with which a service refuses a request before it does anything. The words stand at the beginning or the end of a code, such
 * as `NoSuchUpload` and `ResourceNotFoundException`. After every other code, the change may have been made.
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

/** True if a service did nothing for a request that it answered with this error code. */
export const isServiceRefusal = (code: string | undefined): boolean => code !== undefined && refusalCode.test(code);

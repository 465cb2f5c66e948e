import type { Operation } from '../tools/define-operation.js';
import type { Body } from '../transport/parse-body.js';
import { readServiceError, type ServiceError, shortenServiceError } from '../transport/service-error.js';
import type { AnsweredReply } from '../transport/signed-client.js';
import { isObject, valueAt } from '../util/objects.js';

/** This file finds errors in answers whose status is a success. */

/** True if the operation parses the text of a body itself. */
export const isReadAsText = (format: Operation['answer'], body: Body): boolean =>
  format === 'text' ||
  (format === 'jsonText' && !(body.kind === 'malformed' && body.isTooLarge)) ||
  (format === 'xmlText' && body.kind !== 'malformed');

/** Passes the body of an answer to `read`, parsed or as text. */
export async function readBody(
  { answer }: Pick<Operation, 'answer'>,
  { body, readText }: AnsweredReply,
  read: (body: unknown) => unknown,
): Promise<unknown> {
  if (isReadAsText(answer, body)) return readText(read);
  return read('value' in body && body.kind === answer ? body.value : undefined);
}

/** EC2's `<Response><Errors><Error>` may also be an answer with failed entries. */
function isErrorDocument({ answerBody, failures }: Operation, document: Readonly<Record<string, unknown>>): boolean {
  if (['Error', 'ErrorResponse'].some((root) => Object.hasOwn(document, root))) return true;
  const isAnswer = answerBody === undefined ? failures !== undefined : answerBody.root === 'Response';
  const hasOnlyErrors = Object.keys(Object(document.Response)).every((name) => /^(?:Errors|RequestId)$/i.test(name));
  return !isAnswer && hasOnlyErrors && valueAt(document, 'Response.Errors.Error') !== undefined;
}

/** Returns the error in an error document, or the error that `errorOf` finds. */
export async function declaredError(operation: Operation, reply: AnsweredReply): Promise<ServiceError | undefined> {
  const { body, response } = reply;
  const { status, headers } = response;
  if (body.kind === 'xml' && isErrorDocument(operation, body.value)) return readServiceError(body, headers);
  const { errorOf } = operation;
  if (errorOf === undefined) return undefined;
  const error = await readBody(operation, reply, (content) => errorOf({ status, headers, body: content }));
  return isObject(error) ? shortenServiceError(error) : undefined;
}

/** Some APIs put such a code into each successful answer. */
const meansSuccess = /^(ok|success\w*|succeeded|0+|2\d\d)$/i;

/** Returns the error of a JSON answer without any expected field. */
export function apparentError(operation: Operation, { body, response }: AnsweredReply): ServiceError | undefined {
  const { answer, answerBody } = operation;
  if (body.kind !== 'json' || answer === 'text') return undefined;

  // Without a model (`answerBody`), an empty list means unknown fields.
  const namesNoFields = answer !== 'none' && answerBody === undefined && expectedFields(operation).length === 0;
  if (namesNoFields) return undefined;
  const error = readServiceError(body, response.headers);
  return error.code === undefined || meansSuccess.test(error.code) ? undefined : error;
}

const expectedFields = ({ answer, answerBody, pages, output }: Operation): readonly string[] =>
  answer === 'none' ? [] : (answerBody?.fields ?? Object.keys((pages?.page ?? output)().shape));

export const hasExpectedField = (operation: Operation, record: unknown): boolean =>
  expectedFields(operation).some((path) => valueAt(record, path) !== undefined);

/** Returns the expected fields if a record has none of them although it should. */
export function fieldsIfAllMissing(
  operation: Operation,
  body: Body,
  record: unknown,
  { lacksRequired }: { readonly lacksRequired: boolean },
): readonly string[] {
  const isEmptyJson =
    body.kind === 'json' &&
    isObject(body.value) &&
    // Some APIs write null for an empty list.
    Object.values(body.value).every((field) => field === null);
  const isOptional = operation.answerBody === undefined || body.kind === 'xml' || isEmptyJson;
  if (isOptional && !lacksRequired) return [];
  return isObject(record) && !hasExpectedField(operation, record) ? expectedFields(operation) : [];
}

/** True if an XML document has another root than the API's model. */
export function isOtherDocument({ answerBody }: Operation, body: Body): boolean {
  if (answerBody?.root === undefined || body.kind !== 'xml') return false;
  const [[root, content] = []] = Object.entries(body.value);
  return root !== answerBody.root && content !== '';
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

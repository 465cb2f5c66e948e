/** Response headers that name a request to the service's support (reference, section 4.1; the others are of S3-compatible stores). */
const names =
  'x-ext-request-id x-ext-id-2 x-store-sg-trace-id x-gw-endpoint-request x-amz-request-id x-amz-id-2 x-amzn-requestid x-trans-id x-request-id';

/** The request ids of a response, by header name. */
export const requestIds = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(names.split(' ').flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));

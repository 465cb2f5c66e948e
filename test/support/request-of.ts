import type { ApiRequest, Operation } from '../../src/tools/define-operation.js';

/** The request of a built-in operation, which makes it at once. */
export function requestOf(operation: Pick<Operation, 'request'>, input: Record<string, unknown>): ApiRequest {
  const request = operation.request(input);
  if (request instanceof Promise) throw new Error('the request is a promise');
  return request;
}

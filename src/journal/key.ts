import { type Endpoint, type UnsignedApiRequest, wireForm } from '../transport/request.js';
import { digestOf } from '../util/digest.js';

/**
 * The key by which a repetition is found: the same for the same request of the same account, whatever arguments led to it. It
 * gives nothing of the request away.
 */
export function repetitionKey(endpoint: Endpoint, request: UnsignedApiRequest): string {
  const { path, query, body = '' } = wireForm(endpoint, request);
  return digestOf([request.method, endpoint.origin + path + query, body, endpoint.credentials.accessKeyId]);
}

import { type Endpoint, type UnsignedApiRequest, wireForm } from '../transport/request.js';
import { digestOf } from '../util/digest.js';

/** The format of the key below. A change of it is a major release: servers refuse changes on a journal with keys of another one. */
export const keyFormat = 1;

/**
 * The key by which a repetition is found: the same for the same request of the same account, whatever arguments led to it, and
 * whatever key of the account signs it. It gives nothing of the request away. Its format is frozen: another one would forget what was
 * sent before.
 */
export function repetitionKey(endpoint: Endpoint, request: UnsignedApiRequest): string {
  const { path, query, body = '' } = wireForm(endpoint, request);
  const { account, keys, origin } = endpoint;
  return digestOf([request.method, origin + path + query, body, account, keys.id]);
}

import type { Endpoint, WireRequest } from '../transport/request.js';
import { digestOf } from '../util/digest.js';

/** The format of the key below. A change of it is a major release: servers refuse changes on a journal with keys of another one. */
export const keyFormat = 1;

/**
 * The key by which a repetition is found: the same for the same request of the same account, whatever arguments led to it, and
 * whatever key of the account signs it. It gives nothing of the request away. Its format is frozen: another one would forget what was
 * sent before.
 */
export function repetitionKey({ account, keys, origin }: Endpoint, request: WireRequest): string {
  const { method, target, body = '' } = request;
  return digestOf([method, origin + target, body, account, keys.id]);
}

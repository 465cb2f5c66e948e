import type { Endpoint, WireRequest } from '../transport/request.js';
import { digestOf } from '../util/digest.js';

/** The format of the key below. A new format needs a major release, because servers refuse changes if a journal has another format. */
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

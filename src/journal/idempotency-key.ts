import type { Endpoint, WireRequest } from '../transport/request.js';
import { digestOf } from '../util/digest.js';

/**
 * The format of the key below, which each entry of the journal names. A new format needs a major release: servers refuse changes while the
 * journal has recent entries of another format, because they cannot recognise the same change in them.
 */
export const keyFormat = 1;

/**
 * The digest of a change. It depends on the account and on the request as it is sent, without the headers that describe its body. It does
 * not depend on the arguments of the tool or on the access key that signs. It reveals nothing about the request. Its format is frozen,
 * because servers would not recognise changes that were sent with another format.
 */
export function idempotencyKey({ account, keys, origin }: Endpoint, request: WireRequest): string {
  const { method, target, body = '', chosenHeaders } = request;
  const chosen = chosenHeaders === undefined ? [] : [chosenHeaders];
  return digestOf([method, origin + target, body, account, keys.id, ...chosen]);
}

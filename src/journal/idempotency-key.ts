import type { Endpoint, WireRequest } from '../transport/request.js';
import { digestOf } from '../util/digest.js';

/**
 * The format of `idempotencyKey`. A change has another key in each format, so servers with different formats do not recognise each other's
 * changes. A new format therefore needs a major release.
 */
export const keyFormat = 1;

/**
 * Returns the key of a change, which entries store as `digest`: a digest of its account and its request, without the headers that describe
 * the body. The arguments of the tool and the access key do not matter. What the digest covers is fixed by `keyFormat`.
 */
export function idempotencyKey({ account, keys, origin }: Endpoint, request: WireRequest): string {
  const { method, target, body = '', chosenHeaders } = request;
  const chosen = chosenHeaders === undefined ? [] : [chosenHeaders];
  return digestOf([method, origin + target, body, account, keys.id, ...chosen]);
}

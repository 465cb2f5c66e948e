import type { Endpoint, WireRequest } from '../transport/request.js';
import { digestOf } from '../util/digest.js';

/** The format of `idempotencyKey`. A new format needs a major release, because a change has another digest in each format. */
export const keyFormat = 1;

/**
 * The digest of a change, from its account and its request, without the headers that describe the body. The arguments of the tool and
 * the access key do not matter. The format is frozen, because servers would not recognise changes that were sent with another format.
 */
export function idempotencyKey({ account, keys, origin }: Endpoint, request: WireRequest): string {
  const { method, target, body = '', chosenHeaders } = request;
  const chosen = chosenHeaders === undefined ? [] : [chosenHeaders];
  return digestOf([method, origin + target, body, account, keys.id, ...chosen]);
}

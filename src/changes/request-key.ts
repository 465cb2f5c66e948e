import { createHmac } from 'node:crypto';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { digestOf } from '../util/digest.js';
import { isObject, parseJson } from '../util/objects.js';
import type { SealingKey } from '../util/seal.js';

/** This file has the two digests of a change's request. */

/** Returns the key by which the same change is recognised. The format for built-in operations is frozen. */
export function requestKey({
  operation,
  endpoint: { account, keys, origin },
  request,
}: Pick<ResolvedChange, 'operation' | 'endpoint' | 'request'>): string {
  const { method, target, body = '', chosenHeaders } = request;
  const chosen = chosenHeaders === undefined ? [] : [chosenHeaders];
  // Other operations bring their schemas, and the fields of their JSON bodies may have any order.
  if (operation.schemas === undefined) return digestOf([method, origin + target, body, account, keys.id, ...chosen]);
  return digestOf([method, origin + target, canonicalBody(body), account, keys.id, ...chosen]);
}

function canonicalBody(body: string): unknown {
  const value = parseJson(body);
  return isObject(value) || Array.isArray(value) ? value : body;
}

/** Returns the digest of the exact request that was shown. With secrets, it needs a key, so that nobody who reads the store can guess a secret. */
export function requestDigest(
  {
    operation,
    endpoint,
    request,
    regionSource,
  }: Pick<ResolvedChange, 'operation' | 'endpoint' | 'request' | 'regionSource'>,
  secrets: readonly string[],
  key: SealingKey,
): string {
  const { origin, region, service, account, keys } = endpoint;
  const { method, target, headers, body } = request;
  const exact = digestOf([
    operation.name,
    method,
    origin,
    target,
    headers,
    body ?? null,
    account,
    keys.id,
    region,
    service,
    regionSource,
  ]);
  return secrets.length === 0 ? exact : createHmac('sha256', key).update(exact).digest('hex');
}

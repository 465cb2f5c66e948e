import { createHmac } from 'node:crypto';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { digestOf } from '../util/digest.js';
import { isObject, parseJson } from '../util/objects.js';
import type { SealingKey } from '../util/seal.js';

/** This file has the two digests of a change's request: the key by which the same change is recognised, and the digest of exactly what was shown. */

/**
 * Returns the key of a change: a digest of its account and its request, without the headers that describe the body. The arguments of the tool
 * and the access key do not matter. The format for built-in operations is frozen. Operations of models make the same request for the same members,
 * whatever their order. In JSON, they may also have documents, the order of whose fields means nothing.
 */
export function requestKey({
  operation,
  endpoint: { account, keys, origin },
  request,
}: Pick<ResolvedChange, 'operation' | 'endpoint' | 'request'>): string {
  const { method, target, body = '', chosenHeaders } = request;
  const chosen = chosenHeaders === undefined ? [] : [chosenHeaders];
  // Built-in operations have their schemas in the package, and others bring them.
  if (operation.schemas === undefined) return digestOf([method, origin + target, body, account, keys.id, ...chosen]);
  return digestOf([method, origin + target, canonicalBody(body), account, keys.id, ...chosen]);
}

/** The value of a JSON body, whose fields `digestOf` sorts, or else the body itself. */
function canonicalBody(body: string): unknown {
  const value = parseJson(body);
  return isObject(value) || Array.isArray(value) ? value : body;
}

/**
 * Returns the digest of the exact request: method, address, headers, body, account and signing. A request with secrets is digested with a key, so
 * that nobody who reads the store can guess a secret.
 */
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

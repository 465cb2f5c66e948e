import { createHmac } from 'node:crypto';
import { resolveAccount } from '../calls/account.js';
import { wireRequest } from '../calls/endpoint.js';
import { refusalOfError } from '../calls/failure.js';
import { Refusal } from '../calls/refusal.js';
import { resolveCall, secretsIn } from '../calls/resolve-call.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { findOperation } from '../models/service-catalog.js';
import type { Operation } from '../tools/define-operation.js';
import { digestOf } from '../util/digest.js';
import { parseJson, withoutUndefined } from '../util/objects.js';
import { own, say } from '../util/safe-text.js';
import type { SealingKey } from '../util/seal.js';
import type { Change } from './change.js';
import type { ChangeRun } from './change-run.js';
import { isWayOf } from './required-consent.js';

/** This file resolves the call of a stored change again, and makes the digests by which requests are recognised. */

/** Resolves the call of a stored change. Arguments with a secret are only in memory. */
export async function resolveStored(operation: Operation, { id, args, list }: Change, run: ChangeRun) {
  const stored = run.heldArguments.get(id) ?? args;
  const account = resolveAccount(run.accounts, operation, stored, run.principal);
  const call = await resolveCall(operation, account, run);
  return call.kind === 'read' ? call : withParts(call, list, run);
}

/** Resolves a change of several things by its list. @throws Refusal */
export async function withParts(
  call: ResolvedChange,
  list: Change['list'] = [],
  run: ChangeRun,
): Promise<ResolvedChange> {
  const { operation, input, accountName: account } = call;
  const { many } = operation;
  if (many === undefined) return call;
  const parts: ResolvedChange[] = [];
  for (const entry of list) {
    const args = withoutUndefined({ ...many.inputOf(entry, input), account });
    const resolution = resolveAccount(run.accounts, many.operation, args, run.principal);
    const part = await resolveCall(many.operation, resolution, run);
    if (part.kind === 'change') parts.push(part);
  }
  const withList = { [many.list]: list };
  const target = call.endpoint.pathPrefix + many.shownTarget;
  return {
    ...call,
    parts,
    list,
    shownRequest: { ...(parts[0]?.shownRequest ?? call.shownRequest), target },
    input: { ...input, ...withList },
    shownInput: { ...call.shownInput, ...withList },
  };
}

/** Resolves an approved change by the present policy, scopes and secrets, if it is still the change that was shown. Its request has its idempotency token. */
export async function resolveAgain(change: Change, run: ChangeRun): Promise<ResolvedChange | Refusal> {
  const { log, keys } = run;
  const operation = await findOperation(change.tool, run);
  if (operation === undefined) return new Refusal('NotAllowed', [say`the tool does not exist here any more`]);
  try {
    const call = await resolveStored(operation, change, run);
    if (call.kind === 'read') return new Refusal('NotAllowed', [say`the tool changes nothing any more`]);
    const { decision } = change;
    if (decision === undefined || !isWayOf(call.account.confirm, decision.way))
      return new Refusal('PlanRefused', [
        say`CLOUDOPS_CONFIRM is ${own(call.account.confirm)} by now, and this decision does not count`,
      ]);
    if (!keys().some((key) => requestDigest(call, secretsIn(call), key) === change.requestDigest))
      return new Refusal('PlanRefused', [
        say`the plan was shown for another endpoint, another account, another secret or other arguments`,
      ]);
    if (operation.takesToken !== true) return call;
    // The token differs for each change, so it is not a part of the digest.
    const request = await operation.request(call.input, undefined, tokenOf(change));
    return { ...call, request: wireRequest(operation, request, call.endpoint) };
  } catch (error) {
    return refusalOfError(error, operation, log);
  }
}

/** Makes a UUID that is the same for each attempt of a change (version 8 of RFC 9562). */
function tokenOf({ tokenSource }: Change): string {
  const digits = digestOf(['idempotency token', tokenSource]);
  const version = `8${digits.slice(13, 16)}`;
  const variant = `8${digits.slice(17, 20)}`;
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${version}-${variant}-${digits.slice(20, 32)}`;
}

type RequestFacts = Pick<ResolvedChange, 'operation' | 'endpoint' | 'request' | 'regionSource' | 'parts'>;

/** Returns the key by which the same change is recognised. The format for built-in operations is frozen. */
export function requestKey({ operation, endpoint, request, parts }: Omit<RequestFacts, 'regionSource'>): string {
  if (parts !== undefined) return digestOf([operation.name, ...parts.map(requestKey)]);
  const { account, keys, origin } = endpoint;
  const { method, target, body = '', chosenHeaders } = request;
  const chosen = chosenHeaders === undefined ? [] : [chosenHeaders];
  // Other operations bring their schemas, and the fields of their JSON bodies may have any order.
  const value = operation.schemas === undefined ? undefined : parseJson(body);
  const canonicalBody = typeof value === 'object' && value !== null ? value : body;
  return digestOf([method, origin + target, canonicalBody, account, keys.id, ...chosen]);
}

/** Returns the digest of the exact request that was shown. With secrets, it needs a key, so that no reader of the store can guess them. */
export function requestDigest(
  { operation, endpoint, request, regionSource, parts }: RequestFacts,
  secrets: readonly string[],
  key: SealingKey,
): string {
  if (parts !== undefined)
    return digestOf([operation.name, ...parts.map((part) => requestDigest(part, secretsIn(part), key))]);
  const { origin, region, service, account, keys } = endpoint;
  const { method, target, headers, body } = request;
  const sent = [method, origin, target, headers, body ?? null];
  const exact = digestOf([operation.name, ...sent, account, keys.id, region, service, regionSource]);
  return secrets.length === 0 ? exact : createHmac('sha256', key).update(exact).digest('hex');
}

import { createHmac } from 'node:crypto';
import { resolveAccount } from '../calls/account.js';
import { refusalAfter, wireRequest } from '../calls/endpoint.js';
import { type FailedCall, faultFacts, mistakeRefusal, serverFault } from '../calls/failure.js';
import type { EndedOutcome, Failure } from '../calls/outcome.js';
import { visibleCaller } from '../calls/policy.js';
import { Refusal, refusalFailure } from '../calls/refusal.js';
import { clientOptions, resolveCall, secretsIn } from '../calls/resolve-call.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { findOperation } from '../models/service-catalog.js';
import type { Operation } from '../tools/define-operation.js';
import type { Next } from '../tools/next.js';
import { NotSent, type SignedClient } from '../transport/signed-client.js';
import { digestOf } from '../util/digest.js';
import { type Log, reasonOf } from '../util/log.js';
import { isObject, parseJson, withoutUndefined } from '../util/objects.js';
import { own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { SealingKey } from '../util/seal.js';
import type { Begun, Change, Ending } from './change.js';
import type { ChangeRun } from './change-context.js';
import {
  type ChangeResult,
  type Conclusion,
  concludeChange,
  concludeFailed,
  readResult,
  withChangeId,
  withNotes,
} from './conclude-change.js';
import { stepIfUnknown } from './follow-change.js';
import { budgetSpent, repeated } from './other-changes.js';
import { isWayOf } from './required-consent.js';

/** This file sends an approved change, if it is still the change that was shown. */

/** From the decision to sending (milliseconds). Later, `begin` would overlook a repetition that was sent meanwhile. */
const longestDelayMs = 10 * 60_000;

/** Resolves the call of a stored change. Arguments with a secret are only in memory. */
export async function resolveStored(operation: Operation, { id, args, list }: Change, run: ChangeRun) {
  const stored = run.heldArguments.get(id) ?? args;
  const account = resolveAccount(run.accounts, operation, stored, run.principal);
  const call = await resolveCall(operation, account, run, run);
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
    const part = await resolveCall(many.operation, resolution, run, run);
    if (part.kind === 'change') parts.push(part);
  }
  const withList = { [many.list]: list };
  const target = call.endpoint.pathPrefix + many.shownTarget;
  return {
    ...call,
    ...{ parts, list, shownRequest: { ...(parts[0]?.shownRequest ?? call.shownRequest), target } },
    input: { ...input, ...withList },
    shownInput: { ...call.shownInput, ...withList },
  };
}

/** Carries out an approved change by the present policy, scopes and secrets. Sends only the request that was shown. Never rejects. */
export async function carryOutOne(change: Change, run: ChangeRun): Promise<EndedOutcome> {
  const call = await resolveAgain(change, run);
  run.heldArguments.delete(change.id);
  const send = async (resolved: ResolvedChange, signal: AbortSignal) => {
    using client = run.openClient(resolved.endpoint, clientOptions(resolved, run, signal));
    return await sendAndRecord(change, resolved, client, run);
  };
  // A process that shuts down waits for changes in flight.
  const outcome =
    call.kind === 'refused'
      ? await writeEnding(change, concludeFailed(notSent(change.tool, call)), run)
      : await run.inFlight.track(run.signal, (signal) => send(call, signal));
  return withChangeId(withNotes(outcome, await run.pendingNotes(change.caller).catch(() => [])), change.id);
}

/** Resolves an approved change by the present policy, scopes and secrets, if it is still the change that was shown. */
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
    const isShown = keys().some((key) => requestDigest(call, secretsIn(call), key) === change.requestDigest);
    return isShown
      ? call
      : new Refusal('PlanRefused', [
          say`the plan was shown for another endpoint, another account, another secret or other arguments`,
        ]);
  } catch (error) {
    const refusal = refusalAfter(error);
    if (refusal === undefined) log('error', 'unexpected', faultFacts(operation, error));
    return refusal ?? mistakeRefusal(error);
  }
}

export const notSent = (tool: string, refusal: Refusal): Failure => refusalFailure(tool, refusal, { isChange: true });

/** The store has a change as begun before the first byte is sent, and its ending before the caller gets the outcome. */
async function sendAndRecord(
  change: Change,
  call: ResolvedChange,
  client: SignedClient,
  run: ChangeRun,
): Promise<EndedOutcome> {
  const { store, log, now } = run;
  const { id, tool } = change;
  const ifUnknown = stepIfUnknown(call, now().toISOString());
  const begun = await store.begin(id, { budget: call.budget.limit, ifUnknown: interrupted(change, ifUnknown) });
  if (begun.kind === 'unwritable') log('error', 'journal', { tool, id, error: begun.reason.text });
  if (begun.kind !== 'begun')
    return concludeFailed(notSent(tool, beginRefusal(begun, call, visibleCaller(run.principal)))).outcome;
  return sendBegun(begun.change, { ...call, ifUnknown }, client, run);
}

export const isTooLate = ({ decidedAt }: Change, time: Date): boolean =>
  time.getTime() - (decidedAt ?? time.getTime()) > longestDelayMs;

/**
 * Sends a change that the store has as begun.
 * @param isAgain true if it may have been sent before, so that it cannot end as not sent
 */
export async function sendBegun(
  change: Change,
  call: ResolvedChange & FailedCall,
  client: SignedClient,
  run: ChangeRun,
  { isAgain = false } = {},
): Promise<EndedOutcome> {
  const { log, now } = run;
  const { id, tool, caller, target } = change;
  // The process may have been suspended while `begin` wrote, so `time` is taken after it.
  const time = now();
  const { result, keyId } =
    !isAgain && isTooLate(change, time) ? failedUnsent(tool, tooLate) : await sendAndRead(change, call, client, log);
  const sent = { call, change, sentAt: time.toISOString() };
  // Without an answer, an earlier try may have reached the cloud.
  const isUnknown = isAgain && result.kind === 'failed' && result.failure.status === undefined;
  const { state, ending, outcome } = isUnknown
    ? concludeFailed({ ...result.failure, mayHaveHappened: true })
    : concludeChange(result, sent, log);
  // A journal that was restored from a backup may lack the change.
  log('info', 'change', { id, tool, account: call.accountName, caller, target, outcome: state });
  return writeEnding(change, { state, ending: { ...ending, keyId }, outcome }, run);
}

/** Written in advance, in case the process goes away while it sends. */
export const interrupted = ({ what, id, isPrivate }: Change, ifUnknown: Next): Ending => ({
  isPrivate,
  outcome: {
    kind: 'failed',
    failure: {
      summary: say`The server went away while it sent this, so nobody knows whether it was carried out: ${quoted(what, 500)}.`,
      code: 'OutcomeUnknown',
      outcome: 'unknown',
      changeId: id,
      problems: [],
      mayHaveHappened: true,
      next: ifUnknown,
      requestIds: {},
    },
  },
});

interface Sending {
  readonly result: ChangeResult;
  readonly keyId?: string;
}

const failedUnsent = (tool: string, refusal: Refusal): Sending => ({
  result: { kind: 'failed', failure: notSent(tool, refusal) },
});

const tooLate = new Refusal('PlanExpired', [
  say`the consent was given more than ten minutes ago, and the same change may have been sent since`,
]);

/** Never rejects. After `NotSent`, the change was certainly not made. */
async function sendAndRead(
  change: Change,
  call: ResolvedChange & FailedCall,
  client: SignedClient,
  log: Log,
): Promise<Sending> {
  try {
    const reply = await client.send(await requestToSend(call, change));
    return { result: await readResult(call, reply, log), keyId: reply.keyId };
  } catch (error) {
    log('error', 'unexpected', faultFacts(call.operation, error));
    if (!(error instanceof NotSent)) return { result: { kind: 'failed', failure: serverFault(call, error) } };
    return failedUnsent(change.tool, refusalAfter(error) ?? mistakeRefusal(error));
  }
}

/** The token differs for each change, so it is not a part of the digest. */
async function requestToSend({ operation, input, endpoint, request, parts }: ResolvedChange, change: Change) {
  if (parts !== undefined || operation.many !== undefined) throw new NotSent('only its parts are sent');
  if (operation.takesToken !== true) return request;
  const firstPage = undefined;
  try {
    return wireRequest(operation, await operation.request(input, firstPage, tokenOf(change)), endpoint);
  } catch (cause) {
    throw new NotSent('the request could not be made', { cause });
  }
}

/** Makes a UUID that is the same for each attempt of a change (version 8 of RFC 9562). */
function tokenOf({ tokenSource }: Change): string {
  const digits = digestOf(['idempotency token', tokenSource]);
  const version = `8${digits.slice(13, 16)}`;
  const variant = `8${digits.slice(17, 20)}`;
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${version}-${variant}-${digits.slice(20, 32)}`;
}

export function beginRefusal(
  hindrance: Exclude<Begun, { kind: 'begun' }>,
  call: ResolvedChange,
  viewer: string | undefined,
): Refusal {
  switch (hindrance.kind) {
    case 'unwritable':
      return new Refusal('JournalUnavailable', [hindrance.reason]);
    case 'notApproved':
      return new Refusal('PlanRefused', [say`the server that took the decision is gone, or the decision is too old`]);
    case 'budgetSpent':
      return budgetSpent(hindrance.budget, hindrance.nextAt);
    case 'duplicate':
      return repeated(hindrance.earlier, viewer, call);
  }
}

/** How long an answer waits until the ending is in the store (milliseconds). */
const endingMs = 10_000;

export async function writeEnding(
  { tool, id, isPrivate }: Change,
  { state, ending, outcome }: Conclusion,
  { store, log }: ChangeRun,
): Promise<EndedOutcome> {
  const written = store.end(id, state, { ...ending, isPrivate }).then(
    (): SafeText[] => [],
    (error: unknown) => {
      log('error', 'journal', { tool, id, outcome: state, error: reasonOf(error) });
      return [words('The outcome could not be written into the journal, which will call it unknown.')];
    },
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SafeText[]>((resolve) => {
    timer = setTimeout(resolve, endingMs, [lateNote]);
  });
  return withNotes(outcome, await Promise.race([written, late]).finally(() => clearTimeout(timer)));
}

const lateNote = words('The outcome is not in the journal yet. It is written as soon as that is possible.');

type RequestFacts = Pick<ResolvedChange, 'operation' | 'endpoint' | 'request' | 'regionSource' | 'parts'>;

/** Returns the key by which the same change is recognised. The format for built-in operations is frozen. */
export function requestKey({ operation, endpoint, request, parts }: Omit<RequestFacts, 'regionSource'>): string {
  if (parts !== undefined) return digestOf([operation.name, ...parts.map(requestKey)]);
  const { account, keys, origin } = endpoint;
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

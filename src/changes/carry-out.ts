import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { longestKept } from '../calls/answer-budget.js';
import type { FailedEntries } from '../calls/failed-entries.js';
import { allFailed, type FailedCall, faultFacts, refusalOfError, serverFault } from '../calls/failure.js';
import type { EndedOutcome, Failure } from '../calls/outcome.js';
import { visibleCaller } from '../calls/policy.js';
import { Refusal, refusalFailure } from '../calls/refusal.js';
import { clientOptions } from '../calls/resolve-call.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import type { Next } from '../tools/next.js';
import { firstThatFit } from '../tools/upload/read-list.js';
import { NotSent, type SignedClient } from '../transport/signed-client.js';
import { reasonOf, shownReason } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { quoted, type SafeText, say, words } from '../util/safe-text.js';
import { type Begun, type Change, type Ending, noOptions } from './change.js';
import type { ChangeRun } from './change-run.js';
import { stateOf } from './change-state.js';
import { partId } from './change-table.js';
import {
  type ChangeResult,
  type Conclusion,
  concludeChange,
  concludeFailed,
  readResult,
  stepIfUnknown,
  withChangeId,
  withNotes,
} from './conclude-change.js';
import { makePlan } from './plan.js';
import { budgetSpent, repeated, rowOf } from './plan-change.js';
import { resolveAgain } from './stored-call.js';

/** This file carries out approved changes. The store has a change as begun before the first byte is sent, and its ending before the caller gets the outcome. Each thing of a change of several is a change of its own. */

/**
 * Carries out an approved change by the present policy, scopes and secrets, or goes on with a begun change that this process has taken over.
 * Sends only what was shown. Rejects only before the change is begun.
 */
export async function carryOut(change: Change, run: ChangeRun): Promise<EndedOutcome> {
  const call = await resolveAgain(change, run);
  run.heldArguments.delete(change.id);
  const outcome = await (call.kind === 'refused'
    ? // An earlier process may have sent a begun change.
      writeEnding(change, concludeFailed(notSent(change.tool, call, change.state === 'begun')), run)
    : carryOutCall(change, call, run));
  return withChangeId(withNotes(outcome, await run.pendingNotes(change.caller).catch(() => [])), change.id);
}

async function carryOutCall(change: Change, call: ResolvedChange, run: ChangeRun): Promise<EndedOutcome> {
  const isWhole = call.parts !== undefined;
  // A change of several things goes on if its client goes away, because the person decided on all of them.
  const signal = isWhole ? new AbortController().signal : run.signal;
  // A process that shuts down waits for changes in flight.
  const ended = run.inFlight.track(signal, (tracked) => beginAndSend(change, call, { ...run, signal: tracked }));
  if (!isWhole || run.client.wantsWholeAnswer) return ended;
  const stillRuns = async () => stateOf((await run.store.find(change.id).catch(() => undefined)) ?? change, run);
  // A call waits this long (milliseconds). Then `get_change` tells the end.
  return Promise.race([ended, delay(25_000, undefined, { ref: false }).then(stillRuns)]);
}

async function beginAndSend(change: Change, call: ResolvedChange, run: ChangeRun): Promise<EndedOutcome> {
  const { store, log, now, principal } = run;
  const { id, tool } = change;
  const isAgain = change.state === 'begun';
  const ifUnknown = stepIfUnknown(call, now().toISOString());
  using client = run.openClient(call.endpoint, clientOptions(call, run));
  // The parts count in the budget, and not the whole.
  const budget = call.parts === undefined ? call.budget.limit : undefined;
  const begun = isAgain
    ? ({ kind: 'begun', change } as const)
    : await store.begin(id, { budget, ifUnknown: interrupted(change, ifUnknown) });
  if (begun.kind === 'unwritable') log('error', 'journal', { tool, id, error: begun.reason.text });
  if (begun.kind !== 'begun')
    return concludeFailed(notSent(tool, beginRefusal(begun, call, visibleCaller(principal)))).outcome;
  const sent = { ...call, ifUnknown };
  if (call.parts !== undefined)
    return await endParts(begun.change, sent, run, isAgain).catch((error: unknown): EndedOutcome => {
      log('error', 'unexpected', faultFacts(call.operation, error));
      return failed(serverFault(sent, error));
    });
  return await sendBegun(begun.change, sent, client, run, isAgain);
}

/** Written in advance, in case the process goes away while it sends. */
function interrupted({ what, isPrivate }: Change, ifUnknown: Next): Ending {
  const summary = say`The server went away while it sent this, so nobody knows whether it was carried out: ${quoted(what, 500)}.`;
  const failure = {
    summary,
    code: 'OutcomeUnknown',
    problems: [],
    mayHaveHappened: true,
    next: ifUnknown,
    requestIds: {},
  };
  return { isPrivate, outcome: concludeFailed(failure).outcome };
}

function beginRefusal(
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

const notSent = (tool: string, refusal: Refusal, mayHaveHappened = false): Failure => ({
  ...refusalFailure(tool, refusal, { isChange: true }),
  mayHaveHappened,
});

const tooLate = new Refusal('PlanExpired', [
  say`the consent was given more than ten minutes ago, and the same change may have been sent since`,
]);

const isTooLate = ({ decidedAt }: Change, time: Date): boolean =>
  // Later (milliseconds), `begin` would overlook a repetition that was sent meanwhile.
  time.getTime() - (decidedAt ?? time.getTime()) > 10 * 60_000;

/**
 * Sends a change that the store has as begun.
 * @param isAgain true if it may have been sent before, so that it cannot end as not sent
 */
async function sendBegun(
  change: Change,
  call: ResolvedChange & FailedCall,
  client: SignedClient,
  run: ChangeRun,
  isAgain: boolean,
): Promise<EndedOutcome> {
  const { log, now } = run;
  const { id, tool, caller, target } = change;
  // The process may have been suspended while `begin` wrote, so `time` is taken after it.
  const time = now();
  const { result, keyId } =
    !isAgain && isTooLate(change, time)
      ? { result: failed(notSent(tool, tooLate)) }
      : await sendAndRead(change, call, client, run);
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

const failed = (failure: Failure) => ({ kind: 'failed', failure }) as const;

/** Never rejects. After `NotSent`, the change was certainly not made. */
async function sendAndRead(
  change: Change,
  call: ResolvedChange & FailedCall,
  client: SignedClient,
  { log }: ChangeRun,
): Promise<{ readonly result: ChangeResult; readonly keyId?: string }> {
  try {
    const reply = await client.send(call.request);
    return { result: await readResult(call, reply, log), keyId: reply.keyId };
  } catch (error) {
    if (error instanceof NotSent)
      return { result: failed(notSent(change.tool, refusalOfError(error, call.operation, log))) };
    log('error', 'unexpected', faultFacts(call.operation, error));
    return { result: failed(serverFault(call, error)) };
  }
}

async function writeEnding(
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
  const lateNote = words('The outcome is not in the journal yet. It is written as soon as that is possible.');
  // An answer waits this long (milliseconds) for the store.
  return withNotes(outcome, await Promise.race([written, delay(10_000, [lateNote], { ref: false })]));
}

async function endParts(
  change: Change,
  call: ResolvedChange & FailedCall,
  run: ChangeRun,
  isAgain: boolean,
): Promise<EndedOutcome> {
  const { store, log } = run;
  const { caller, personId, scopes, agent, client, isPrivate: namesPrivate = false } = change;
  const runOfPart = { ...run, pendingNotes: async () => [] };
  let parts: readonly Change[];
  try {
    if (change.decision === undefined) throw new Error('a begun change has a decision');
    const rows = (call.parts ?? []).map((part, index) => {
      const given = { id: partId(change.id, index), caller, personId, scopes, agent, client, repeats: true };
      return { ...rowOf(part, makePlan(part), given, { namesPrivate, run }), options: noOptions };
    });
    parts = await store.addParts(rows, change.decision);
  } catch (error) {
    const refusal = new Refusal('JournalUnavailable', [say`${shownReason(error)}`]);
    return writeEnding(change, concludeFailed(notSent(change.tool, refusal, isAgain)), run);
  }
  // Each part listens several times.
  setMaxListeners(0, run.signal);
  const ends: PartEnd[] = [];
  const waiting = [...parts.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, part] = next;
      ends[index] = await endOfPart(part, call, runOfPart).catch((error: unknown): PartEnd => {
        log('error', 'unexpected', faultFacts(call.operation, error));
        return { kind: 'failed', code: 'OutcomeUnknown', failure: serverFault(call, error) };
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return writeEnding(change, conclude(change, call, ends, run), run);
}

/** `unverified`: accepted, but the thing was not seen to be gone, because the read failed. */
type PartEnd =
  | { readonly kind: 'done' | 'gone' | 'unverified' }
  | { readonly kind: 'failed'; readonly code: string; readonly failure?: Failure };

async function endOfPart(part: Change, whole: ResolvedChange, run: ChangeRun): Promise<PartEnd> {
  const { store, signal, now } = run;
  const { id, state } = part;
  if (state === 'approved' && signal.aborted) {
    await store.end(id, 'not sent', { code: 'Stopping' });
    return { kind: 'failed', code: 'Stopping', failure: notSent(part.tool, new Refusal('Stopping')) };
  }
  if (state === 'begun') {
    const found = await lookFor(part, whole, run);
    if (found === 'gone') {
      await store.end(id, 'accepted', { code: 'GoneAfterRestart' });
      return { kind: 'done' };
    }
    // Only a thing that is seen to be there is sent again, soon after the decision.
    if (found !== 'there' || isTooLate(part, now())) {
      await store.end(id, 'unknown', part.ending ?? {});
      return endAfter(stateOf({ ...part, state: 'unknown' }, run), part, whole, run);
    }
  }
  // An earlier process has ended the other parts, and the store has their outcomes.
  const isOpen = state === 'approved' || state === 'begun';
  return endAfter(isOpen ? await carryOut(part, run) : stateOf(part, run), part, whole, run);
}

async function endAfter(outcome: EndedOutcome, part: Change, whole: ResolvedChange, run: ChangeRun): Promise<PartEnd> {
  if (outcome.kind === 'failed') {
    const { failure } = outcome;
    const code = failure.serviceSays?.code ?? failure.code;
    if (whole.operation.many?.gone.includes(code) === true) return { kind: 'gone' };
    if (failure.mayHaveHappened !== true || (await lookFor(part, whole, run)) !== 'gone')
      return { kind: 'failed', code, failure };
    await run.store.end(part.id, 'accepted', { code: 'GoneAfterwards' });
    return { kind: 'done' };
  }
  const seen = await lookFor(part, whole, run);
  if (seen === 'there') return { kind: 'failed', code: 'StillThere' };
  return { kind: seen === 'gone' ? 'done' : 'unverified' };
}

async function lookFor(part: Change, { operation: { many } }: ResolvedChange, run: ChangeRun) {
  if (many === undefined) return 'unknown';
  const { signal, client, principal } = run;
  const outcome = await run.callRead(many.verify, part.args, { signal, client, principal });
  if (outcome.kind === 'succeeded') return many.isGone(outcome.success.answer ?? {}) ? 'gone' : 'there';
  const { code, serviceSays } = outcome.failure;
  return many.gone.includes(serviceSays?.code ?? code) ? 'gone' : 'unknown';
}

const endings = ['done', 'gone', 'unverified', 'failed'] as const;

/** Each part has its own. */
const noExchange = { status: 200, requestIds: {}, attempts: [] };

function conclude(
  change: Change,
  call: ResolvedChange & FailedCall,
  ends: readonly PartEnd[],
  { log, now }: ChangeRun,
): Conclusion {
  const ended = ends.map((end, index) => ({
    ...change.list?.[index],
    ending: end.kind,
    ...(end.kind === 'failed' && { code: end.code }),
  }));
  // The answer may have to leave out the last ones.
  const sorted = endings.toReversed().flatMap((kind) => ended.filter(({ ending }) => ending === kind));
  // Leaves room for the counts (characters).
  const listed = firstThatFit(sorted, longestKept - 500);

  const failed = ends.filter((end) => end.kind === 'failed');
  const nameField = call.change.identifies?.at(-1)?.split('.').at(-1) ?? '';
  const failures = failed.flatMap(({ failure }) => failure ?? []);
  const isUnknown = failures.some(({ mayHaveHappened }) => mayHaveHappened === true);
  const failedEntries: FailedEntries = {
    count: failed.length,
    requestedCount: ends.length,
    names: sorted.slice(0, Math.min(3, failed.length)).map((entry) => textAt(entry, nameField) ?? ''),
    codes: [...new Set(failed.map(({ code }) => code))].slice(0, 8),
    message: undefined,
    areRefused: !isUnknown,
    hasOthers: true,
    areFoundByPlan: true,
  };
  if (failures.length > 0 && failures.length === ends.length) {
    const status = failures.find((failure) => failure.status !== undefined)?.status;
    const failure = { ...allFailed(call, failedEntries, noExchange), status };
    const unknown = failures.find(({ mayHaveHappened }) => mayHaveHappened === true);
    return concludeFailed({ ...failure, next: unknown?.next ?? failure.next });
  }

  const record = {
    ...Object.fromEntries(endings.map((kind) => [kind, ended.filter(({ ending }) => ending === kind).length])),
    [call.operation.many?.list ?? 'list']: listed,
    ...(listed.length < sorted.length && { notListed: sorted.length - listed.length }),
  };
  const result = {
    kind: 'accepted',
    answer: {
      kind: 'usable',
      exchange: noExchange,
      answeredAt: undefined,
      record,
      warnings: [],
      missingFields: [],
    },
    failed: failed.length > 0 ? failedEntries : undefined,
  } as const;
  const sentAt = new Date(change.begunAt ?? now().getTime()).toISOString();
  const { ending, ...conclusion } = concludeChange(result, { call, change, sentAt }, log);
  const { status: _, ...endingOfWhole } = ending;
  return { ...conclusion, ending: endingOfWhole };
}

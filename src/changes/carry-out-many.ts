import { setTimeout as delay } from 'node:timers/promises';
import { longestKept } from '../calls/answer-budget.js';
import { faultFacts, serverFault } from '../calls/failure.js';
import type { EndedOutcome, Failure } from '../calls/outcome.js';
import { visibleCaller } from '../calls/policy.js';
import { Refusal } from '../calls/refusal.js';
import { clientOptions, secretsIn } from '../calls/resolve-call.js';
import type { ResolvedChange } from '../calls/resolved-call.js';
import { firstThatFit } from '../tools/upload/read-list.js';
import { shownReason } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { say } from '../util/safe-text.js';
import {
  beginRefusal,
  carryOutOne,
  interrupted,
  isTooLate,
  notSent,
  requestDigest,
  requestKey,
  resolveAgain,
  sendBegun,
  writeEnding,
} from './carry-out.js';
import { type Change, type NewChange, noOptions } from './change.js';
import type { ChangeRun } from './change-context.js';
import { stateOf } from './change-state.js';
import { partId } from './change-table.js';
import { type ChangeResult, type Conclusion, concludeChange, concludeFailed, withChangeId } from './conclude-change.js';
import { stepIfUnknown } from './follow-change.js';
import { subjectOf } from './other-changes.js';
import { journalFacts } from './plan-change.js';

/** This file carries out a change of several things. Each thing is a change of its own, with a row, a place in the budget and an ending. */

/** Parts that are sent at the same time. */
const mostAtATime = 8;

/** How long a call waits for the end (milliseconds). Then `get_change` tells it. */
const waitMs = 25_000;

/** Carries out an approved change. Never rejects. */
export async function carryOut(change: Change, run: ChangeRun): Promise<EndedOutcome> {
  if (change.list === undefined) return carryOutOne(change, run);
  const { id, tool } = change;
  const call = await resolveAgain(change, run);
  if (call.kind === 'refused')
    return withChangeId(await writeEnding(change, concludeFailed(notSent(tool, call)), run), id);
  const ifUnknown = stepIfUnknown(call, run.now().toISOString());
  // The parts count in the budget, and not the whole.
  const begun = await run.store.begin(id, { ifUnknown: interrupted(change, ifUnknown) });
  if (begun.kind !== 'begun') {
    const refusal = beginRefusal(begun, call, visibleCaller(run.principal));
    return withChangeId(concludeFailed(notSent(tool, refusal)).outcome, id);
  }
  const ended = carryOutParts(begun.change, call, run, { mayBeSent: false });
  if (run.wantsWholeAnswer === true) return ended;
  const stillRuns = delay(waitMs, undefined, { ref: false }).then(() => stateOf(begun.change, run));
  return Promise.race([ended, stillRuns]);
}

/** Goes on with a begun change that this process has taken over. Never rejects. */
export async function carryOn(change: Change, run: ChangeRun): Promise<EndedOutcome> {
  const call = await resolveAgain(change, run);
  if (call.kind !== 'refused') return carryOutParts(change, call, run, { mayBeSent: true });
  const failure = { ...notSent(change.tool, call), mayHaveHappened: true };
  return withChangeId(await writeEnding(change, concludeFailed(failure), run), change.id);
}

/** Never rejects. A client that goes away ends nothing, because the decision was about the whole. */
const carryOutParts = (
  change: Change,
  call: ResolvedChange,
  run: ChangeRun,
  before: { readonly mayBeSent: boolean },
): Promise<EndedOutcome> => {
  const work = run.inFlight.track(new AbortController().signal, (signal) =>
    endParts(change, call, { ...run, signal }, before),
  );
  return work.catch((error: unknown) => {
    run.log('error', 'unexpected', faultFacts(call.operation, error));
    return withChangeId({ kind: 'failed', failure: serverFault(call, error) }, change.id);
  });
};

async function endParts(
  change: Change,
  call: ResolvedChange,
  run: ChangeRun,
  { mayBeSent: mayHaveHappened }: { readonly mayBeSent: boolean },
): Promise<EndedOutcome> {
  const { store, log } = run;
  const { parts: calls = [] } = call;
  const runOfPart = { ...run, pendingNotes: async () => [] };
  let parts: readonly Change[];
  try {
    if (change.decision === undefined) throw new Error('a begun change has a decision');
    parts = await store.addParts(rowsOfParts(change, calls, run), change.decision);
  } catch (error) {
    const refusal = new Refusal('JournalUnavailable', [say`${shownReason(error)}`]);
    const failure = { ...notSent(change.tool, refusal), mayHaveHappened };
    return withChangeId(await writeEnding(change, concludeFailed(failure), run), change.id);
  }
  const ends: PartEnd[] = [];
  const waiting = [...parts.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, part] = next;
      ends[index] = await endOfPart(part, call, runOfPart).catch((error: unknown): PartEnd => {
        log('error', 'unexpected', faultFacts(call.operation, error));
        return { kind: 'failed', code: 'OutcomeUnknown' };
      });
    }
  };
  await Promise.all(Array.from({ length: mostAtATime }, work));
  return withChangeId(await writeEnding(change, conclude(change, call, ends, run), run), change.id);
}

function rowsOfParts(change: Change, calls: readonly ResolvedChange[], run: ChangeRun): readonly NewChange[] {
  const { caller, personId, scopes, agent, client, account, mode, accept, plan } = change;
  const { where, headers, consequences, risks, sandbox } = plan;
  return calls.map((call, index) => {
    const { operation, endpoint, input, shownRequest } = call;
    const id = partId(change.id, index + 1);
    const shown = { method: shownRequest.method, url: endpoint.origin + shownRequest.target };
    const planOfPart = {
      ...{ ...shown, where, headers, consequences, risks, defaults: [], warnings: [], notChecked: [] },
      summary: say`${call.change.headline(input, endpoint.region)}.`,
      ...(sandbox !== undefined && { sandbox }),
    };
    return {
      ...{ id, caller, personId, scopes, agent, client, account, mode, accept, plan: planOfPart },
      ...journalFacts(call, planOfPart, { namesPrivate: change.isPrivate === true }),
      keyId: call.keyId,
      tool: operation.name,
      args: call.args,
      requestKey: requestKey(call),
      requestDigest: requestDigest(call, secretsIn(call), run.keys()[0]),
      repeats: true,
      tokenSource: id,
      budget: call.budget.key,
      subject: subjectOf(operation, endpoint.account, input),
      options: noOptions,
    };
  });
}

/** The ending of a part. `unverified`: accepted, but the thing was not seen to be gone, because the read failed. */
type PartEnd =
  | { readonly kind: 'done' | 'gone' | 'unverified' }
  | { readonly kind: 'failed'; readonly code: string; readonly failure?: Failure | undefined };

async function endOfPart(part: Change, whole: ResolvedChange, run: ChangeRun): Promise<PartEnd> {
  const { store, signal } = run;
  if (part.state === 'begun') return endOfInterrupted(part, whole, run);
  if (part.state === 'approved' && signal.aborted) {
    await store.end(part.id, 'not sent', { code: 'Stopping' });
    return { kind: 'failed', code: 'Stopping' };
  }
  // An ended part has its outcome from an earlier process.
  const outcome = part.state === 'approved' ? await carryOutOne(part, run) : stateOf(part, run);
  return endAfter(outcome, part, whole, run);
}

/** Ends a part that another process has begun, and has sent or not. Only a thing that is seen to be there is sent again, soon after the decision. */
async function endOfInterrupted(part: Change, whole: ResolvedChange, run: ChangeRun): Promise<PartEnd> {
  const { store, now } = run;
  const found = await lookFor(part, whole, run);
  if (found === 'gone') {
    await store.end(part.id, 'accepted', { code: 'GoneAfterRestart' });
    return { kind: 'done' };
  }
  if (found === 'there' && !isTooLate(part, now())) return endAfter(await sendAgain(part, run), part, whole, run);
  await store.end(part.id, 'unknown', part.ending ?? {});
  return endAfter(stateOf({ ...part, state: 'unknown' }, run), part, whole, run);
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

/** Sends a part again that another process has begun. Such a change may be repeated. */
async function sendAgain(part: Change, run: ChangeRun): Promise<EndedOutcome> {
  const call = await resolveAgain(part, run);
  if (call.kind === 'refused')
    return writeEnding(part, concludeFailed({ ...notSent(part.tool, call), mayHaveHappened: true }), run);
  using client = run.openClient(call.endpoint, clientOptions(call, run, run.signal));
  const ifUnknown = stepIfUnknown(call, run.now().toISOString());
  return await sendBegun(part, { ...call, ifUnknown }, client, run, { isAgain: true });
}

/** Reads the thing of a part. */
async function lookFor(part: Change, { operation: { many } }: ResolvedChange, run: ChangeRun) {
  if (many === undefined) return 'unknown';
  const { signal, client, principal } = run;
  const outcome = await run.callRead(many.verify, part.args, { signal, client, principal });
  if (outcome.kind === 'succeeded') return many.isGone(outcome.success.answer ?? {}) ? 'gone' : 'there';
  const { code, serviceSays } = outcome.failure;
  return many.gone.includes(serviceSays?.code ?? code) ? 'gone' : 'unknown';
}

const endings = ['done', 'gone', 'unverified', 'failed'] as const;

/** Makes the ending of the whole from those of its parts. */
function conclude(change: Change, call: ResolvedChange, ends: readonly PartEnd[], { log, now }: ChangeRun): Conclusion {
  const { operation, change: texts } = call;
  const failed = ends.filter((end) => end.kind === 'failed');
  const [first] = failed;
  const isUnknown = failed.some(({ failure }) => failure?.mayHaveHappened === true);
  if (first?.failure !== undefined && failed.length === ends.length)
    return concludeFailed({ ...first.failure, mayHaveHappened: isUnknown });

  const ended = ends.map((end, index) => ({
    ...{ ...change.list?.[index], ending: end.kind },
    ...(end.kind === 'failed' && { code: end.code }),
  }));
  // The answer may have to leave out the last ones.
  const sorted = endings.toReversed().flatMap((kind) => ended.filter(({ ending }) => ending === kind));
  const listed = firstThatFit(sorted, longestKept - roomForCounts);
  const record = {
    ...Object.fromEntries(endings.map((kind) => [kind, ended.filter(({ ending }) => ending === kind).length])),
    [operation.many?.list ?? 'list']: listed,
    ...(listed.length < sorted.length && { notListed: sorted.length - listed.length }),
  };
  const nameField = texts.identifies?.at(-1)?.split('.').at(-1) ?? '';
  const result: ChangeResult = {
    kind: 'accepted',
    answer: {
      kind: 'usable',
      exchange: { status: 200, requestIds: {}, attempts: [] },
      ...{ answeredAt: undefined, record, warnings: [], missingFields: [] },
    },
    ...(failed.length > 0 && {
      failed: {
        ...{ count: failed.length, requestedCount: ends.length },
        names: sorted.slice(0, Math.min(3, failed.length)).map((entry) => textAt(entry, nameField) ?? ''),
        codes: [...new Set(failed.map(({ code }) => code))].slice(0, 8),
        ...{ message: undefined, areRefused: false, hasOthers: true, areFoundByPlan: true },
      },
    }),
    unmentioned: 0,
  };
  const sentAt = new Date(change.begunAt ?? now().getTime()).toISOString();
  const { ending, ...conclusion } = concludeChange(result, { call, change, sentAt }, log);
  // Each part has its status.
  const { status: _, ...endingOfWhole } = ending;
  return { ...conclusion, ending: endingOfWhole };
}

/** Characters of an answer besides its list. */
const roomForCounts = 500;

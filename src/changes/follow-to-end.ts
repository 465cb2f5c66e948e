import type { EndedOutcome, Success } from '../calls/outcome.js';
import { Refusal } from '../calls/refusal.js';
import { findOperation } from '../models/service-catalog.js';
import type { Follow, Operation } from '../tools/define-operation.js';
import { forAgent, type Next, next } from '../tools/next.js';
import { textsAt } from '../util/objects.js';
import { join, own, quoted, type SafeText, say, time, words } from '../util/safe-text.js';
import { timeLimit } from '../util/time-limit.js';
import type { Change } from './change.js';
import type { ChangeRun } from './change-run.js';
import type { Followed, FollowState, Seen } from './change-table.js';
import { followArguments } from './conclude-change.js';
import { resolveStored } from './stored-call.js';

/**
 * This file follows an accepted change in the cloud, for its task: each look at the task makes the next read if the read is due. So each read
 * has the rights of the caller that looks.
 */

/** In characters. */
const longestValue = 200;

interface FollowedChange {
  readonly change: Change;
  readonly operation: Operation;
  readonly follow: Follow;
}

/**
 * Reads the progress of an accepted change if the read is due.
 * @returns the outcome with its progress, undefined if there is nothing to follow
 * @throws if the store cannot be read or written
 */
export async function followToEnd(
  change: Change,
  outcome: EndedOutcome,
  run: ChangeRun,
): Promise<{ readonly isGoing: boolean; readonly outcome: EndedOutcome } | undefined> {
  if (change.state !== 'accepted' || outcome.kind !== 'succeeded') return undefined;
  const operation = await findOperation(change.tool, run);
  const { follow } = operation ?? {};
  if (operation === undefined || follow === undefined || (follow.done === undefined && follow.gone !== true))
    return undefined;

  const { success, view } = outcome;
  const known = await run.store.followed(change.id);
  const followed = known.isDue ? await takeRead(known, { change, operation, follow }, success.answer, run) : known;
  const ended = followed.state === 'done' && view?.kind === 'ended' && { view: { ...view, continues: false } };
  return {
    isGoing: followed.state === 'going',
    outcome: { ...outcome, success: withProgress(success, followed), ...ended },
  };
}

/** Begins the follow, or makes its next read. Another process may be faster. */
async function takeRead(
  known: Followed,
  followed: FollowedChange,
  answer: Success['answer'],
  run: ChangeRun,
): Promise<Followed> {
  const { change, operation, follow } = followed;
  const { id, isPrivate } = change;
  const read = await resolveRead(followed, answer, run);
  const keep = (next: Followed, pauseMs: number) => run.store.keepFollow(id, next, { pauseMs, isPrivate });
  if (known.stored === undefined) {
    const state = read === undefined ? 'blind' : 'going';
    await keep({ ...known, state }, pauseOf(follow, 0));
    return { ...known, state };
  }
  const reads = known.reads + 1;
  // A read takes less time (milliseconds).
  const stored = await keep({ ...known, reads }, 30_000);
  if (stored === undefined) return known;

  const { seen, end } = await judgeRead(read ?? new Refusal('NotAllowed'), follow, run);
  // For a minute after an alteration, its thing may still be in the state of before.
  const hasMoved = known.seen?.value !== undefined && known.seen.value !== seen.value;
  const isEarly = operation.effect === 'alter' && known.ageMs < 60_000 && !hasMoved;
  const { limitSeconds = 60 * 60 } = follow;
  const open = known.ageMs > limitSeconds * 1000 ? 'late' : 'going';
  const next: Followed = { ...known, reads, seen, stored, state: end === undefined || isEarly ? open : end };
  await keep(next, pauseOf(follow, reads));
  return next;
}

/** Grows up to a minute (milliseconds). */
const pauseOf = ({ pauseSeconds = 5 }: Follow, reads: number): number =>
  1000 * Math.max(pauseSeconds, Math.min(60, pauseSeconds * 2 ** reads));

interface ProgressRead {
  readonly kind: 'read';
  readonly operation: Operation;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Undefined if the caller may not use the read, or if its arguments are not known. */
async function resolveRead(
  { change, operation }: FollowedChange,
  answer: Success['answer'],
  run: ChangeRun,
): Promise<ProgressRead | Refusal | undefined> {
  const call = await resolveStored(operation, change, run).catch((error: unknown) =>
    error instanceof Refusal ? error : new Refusal('InternalError'),
  );
  if (call.kind !== 'change') return call.kind === 'refused' ? call : undefined;
  const { accountName: account, input, followTool } = call;
  const read = followTool === undefined ? undefined : await findOperation(followTool, run);
  const found = followArguments({ operation, shownInput: input }, answer);
  if (read === undefined || found === undefined) return undefined;
  // The read has to look where the change was made.
  const { region } = input;
  const hasRegion = region !== undefined && Object.hasOwn(read.input().shape, 'region');
  const place = { ...(account !== undefined && { account }), ...(hasRegion && { region }) };
  return { kind: 'read', operation: read, args: { ...place, ...found } };
}

interface Judged {
  readonly seen: Seen;
  readonly end?: 'done' | 'failed';
}

async function judgeRead(read: ProgressRead | Refusal, follow: Follow, run: ChangeRun): Promise<Judged> {
  const see = (text: SafeText, value?: string): Judged => ({
    seen: { text: say`At ${time(run.now().toISOString())}, ${text}.`, value },
  });
  const unread = (code: string) => see(say`its progress could not be read: ${quoted(code, longestValue)}`);
  if (read.kind === 'refused') return unread(read.code);

  using limit = timeLimit(10_000, run.signal);
  const outcome = await run.callRead(read.operation, read.args, { ...run, signal: limit.signal });
  if (outcome.kind === 'succeeded') return judgeAnswer(outcome.success.answer ?? {}, follow, see);
  const { code, serviceSays } = outcome.failure;
  // Another program between may answer 404, too, but without a code of the service.
  const isGone = follow.gone === true && /(?<!URL)NotFound|NoSuch|NotExist/.test(serviceSays?.code ?? '');
  if (!isGone) return unread((serviceSays?.code ?? code).slice(0, longestValue));
  return { ...see(words('the thing was not found any more')), end: 'done' };
}

function judgeAnswer(
  answer: object,
  { done = {}, failed = {} }: Follow,
  see: (text: SafeText, value?: string) => Judged,
): Judged {
  const field = (path: string, text: string): Judged => {
    const value = text.slice(0, longestValue);
    return see(say`${own(path)} was ${quoted(value, longestValue)}`, value);
  };
  for (const [path, values] of Object.entries(failed)) {
    const broken = textsAt(answer, path).find((text) => values.includes(text));
    if (broken !== undefined) return { ...field(path, broken), end: 'failed' };
  }
  let judged: Judged | undefined;
  for (const [path, end] of Object.entries(done)) {
    const texts = textsAt(answer, path);
    const other = texts.find((text) => text !== end);
    if (other !== undefined) return field(path, other);
    if (texts.length === 0) return see(words('the thing was there'));
    judged = { ...field(path, end), end: 'done' };
  }
  return judged ?? see(words('the thing was there'));
}

const texts: Readonly<Record<FollowState, SafeText>> = {
  going: words('It goes on in the cloud.'),
  done: words('The change is finished.'),
  failed: words('The change has failed in the cloud.'),
  late: words('It was accepted, and not finished within the time limit.'),
  blind: words('It is accepted, and may not be finished; nobody can see its progress here.'),
};
const steps: Readonly<Partial<Record<FollowState, Next>>> = {
  done: next('nobody', 'none', forAgent('Tell the user the outcome.')),
  failed: next('user', 'check', 'Do not repeat it. Have the user look in the console for the reason.'),
};

/** The summary of before says that the change is not finished. */
function withProgress(success: Success, { state, seen }: Followed): Success {
  const progress = seen === undefined ? texts[state] : join([texts[state], seen.text], ' ');
  const step = steps[state];
  if (step === undefined) return { ...success, summary: say`${success.summary} ${progress}` };
  return { ...success, summary: say`${progress} Before that: ${success.summary}`, next: step };
}

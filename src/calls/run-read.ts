import type { EndedOutcome, Failure, RequestIds, Success } from '../consent/outcome.js';
import type { Operation, PageStart } from '../tools/define-operation.js';
import { regionWarnings } from '../tools/schema/zones.js';
import type { WireRequest } from '../transport/request.js';
import type { Attempt, FinalReply, SignedClient } from '../transport/signed-client.js';
import { digestOf } from '../util/digest.js';
import { textAt } from '../util/objects.js';
import { counted, distinct, type SafeText, say, words } from '../util/safe-text.js';
import { timeLimit } from '../util/time-limit.js';
import type { CallContext, CallDependencies, PageListeners } from './context.js';
import { wireRequest } from './endpoint.js';
import { type FailedCall, inconsistentPages, tooManyReads, unreadableAnswer } from './failure.js';
import { isAllowed } from './policy.js';
import type { ReadBound, ReadRoom, ReadShare } from './read-memory-limit.js';
import { missingWarning, truncateRecord } from './read-record.js';
import { type Answer, readAnswer } from './read-reply.js';
import { clientOptions } from './resolve-call.js';
import type { ResolvedRead } from './stages.js';

/** The longest time that a read waits for its companion read (milliseconds). */
const companionMs = 3000;

/** Runs a read: fetches the pages of its answer, up to the limits, and reduces them to one record. */
export async function runRead(
  call: ResolvedRead,
  room: ReadRoom,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const { operation, input } = call;
  const { hasView, signal } = context;
  const pages = operation.pages ?? onePage;
  using share = room.share(signal);
  using client = openReadClient(call, share, signal, context, dependencies);
  const [reduced, companion] = await Promise.all([
    reduce(call, pages, { client, share, listeners: context }),
    readCompanion(call, room, context, dependencies),
  ]);
  if (reduced.kind === 'failed') return reduced;
  const { state, warnings, missingFields, requestIds, retried, rest } = reduced;
  if (missingFields.length > 0) dependencies.log('debug', 'answer', { tool: operation.name, lacks: missingFields });
  const record = pages.result(state, input, companion, rest);
  const shown = truncateRecord(record, operation.exact);
  const next = operation.next?.(record, input);
  const success: Success = {
    summary: operation.summarize(record, input),
    ...(next !== undefined && { next }),
    warnings: [...warnings, ...missingWarning(missingFields, operation.tellIfMissing), ...shown.warnings],
    requestIds,
    ...(retried.length > 0 && { attempts: retried }),
    answer: shown.record,
  };
  const parts = hasView === true && rest === undefined ? pages.parts?.(state, input) : undefined;
  return { kind: 'succeeded', success, ...(parts !== undefined && { view: { kind: 'parts', parts } }) };
}

const openReadClient = (
  call: ResolvedRead,
  { admit }: ReadShare,
  signal: AbortSignal,
  context: CallContext,
  { openClient }: CallDependencies,
) => openClient(call.endpoint, { ...clientOptions(call, context, signal), admit });

/** Runs the companion read. Returns undefined if there is none, if it is not allowed, or if it fails: the answer does without it. */
async function readCompanion(
  call: ResolvedRead,
  room: ReadRoom,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { companionRead } = call.operation;
  if (companionRead === undefined) return undefined;
  const { operation, maximumPages } = companionRead;
  if (!isAllowed(call.account.policy, operation, context.principal)) return undefined;
  const input = companionRead.input(call.input);
  if (input === undefined) return undefined;
  const pages = operation.pages ?? onePage;
  const request = wireRequest(operation, operation.request(input), call.endpoint);
  const companion: ResolvedRead = { ...call, operation, input, request };
  using limit = timeLimit(companionMs, context.signal);
  const { signal } = limit;
  using share = room.share(signal);
  using client = openReadClient(companion, share, signal, context, dependencies);
  try {
    const reduced = await reduce(companion, pages, { client, share, listeners: {}, maximumPages });
    return reduced.kind === 'reduced' ? pages.result(reduced.state, input) : undefined;
  } catch {
    return undefined;
  }
}

type AnyPages = NonNullable<Operation['pages']>;

/** The pages of an answer that has but one. */
const onePage: Omit<AnyPages, 'page'> = {
  start: () => ({}),
  add: (_state, { record }) => ({ kind: 'end', state: record }),
  result: (state) => ({ ...Object(state) }),
  count: () => 1,
};

/** The pages that were read, reduced, and what came with them. */
interface Reduced extends Pick<Success, 'warnings' | 'requestIds'> {
  readonly kind: 'reduced';
  readonly state: unknown;
  /** Fields that the pages do not have, by path. */
  readonly missingFields: readonly string[];
  /** Of the pages that took more than one. */
  readonly retried: readonly Attempt[];
  /** Where the first page begins that was not read because it would have been too much. */
  readonly rest?: PageStart;
}

/** What pages are read with, and how many at most. */
interface Reading {
  readonly listeners: PageListeners;
  readonly client: SignedClient;
  readonly share: ReadShare;
  readonly maximumPages?: number;
}

type Ended = Reduced | { readonly kind: 'failed'; readonly failure: Failure };

/** Where reading is: what came of the pages so far, and where the next one begins. */
interface Place {
  readonly kind: 'next';
  readonly number: number;
  readonly state: unknown;
  /** Undefined for the first page. */
  readonly after?: PageStart;
}

/** Reads one page after the other, until the last, a bound, or a failure. */
async function reduce(call: ResolvedRead, pages: Omit<AnyPages, 'page'>, reading: Reading): Promise<Ended> {
  const { operation, input } = call;
  const seen = createSeen(regionWarnings(operation.regions, textAt(input, 'region')));
  const places = new Set<string>();
  let at: Place | Ended = { kind: 'next', number: 1, state: pages.start(input) };
  while (at.kind === 'next') at = await takeIn(call, pages, reading, { seen, places }, at);
  return at;
}

/** Reads the page at a place, and takes it in. */
async function takeIn(
  { operation, input, request, endpoint, accountName }: ResolvedRead,
  pages: Omit<AnyPages, 'page'>,
  { client, share, listeners, maximumPages }: Reading,
  { seen, places }: { readonly seen: Seen; readonly places: Set<string> },
  { number, state, after }: Place,
): Promise<Place | Ended> {
  const call = { operation, accountName };
  const asked = after === undefined ? request : wireRequest(operation, operation.request(input, after), endpoint);
  const reply = await send(asked, client, share);
  if (typeof reply === 'string')
    return after === undefined ? seen.failed(tooManyReads(call)) : seen.reduced(state, { after, bound: reply });
  const page = readPage(call, input, reply, endpoint.origin);
  if (page.kind === 'failed') return seen.failed(page.failure);
  const { record, answeredAt, requestIds } = page;
  const { attempts } = reply;
  seen.add(page, attempts, pages.count(record));
  listeners.onPage?.(number, seen.entries());

  const step = pages.add(state, { record, number, ...(answeredAt !== undefined && { answeredAt }) }, input);
  if (step.kind === 'end' || (step.kind === 'next' && number === maximumPages)) return seen.reduced(step.state);
  const next = checkPlace(step, number, places);
  if (next.kind === 'inconsistent') return seen.failed(inconsistentPages(call, next.problem, { requestIds, attempts }));
  if (number >= share.limits.pages || seen.entries() >= share.limits.entries)
    return seen.reduced(next.state, { after: next.after, bound: 'call' });
  listeners.onFollowedPage?.(number, seen.entries());
  return { ...next, number: number + 1 };
}

/** The reply, or the bound that leaves no room for it. */
async function send(request: WireRequest, client: SignedClient, share: ReadShare): Promise<FinalReply | ReadBound> {
  if (!(await share.enter())) return 'others';
  const reply = await client.send(request).finally(share.leave);
  return share.exceeded ?? reply;
}

type Seen = ReturnType<typeof createSeen>;

/** What there is to tell of the pages that were read, beside their record. */
function createSeen(regions: readonly SafeText[]) {
  const warnings = [...regions];
  const missingFields = new Set<string>();
  const retried: Attempt[] = [];
  let requestIds: RequestIds = {};
  let entries = 0;
  let count = 0;
  return {
    entries: () => entries,
    add(page: Extract<Answer, { kind: 'read' }>, attempts: readonly Attempt[], more: number): void {
      if (attempts.length > 1) retried.push(...attempts);
      warnings.push(...page.warnings);
      for (const path of page.missingFields) missingFields.add(path);
      ({ requestIds } = page);
      entries += more;
      count += 1;
    },
    /** @param cut where and why the reading ended before the last page */
    reduced(state: unknown, cut?: { readonly after: PageStart; readonly bound: ReadBound }): Reduced {
      const told = cut === undefined ? [] : [cutWarning(cut.bound, count, entries)];
      return {
        kind: 'reduced',
        state,
        warnings: [...told, ...distinct(warnings)],
        missingFields: [...missingFields],
        requestIds,
        retried,
        ...(cut !== undefined && { rest: cut.after }),
      };
    },
    /** There may be a warning of just what made it fail. */
    failed: (failure: Failure) => ({
      kind: 'failed' as const,
      failure: warnings.length === 0 ? failure : { ...failure, warnings: distinct(warnings) },
    }),
  };
}

/** The warning about an answer that is made of a part of the pages. */
function cutWarning(bound: ReadBound, pages: number, entries: number): SafeText {
  const reason = bound === 'call' ? 'as much as one call reads' : 'because this server reads much for other calls too';
  const read = say`${counted(pages, 'page')} with ${entries} ${words(entries === 1 ? 'entry' : 'entries')}`;
  return say`Only the first ${read} were read, ${words(reason)}. Counts, sums, and the first, oldest or largest are of these alone.`;
}

/** The step to another page, unless it leads nowhere new. Adds the place of that page to those that are known. */
function checkPlace<Step extends Exclude<ReturnType<AnyPages['add']>, { kind: 'end' }>>(
  step: Step,
  number: number,
  places: Set<string>,
): Step | { readonly kind: 'inconsistent'; readonly problem: SafeText } {
  if (step.kind === 'inconsistent') return step;
  const place = digestOf([step.after]);
  if (places.has(place))
    return { kind: 'inconsistent', problem: say`page ${number} leads back to where an earlier one began` };
  places.add(place);
  return step;
}

/** One page, or the reason why there is none. */
function readPage(
  call: FailedCall,
  input: ResolvedRead['input'],
  reply: FinalReply,
  origin: string,
): Exclude<Answer, { kind: 'unread' }> {
  const answer = readAnswer(call, input, reply, origin);
  if (answer.kind !== 'unread') return answer;
  const { status, requestIds, problem } = answer;
  const { attempts } = reply;
  return { kind: 'failed', failure: unreadableAnswer(call, problem, { status, requestIds, attempts }) };
}

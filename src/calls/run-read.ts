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
import { inconsistentPages, tooManyReads, unreadableAnswer } from './failure.js';
import type { LastingRecord, LastingRecords } from './lasting-records.js';
import { isAllowed } from './policy.js';
import type { ReachedLimit, ReadMemoryLimit, ReadShare } from './read-memory-limit.js';
import { missingWarning, truncateRecord } from './read-record.js';
import { type Answer, readAnswer } from './read-reply.js';
import { clientOptions } from './resolve-call.js';
import type { ResolvedRead } from './stages.js';

/** The longest time that a read waits for its companion read (milliseconds). */
const companionMs = 3000;

/** Runs a read: fetches the pages of its answer, up to the limits, and reduces them to one record. */
export async function runRead(
  call: ResolvedRead,
  shared: SharedByReads,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const { operation, input } = call;
  const { hasView, signal } = context;
  const pages = operation.pages ?? onePage;
  using share = shared.memory.share(signal);
  using client = openReadClient(call, share, signal, context, dependencies);
  const kept = keptCompanion(call, shared, context);
  const [reduced, fresh] = await Promise.all([
    readPages(call, pages, { client, share, listeners: context }),
    kept === undefined ? readCompanion(call, shared, context, dependencies) : undefined,
  ]);
  if (reduced.kind === 'failed') return reduced;
  const companion = fresh ?? (await recentCompanion(kept, reduced.state, call, shared, context, dependencies));
  keepCompanion(call, shared, companion, reduced.state);
  const { state, warnings, missingFields, requestIds, retried, rest } = reduced;
  if (missingFields.length > 0) dependencies.log('debug', 'answer', { tool: operation.name, lacks: missingFields });
  const record = pages.result(state, input, companion, rest);
  const shown = truncateRecord(record, operation.exact);
  const next = operation.next?.(record, input, call.isOffered);
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
  byteLimit: ReadShare,
  signal: AbortSignal,
  context: CallContext,
  { openClient }: CallDependencies,
) => openClient(call.endpoint, { ...clientOptions(call, context, signal), byteLimit });

/** What all reads of a process share. */
interface SharedByReads {
  readonly memory: ReadMemoryLimit;
  readonly lastingRecords: LastingRecords;
}

const lastingKey = (
  { accountName, endpoint, input }: ResolvedRead,
  names: (input: ResolvedRead['input']) => readonly string[],
) => JSON.stringify([accountName, endpoint.origin, ...names(input)]);

/** The lasting part of an earlier companion read. Undefined if there is none, or if the read is not allowed or not needed. */
function keptCompanion(
  call: ResolvedRead,
  { lastingRecords }: SharedByReads,
  { principal }: CallContext,
): LastingRecord | undefined {
  const { companionRead } = call.operation;
  if (companionRead?.lasting === undefined || companionRead.input(call.input) === undefined) return undefined;
  if (!isAllowed(call.account.policy, companionRead.operation, principal)) return undefined;
  return lastingRecords.get(lastingKey(call, companionRead.lasting.names));
}

/** The kept part of a companion read, or the record of another read if the part belongs to something else. */
async function recentCompanion(
  kept: LastingRecord | undefined,
  state: unknown,
  call: ResolvedRead,
  shared: SharedByReads,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (kept === undefined) return undefined;
  if (kept.witness === call.operation.companionRead?.lasting?.witness(state)) return kept.part;
  return readCompanion(call, shared, context, dependencies);
}

function keepCompanion(
  call: ResolvedRead,
  { lastingRecords }: SharedByReads,
  record: Readonly<Record<string, unknown>> | undefined,
  state: unknown,
): void {
  const lasting = call.operation.companionRead?.lasting;
  if (lasting === undefined || record === undefined) return;
  const part = lasting.part(record, call.input);
  if (part === undefined) return;
  lastingRecords.keep(lastingKey(call, lasting.names), { part, witness: lasting.witness(state) });
}

/** Runs the companion read. Returns undefined if there is none, if it is not allowed, or if it fails. */
async function readCompanion(
  call: ResolvedRead,
  { memory }: SharedByReads,
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
  const request = wireRequest(operation, await operation.request(input), call.endpoint);
  const companion: ResolvedRead = { ...call, operation, input, request };
  using limit = timeLimit(companionMs, context.signal);
  const { signal } = limit;
  using share = memory.share(signal);
  using client = openReadClient(companion, share, signal, context, dependencies);
  try {
    const reduced = await readPages(companion, pages, { client, share, listeners: {}, maximumPages });
    return reduced.kind === 'reduced' ? pages.result(reduced.state, input) : undefined;
  } catch {
    return undefined;
  }
}

type PageReducer = Omit<NonNullable<Operation['pages']>, 'page'>;

/** For an answer that is a single page. */
const onePage: PageReducer = {
  start: () => ({}),
  add: (_state, { record }) => ({ kind: 'end', state: record }),
  result: (state) => ({ ...Object(state) }),
  count: () => 1,
};

/** All pages that were read, reduced to one state. */
interface Reduced extends Pick<Success, 'warnings' | 'requestIds'> {
  readonly kind: 'reduced';
  readonly state: unknown;
  /** Paths of expected fields that the pages lack. */
  readonly missingFields: readonly string[];
  /** The attempts of requests that were retried. */
  readonly retried: readonly Attempt[];
  /** Start of the first page that was not read, if reading stopped at a limit. */
  readonly rest?: PageStart;
}

/** The tools of reading. */
interface Reading {
  readonly client: SignedClient;
  readonly share: ReadShare;
  readonly listeners: PageListeners;
  readonly maximumPages?: number;
}

type Ended = Reduced | { readonly kind: 'failed'; readonly failure: Failure };

/** The page to read next. */
interface NextPage {
  readonly kind: 'next';
  readonly number: number;
  /** The earlier pages, reduced. */
  readonly state: unknown;
  /** Undefined for the first page. */
  readonly after?: PageStart;
}

/** Reads one page after the other, until the last page, a limit, or a failure. */
async function readPages(call: ResolvedRead, pages: PageReducer, reading: Reading): Promise<Ended> {
  const { operation, input } = call;
  const tally = createTally(regionWarnings(operation.regions, textAt(input, 'region')));
  let step: NextPage | Ended = { kind: 'next', number: 1, state: pages.start(input) };
  while (step.kind === 'next') step = await readNextPage(call, pages, reading, tally, step);
  return step;
}

async function readNextPage(
  call: ResolvedRead,
  pages: PageReducer,
  { client, share, listeners, maximumPages }: Reading,
  tally: Tally,
  { number, state, after }: NextPage,
): Promise<NextPage | Ended> {
  const { operation, input, endpoint } = call;
  const request =
    after === undefined ? call.request : wireRequest(operation, await operation.request(input, after), endpoint);
  const reply = await sendWithinLimits(request, client, share);
  if (typeof reply === 'string')
    return after === undefined ? tally.failed(tooManyReads(call)) : tally.reduced(state, { after, limit: reply });
  const page = await readPage(call, reply);
  if (page.kind === 'failed') return tally.failed(page.failure);
  const { record, answeredAt, requestIds } = page;
  const { attempts } = reply;
  tally.add(page, attempts, pages.count(record));
  listeners.onPage?.(number, tally.entries());

  const step = pages.add(state, { record, number, ...(answeredAt !== undefined && { answeredAt }) }, input);
  if (step.kind === 'end' || (step.kind === 'next' && number === maximumPages)) return tally.reduced(step.state);
  const inconsistent = (problem: SafeText) => tally.failed(inconsistentPages(call, problem, { requestIds, attempts }));
  if (step.kind === 'inconsistent') return inconsistent(step.problem);
  const repetition = tally.visit(step.after, number);
  if (repetition !== undefined) return inconsistent(repetition);
  if (number >= share.limits.pages || tally.entries() >= share.limits.entries)
    return tally.reduced(step.state, { after: step.after, limit: 'call' });
  listeners.onFollowedPage?.(number, tally.entries());
  return { ...step, number: number + 1 };
}

/** Returns the reply, or the limit that was reached. */
async function sendWithinLimits(
  request: WireRequest,
  client: SignedClient,
  share: ReadShare,
): Promise<FinalReply | ReachedLimit> {
  if (!(await share.enter())) return 'others';
  const reply = await client.send(request).finally(share.leave);
  return share.exceeded ?? reply;
}

type Tally = ReturnType<typeof createTally>;

/** Collects the facts about the pages besides their records. */
function createTally(regions: readonly SafeText[]) {
  const warnings = [...regions];
  const missingFields = new Set<string>();
  const retried: Attempt[] = [];
  const starts = new Set<string>();
  let requestIds: RequestIds = {};
  let entries = 0;
  let count = 0;
  return {
    entries: () => entries,
    add(page: Extract<Answer, { kind: 'read' }>, attempts: readonly Attempt[], pageEntries: number): void {
      if (attempts.length > 1) retried.push(...attempts);
      warnings.push(...page.warnings);
      for (const path of page.missingFields) missingFields.add(path);
      requestIds = page.requestIds;
      entries += pageEntries;
      count += 1;
    },
    /** Records the start of the next page. Returns a problem if an earlier page began there. */
    visit(after: PageStart, number: number): SafeText | undefined {
      const start = digestOf([after]);
      if (starts.has(start)) return say`page ${number} leads back to where an earlier one began`;
      starts.add(start);
      return undefined;
    },
    /** @param cut the first page that was not read, and the limit that stopped the reading */
    reduced(state: unknown, cut?: { readonly after: PageStart; readonly limit: ReachedLimit }): Reduced {
      return {
        kind: 'reduced',
        state,
        warnings: [...(cut === undefined ? [] : [cutWarning(cut.limit, count, entries)]), ...distinct(warnings)],
        missingFields: [...missingFields],
        requestIds,
        retried,
        ...(cut !== undefined && { rest: cut.after }),
      };
    },
    /** Keeps the warnings, because a warning may name the cause of the failure. */
    failed: (failure: Failure) => ({
      kind: 'failed' as const,
      failure: warnings.length === 0 ? failure : { ...failure, warnings: distinct(warnings) },
    }),
  };
}

/** The warning that the answer is made of a part of the pages. */
function cutWarning(limit: ReachedLimit, pages: number, entries: number): SafeText {
  const reason = limit === 'call' ? 'as much as one call reads' : 'because this server reads much for other calls too';
  const read = say`${counted(pages, 'page')} with ${entries} ${words(entries === 1 ? 'entry' : 'entries')}`;
  return say`Only the first ${read} were read, ${words(reason)}. Counts, sums, and the first, oldest or largest are of these alone.`;
}

/** Reads the answer with one page. */
async function readPage(call: ResolvedRead, reply: FinalReply): Promise<Exclude<Answer, { kind: 'unread' }>> {
  const answer = await readAnswer(call, reply);
  if (answer.kind !== 'unread') return answer;
  const { status, requestIds, problem } = answer;
  const { attempts } = reply;
  return { kind: 'failed', failure: unreadableAnswer(call, problem, { status, requestIds, attempts }) };
}

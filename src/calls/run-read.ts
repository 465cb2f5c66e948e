import type { ManyReads, Operation, PageStart, PartialReadEnd } from '../tools/define-operation.js';
import type { Attempt, SignedClient } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import { countValues } from '../util/objects.js';
import { counted, listed, longestName, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { timeLimit } from '../util/time-limit.js';
import { fitsBudget, pickFields } from './answer-budget.js';
import type { CallContext, CallDependencies } from './context.js';
import { resolveEndpoint, wireRequest } from './endpoint.js';
import { tooManyReads, unreadableAnswer } from './failure.js';
import type { EndedOutcome, Failure, RequestIds, Success } from './outcome.js';
import { isAllowed } from './policy.js';
import type { ReachedLimit, ReadCount } from './read-limits.js';
import { type Answer, readAnswer } from './read-reply.js';
import { Refusal } from './refusal.js';
import { clientOptions } from './resolve-call.js';
import type { ResolvedRead } from './resolved-call.js';

type Fields = Readonly<Record<string, unknown>>;

export interface ReadRun extends CallContext, CallDependencies {
  readonly startCount: () => ReadCount;
}

/** Runs a read: reads its pages, and reduces them to one record. */
export async function runRead(call: ResolvedRead, run: ReadRun): Promise<EndedOutcome> {
  const { operation, input, fields } = call;
  const reads = operation.manyReads?.(input);
  if (reads !== undefined) return runManyReads(call, reads, run);
  const pages = operation.pages ?? onePage;
  using readCount = run.startCount();
  using client = openReadClient(call, readCount, run);
  const fits = (state: unknown) =>
    fitsBudget(answerOf(pages.result(state, input, { mayHaveMore: false }), fields), fields !== undefined);
  const hasBudget = pages.endsWithBudget === true && run.wantsWholeAnswer !== true;
  const { now, onPage } = run;
  const reduced = await readPages(call, pages, { client, readCount, now, onPage, ...(hasBudget && { fits }) });
  if (reduced.kind === 'failed') return reduced;
  const { state, missingFields } = reduced;
  if (missingFields.length > 0) run.log('debug', 'answer', { tool: operation.name, lacks: missingFields });
  return outcomeOfPages(call, pages, reduced, await readFollowUp(call, state, run), run);
}

function outcomeOfPages(
  call: ResolvedRead,
  pages: PageReducer,
  { state, firstUnread, mayHaveMore, ...reduced }: Reduced,
  followUp: Fields | undefined,
  context: CallContext,
): EndedOutcome {
  const recordOf = (isWhole: boolean) =>
    pages.result(state, call.input, { followUp, unread: firstUnread, mayHaveMore, isWhole });
  const outcome = outcomeOf(call, recordOf, reduced, context);
  // The view draws all parts of an upload, so it gets none if some may be missing.
  const hasAll = context.hasView === true && firstUnread === undefined && !mayHaveMore;
  const parts = hasAll ? pages.parts?.(state, call.input) : undefined;
  return { ...outcome, ...(parts !== undefined && { view: { kind: 'parts', parts } }) };
}

function outcomeOf(
  { operation, input, fields, isOffered }: ResolvedRead,
  recordOf: (isWhole: boolean) => Fields,
  { warnings, requestIds, retriedAttempts }: Pick<Reduced, 'warnings' | 'requestIds' | 'retriedAttempts'>,
  { wantsWholeAnswer = false }: CallContext,
): Extract<EndedOutcome, { kind: 'succeeded' }> {
  // The marker of a shortened record leads on from its last entry, so that no entry is lost between two calls.
  const isWhole = wantsWholeAnswer || (fields !== undefined && fitsBudget(pickFields(recordOf(true), fields), true));
  const record = recordOf(isWhole);
  const answer = answerOf(record, fields);
  const next = operation.next?.(record, input, isOffered);
  const success: Success = {
    summary: operation.summarize(record, input),
    ...(next !== undefined && { next }),
    warnings: [...warnings, ...nothingPickedWarning(record, answer)],
    requestIds,
    ...(retriedAttempts.length > 0 && { attempts: retriedAttempts }),
    // Summary and next step are about the whole record.
    answer,
  };
  return { kind: 'succeeded', success };
}

interface ReadingMany {
  readonly call: ResolvedRead;
  readonly readCount: ReadCount;
  readonly readSoFar: ReadSoFar;
  /** Its signal aborts when the time of the call is over. */
  readonly run: ReadRun;
  reads: number;
  stopReason?: SafeText | undefined;
}

/** Makes the reads that an operation asks for, within the limits of one call. */
async function runManyReads(call: ResolvedRead, reads: ManyReads, run: ReadRun): Promise<EndedOutcome> {
  using readCount = run.startCount();
  const { readsAtATime, milliseconds } = readCount.limits;
  using limit = timeLimit(milliseconds, run.signal);
  const readSoFar = new ReadSoFar();
  const reading: ReadingMany = { call, readCount, readSoFar, run: { ...run, signal: limit.signal }, reads: 0 };
  let step = reads.next([]);
  while (step.done !== true) {
    const ends: PartialReadEnd[] = [];
    for (let start = 0; start < step.value.length; start += readsAtATime) {
      const batch = step.value.slice(start, start + readsAtATime);
      const batchEnds = await Promise.all(batch.map((part) => readOneOfMany(reading, part)));
      for (const end of batchEnds) {
        if (end.kind === 'failed') return end;
        ends.push(end);
      }
      run.onPage?.(reading.reads, readSoFar.entries);
    }
    step = reads.next(ends);
  }
  const { warnings, ...reduced } = readSoFar.endWithPages(undefined);
  const { stopReason } = reading;
  const cut = stopReason && say`Only a part was read, ${stopReason}. Counts and sums are of this part.`;
  return outcomeOf(call, step.value, { ...reduced, warnings: sentences(cut ?? false, ...warnings) }, run);
}

/** The first read fails the call, because nothing is known without it. */
async function readOneOfMany(
  reading: ReadingMany,
  { tool, input }: { readonly tool: string; readonly input: Fields },
): Promise<PartialReadEnd | Extract<ReadEnd, { kind: 'failed' }>> {
  const { call, readCount, readSoFar, run } = reading;
  reading.stopReason ??= limitOf(reading);
  if (reading.stopReason !== undefined) return { kind: 'stopped' };
  const operation = findRead(tool, call, run);
  if (operation === undefined) return { kind: 'refused', code: 'NotAllowed' };
  // Names that a service gives are checked like those of a call.
  if (!operation.input().safeParse(input).success) return { kind: 'refused', code: 'InvalidArguments' };

  reading.reads += 1;
  const isFirst = reading.reads === 1;
  const end = await readPart(call, { operation, input }, readCount, run).catch((error: unknown) => {
    if (error instanceof Refusal && !isFirst) return { kind: 'refused', code: error.code } as const;
    throw error;
  });
  if (end.kind === 'refused') return end;
  if (end.kind === 'reduced') {
    const { firstUnread: unread, mayHaveMore, state } = end;
    readSoFar.addPart(end);
    const { result } = operation.pages ?? onePage;
    return { kind: 'read', record: result(state, input, { unread, mayHaveMore, isWhole: true }) };
  }
  const { code, status, serviceSays } = end.failure;
  if (isFirst) return end;
  if (status !== undefined) return { kind: 'refused', code: serviceSays?.code ?? code };
  reading.stopReason ??= limitOf(reading) ?? say`because a request had no answer (${own(code)})`;
  return { kind: 'stopped' };
}

function limitOf({ readCount, readSoFar, run: { signal }, reads }: ReadingMany): SafeText | undefined {
  const { limits, exceeded } = readCount;
  if (exceeded !== undefined) return words(cutReasons[exceeded]);
  if (signal.aborted) return words('as much as one call reads in its time');
  return reads < limits.reads && readSoFar.entries < limits.entries ? undefined : words(cutReasons.call);
}

function findRead(tool: string, { isOffered }: ResolvedRead, { operations }: CallDependencies): Operation | undefined {
  const operation = operations.find(({ name }) => name === tool);
  return operation?.effect === 'read' && isOffered(tool) ? operation : undefined;
}

const answerOf = (record: Fields, fields: readonly string[] | undefined): Fields =>
  fields === undefined ? record : pickFields(record, fields);

/** A field that exists may still be absent from an answer, for example the parts from a summary. */
function nothingPickedWarning(record: Fields, answer: Fields): readonly SafeText[] {
  const names = Object.keys(record);
  if (Object.keys(answer).length > 0 || names.length === 0) return [];
  return [
    say`This answer has none of the fields that were asked for. It has ${listed(names.slice(0, 20).map((name) => quoted(name, longestName)))}.`,
  ];
}

const openReadClient = (call: ResolvedRead, byteLimit: ReadCount, run: ReadRun) =>
  run.openClient(call.endpoint, { ...clientOptions(call, run, run.signal), byteLimit });

/** Returns undefined if the follow-up read is not allowed, fails, or takes too long. */
async function readFollowUp(call: ResolvedRead, state: unknown, run: ReadRun): Promise<Fields | undefined> {
  const { followUpRead } = call.operation;
  const input = followUpRead?.input(call.input, state);
  if (followUpRead === undefined || input === undefined) return undefined;
  const { operation } = followUpRead;
  if (!isAllowed(call.account.policy, operation, run.principal)) return undefined;

  using limit = timeLimit(5000, run.signal);
  using readCount = run.startCount();
  try {
    const reduced = await readPart(call, { operation, input }, readCount, { ...run, signal: limit.signal });
    if (reduced.kind === 'failed') return undefined;
    const { firstUnread: unread, mayHaveMore } = reduced;
    return (operation.pages ?? onePage).result(reduced.state, input, { unread, mayHaveMore });
  } catch {
    return undefined;
  }
}

/** Makes another read for a call. Its endpoint has the bucket of its own request. */
async function readPart(
  call: ResolvedRead,
  { operation, input }: { readonly operation: Operation; readonly input: Fields },
  readCount: ReadCount,
  run: ReadRun,
): Promise<ReadEnd> {
  const apiRequest = await operation.request(input);
  const endpoint = resolveEndpoint(await call.account.cloud(), operation, call.endpoint.region, apiRequest.path);
  const request = wireRequest(operation, apiRequest, endpoint);
  const part: ResolvedRead = { ...call, operation, input, endpoint, request };
  using client = openReadClient(part, readCount, run);
  return await readPages(part, operation.pages ?? onePage, { client, readCount, now: run.now });
}

type PageReducer = Omit<NonNullable<Operation['pages']>, 'page'>;

const onePage: PageReducer = {
  start: () => ({}),
  add: (_state, { record }) => ({ kind: 'end', state: record }),
  result: (state) => ({ ...Object(state) }),
  count: () => 1,
};

interface Reduced extends Pick<Success, 'warnings' | 'requestIds'> {
  readonly kind: 'reduced';
  readonly state: unknown;
  readonly missingFields: readonly string[];
  readonly retriedAttempts: readonly Attempt[];
  readonly entries: number;
  readonly firstUnread?: PageStart;
  /** True if nothing shows that the list is complete. */
  readonly mayHaveMore: boolean;
}

interface PageReading extends Pick<CallDependencies, 'now'> {
  readonly client: SignedClient;
  readonly readCount: ReadCount;
  readonly onPage?: CallContext['onPage'];
  /** Absent if the answer has no budget. */
  readonly fits?: (state: unknown) => boolean;
}

type ReadEnd = Reduced | { readonly kind: 'failed'; readonly failure: Failure };

async function readPages(
  call: ResolvedRead,
  pages: PageReducer,
  { client, readCount, now, onPage, fits }: PageReading,
): Promise<ReadEnd> {
  const { input } = call;
  const readSoFar = new ReadSoFar();
  let state = pages.start(input);
  let start: PageStart | undefined;
  for (let number = 1; ; number += 1) {
    const page = await requestPage(call, start, client, readCount);
    if (page.kind === 'failed') return readSoFar.endWithFailure(page.failure);
    if (page.kind === 'stopped') return readSoFar.endWithPages(state, page);

    const { record, answeredAt } = page;
    const step = pages.add(state, { record, number, answeredAt, receivedAt: now().toISOString() }, input);
    // No entry of the page is shown, so that the next call can begin with the page.
    if (start !== undefined && fits?.(step.state) === false)
      return readSoFar.endWithPages(state, { firstUnread: start, limit: 'answer' });
    readSoFar.addPage(page, pages.count(record), step.warning);
    state = step.state;
    if (step.kind === 'end') return readSoFar.endWithPages(state, undefined, step.doubt);

    start = step.after;
    const loop = readSoFar.findLoop(start, number);
    if (loop !== undefined) return readSoFar.endWithPages(state, undefined, loop);
    if (number >= readCount.limits.pages || readSoFar.entries >= readCount.limits.entries)
      return readSoFar.endWithPages(state, { firstUnread: start, limit: 'call' });
    onPage?.(number, readSoFar.entries);
  }
}

interface Cut {
  readonly firstUnread: PageStart;
  readonly limit: ReachedLimit | 'answer';
}

type PageReply = Exclude<Answer, { kind: 'unusable' }> | ({ readonly kind: 'stopped' } & Cut);

/** A page that cannot be parsed fails the call, even after other pages. */
async function requestPage(
  call: ResolvedRead,
  start: PageStart | undefined,
  client: SignedClient,
  readCount: ReadCount,
): Promise<PageReply> {
  const { operation, input, endpoint } = call;
  const request =
    start === undefined ? call.request : wireRequest(operation, await operation.request(input, start), endpoint);
  const reply = await client.send(request);
  const isParsed = reply.kind === 'answered' && ['json', 'xml'].includes(reply.body.kind);
  const values = isParsed ? Number(await reply.readText((text) => countValues(text))) : 0;
  readCount.admit(0, values);
  const { exceeded } = readCount;
  if (exceeded !== undefined)
    return start === undefined
      ? // One page is far below the memory limit of a call, so other calls must hold the memory.
        { kind: 'failed', failure: tooManyReads(call) }
      : { kind: 'stopped', firstUnread: start, limit: exceeded };

  // Reading many values takes long, so other work gets a turn of the event loop before.
  const read = () => readAnswer(call, reply);
  const answer = await (values > 2000 ? readCount.takeTurn(read) : read());
  return answer.kind === 'unusable'
    ? { kind: 'failed', failure: unreadableAnswer(call, answer.problem, answer.exchange, answer.malformed) }
    : answer;
}

/** Collects what the result of a read says besides the record. */
class ReadSoFar {
  readonly #missingFields = new Set<string>();
  readonly #retriedAttempts: Attempt[] = [];
  /** As JSON, to find pages that form a circle. */
  readonly #starts = new Set<string>();
  #requestIds: RequestIds = {};
  #pages = 0;
  readonly #pageWarnings = new Map<string, SafeText>();
  entries = 0;

  addPage(page: Extract<Answer, { kind: 'usable' }>, entries: number, ofPage: SafeText | undefined): void {
    const { attempts, requestIds } = page.exchange;
    if (attempts.length > 1) this.#retriedAttempts.push(...attempts);
    this.#pages += 1;
    for (const warning of sentences(...page.warnings, ofPage ?? false)) this.#addWarning(warning);
    for (const path of page.missingFields) this.#missingFields.add(path);
    this.#requestIds = requestIds;
    this.entries += entries;
  }

  addPart({ entries, requestIds, warnings, firstUnread }: Reduced): void {
    this.entries += entries;
    this.#requestIds = requestIds;
    // The record says that the list was cut.
    for (const warning of firstUnread === undefined ? warnings : warnings.slice(1)) this.#addWarning(warning);
  }

  /** The page is named, because indexes in the warning count from its start. */
  #addWarning(warning: SafeText): void {
    if (!this.#pageWarnings.has(warning.text))
      this.#pageWarnings.set(warning.text, this.#pages > 1 ? say`Page ${this.#pages}: ${warning}` : warning);
  }

  #allWarnings(): SafeText[] {
    const ofPages = [...this.#pageWarnings.values()];
    const unlisted = ofPages.length - maximumPageWarnings;
    return sentences(
      ...ofPages.slice(0, maximumPageWarnings),
      unlisted > 0 && say`${unlisted} more warnings about pages were left out.`,
    );
  }

  /** Returns a doubt if an earlier page had the same start, because reading would then never end. */
  findLoop(start: PageStart, number: number): SafeText | undefined {
    const startText = JSON.stringify(start);
    if (this.#starts.has(startText)) return say`page ${number} leads back to where an earlier one began`;
    this.#starts.add(startText);
    return undefined;
  }

  endWithPages(state: unknown, cut?: Cut, doubt?: SafeText): Reduced {
    const warnings = this.#allWarnings();
    if (doubt !== undefined) warnings.unshift(say`The list may be incomplete, because ${doubt}.`);
    if (cut !== undefined) warnings.unshift(cutWarning(cut.limit, this.#pages, this.entries));
    return {
      kind: 'reduced',
      state,
      warnings,
      missingFields: [...this.#missingFields],
      requestIds: this.#requestIds,
      retriedAttempts: this.#retriedAttempts,
      entries: this.entries,
      ...(cut !== undefined && { firstUnread: cut.firstUnread }),
      mayHaveMore: doubt !== undefined,
    };
  }

  endWithFailure(failure: Failure): ReadEnd {
    const warnings = this.#allWarnings();
    return { kind: 'failed', failure: warnings.length === 0 ? failure : { ...failure, warnings } };
  }
}

const maximumPageWarnings = 40;

function cutWarning(limit: Cut['limit'], pages: number, entries: number): SafeText {
  return say`Only the first ${counted(pages, 'page')} with ${counted(entries, 'entry')} were read, ${words(cutReasons[limit])}. Counts, sums, and the first, oldest or largest are of these alone.`;
}

const cutReasons = {
  call: 'as much as one call reads',
  others: 'because this server reads much for other calls too',
  answer: 'because more would be too long for one answer',
} as const;

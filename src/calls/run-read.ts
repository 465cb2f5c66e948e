import type { ManyReads, Operation, PageStart, PartialReadEnd } from '../tools/define-operation.js';
import type { Attempt, SignedClient } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import { countValues } from '../util/objects.js';
import { counted, listed, longestName, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { timeLimit } from '../util/time-limit.js';
import { fitsBudget, pickFields } from './answer-budget.js';
import type { CallRun } from './context.js';
import { wireRequest } from './endpoint.js';
import { tooManyReads, unreadableAnswer } from './failure.js';
import type { EndedOutcome, Failure, RequestIds, Success } from './outcome.js';
import { isAllowed } from './policy.js';
import type { ReachedLimit, ReadCount } from './read-limits.js';
import { type Answer, readAnswer } from './read-reply.js';
import { Refusal } from './refusal.js';
import { clientOptions, resolveRequest } from './resolve-call.js';
import type { ResolvedRead } from './resolved-call.js';

type Fields = Readonly<Record<string, unknown>>;

/** Runs a read: reads its pages, and reduces them to one record. */
export async function runRead(call: ResolvedRead, run: CallRun): Promise<EndedOutcome> {
  const { operation, input, fields } = call;
  const reads = operation.manyReads?.(input);
  if (reads !== undefined) return runManyReads(call, reads, run);
  const pages = pagesOf(operation);
  const hasBudget = pages.endsWithBudget && !run.client.wantsWholeAnswer;
  const fits = (state: unknown) =>
    fitsBudget(answerOf(pages.result(state, input, { mayHaveMore: false }), fields), fields !== undefined);
  using readCount = run.startCount();
  const end = await readPages(call, readCount, run, hasBudget ? fits : undefined);
  if (end.kind === 'failed') return end;
  const { state, missingFields, isCut } = end;
  if (missingFields.length > 0) run.log('debug', 'answer', { tool: operation.name, lacks: missingFields });
  const followUp = await readFollowUp(call, state, run);
  const outcome = outcomeOf(call, (isWhole) => end.recordOf({ followUp, isWhole }), end, run);
  // The view draws all parts of an upload, or none.
  const parts = run.client.views && !isCut ? pages.parts?.(state, input) : undefined;
  return { ...outcome, ...(parts !== undefined && { view: { kind: 'parts', parts } }) };
}

function outcomeOf(
  { operation, input, fields, isOffered }: ResolvedRead,
  recordOf: (isWhole: boolean) => Fields,
  { warnings, requestIds, retriedAttempts }: ReadFacts,
  { client }: CallRun,
): Extract<EndedOutcome, { kind: 'succeeded' }> {
  // The marker of a shortened record leads on from its last entry, so that no entry is lost between two calls.
  const isWhole =
    client.wantsWholeAnswer === true || (fields !== undefined && fitsBudget(pickFields(recordOf(true), fields), true));
  const record = recordOf(isWhole);
  const answer = answerOf(record, fields);
  const names = Object.keys(record);
  // A field that exists may be absent from an answer, such as the parts from a summary.
  const hasNoneOfFields = Object.keys(answer).length === 0 && names.length > 0;
  const shownNames = names.slice(0, 20).map((name) => quoted(name, longestName));
  const next = operation.next?.(record, input, isOffered);
  const success: Success = {
    summary: operation.summarize(record, input),
    ...(next !== undefined && { next }),
    warnings: sentences(
      ...warnings,
      hasNoneOfFields && say`This answer has none of the fields that were asked for. It has ${listed(shownNames)}.`,
    ),
    requestIds,
    ...(retriedAttempts.length > 0 && { attempts: retriedAttempts }),
    // Summary and next step are about the whole record.
    answer,
  };
  return { kind: 'succeeded', success };
}

const answerOf = (record: Fields, fields: readonly string[] | undefined): Fields =>
  fields === undefined ? record : pickFields(record, fields);

interface ReadingMany {
  readonly call: ResolvedRead;
  readonly readCount: ReadCount;
  readonly readSoFar: ReadSoFar;
  /** Its signal aborts when the time of the call is over. */
  readonly run: CallRun;
  reads: number;
  stopReason?: SafeText | undefined;
}

/** Makes the reads that an operation asks for, within the limits of one call. */
async function runManyReads(call: ResolvedRead, reads: ManyReads, run: CallRun): Promise<EndedOutcome> {
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
      run.watch?.onPage?.(reading.reads, readSoFar.entries);
    }
    step = reads.next(ends);
  }
  const { warnings, ...facts } = readSoFar.facts();
  const { stopReason } = reading;
  const cut = stopReason && say`Only a part was read, ${stopReason}. Counts and sums are of this part.`;
  return outcomeOf(call, step.value, { ...facts, warnings: sentences(cut ?? false, ...warnings) }, run);
}

/** The first read fails the call, because nothing is known without it. */
async function readOneOfMany(
  reading: ReadingMany,
  { tool, input }: { readonly tool: string; readonly input: Fields },
): Promise<PartialReadEnd | FailedRead> {
  const { call, readCount, readSoFar, run } = reading;
  reading.stopReason ??= limitOf(reading);
  if (reading.stopReason !== undefined) return { kind: 'stopped' };
  const operation = run.operations.find(({ name }) => name === tool);
  if (operation?.effect !== 'read' || !call.isOffered(tool)) return { kind: 'refused', code: 'NotAllowed' };
  // Names that a service gives are checked like those of a call.
  if (!operation.input().safeParse(input).success) return { kind: 'refused', code: 'InvalidArguments' };

  reading.reads += 1;
  const isFirst = reading.reads === 1;
  const end = await readPart(call, { operation, input }, readCount, run).catch((error: unknown) => {
    if (error instanceof Refusal && !isFirst) return { kind: 'refused', code: error.code } as const;
    throw error;
  });
  if (end.kind === 'refused') return end;
  if (end.kind === 'read') {
    readSoFar.addPart(end);
    return { kind: 'read', record: end.recordOf({ isWhole: true }) };
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

/** Returns undefined if the follow-up read is not allowed, fails, or takes too long. */
async function readFollowUp(call: ResolvedRead, state: unknown, run: CallRun): Promise<Fields | undefined> {
  const { followUpRead } = call.operation;
  const input = followUpRead?.input(call.input, state);
  if (followUpRead === undefined || input === undefined) return undefined;
  const { operation } = followUpRead;
  if (!isAllowed(call.account.policy, operation, run.principal)) return undefined;

  using limit = timeLimit(5000, run.signal);
  using readCount = run.startCount();
  const part = readPart(call, { operation, input }, readCount, { ...run, signal: limit.signal });
  const end = await part.catch(() => undefined);
  return end?.kind === 'read' ? end.recordOf({}) : undefined;
}

/** Makes another read for a call. Its endpoint has the bucket of its own request. */
async function readPart(
  call: ResolvedRead,
  { operation, input }: { readonly operation: Operation; readonly input: Fields },
  readCount: ReadCount,
  run: CallRun,
): Promise<ReadEnd> {
  const { account, accountName: name, endpoint } = call;
  const cloud = await account.cloud();
  const resolved = await resolveRequest(operation, input, cloud, { account, name }, endpoint.region);
  const silentRun = { ...run, watch: { ...run.watch, onPage: undefined } };
  return await readPages({ ...call, operation, input, ...resolved }, readCount, silentRun);
}

type PageReducer = Omit<NonNullable<Operation['pages']>, 'page'>;

const onePage: PageReducer = {
  start: () => ({}),
  add: (_state, { record }) => ({ kind: 'end', state: record }),
  result: (state) => ({ ...Object(state) }),
  count: () => 1,
};

const pagesOf = (operation: Operation): PageReducer => operation.pages ?? onePage;

/** What the result of a read says besides the record. */
interface ReadFacts extends Pick<Success, 'requestIds'> {
  readonly warnings: readonly SafeText[];
  readonly missingFields: readonly string[];
  readonly retriedAttempts: readonly Attempt[];
  readonly entries: number;
}

interface PagesRead extends ReadFacts {
  readonly kind: 'read';
  readonly state: unknown;
  recordOf(more: Pick<Parameters<PageReducer['result']>[2], 'followUp' | 'isWhole'>): Fields;
  readonly cut: Cut | undefined;
  /** True if some pages were not read, or nothing shows that the list is complete. */
  readonly isCut: boolean;
}

type FailedRead = { readonly kind: 'failed'; readonly failure: Failure };
type ReadEnd = PagesRead | FailedRead;

/** @param fits absent if the answer has no budget */
async function readPages(
  call: ResolvedRead,
  readCount: ReadCount,
  run: CallRun,
  fits?: (state: unknown) => boolean,
): Promise<ReadEnd> {
  const { input } = call;
  const { limits } = readCount;
  const pages = pagesOf(call.operation);
  using client = run.openClient(call.endpoint, { ...clientOptions(call, run), byteLimit: readCount });
  const readSoFar = new ReadSoFar();
  /** As JSON, to find pages that form a circle. */
  const starts = new Set<string>();
  let state = pages.start(input);
  const end = (cut?: Cut, doubt?: SafeText): PagesRead => {
    const mayHaveMore = doubt !== undefined;
    const recordOf: PagesRead['recordOf'] = (more) =>
      pages.result(state, input, { unread: cut?.firstUnread, mayHaveMore, ...more });
    const isCut = cut !== undefined || mayHaveMore;
    return { kind: 'read', state, recordOf, cut, isCut, ...readSoFar.facts(cut, doubt) };
  };
  let start: PageStart | undefined;
  for (let number = 1; ; number += 1) {
    const page = await requestPage(call, start, client, readCount);
    if (page.kind === 'failed') return readSoFar.failed(page.failure);
    if (page.kind === 'stopped') return end(page);

    const { record, answeredAt } = page;
    const receivedAt = run.now().toISOString();
    const step = pages.add(state, { record, number, answeredAt, receivedAt }, input);
    // No entry of the page is shown, so that the next call can begin with the page.
    if (start !== undefined && fits?.(step.state) === false) return end({ firstUnread: start, limit: 'answer' });
    readSoFar.addPage(page, pages.count(record), step.warning);
    state = step.state;
    if (step.kind === 'end') return end(undefined, step.doubt);

    start = step.after;
    const startText = JSON.stringify(start);
    if (starts.has(startText)) return end(undefined, say`page ${number} leads back to where an earlier one began`);
    starts.add(startText);
    if (number >= limits.pages || readSoFar.entries >= limits.entries)
      return end({ firstUnread: start, limit: 'call' });
    run.watch?.onPage?.(number, readSoFar.entries);
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

/** Collects the facts of a read, page by page. */
class ReadSoFar {
  readonly #missingFields = new Set<string>();
  readonly #retriedAttempts: Attempt[] = [];
  #requestIds: RequestIds = {};
  #pages = 0;
  readonly #pageWarnings = new Map<string, SafeText>();
  entries = 0;

  addPage(page: Extract<Answer, { kind: 'usable' }>, entries: number, ofPage: SafeText | undefined): void {
    const { attempts, requestIds } = page.exchange;
    if (attempts.length > 1) this.#retriedAttempts.push(...attempts);
    this.#pages += 1;
    this.#addWarnings(sentences(...page.warnings, ofPage ?? false));
    for (const path of page.missingFields) this.#missingFields.add(path);
    this.#requestIds = requestIds;
    this.entries += entries;
  }

  addPart({ entries, requestIds, warnings, cut }: PagesRead): void {
    this.entries += entries;
    this.#requestIds = requestIds;
    // The record says that the list was cut.
    this.#addWarnings(cut === undefined ? warnings : warnings.slice(1));
  }

  /** The page is named, because indexes in the warning count from its start. */
  #addWarnings(warnings: readonly SafeText[]): void {
    for (const warning of warnings)
      if (!this.#pageWarnings.has(warning.text))
        this.#pageWarnings.set(warning.text, this.#pages > 1 ? say`Page ${this.#pages}: ${warning}` : warning);
  }

  facts(cut?: Cut, doubt?: SafeText): ReadFacts {
    const ofPages = [...this.#pageWarnings.values()];
    const unlisted = ofPages.length - maximumPageWarnings;
    return {
      warnings: sentences(
        cut !== undefined &&
          say`Only the first ${counted(this.#pages, 'page')} with ${counted(this.entries, 'entry')} were read, ${words(cutReasons[cut.limit])}. Counts, sums, and the first, oldest or largest are of these alone.`,
        doubt !== undefined && say`The list may be incomplete, because ${doubt}.`,
        ...ofPages.slice(0, maximumPageWarnings),
        unlisted > 0 && say`${unlisted} more warnings about pages were left out.`,
      ),
      missingFields: [...this.#missingFields],
      requestIds: this.#requestIds,
      retriedAttempts: this.#retriedAttempts,
      entries: this.entries,
    };
  }

  failed(failure: Failure): FailedRead {
    const { warnings } = this.facts();
    return { kind: 'failed', failure: warnings.length === 0 ? failure : { ...failure, warnings } };
  }
}

const maximumPageWarnings = 40;

const cutReasons = {
  call: 'as much as one call reads',
  others: 'because this server reads much for other calls too',
  answer: 'because more would be too long for one answer',
} as const;

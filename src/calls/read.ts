import { type Answer, readAnswer } from '../answers/answer.js';
import { type FailedCall, type Failure, inconsistentPages, unreadableAnswer } from '../answers/failure.js';
import type { EndedOutcome } from '../answers/outcome.js';
import { missingWarning, presentable } from '../answers/record.js';
import type { Success } from '../answers/success.js';
import type { Operation } from '../tools/define-operation.js';
import { regionWarnings } from '../tools/schema/zones.js';
import type { Endpoint, UnsignedApiRequest } from '../transport/request.js';
import type { Attempt, FinalReply, SignedClient } from '../transport/signed-client.js';
import { digestOf } from '../util/digest.js';
import type { Log } from '../util/log.js';
import { textAt } from '../util/objects.js';
import type { CallContext } from './context.js';
import { unsignedRequest } from './endpoint.js';

/** A read, as it will be sent. */
export interface ReadCall {
  readonly operation: Operation;
  readonly input: Readonly<Record<string, unknown>>;
  /** For the first page. */
  readonly request: UnsignedApiRequest;
  readonly endpoint: Endpoint;
  /** Name of the account, where accounts have names of their own. */
  readonly accountName?: string | undefined;
}

/** The longest that a read waits for the one beside it. */
const besideMs = 3000;

/**
 * Carries out a read: all the pages that its answer takes, reduced to one record.
 * @param open makes a client whose requests end with a signal
 * @param isAllowed tells which operations may be read beside it
 */
export async function read(
  call: ReadCall,
  open: (signal: AbortSignal) => SignedClient,
  { onPage, hasView, signal }: Pick<CallContext, 'onPage' | 'hasView' | 'signal'>,
  isAllowed: (operation: Operation) => boolean,
  log: Log,
): Promise<EndedOutcome> {
  const { operation, input } = call;
  const pages = operation.pages ?? onePage;
  using client = open(signal);
  const [reduced, beside] = await Promise.all([
    reduce(call, pages, client, { onPage }),
    operation.beside !== undefined && isAllowed(operation.beside.operation)
      ? readBeside(operation.beside, call, () => open(AbortSignal.any([signal, AbortSignal.timeout(besideMs)])))
      : undefined,
  ]);
  if (reduced.kind === 'failed') return reduced;
  const { state, warnings, lacks, requestIds, retried } = reduced;
  if (lacks.length > 0) log('debug', 'answer', { tool: operation.name, lacks });
  const record = pages.result(state, input, beside);
  const shown = presentable(record, operation.exact);
  const next = operation.next?.(record, input);
  const success: Success = {
    summary: operation.summarize(record, input),
    ...(next !== undefined && { next }),
    warnings: [...warnings, ...missingWarning(lacks, operation.tellIfMissing), ...shown.warnings],
    requestIds,
    ...(retried.length > 0 && { attempts: retried }),
    answer: shown.record,
  };
  const parts = hasView === true ? pages.parts?.(state, input) : undefined;
  return { kind: 'succeeded', success, ...(parts !== undefined && { view: { kind: 'parts', parts } }) };
}

/** The record of a read beside another one; undefined if it is not needed or failed: the other one goes on without. */
async function readBeside(
  { operation, input: inputOf, maximumPages }: NonNullable<Operation['beside']>,
  { input: given, endpoint }: ReadCall,
  open: () => SignedClient,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const input = inputOf(given);
  if (input === undefined) return undefined;
  const pages = operation.pages ?? onePage;
  const request = unsignedRequest(operation, operation.request(input));
  using client = open();
  try {
    const reduced = await reduce({ operation, input, request, endpoint }, pages, client, { maximumPages });
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

/** More pages than this are no list that anybody waits for. Their number is also what keeps the memory for their places bounded. */
const mostPages = 10_000;

/** Every page of an answer, reduced, and what came with them. */
interface Reduced extends Pick<Success, 'warnings' | 'requestIds'> {
  readonly kind: 'reduced';
  readonly state: unknown;
  /** Fields that the pages do not have, by path. */
  readonly lacks: readonly string[];
  /** Of the pages that took more than one. */
  readonly retried: readonly Attempt[];
}

/** Reads one page after the other, until the last, a number of pages, or a failure. */
async function reduce(
  { operation, input, request, endpoint, accountName }: ReadCall,
  pages: Omit<AnyPages, 'page'>,
  client: SignedClient,
  { onPage, maximumPages }: { readonly onPage?: CallContext['onPage'] | undefined; readonly maximumPages?: number },
): Promise<Reduced | { readonly kind: 'failed'; readonly failure: Failure }> {
  const call = { operation, accountName };
  const warnings = new Set(regionWarnings(operation.regions, textAt(input, 'region')));
  const retried: Attempt[] = [];
  const places = new Set<string>();
  const lacks = new Set<string>();
  let state = pages.start(input);
  let entries = 0;
  let asked = request;
  for (let number = 1; ; number += 1) {
    const reply = await client.send(asked);
    const page = readPage(call, input, reply, endpoint.origin);
    if (page.kind === 'failed') return withWarnings(page.failure, warnings);
    const { record, answeredAt, requestIds } = page;
    const { attempts } = reply;
    if (attempts.length > 1) retried.push(...attempts);
    addAll(warnings, page.warnings);
    addAll(lacks, page.lacks);
    entries += pages.count(record);
    onPage?.(number, entries);

    const step = pages.add(state, { record, number, ...(answeredAt !== undefined && { answeredAt }) }, input);
    if (step.kind === 'end' || (step.kind === 'next' && number === maximumPages))
      return { kind: 'reduced', state: step.state, warnings: [...warnings], lacks: [...lacks], requestIds, retried };
    const next = checkPlace(step, number, places);
    if (next.kind === 'inconsistent')
      return withWarnings(inconsistentPages(call, next.problem, { requestIds, attempts }), warnings);
    state = next.state;
    asked = unsignedRequest(operation, operation.request(input, next.after));
  }
}

const addAll = (set: Set<string>, texts: readonly string[]): void => {
  for (const text of texts) set.add(text);
};

/** The step to another page, unless it leads nowhere new. Adds the place of that page to those that are known. */
function checkPlace<Step extends Exclude<ReturnType<AnyPages['add']>, { kind: 'end' }>>(
  step: Step,
  number: number,
  places: Set<string>,
): Step | { readonly kind: 'inconsistent'; readonly problem: string } {
  if (step.kind === 'inconsistent') return step;
  const place = digestOf([step.after]);
  if (places.has(place))
    return { kind: 'inconsistent', problem: `page ${number} leads back to where an earlier one began` };
  if (number >= mostPages) return { kind: 'inconsistent', problem: `there are more than ${mostPages}` };
  places.add(place);
  return step;
}

/** There may be a warning of just what made it fail. */
const withWarnings = (failure: Failure, warnings: ReadonlySet<string>) => ({
  kind: 'failed' as const,
  failure: warnings.size === 0 ? failure : { ...failure, warnings: [...warnings] },
});

/** One page, or the reason why there is none. */
function readPage(
  call: FailedCall,
  input: ReadCall['input'],
  reply: FinalReply,
  origin: string,
): Exclude<Answer, { kind: 'unread' }> {
  const answer = readAnswer(call, input, reply, origin);
  if (answer.kind !== 'unread') return answer;
  const { status, requestIds, problem } = answer;
  const { attempts } = reply;
  return { kind: 'failed', failure: unreadableAnswer(call, problem, { status, requestIds, attempts }) };
}

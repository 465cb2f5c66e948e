import { type Answer, readAnswer } from '../answers/answer.js';
import { type FailedCall, type Failure, inconsistentPages, unreadableAnswer } from '../answers/failure.js';
import type { EndedOutcome } from '../answers/outcome.js';
import { presentable } from '../answers/record.js';
import type { Success } from '../answers/success.js';
import type { Operation, Page } from '../tools/define-operation.js';
import { regionWarnings } from '../tools/schema/zones.js';
import type { Endpoint, UnsignedApiRequest } from '../transport/request.js';
import type { Attempt, FinalReply, SignedClient } from '../transport/signed-client.js';
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
}

/** Carries out a read: all the pages that its answer takes, put together. */
export async function read(
  call: ReadCall,
  client: SignedClient,
  { onPage, hasView }: Pick<CallContext, 'onPage' | 'hasView'>,
): Promise<EndedOutcome> {
  const { operation, input } = call;
  const gathered = await gather(call, client, onPage);
  if (gathered.kind === 'failed') return gathered;
  const { pages, warnings, requestIds, retried } = gathered;
  const record = operation.pages?.combine(input, pages) ?? pages[0]?.record ?? {};
  const shown = presentable(record);
  const next = operation.next?.(record);
  const success: Success = {
    summary: operation.summarize(record, input),
    ...(next !== undefined && { next }),
    warnings: [...warnings, ...shown.warnings],
    requestIds,
    ...(retried.length > 0 && { attempts: retried }),
    answer: shown.record,
  };
  const parts = hasView === true ? operation.pages?.parts?.(input, pages) : undefined;
  return { kind: 'succeeded', success, ...(parts !== undefined && { view: { kind: 'parts', parts } }) };
}

/** All pages of an answer, and what came with them. */
interface Gathered extends Pick<Success, 'warnings' | 'requestIds'> {
  readonly kind: 'gathered';
  readonly pages: readonly Page<Record<string, unknown>>[];
  /** Of the pages that took more than one. */
  readonly retried: readonly Attempt[];
}

/** Reads one page after the other, until the last or a failure. */
async function gather(
  { operation, input, request, endpoint }: ReadCall,
  client: SignedClient,
  onPage: CallContext['onPage'],
): Promise<Gathered | { readonly kind: 'failed'; readonly failure: Failure }> {
  const call = { operation, ifUnknown: '' };
  const pages: Page<Record<string, unknown>>[] = [];
  const warnings = new Set(regionWarnings(operation.regions, textAt(input, 'region')));
  const retried: Attempt[] = [];
  let entries = 0;
  let asked = { input, request };
  for (;;) {
    const reply = await client.send(asked.request);
    const page = readPage(call, asked.input, reply, endpoint.origin);
    if (page.kind === 'failed') return withWarnings(page.failure, warnings);
    const { record, answeredAt, requestIds } = page;
    const { attempts } = reply;
    if (attempts.length > 1) retried.push(...attempts);
    for (const warning of page.warnings) warnings.add(warning);
    pages.push({ record, ...(answeredAt !== undefined && { answeredAt }) });
    entries += operation.pages?.count(record) ?? 1;
    onPage?.(pages.length, entries);

    const next = operation.pages?.next(asked.input, pages) ?? { kind: 'end' };
    if (next.kind === 'end') return { kind: 'gathered', pages, warnings: [...warnings], requestIds, retried };
    if (next.kind === 'inconsistent')
      return withWarnings(inconsistentPages(call, next.problem, { requestIds, attempts }), warnings);
    asked = { input: next.input, request: unsignedRequest(operation, operation.request(next.input)) };
  }
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

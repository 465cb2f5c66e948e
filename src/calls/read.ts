import { readAnswer } from '../answers/answer.js';
import { type Failure, inconsistentPages, type RequestIds, unreadableAnswer } from '../answers/failure.js';
import { presentable } from '../answers/record.js';
import type { Success } from '../answers/success.js';
import type { NextPage, Operation, Page } from '../tools/define-operation.js';
import { regionWarnings } from '../tools/schema/zones.js';
import type { Endpoint } from '../transport/request.js';
import type { Attempt, SignedClient } from '../transport/signed-client.js';
import { textAt } from '../util/objects.js';
import type { CallContext, CallOutcome } from './context.js';

type Fields = Readonly<Record<string, unknown>>;

/** Carries out a read: all the pages that its answer takes, put together. */
export async function read(
  operation: Operation,
  input: Fields,
  endpoint: Endpoint,
  client: SignedClient,
  { onPage, hasView }: Pick<CallContext, 'onPage' | 'hasView'>,
): Promise<CallOutcome> {
  const collected: Page<Record<string, unknown>>[] = [];
  const warnings = new Set(regionWarnings(operation.regions, textAt(input, 'region')));
  const retried: Attempt[] = [];
  let requestIds: RequestIds = {};
  let entries = 0;
  for await (const page of pagesOf(operation, input, endpoint, client, collected)) {
    if (page.kind === 'failed') return withWarnings(page, [...warnings]);
    if (page.attempts.length > 1) retried.push(...page.attempts);
    for (const warning of page.warnings) warnings.add(warning);
    requestIds = page.requestIds;
    entries += operation.pages?.count(page.record) ?? 1;
    onPage?.(collected.length, entries);
  }
  const record = operation.pages?.combine(input, collected) ?? collected[0]?.record ?? {};
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
  const packed = hasView === true ? operation.pages?.pack?.(input, collected) : undefined;
  return { kind: 'succeeded', success, ...(packed !== undefined && { view: { kind: 'parts', packed } }) };
}

/** What there is to warn of may be why it failed. */
const withWarnings = (page: Extract<ReadPage, { kind: 'failed' }>, warnings: readonly string[]): CallOutcome =>
  warnings.length === 0 ? page : { ...page, failure: { ...page.failure, warnings } };

type ReadPage =
  | { readonly kind: 'failed'; readonly failure: Failure }
  | (Omit<Extract<ReturnType<typeof readAnswer>, { kind: 'read' }>, 'kind'> & {
      readonly kind: 'page';
      readonly attempts: readonly Attempt[];
    });

/** The pages of an answer, one after the other, until the last or a failure. They are added to those collected so far. */
async function* pagesOf(
  operation: Operation,
  input: Fields,
  endpoint: Endpoint,
  client: SignedClient,
  collected: Page<Record<string, unknown>>[],
): AsyncGenerator<ReadPage> {
  const call = { operation, ifUnknown: '' };
  let next: NextPage<Fields> = { kind: 'next', input };
  while (next.kind === 'next') {
    const { region: _, query = {}, ...request } = operation.request(next.input);
    const reply = await client.send({ method: operation.method, query, ...request });
    const answer = readAnswer(call, next.input, reply, endpoint.origin);
    if (answer.kind === 'failed') return yield answer;
    const { requestIds } = answer;
    const { attempts } = reply;
    if (answer.kind === 'unread') {
      const failure = unreadableAnswer(call, answer.problem, { status: answer.status, requestIds, attempts });
      return yield { kind: 'failed', failure };
    }
    collected.push({
      record: answer.record,
      ...(answer.answeredAt !== undefined && { answeredAt: answer.answeredAt }),
    });
    yield { ...answer, kind: 'page', attempts };
    next = operation.pages?.next(next.input, collected) ?? { kind: 'end' };
    if (next.kind === 'inconsistent') {
      const failure = inconsistentPages(call, next.problem, { requestIds, attempts });
      return yield { kind: 'failed', failure };
    }
  }
}

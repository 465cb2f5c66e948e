import { readAnswer } from '../results/answer.js';
import { inconsistentPages, type RequestIds, unreadableAnswer } from '../results/failure.js';
import { presentable } from '../results/record.js';
import type { Success } from '../results/success.js';
import type { NextPage, Operation, Page } from '../tools/define-operation.js';
import { regionWarnings } from '../tools/schema/zones.js';
import type { Endpoint } from '../transport/request.js';
import type { Attempt, SignedClient } from '../transport/signed-client.js';
import { textAt } from '../util/objects.js';
import type { CallContext, CallOutcome } from './context.js';

type Fields = Readonly<Record<string, unknown>>;

/** Carries out a read: all the pages that its answer takes, one after the other until the last or a failure, put together. */
export async function read(
  operation: Operation,
  input: Fields,
  endpoint: Endpoint,
  client: SignedClient,
  { onPage, hasView }: Pick<CallContext, 'onPage' | 'hasView'>,
): Promise<CallOutcome> {
  const call = { operation, ifUnknown: '' };
  const collected: Page<Record<string, unknown>>[] = [];
  const warnings = new Set(regionWarnings(operation.regions, textAt(input, 'region')));
  const retried: Attempt[] = [];
  let requestIds: RequestIds = {};
  let entries = 0;
  let page: NextPage<Fields> = { kind: 'next', input };
  while (page.kind === 'next') {
    const { region: _, query = {}, ...request } = operation.request(page.input);
    const reply = await client.send({ method: operation.method, query, ...request });
    const answer = readAnswer(call, page.input, reply, endpoint.origin);
    if (answer.kind === 'failed') return answer;
    const { attempts } = reply;
    requestIds = answer.requestIds;
    const exchange = { requestIds, attempts };
    if (answer.kind === 'unread') {
      const failure = unreadableAnswer(call, answer.problem, { status: answer.status, ...exchange });
      return { kind: 'failed', failure };
    }
    const { record, answeredAt } = answer;
    collected.push({ record, ...(answeredAt !== undefined && { answeredAt }) });
    if (attempts.length > 1) retried.push(...attempts);
    for (const warning of answer.warnings) warnings.add(warning);
    entries += operation.pages?.count(record) ?? 1;
    onPage?.(collected.length, entries);
    page = operation.pages?.next(page.input, collected) ?? { kind: 'end' };
    if (page.kind === 'inconsistent')
      return { kind: 'failed', failure: inconsistentPages(call, page.problem, exchange) };
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

import { planLines } from '../consent/plan.js';
import type { Attempt } from '../transport/signed-client.js';
import { quote, quoteName } from '../util/quote.js';
import type { Failure, RequestIds } from './failure.js';
import { render } from './render.js';
import type { Success } from './success.js';

/**
 * The same facts as the structured content, as text for hosts that show only text. The service's words are quoted, and its answer
 * stands indented under `answer:`: they are data.
 */
export function textOf(result: Success | Failure): string {
  const { summary, problems = [], plan, code, status, message, mayHaveHappened, next, answer }: Fields = result;
  const { outcome, consent, sentAt, planId, planExpires, requestIds, attempts = [] }: Fields = result;
  const { defaults = [], warnings = [], notes = [] }: Fields = result;
  const line = (name: string, value: string | number | undefined) => (value === undefined ? [] : [`${name}: ${value}`]);
  return [
    summary,
    ...(problems.length === 0 ? [] : ['', ...problems.map((problem) => `- ${problem}`)]),
    ...(plan === undefined ? [] : ['', ...planLines(plan)]),
    '',
    ...line('outcome', outcome),
    ...line('consent', consent),
    ...line('sentAt', sentAt),
    ...line('planId', planId),
    ...line('planExpires', planExpires),
    ...line('code', code === undefined ? undefined : quoteName(code)),
    ...line('status', status),
    ...line('service says', message === undefined ? undefined : quote(message, 500)),
    ...line('requestIds', idList(requestIds)),
    ...line('mayHaveHappened', mayHaveHappened === undefined ? undefined : mayHaveHappened ? 'yes' : 'no'),
    ...line('attempts', attemptList(attempts)),
    ...defaults.flatMap((one) => line('default', one)),
    ...warnings.flatMap((warning) => line('warning', warning)),
    ...notes.flatMap((note) => line('note', note)),
    ...line('next', next),
    ...(answer === undefined ? [] : render({ answer })),
  ].join('\n');
}

/** A result of either kind: a success has no code, a failure no answer. */
type Fields = Partial<Success> & Partial<Failure>;

/** `x-ext-request-id "…", x-ext-id-2 "…"` */
const idList = (requestIds: RequestIds = {}) =>
  Object.entries(requestIds)
    .map(([name, id]) => `${name} ${quote(id, 200)}`)
    .join(', ') || undefined;

/** `503 (waited 210 ms), 200` */
const attemptList = (attempts: readonly Attempt[]) =>
  attempts
    .map(({ result, waitedMs }) => (waitedMs === undefined ? result : `${result} (waited ${waitedMs} ms)`))
    .join(', ') || undefined;

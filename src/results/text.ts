import { planLines } from '../consent/plan.js';
import type { Attempt } from '../transport/signed-client.js';
import { quote, quoteName } from '../util/quote.js';
import type { Failure, RequestIds } from './failure.js';
import { render } from './render.js';
import type { Success } from './success.js';

/** The same facts as the structured content, as text for hosts that show only text. The service's words stand indented under `answer:`. */
export function successText(success: Success): string {
  const { summary, outcome, next, consent, sentAt, plan, planId, planExpires, answer } = success;
  const { warnings, requestIds, attempts, notes } = success;
  const line = (name: string, value: string | undefined) => (value === undefined ? [] : [`${name}: ${value}`]);
  return [
    summary,
    ...(plan === undefined ? [] : ['', ...planLines(plan)]),
    '',
    ...line('outcome', outcome),
    ...line('consent', consent),
    ...line('sentAt', sentAt),
    ...line('planId', planId),
    ...line('planExpires', planExpires),
    ...line('next', next),
    ...warnings.filter((warning) => plan?.warnings.includes(warning) !== true).map((warning) => `warning: ${warning}`),
    ...(notes ?? []).map((note) => `note: ${note}`),
    ...idLines(requestIds),
    ...attemptLines(attempts),
    ...(answer === undefined ? [] : ['answer:', ...render(answer, '  ')]),
  ].join('\n');
}

/** Writes a failure as the text of a tool error. The service's words are quoted: they are data. */
export function failureText(failure: Failure): string {
  const { summary, problems, code, status, message, requestIds, mayHaveHappened, attempts, next } = failure;
  const { defaults = [], warnings = [], notes = [] } = failure;
  return [
    summary,
    ...(problems.length === 0 ? [] : ['', ...problems.map((problem) => `- ${problem}`)]),
    '',
    `code: ${quoteName(code)}`,
    ...(status === undefined ? [] : [`status: ${status}`]),
    ...(message === undefined ? [] : [`service says: ${quote(message, 500)}`]),
    ...idLines(requestIds),
    ...(mayHaveHappened === undefined ? [] : [`mayHaveHappened: ${mayHaveHappened ? 'yes' : 'no'}`]),
    ...attemptLines(attempts),
    ...defaults.map((one) => `default: ${one}`),
    ...warnings.map((warning) => `warning: ${warning}`),
    ...notes.map((note) => `note: ${note}`),
    `next: ${next}`,
  ].join('\n');
}

/** `x-ext-request-id "…", x-ext-id-2 "…"` */
const idLines = (requestIds: RequestIds) => {
  const ids = Object.entries(requestIds).map(([name, id]) => `${name} ${quote(id, 200)}`);
  return ids.length === 0 ? [] : [`requestIds: ${ids.join(', ')}`];
};

/** `503 (waited 210 ms), 200` */
const attemptLines = (attempts: readonly Attempt[] = []) => {
  const tries = attempts.map(({ result, waitedMs }) =>
    waitedMs === undefined ? result : `${result} (waited ${waitedMs} ms)`,
  );
  return tries.length === 0 ? [] : [`attempts: ${tries.join(', ')}`];
};

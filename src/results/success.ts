import * as z from 'zod';
import { type Plan, planText } from '../consent/plan.js';
import type { Effect, Operation } from '../tools/define-operation.js';
import type { Attempt } from '../transport/signed-client.js';
import { attemptsText, idsText } from './failure.js';
import type { Reading } from './record.js';
import { render } from './render.js';

/** What the advertised schema says of the fields that every answer carries beside the operation's record. */
export const envelope = (effect: Effect) => ({
  ...(effect !== 'read' && { outcome: z.enum(['accepted', 'planned']).optional(), planId: z.string().optional() }),
  requestIds: z.record(z.string(), z.string()).describe('for the support of the service'),
  warnings: z.array(z.string()),
});

/** All of these fields. Those that are rare are not advertised: a list of tools has to stay short. */
const ours = ['outcome', 'plan', 'planId', 'requestIds', 'warnings', 'attempts', 'notes'];

/** The answer to a successful call: the same facts as structured data and as text. */
export interface Answer {
  readonly structured: Readonly<Record<string, unknown>>;
  readonly text: string;
}

type Ids = Readonly<Record<string, string>>;

/** Puts record, request ids, warnings and the attempts of requests that were repeated together. */
export function answer(
  operation: Operation,
  { record, warnings }: Reading,
  requestIds: Ids,
  retried: readonly Attempt[],
): Answer {
  const all = [...warnings, ...hidden(record)];
  const text = [operation.explain(record), '', render(record)].join('\n');
  return enveloped(operation, { structured: record, text }, all, requestIds, retried);
}

/** A plan in place of an answer, with the planId that would carry it out, if one would. */
export function planned({ name }: Operation, plan: Plan, planId: string | undefined): Answer {
  const next =
    planId === undefined
      ? `Show this plan to the user. To act, call ${name} without planOnly.`
      : `Show this plan to the user. Only if they agree, call ${name} within 10 minutes with the same arguments, without planOnly, and with this planId.`;
  return {
    structured: {
      outcome: 'planned',
      plan: { ...plan },
      ...(planId !== undefined && { planId }),
      requestIds: {},
      warnings: plan.warnings,
    },
    text: [
      `Plan of ${name}. Nothing was sent.`,
      '',
      planText(plan),
      '',
      'outcome: planned',
      ...(planId === undefined ? [] : [`planId: ${planId}`]),
      `next: ${next}`,
    ].join('\n'),
  };
}

/** A mutation that was accepted stays accepted, even if nothing else of its answer can be read. */
export function acceptedUnread(
  operation: Operation,
  status: number,
  problem: string,
  requestIds: Ids,
  attempts: readonly Attempt[],
): Answer {
  const text = `The cloud accepted ${operation.name} (HTTP status ${status}). Look in the console how it goes, and do not send it again.`;
  const warnings = [`The answer cannot be read, because ${problem}.`];
  return enveloped(operation, { structured: {}, text }, warnings, requestIds, attempts.length > 1 ? attempts : []);
}

function enveloped(
  { effect }: Operation,
  { structured, text }: Answer,
  warnings: readonly string[],
  requestIds: Ids,
  attempts: readonly Attempt[],
): Answer {
  return {
    structured: {
      ...structured,
      ...(effect !== 'read' && { outcome: 'accepted' }),
      requestIds,
      warnings,
      ...(attempts.length > 0 && { attempts }),
    },
    text: [
      text,
      ...(effect === 'read' ? [] : ['outcome: accepted']),
      `requestIds: ${idsText(requestIds)}`,
      ...warnings.map((warning) => `warning: ${warning}`),
      ...(attempts.length > 0 ? [`attempts: ${attemptsText(attempts)}`] : []),
    ].join('\n'),
  };
}

/** Fields of the service that have the name of one of ours are not passed on, but said to exist. */
const hidden = (record: Readonly<Record<string, unknown>>) =>
  ours
    .filter((name) => Object.hasOwn(record, name))
    .map((name) => `The answer has a field ${name} of its own, which was left out.`);

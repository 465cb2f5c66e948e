import { actions, actors, type Next, operatorMust } from '../tools/next.js';
import type { FailureCode } from '../transport/http-client.js';
import { defined, forReader, join, type SafeText } from '../util/safe-text.js';
import table from './advice.json' with { type: 'json' };

/**
 * This file reads the table of what to do after a refusal or an error. In its texts, `[a|b|c]` has words for agents, people and operators,
 * `{name}` stands for a value, and `must` continues "has to" for the person who runs this server.
 */

type Step = { readonly must: string } | { readonly who: string; readonly action: string; readonly text: string };
type Values = Readonly<Record<string, SafeText>>;

export type RefusalCode = keyof typeof table.refusals;
type StepName = keyof typeof table.steps;

export const refusals: Readonly<Record<RefusalCode, Step & { readonly reason: string }>> = table.refusals;
export const httpFailures: Readonly<
  Record<FailureCode, Step & { readonly problem: string; readonly endedHere?: boolean }>
> = table.failures;
/** Names of steps, or of choices among steps. Some codes are beginnings of codes. */
export const stepByCode: Readonly<Record<string, string>> = table.codes;
export const stepByStatus: Readonly<Record<string, string>> = table.statuses;

export const isStepName = (name: string): name is StepName => Object.hasOwn(table.steps, name);
export const stepNamed = (name: StepName, values?: Values): Next => nextOf(table.steps[name], values);

export function nextOf(step: Step, values: Values = {}): Next {
  if ('must' in step) return operatorMust(filled(step.must, values));
  return { who: oneOf(actors, step.who), action: oneOf(actions, step.action), text: filled(step.text, values) };
}

export const filled = (template: string, values: Values = {}): SafeText =>
  join(
    [...template.matchAll(/\[([^\]]*)\]|\{(\w+)\}|[^[{]+/g)].map(([text, readers, name = '']) => {
      if (readers === undefined) return values[name] ?? defined(text);
      const [agent = '', person = agent, operator = person] = readers.split('|');
      return forReader({ agent: defined(agent), person: defined(person), operator: defined(operator) });
    }),
    '',
  );

function oneOf<Value extends string>(values: readonly Value[], given: string): Value {
  const value = values.find((each) => each === given);
  if (value === undefined) throw new Error(`${given} is not one of ${values.join(', ')}`);
  return value;
}

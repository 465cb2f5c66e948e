import { actions, actors, type Next, operatorMust } from '../tools/next.js';
import { defined, forReader, join, type SafeText } from '../util/safe-text.js';
import table from './refusals.json' with { type: 'json' };

/**
 * This file reads the tables of what to do after a refusal or an error. In their texts, `[a|b|c]` has words for agents, people and operators,
 * `{name}` stands for a value, and `must` continues "has to" for the person who runs this server.
 */

/** What somebody has to do, as the tables have it. */
export type Step = { readonly must: string } | { readonly who: string; readonly action: string; readonly text: string };
/** The values of a text, by name. */
export type Values = Readonly<Record<string, SafeText>>;

export type RefusalCode = keyof typeof table;

export const refusals: Readonly<Record<RefusalCode, Step & { readonly reason: string }>> = table;

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

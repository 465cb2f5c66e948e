import { actions, actors, type Next, operatorMust } from '../tools/next.js';
import { defined, definedMessage, forReader, type SafeText } from '../util/safe-text.js';
import table from './refusals.json' with { type: 'json' };

/**
 * This file reads the tables of what to do after a refusal or an error. In their texts, `[a|b|c]` has words for agents, people and operators,
 * `{name}` stands for a value, and `must` continues "has to" for the person who runs this server.
 */

/** What somebody has to do, as the tables have it. */
export type Step = { readonly must: string } | { readonly who: string; readonly action: string; readonly text: string };
export type Values = Readonly<Record<string, SafeText>>;

export type RefusalCode = keyof typeof table;

export const refusals: Readonly<Record<RefusalCode, Step & { readonly reason: string }>> = table;

export function nextOf(step: Step, values: Values = {}): Next {
  if ('must' in step) return operatorMust(filled(step.must, values));
  return { who: oneOf(actors, step.who), action: oneOf(actions, step.action), text: filled(step.text, values) };
}

export function filled(template: string, values: Values = {}): SafeText {
  const textOf = (reader: number) => {
    const text = template.replace(/\[([^\]]*)\]/g, (_whole, texts: string) => {
      const [agent = '', person = agent, operator = person] = texts.split('|');
      return [agent, person, operator][reader] ?? '';
    });
    const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => values[name] ?? defined(`{${name}}`));
    return definedMessage(text.split(/\{\w+\}/), names);
  };
  if (!template.includes('[')) return textOf(0);
  return forReader({ agent: textOf(0), person: textOf(1), operator: textOf(2) });
}

function oneOf<Value extends string>(values: readonly Value[], given: string): Value {
  const value = values.find((each) => each === given);
  if (value === undefined) throw new Error(`${given} is not one of ${values.join(', ')}`);
  return value;
}

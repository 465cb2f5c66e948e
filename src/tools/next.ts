import { forReader, type SafeText, say, sentence, type Wording, words } from '../util/safe-text.js';

export const actors = ['agent', 'user', 'operator', 'nobody'] as const;
export type Actor = (typeof actors)[number];

/** The kind of step. `ask`: ask a person for something. `check`: look in the console. */
export const actions = ['call', 'wait', 'ask', 'decide', 'check', 'configure', 'none'] as const;
export type Action = (typeof actions)[number];

/** The step after an answer. The text speaks to the model; for people, see `forReader`. */
export interface Next {
  readonly who: Actor;
  readonly action: Action;
  readonly text: SafeText;
}

/** Makes a step: `next('user', 'ask', 'Ask the user for the region.')`. */
export const next = <const Text extends string>(who: Actor, action: Action, text: Wording<Text>): Next => ({
  who,
  action,
  text: words(text),
});

/** Makes a step for the person who runs this server. `task` continues "has to". */
export function operatorMust<const Text extends string>(task: Wording<Text>): Next {
  const taskText = words(task);
  const text = forReader({
    agent: say`Tell the user: the person who runs this server has to ${taskText}.`,
    person: say`The person who runs this server has to ${taskText}.`,
    operator: sentence(say`${taskText}.`),
  });
  return next('operator', 'configure', text);
}

export const callAgain = forReader({ agent: 'call again', person: 'try again' });

export const theyWant = forReader({ agent: 'they still want', person: 'you still want' });

export const forAgent = <const Text extends string>(text: Wording<Text>): SafeText =>
  forReader({ agent: words(text), person: '' });

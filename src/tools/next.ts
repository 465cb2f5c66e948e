import { sentenceCase } from '../util/human.js';

/** Who has to act: the model that reads the answer, the person it works for, the person who runs this server, or nobody. */
export const actors = ['agent', 'user', 'operator', 'nobody'] as const;
export type Actor = (typeof actors)[number];

/**
 * The kind of act: call a tool (again), wait before that, ask for what only a person knows, decide on a change, look somewhere else,
 * set something up, or nothing.
 */
export const actions = ['call', 'wait', 'ask', 'decide', 'check', 'configure', 'none'] as const;
export type Action = (typeof actions)[number];

/** The step after an answer. Its text is addressed to the model, whoever has to act. */
export interface Next {
  readonly who: Actor;
  readonly action: Action;
  readonly text: string;
}

/** A step, in the order in which its parts are said. */
export const next = (who: Actor, action: Action, text: string): Next => ({ who, action, text });

/** A step for the person who runs this server: `act` completes "has to". */
export const operatorMust = (act: string): Next =>
  next('operator', 'configure', `Tell the user: the person who runs this server has to ${act}.`);

/** The text of a step for the person themself, where no model is in between. */
export const textForPerson = (text: string): string =>
  sentenceCase(text.replace(/^Tell the user(?: that|:) (?:the person who runs this server has to )?/, ''));

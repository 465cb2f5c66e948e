import { reworded, type SafeText, say, type Wording, words } from '../util/safe-text.js';

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
  readonly text: SafeText;
}

/** A step, in the order in which its parts are said. Its text is a literal, or made by `say`. */
export const next = <const Text extends string>(who: Actor, action: Action, text: Wording<Text>): Next => ({
  who,
  action,
  text: words(text),
});

/** A step for the person who runs this server: `act` completes "has to". */
export const operatorMust = <const Text extends string>(act: Wording<Text>): Next =>
  next('operator', 'configure', say`Tell the user: the person who runs this server has to ${words(act)}.`);

/** The step after a fault of this server. */
export const reportMistake = operatorMust('look in its log, and report the mistake');

type Rewrites = readonly (readonly [RegExp, string])[];

/** Who runs the server, who uses it and who reads this are one. */
const forOperator: Rewrites = [
  [/^Only the person who runs this server can change the setting\.$/, ''],
  [/(?:Tell the user(?: that|:) )?(?:only )?the person who runs this server (?:has to|can) /gi, ''],
  [/\bin its log\b/, 'in the log'],
  [/\bof its machine\b/, 'of this machine'],
  [/^start it again, or install it again\b/, 'start this server again, or install it again'],
  [/\bplanOnly: true\b/, '--plan'],
];

/** Nobody calls a tool with a click. */
const forUser: Rewrites = [
  [/, and call again with `region`\.$/, ', and try again with it.'],
  [/^Call [a-z_]+ to see\b/, 'See'],
  [/^Call again\b/, 'Try again'],
  [/\bcall again\b/, 'try again'],
];

/** Each is tried in turn on a sentence. */
const forAnybody: Rewrites = [
  // What a model is told about its own doing, and about what it shows.
  [/^Ask the user for values that are theirs to choose.*$/, ''],
  [/; ask the user for values that are theirs to choose/, ''],
  [/^Tell the user the outcome,.*$/, ''],
  [/^Tell the user when it was accepted, and the request IDs\.$/, ''],
  [/^Tell the user the request IDs\.$/, ''],
  [/^(?:Otherwise )?[Tt]ell the user(?:\.$|, and do not look for another way: .*$)/, ''],
  [/, and tell the user\.$/, '.'],
  [/ to show the user the plan\.$/, ' to see the plan.'],
  [/, show it to the user, and after a yes call\b/, ', then call'],
  [/^Do not look for another way.*$/, ''],
  [/^Do not call again\.$/, ''],
  [/^Leave it at that: call again only if the user asks for it\.$/, ''],
  [/^Tell the user that the same change was sent before\.$/, ''],
  [/: do not call again to check/, ''],
  [/; calling again before that will not help/, ''],
  // What a model is to ask about is for the person to know.
  [/, and ask whether another one was meant\.$/, '.'],
  [/: ask the user which it is\.$/, '.'],
  [/, and ask them for\b/, ': give'],
  [/^Tell the user (which|what)\b(.*), as the cloud says/, 'The cloud says $1$2'],
  [/^If it (?:fails|happens) again, tell the user(?: that|:) /, 'If it happens again, '],
  [/(?<=, )tell the user(?: that|:) /, ''],
  [/^Tell the user(?: that|:) /, ''],
  [/^Tell the user when the next change is possible\.$/, ''],
  [/^Tell the user what was asked for and what the answer says, and have them look/, 'Look'],
  [/\bAsk the user whether\b/gi, 'check whether'],
  [/\bAsk the user for\b/gi, 'find out'],
  [/^Ask the user in the conversation what they want\.$/, ''],
  [/\b[Hh]ave (?:the user|them) (look|check|reconnect)/, '$1'],
  [/\bonly when they say that it is out of the way/, 'when it is out of the way'],
  [/\bonly if, having heard that, they ask for\b/, 'only for'],
  [/\bthey still want it\b/, 'you still want it'],
  [/^If the user still wants it\b/, 'If you still want it'],
  [/, unless they asked for more/, ''],
  [/^If the user wants to follow it, call again/, 'To follow it, call again'],
  [/^Wait until the user has answered those/, 'Answer those first'],
  [/^Ask the user to have them decided/, 'Have them decided'],
  [/\bthat the user sees\b/, 'that you see'],
];

/**
 * The same step in words for the person at a terminal, where no model is in between: `Ask the user whether the name is right.` as `Check
 * whether the name is right.` What only a model has to be told is left out, and all of it may be. What is quoted stays as it is.
 */
export const textForOperator = (text: SafeText): SafeText => reworded(text, [...forOperator, ...forAnybody]);

/** The same in words for whoever sees a view, and may be somebody else than the person who runs this server. */
export const textForUser = (text: SafeText): SafeText => reworded(text, [...forAnybody, ...forUser]);

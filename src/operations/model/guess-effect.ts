import type { Effect } from '../../tools/define-operation.js';

/** The signals of a model about the effect of an operation, and the guess that follows. */
interface EffectGuess {
  /** Undefined if the signals disagree or there are fewer than two. */
  readonly effect: Effect | undefined;
  /** Effect that the operation's name suggests. */
  readonly byName: Effect | undefined;
  /** True for a read and false for a change, by the trait or the method. Undefined if neither says. */
  readonly isReadByModel: boolean | undefined;
}

/** The facts about an operation that tell its effect. */
interface EffectSignals {
  readonly name: string;
  readonly method: string;
  /** The trait `smithy.api#readonly`. */
  readonly isReadonly: boolean;
  /** True if every operation has the same method, as with the JSON and query protocols. Then the method says nothing. */
  readonly isMethodFixed: boolean;
}

/**
 * Guesses the effect of an operation. Two signals have to agree, because names lie: 32 of AWS's operations are sent by GET and have names
 * of changes, such as `StopQuery`.
 */
export function guessEffect({ name, method, isReadonly, isMethodFixed }: EffectSignals): EffectGuess {
  const byName = effectOfName(name);
  const isReadByMethod = isMethodFixed ? undefined : readMethods.get(method);
  const isReadByModel = isReadonly ? true : isReadByMethod;
  const agrees = byName !== undefined && isReadByModel === (byName === 'read');
  // DELETE with a name such as "Revoke" is a change, but a person has to say which one.
  const contradictsMethod = !isMethodFixed && method === 'DELETE' && byName !== 'delete';
  return { effect: agrees && !contradictsMethod ? byName : undefined, byName, isReadByModel };
}

const readMethods: ReadonlyMap<string, boolean> = new Map([
  ['GET', true],
  ['HEAD', true],
  ['PUT', false],
  ['PATCH', false],
  ['DELETE', false],
  ['POST', false],
]);

const verbs: Readonly<Record<Effect, RegExp>> = {
  read: /^(?:Get|List|Describe|Head|Search|Lookup|BatchGet|Count|Check|Query|Scan|Select|Preview|Estimate)(?![a-z])/,
  create:
    /^(?:Create|Provision|Allocate|Request|Copy|Restore|Clone|Run|Launch|Purchase|Issue|Generate|Register)(?![a-z])/,
  alter:
    /^(?:Update|Modify|Put|Set|Change|Replace|Enable|Disable|Attach|Detach|Associate|Disassociate|Add|Authorize|Revoke|Reboot|Restart|Start|Stop|Resize|Extend|Upgrade|Rename|Move|Tag|Untag|Reset|Rotate|Apply|Configure|Setup|Resume|Suspend|Promote|Cancel)(?![a-z])/,
  delete: /^(?:Delete|Remove|Terminate|Destroy|Purge|Abort|BatchDelete|Deregister|Release)(?![a-z])/,
};

function effectOfName(name: string): Effect | undefined {
  for (const effect of ['read', 'create', 'alter', 'delete'] as const) if (verbs[effect].test(name)) return effect;
  return undefined;
}

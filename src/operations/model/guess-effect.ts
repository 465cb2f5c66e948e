import type { Effect } from '../../tools/define-operation.js';

/** A guess of the effect of an operation. It has an effect or the reason why the effect is unclear. */
interface EffectGuess {
  readonly effect?: Effect;
  readonly reason?: string;
}

/** The facts about an operation that tell its effect. */
interface EffectSignals {
  readonly name: string;
  readonly method: string;
  /** True if a trait marks the operation as a read. */
  readonly isReadonly: boolean;
  /** True if all operations have the same method, as in the JSON and query protocols, so that the method says nothing. */
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
  // An operation with the method DELETE and a name such as "Revoke" is a change, but a person has to say of which kind.
  const contradictsMethod = !isMethodFixed && method === 'DELETE' && byName !== 'delete';
  if (byName !== undefined && isReadByModel === (byName === 'read') && !contradictsMethod) return { effect: byName };

  const nameSays = byName === undefined ? 'the name does not tell' : `the name suggests ${byName}`;
  const suggested = isReadByModel ? 'read' : 'change';
  const modelSays = isReadByModel === undefined ? 'the model does not tell' : `the model suggests a ${suggested}`;
  return { reason: `${nameSays}, ${modelSays}` };
}

const readMethods: ReadonlyMap<string, boolean> = new Map([
  ['GET', true],
  ['HEAD', true],
  ['PUT', false],
  ['PATCH', false],
  ['DELETE', false],
  ['POST', false],
]);

/** Beginnings of names, by the effect that they suggest. No lowercase letter may follow, so that `Getaway` is not `Get`. */
const verbs: Readonly<Record<Effect, RegExp>> = {
  read: /^(?:Get|List|Describe|Head|Search|Lookup|BatchGet|Count|Check|Query|Scan|Select|Preview|Estimate)(?![a-z])/,
  create:
    /^(?:Create|Provision|Allocate|Request|Copy|Restore|Clone|Run|Launch|Purchase|Issue|Generate|Register)(?![a-z])/,
  alter:
    /^(?:Update|Modify|Put|Set|Change|Replace|Enable|Disable|Attach|Detach|Associate|Disassociate|Add|Authorize|Revoke|Reboot|Restart|Start|Stop|Resize|Extend|Upgrade|Rename|Move|Tag|Untag|Reset|Rotate|Apply|Configure|Setup|Resume|Suspend|Promote|Cancel)(?![a-z])/,
  delete: /^(?:Delete|Remove|Terminate|Destroy|Purge|Abort|BatchDelete|Deregister|Release)(?![a-z])/,
};

function effectOfName(name: string): Effect | undefined {
  const effects = ['read', 'create', 'alter', 'delete'] as const;
  return effects.find((effect) => verbs[effect].test(name));
}

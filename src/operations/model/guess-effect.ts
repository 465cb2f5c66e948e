import type { Effect, Operation } from '../../tools/define-operation.js';
import { sentenceCase } from '../../util/human.js';

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
  const isReadByMethod = isMethodFixed ? undefined : methodsThatTell.get(method);
  const isReadByModel = isReadonly ? true : isReadByMethod;
  // An operation with the method DELETE and a name such as "Revoke" is a change, but a person has to say of which kind.
  const contradictsMethod = !isMethodFixed && method === 'DELETE' && byName !== 'delete';
  if (byName !== undefined && isReadByModel === (byName === 'read') && !contradictsMethod) return { effect: byName };

  if (byName === undefined && isReadByModel === undefined) return { reason: 'neither the name nor the model tells' };
  const nameSays = byName === undefined ? 'the name does not tell' : `the name suggests ${byName}`;
  const suggested = isReadByModel ? 'read' : method === 'DELETE' ? 'deletion' : 'change';
  const modelSays = isReadByModel === undefined ? 'the model does not tell' : `the model suggests a ${suggested}`;
  return { reason: `${nameSays}, ${modelSays}` };
}

/** The methods that tell whether an operation is a read: true for methods of reads, and false for methods of changes. */
const methodsThatTell: ReadonlyMap<string, boolean> = new Map([
  ['GET', true],
  ['HEAD', true],
  ['PUT', false],
  ['PATCH', false],
  ['DELETE', false],
  ['POST', false],
]);

/** A reason to doubt a declared effect. A problem keeps the file from being used. The list of problems adds the full stop to its text. */
interface EffectDoubt {
  readonly kind: 'problem' | 'note';
  readonly text: string;
}

type DeclaredOperation = Pick<Operation, 'api' | 'method' | 'effect' | 'effectIsSure'>;

/** Compares the declared effect of an operation with its name and method. Returns undefined if there is no doubt, or if the author is sure. */
export function effectDoubt(operation: DeclaredOperation): EffectDoubt | undefined {
  if (operation.effectIsSure === true) return undefined;
  return operation.effect === 'read' ? doubtOfRead(operation) : doubtOfChange(operation);
}

const ifSure = 'effectIsSure: true says that this is right';

/** Returns a problem for a read that is surely named like a change, and a note for a read that may be. Reads run without plan and consent. */
function doubtOfRead({ api, method }: DeclaredOperation): EffectDoubt | undefined {
  const byName = effectOfName(api);
  if (byName === 'read') return undefined;
  const isReadByMethod = methodsThatTell.get(method) === true;
  if (byName === undefined)
    return isReadByMethod
      ? undefined
      : { kind: 'note', text: `Neither the name ${api} nor ${method} says that it only reads. ${ifSure}.` };

  if (isReadByMethod || !isNamedLikeChange(api))
    return { kind: 'note', text: `${api} is declared as read, but its name may be that of a change. ${ifSure}.` };
  return { kind: 'problem', text: `effect: is read, but ${api} is named like a change (${byName}). ${ifSure}` };
}

/** Returns a note about a change that looks like a deletion. */
function doubtOfChange({ api, method, effect }: DeclaredOperation): EffectDoubt | undefined {
  const isLikeDeletion = effectOfName(api) === 'delete' || method === 'DELETE';
  if (effect === 'delete' || !isLikeDeletion) return undefined;
  const text = `${api} looks like a deletion, but is declared as ${effect}, so nobody types a name to confirm it. ${ifSure}.`;
  return { kind: 'note', text };
}

/** True if the name of a change cannot be that of a read, as `StartTime` and `UpdateHistory` can. */
const isNamedLikeChange = (name: string): boolean => neverNouns.test(sentenceCase(name)) || !endsOfReads.test(name);

/** Verbs of changes that are no nouns and no adjectives. */
const neverNouns =
  /^(?:Create|Put|Add|Modify|Attach|Detach|Remove|Delete|Terminate|Destroy|Deregister|Reboot|Stop|Enable|Disable|Associate|Disassociate|Authorize|Revoke)(?![a-z])/;
const endsOfReads = /(?:Status|State|List|History|Time|Report|Query|Tracker|Members|Count|Summary)$/;

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
  return effects.find((effect) => verbs[effect].test(sentenceCase(name)));
}

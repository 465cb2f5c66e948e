import type { Effect, Operation } from '../../tools/define-operation.js';
import { sentenceCase } from '../../util/human.js';

/** The effect that a draft gives an operation. An effect that a person has to confirm is that of a change, and has the reason. */
export interface DraftedEffect {
  readonly effect: Effect;
  readonly unclear?: string;
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

/** Decides the effect of an operation. An operation is a read only if its name begins like that of a read, or the model marks it as a read. */
export function draftedEffect({ name, method, isReadonly, isMethodFixed }: EffectSignals): DraftedEffect {
  const byName = effectOfName(name);
  const isReadByMethod = isMethodFixed ? undefined : methodsThatTell.get(method);
  if (method === 'HEAD') return { effect: 'read' };
  if (method === 'DELETE') return { effect: 'delete' };
  if (byName === 'read' && (isReadByMethod !== false || method === 'POST')) return { effect: 'read' };
  if (byName === undefined && isReadonly) return { effect: 'read' };

  // Names lie: some operations that are sent by GET, or marked as reads, have names of changes, such as `StopQuery`.
  const effect = byName === undefined || byName === 'read' ? 'alter' : byName;
  if (byName === 'read') return { effect, unclear: `its name is that of a read, but its method is ${method}` };
  if (byName === undefined) return { effect, unclear: 'neither its name nor the model tells what it does' };
  const isNamedAgainstModel = isReadonly || isReadByMethod === true;
  return isNamedAgainstModel
    ? { effect, unclear: 'its name is that of a change, but the model suggests a read' }
    : { effect };
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
  read: /^(?:Get|List|Describe|Head|Search|Lookup|Count|Check(?!In(?![a-z])|Out(?![a-z]))|Query|Scan|Select|Estimate|Filter|Simulate)(?![a-z])/,
  create:
    /^(?:Create|Provision|Allocate|Request|Copy|Restore|Clone|Run|Launch|Purchase|Issue|Generate|Register|Send|Import|Upload|Publish|Submit|Post|Invite|Subscribe|Initiate)(?![a-z])/,
  alter:
    /^(?:Update|Modify|Put|Set|Change|Replace|Enable|Disable|Attach|Detach|Associate|Disassociate|Add|Authorize|Revoke|Reboot|Restart|Start|Stop|Resize|Extend|Upgrade|Rename|Move|Tag|Untag|Reset|Rotate|Apply|Configure|Setup|Resume|Suspend|Promote|Cancel|Accept|Reject|Decline|Complete|Activate|Deactivate|Confirm|Notify|Merge|Failover|Switchover|Retry|Rollback|Disconnect|Pause|Assign|Unassign|Transfer|Write|Deprecate|Respond|Resend|Increase|Decrease|Renew|Flush|Lock|Unlock|Link|Unlink|Share|Unshare|Grant|Monitor|Unmonitor|Archive|Unarchive|Approve|Acknowledge|Override|Initialize|Receive|Join|Leave)(?![a-z])/,
  delete: /^(?:Delete|Remove|Terminate|Destroy|Purge|Abort|Deregister|Release|Unsubscribe|Deprovision|Expire)(?![a-z])/,
};

/** First words that say how or for whom, and not what is done: `BatchGetItem`, `AdminDeleteUser`. */
const wordBeforeVerb = /^(?:Batch|Admin|Transact|Nifty)(?=[A-Z])/;

/** Operations that are named like reads but change something: a task is taken from a queue, or an identity is created. */
const changesNamedLikeReads =
  /^Get(?:ActivityTask|Id|OpenIdTokenForDeveloperIdentity|ScalingConfigurationRecommendation)$/;

function effectOfName(name: string): Effect | undefined {
  const effects = ['read', 'create', 'alter', 'delete'] as const;
  const beginning = sentenceCase(name).replace(wordBeforeVerb, '');
  if (changesNamedLikeReads.test(beginning)) return 'alter';
  return effects.find((effect) => verbs[effect].test(beginning));
}

import type { Effect, Operation } from '../tools/define-operation.js';
import { sentenceCase } from '../util/human.js';

/** The effect that a draft gives an operation, and the reason if a person has to confirm the effect. */
interface DraftedEffect {
  readonly effect: Effect;
  readonly unclear?: string;
}

interface EffectSignals {
  readonly name: string;
  readonly method: string;
  readonly isReadonly: boolean;
  /** True in the JSON and query protocols, where the method says nothing. */
  readonly isMethodFixed: boolean;
}

/** Decides the effect by the name, the method and the model. */
export function draftedEffect({ name, method, isReadonly, isMethodFixed }: EffectSignals): DraftedEffect {
  const byName = effectOfName(name);
  const isReadByMethod = isMethodFixed ? undefined : methodsThatTell.get(method);
  if (method === 'HEAD') return { effect: 'read' };
  if (method === 'DELETE') return { effect: 'delete' };
  if (byName === 'read' && (isReadByMethod !== false || method === 'POST')) return { effect: 'read' };
  if (byName === undefined && isReadonly) return { effect: 'read' };

  // Some operations that are sent by GET, or marked as reads, are changes, such as `StopQuery`.
  const effect = byName === undefined || byName === 'read' ? 'alter' : byName;
  if (byName === 'read') return { effect, unclear: `its name is that of a read, but its method is ${method}` };
  if (byName === undefined) return { effect, unclear: 'neither its name nor the model tells what it does' };
  const isNamedAgainstModel = isReadonly || isReadByMethod === true;
  return isNamedAgainstModel
    ? { effect, unclear: 'its name is that of a change, but the model suggests a read' }
    : { effect };
}

/** True for methods of reads. */
const methodsThatTell: ReadonlyMap<string, boolean> = new Map([
  ['GET', true],
  ['HEAD', true],
  ['PUT', false],
  ['PATCH', false],
  ['DELETE', false],
  ['POST', false],
]);

/** A reason to doubt a declared effect. A problem keeps the file from being used. */
interface EffectDoubt {
  readonly kind: 'problem' | 'note';
  readonly text: string;
}

type DeclaredOperation = Pick<Operation, 'api' | 'method' | 'effect' | 'effectIsSure'>;

/** Compares the declared effect of an operation with its name and method. */
export function effectDoubt(operation: DeclaredOperation): EffectDoubt | undefined {
  if (operation.effectIsSure === true) return undefined;
  return operation.effect === 'read' ? doubtOfRead(operation) : doubtOfChange(operation);
}

const ifSure = 'effectIsSure: true says that this is right';

/** Reads run without plan and consent, so a name of a change may be a problem. */
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

function doubtOfChange({ api, method, effect }: DeclaredOperation): EffectDoubt | undefined {
  const isLikeDeletion = effectOfName(api) === 'delete' || method === 'DELETE';
  if (effect === 'delete' || !isLikeDeletion) return undefined;
  const text = `${api} looks like a deletion, but is declared as ${effect}, so nobody types a name to confirm it. ${ifSure}.`;
  return { kind: 'note', text };
}

/** False for names that may be nouns, such as `StartTime` and `UpdateHistory`. */
const isNamedLikeChange = (name: string): boolean => neverNouns.test(sentenceCase(name)) || !endsOfReads.test(name);

const neverNouns =
  /^(?:Create|Put|Add|Modify|Attach|Detach|Remove|Delete|Terminate|Destroy|Deregister|Reboot|Stop|Enable|Disable|Associate|Disassociate|Authorize|Revoke)(?![a-z])/;
const endsOfReads = /(?:Status|State|List|History|Time|Report|Query|Tracker|Members|Count|Summary)$/;

/** The lookahead keeps `Getaway` from counting as `Get`. */
const verbs: Readonly<Record<Effect, RegExp>> = {
  read: /^(?:Get|List|Describe|Head|Search|Lookup|Count|Check(?!In(?![a-z])|Out(?![a-z]))|Query|Scan|Select|Estimate|Filter|Simulate)(?![a-z])/,
  create:
    /^(?:Create|Provision|Allocate|Request|Copy|Restore|Clone|Run|Launch|Purchase|Issue|Generate|Register|Send|Import|Upload|Publish|Submit|Post|Invite|Subscribe|Initiate)(?![a-z])/,
  alter:
    /^(?:Update|Modify|Put|Set|Change|Replace|Enable|Disable|Attach|Detach|Associate|Disassociate|Add|Authorize|Revoke|Reboot|Restart|Start|Stop|Resize|Extend|Upgrade|Rename|Move|Tag|Untag|Reset|Rotate|Apply|Configure|Setup|Resume|Suspend|Promote|Cancel|Accept|Reject|Decline|Complete|Activate|Deactivate|Confirm|Notify|Merge|Failover|Switchover|Retry|Rollback|Disconnect|Pause|Assign|Unassign|Transfer|Write|Deprecate|Respond|Resend|Increase|Decrease|Renew|Flush|Lock|Unlock|Link|Unlink|Share|Unshare|Grant|Monitor|Unmonitor|Archive|Unarchive|Approve|Acknowledge|Override|Initialize|Receive|Join|Leave)(?![a-z])/,
  delete: /^(?:Delete|Remove|Terminate|Destroy|Purge|Abort|Deregister|Release|Unsubscribe|Deprovision|Expire)(?![a-z])/,
};

const wordBeforeVerb = /^(?:Batch|Admin|Transact|Nifty)(?=[A-Z])/;

/** For example, `GetActivityTask` takes a task from a queue. */
const changesNamedLikeReads =
  /^Get(?:ActivityTask|Id|OpenIdTokenForDeveloperIdentity|ScalingConfigurationRecommendation)$/;

/** True if the name begins with a verb of a change. */
export function isChangeByName(name: string): boolean {
  const effect = effectOfName(name);
  return effect !== undefined && effect !== 'read';
}

function effectOfName(name: string): Effect | undefined {
  const effects = ['read', 'create', 'alter', 'delete'] as const;
  const beginning = sentenceCase(name).replace(wordBeforeVerb, '');
  if (changesNamedLikeReads.test(beginning)) return 'alter';
  return effects.find((effect) => verbs[effect].test(beginning));
}

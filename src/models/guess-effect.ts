import type { Effect, Operation } from '../tools/define-operation.js';
import { sentenceCase } from '../util/human.js';
import { fieldsAtAnyDepth } from './argument-names.js';
// Operations whose names mislead about their effect, each with the reason. Names without a vendor's prefix.
import exceptions from './effect-exceptions.json' with { type: 'json' };
import { hasTrait, type Model, type ModelOperation, waitersTrait } from './model.js';
import type { IsMember } from './secret-members.js';

/**
 * Decides the effect by the name, the method and the model. It is a read only if the model or the name proves it.
 * `unclear` is the reason if a person has to confirm the effect.
 */
export function draftedEffect(
  { service }: Model,
  { name, http: { method }, traits }: ModelOperation,
): { readonly effect: Effect; readonly unclear?: string } {
  // Waiters repeat an operation until it shows a state.
  const isReadonly = hasTrait(traits, 'smithy.api#readonly') || hasTrait(traits, waitersTrait);
  // In the JSON and query protocols, the method says nothing. POST contradicts no reading verb.
  const isGet = method === 'GET' && service.protocol.startsWith('rest');
  const isWrite = ['PUT', 'PATCH', 'DELETE'].includes(method) && service.protocol.startsWith('rest');
  const byName = effectOfName(name);
  if (method === 'HEAD') return { effect: 'read' };
  if (method === 'DELETE') return { effect: 'delete' };
  if (byName === undefined)
    return isReadonly
      ? { effect: 'read' }
      : { effect: 'alter', unclear: 'neither its name nor the model tells what it does' };
  if (byName === 'read')
    return isWrite
      ? { effect: 'alter', unclear: `its name is that of a read, but its method is ${method}` }
      : { effect: 'read' };
  // Some operations that are sent by GET, or marked as reads, are changes, such as `StopQuery`.
  return isReadonly || isGet
    ? { effect: byName, unclear: 'its name is that of a change, but the model suggests a read' }
    : { effect: byName };
}

/**
 * Returns a reason to doubt the declared effect of an operation. A read with the name of a change is a problem, and its
 * file is not used, because reads run without plan and consent.
 */
export function effectDoubt({
  api,
  method,
  effect,
  effectIsSure,
}: Pick<Operation, 'api' | 'method' | 'effect' | 'effectIsSure'>):
  | { readonly kind: 'problem' | 'note'; readonly text: string }
  | undefined {
  const byName = effectOfName(api);
  const isReadByMethod = method === 'GET' || method === 'HEAD';
  const isProved = byName === 'read' || (byName === undefined && isReadByMethod);
  const isDeletion = byName === 'delete' || method === 'DELETE';
  if (effectIsSure === true || (effect === 'read' ? isProved : effect === 'delete' || !isDeletion)) return undefined;

  const ifSure = 'effectIsSure: true says that this is right';
  if (effect !== 'read')
    return {
      kind: 'note',
      text: `${api} looks like a deletion, but is declared as ${effect}, so nobody types a name to confirm it. ${ifSure}.`,
    };
  return byName === undefined || isReadByMethod
    ? {
        kind: 'note',
        text: `${api} is declared as read, but its name or ${method} may be that of a change. ${ifSure}.`,
      }
    : { kind: 'problem', text: `effect: is read, but ${api} is named like a change (${byName}). ${ifSure}` };
}

/** The list of reads is narrow, because a read needs no consent. The lookahead keeps `Getaway` from counting as `Get`. */
const verbs: Readonly<Record<Effect, RegExp>> = {
  read: /^(?:Get|List|Describe|Head|Search|Lookup|Count|Check(?!In(?![a-z])|Out(?![a-z]))|Query|Estimate|Simulate)(?![a-z])/,
  create:
    /^(?:Create|Provision|Allocate|Request|Copy|Restore|Clone|Run|Launch|Purchase|Issue|Generate|Register|Send|Import|Upload|Publish|Submit|Post|Invite|Subscribe|Initiate)(?![a-z])/,
  alter:
    /^(?:Update|Modify|Put|Set|Change|Replace|Enable|Disable|Attach|Detach|Associate|Disassociate|Add|Authorize|Revoke|Reboot|Restart|Start|Stop|Resize|Extend|Upgrade|Rename|Move|Tag|Untag|Reset|Rotate|Apply|Configure|Setup|Resume|Suspend|Promote|Cancel|Accept|Reject|Decline|Complete|Activate|Deactivate|Confirm|Notify|Merge|Failover|Switchover|Retry|Rollback|Disconnect|Pause|Assign|Unassign|Transfer|Write|Deprecate|Respond|Resend|Increase|Decrease|Renew|Flush|Lock|Unlock|Link|Unlink|Share|Unshare|Grant|Monitor|Unmonitor|Archive|Unarchive|Approve|Acknowledge|Override|Initialize|Receive|Join|Leave|Poll|Take|Claim|Consume|Acquire|Mark)(?![a-z])/,
  delete:
    /^(?:Delete|Remove|Terminate|Destroy|Purge|Abort|Deregister|Unregister|Release|Unsubscribe|Deprovision|Expire|Retire|Forget|Dispose|Erase|Wipe|Drop|Empty|Close(?=Account)|Schedule\w*Deletion)(?![a-z])/,
};

const withVerbFirst = (name: string): string =>
  sentenceCase(name).replace(/^(?:Batch|Admin|Transact|Nifty)(?=[A-Z])/, '');

export const isChangeByName = (name: string): boolean => !['read', undefined].includes(effectOfName(name));

function effectOfName(name: string): Effect | undefined {
  const effects = ['read', 'create', 'alter', 'delete'] as const;
  const beginning = withVerbFirst(name);
  if (Object.hasOwn(exceptions.changesNamedLikeReads, beginning)) return 'alter';
  if (Object.hasOwn(exceptions.readsNamedLikeChanges, beginning)) return 'read';
  const effect = effects.find((effect) => verbs[effect].test(beginning));
  const secondVerb = /(?:And|Or)(?:Create|Update|Delete|Remove|Lock|Mark|Set|Reset|Add|Send|Start|Claim)(?![a-z])/;
  return effect === 'read' && secondVerb.test(beginning) ? 'alter' : effect;
}

/** The effect of an operation of a model, and what a caller has to know before a call. */
export interface EffectOfOperation {
  readonly effect: Effect;
  /** True if the call by itself can start or raise a charge. A guess by the name. */
  readonly canCost: boolean;
  /** True for a read whose answer has secrets, such as `GetSecretValue`. */
  readonly givesSecrets: boolean;
}

/** @param given the effect that a setting gives */
export function effectOf(model: Model, operation: ModelOperation, given?: Effect): EffectOfOperation {
  const effect = given ?? draftedEffect(model, operation).effect;
  const name = withVerbFirst(operation.name);
  if (effect !== 'read') {
    const canCost =
      (effect === 'create' && chargesByCreation.test(name)) || (effect !== 'delete' && chargesByVerb.test(name));
    return { effect, canCost, givesSecrets: false };
  }
  return {
    effect,
    canCost: /^(?:Select\w*|GetCost\w+|GetRightsizingRecommendation|Detect\w+|Calculate\w+)$/.test(name),
    givesSecrets: isReadOfSecrets(operation.name) || fieldsAtAnyDepth(operation.output.members).some(isPresigned),
  };
}

function isReadOfSecrets(operation: string): boolean {
  const name = withVerbFirst(operation);
  return Object.hasOwn(exceptions.readsOfSecrets, name) || (!name.startsWith('List') && namesSecret.test(name));
}

/** Fields of an answer that are secret because of the read, such as the address of the code in that of `GetFunction`. */
export const secretsGivenOut = ({ name }: ModelOperation, effect: Effect): IsMember =>
  effect === 'read'
    ? (field) => isPresigned(field) || (endOfSecret.test(field.memberName) && isReadOfSecrets(name))
    : () => false;

/** The ends of names of such fields. */
const endOfSecret = /(?:ur[il]|location|value|(?<=unlock)code)$/i;

/** An address that holds a signature. Whoever has it needs no keys. */
const isPresigned: IsMember = ({ memberName, documentation, shape }) =>
  /(?:ur[il]|link|location)$/i.test(memberName) && shape.kind === 'text' && /pre-?signed/i.test(documentation);

/** Names of other reads of secrets: keys, tokens, passwords, and addresses that need no signature. */
const namesSecret =
  /(?:SecretValue|Credentials?|(?:Auth|Access|Session|Federation|Authorization|Identity|IdToken|Api)Tokens?|IdToken|Token|Password|ApiKeys?|PrivateKey|StreamKey|Presigned\w*|(?:Upload|Download|Session|Embed|Login|Console|Signed|File)Ur[il]\w*|UrlForLayer)(?:For\w+|With\w+|Pair)?$/i;

const chargedThings =
  'Instance|Volume|Snapshot|Image|Backup|Replica|Cluster|Node[Gg]roup|Node|Fleet|Host|FileSystem|FileCache|Disk|Database|(?<!Route|Policy|Nat)Table|' +
  'Address|VpnConnection|PeeringConnection|(?<!Customer|Internet|Vpn)Gateway|LoadBalancer|Endpoint|HostedZone|HealthCheck|Domain|Certificate|' +
  '(?<!Api|Plan|Access|Public|Signing)Key|Secret|Alarm|Dashboard|Trail|(?<!Log)Stream|Stack|ChangeSet|AutoScalingGroup|Service|Task|Job|Execution|' +
  'Environment|Server|Runner|Router|PrivateLan|Proxy|Cache|ReplicationGroup|Capacity|CapacityReservation|License|PhoneNumber|Canary|Workspace|' +
  'Directory|FlowLog|BlueGreenDeployment|Project|Pipeline';

/** Names of operations that create something that is charged. What follows the thing says where it comes from or goes to. */
const chargesByCreation = new RegExp(
  `^(?:Create|Copy|Restore|Import|Allocate|Request|Clone|Issue)\\w*(?:${chargedThings})(?:e?s)?(?:V\\d)?(?:(?:From|To|In|With|For|Into)[A-Z]\\w*)?$`,
);

const chargesByVerb =
  /^(?:Run|Start|Restore|Accept(?=\w*Quote)|Purchase|Invoke|Execute|Increase|Extend|Resize|Upgrade|Renew|Monitor|Provision|Launch|Scale|Promote|Failover|Resume|Export(?=Snapshot|Image|Instance)|Modify(?=\w*(?:Volume|Instance|Cluster|Capacity|Type|Size|FileSystem|Fleet|Reserved))|Update(?=\w*(?:Capacity|Concurrency|AutoScalingGroup|Service$|Table$|FileSystem|Nodegroup|Size|Count|Type))|Set(?=\w*(?:Capacity|Concurrency|Count|Size))|Put(?=\w*(?:Concurrency|Capacity)))(?![a-z])/;

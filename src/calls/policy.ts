import type { Operation } from '../tools/define-operation.js';
import { regionOfZone } from '../tools/schema/answer-texts.js';
import { leavesOf } from '../util/objects.js';
import { defined, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { Refusal } from './refusal.js';

/** The operations that are offered in an account. */
export interface Policy {
  readonly readOnly: boolean;
  /** Names, and patterns such as `ec2:Describe*` for operations of services. Undefined offers all. */
  readonly tools: readonly string[] | undefined;
  /** Undefined allows any region. */
  readonly regions?: readonly string[] | undefined;
  /** See `Operation.extension`. */
  readonly extensions?: readonly string[] | undefined;
}

/** The program that acts for a caller. */
export interface Agent {
  /** Claim `client_id`. */
  readonly clientId?: string | undefined;
  /** Claim `act`, the current actor first (RFC 8693, section 4.1). */
  readonly actors: readonly string[];
}

/** An authenticated caller with its granted scopes. */
export interface Principal {
  /** At most 255 characters. */
  readonly name: string;
  /** The same in all clients of a person, unlike the name. */
  readonly personId?: string | undefined;
  readonly scopes: readonly string[];
  readonly agent?: Agent | undefined;
}

export const readScope = 'cloudops:read';
export const writeScope = 'cloudops:write';
/** Allows reading the changes of other callers, but no operation. */
export const auditScope = 'cloudops:audit';
export const scopes: readonly string[] = [readScope, writeScope, auditScope];
/** Lets a person decide on the changes of others. People have this scope, agents do not. */
export const approveScope = 'cloudops:approve';

export const scopeOf = ({ effect }: Pick<Operation, 'effect'>) => (effect === 'read' ? readScope : writeScope);

/** The caller whose journal entries may be shown, or undefined for all callers. */
export const visibleCaller = (principal: Principal | undefined): string | undefined =>
  principal === undefined || principal.scopes.includes(auditScope) ? undefined : principal.name;

/** True if a list such as `CLOUDOPS_TOOLS` has the name of an operation, or a pattern for it. */
export const isNamedIn = (
  list: readonly string[],
  { name, serviceName = name }: Pick<PolicySubject, 'name' | 'serviceName'>,
) => list.some((entry) => entry === name || (entry.includes(':') && matches(entry, serviceName)));

/** True if a pattern, in which `*` stands for any text, matches the whole text. Not by `RegExp`, because a search asks for each operation. */
export function matches(pattern: string, text: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return pattern === text;
  let from = start.length;
  for (const part of parts) {
    const index = text.indexOf(part, from);
    if (index < 0) return false;
    from = index + part.length;
  }
  return text.startsWith(start) && text.endsWith(end) && text.length - end.length >= from;
}

export const offersServices = ({ tools }: Policy): boolean => tools?.some((entry) => entry.includes(':')) ?? true;

/** The parts of an operation that decide whether it is allowed. */
export type PolicySubject = Pick<Operation, 'name' | 'serviceName' | 'effect' | 'extension'>;

export const isAllowed = (policy: Policy, operation: PolicySubject, principal?: Principal): boolean =>
  reasonAgainst(policy, operation, principal) === undefined;

/** Checks that an operation is allowed. @throws Refusal */
export function checkPolicy(policy: Policy, operation: PolicySubject, principal?: Principal, account?: string): void {
  const reason = reasonAgainst(policy, operation, principal, account);
  if (reason !== undefined) throw new Refusal('NotAllowed', [reason]);
}

/** Checks the regions and zones of a request and its arguments. @throws Refusal */
export function checkRegions(
  { regions }: Policy,
  requestRegion: string | undefined,
  input: unknown,
  account?: string,
): void {
  if (regions === undefined) return;
  for (const [path, value] of leavesOf({ region: requestRegion, input })) {
    const [, matchedName] = /(region|availabilityZone)s?(?:\[\d+\])?$/i.exec(path) ?? [];
    if (matchedName === undefined || typeof value !== 'string') continue;

    // An unknown zone may be in any region, so it is refused.
    const isRegion = matchedName.toLowerCase() === 'region';
    const region = isRegion ? value : regionOfZone(value);
    if (region !== undefined && regions.includes(region)) continue;

    const subject = words(isRegion ? 'region' : 'the region of zone');
    const verdict = words(region === undefined ? 'unknown, so not' : 'not');
    throw new Refusal('NotAllowed', [
      say`${subject} ${quoted(value, 40)} is ${verdict} among those of ${ownerOfRegions(account)}: ${defined(regions.join(', '))}`,
    ]);
  }
}

const ownerOfRegions = (account: string | undefined): SafeText =>
  account === undefined ? words('CLOUDOPS_REGIONS') : say`account ${own(account)}`;

function reasonAgainst(
  policy: Policy,
  operation: PolicySubject,
  principal: Principal | undefined,
  account?: string,
): SafeText | undefined {
  const { readOnly, tools, extensions = [] } = policy;
  const { effect, extension } = operation;
  if (readOnly && effect !== 'read')
    return account === undefined ? words('CLOUDOPS_READ_ONLY is set') : say`account ${own(account)} only reads`;
  if (tools !== undefined && !isNamedIn(tools, operation)) return words('CLOUDOPS_TOOLS does not name it');
  if (tools === undefined && extension !== undefined && !extensions.includes(extension))
    return words(`it is not in the API reference; set CLOUDOPS_STORAGE_HEADERS=amz, or name it in CLOUDOPS_TOOLS`);
  if (principal !== undefined && !principal.scopes.includes(scopeOf(operation)))
    return say`the token does not have the scope ${own(scopeOf(operation))}`;
  return undefined;
}

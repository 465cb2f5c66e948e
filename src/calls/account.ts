import type { Operation } from '../tools/define-operation.js';
import { isObject } from '../util/objects.js';
import { defined, listed, quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { Cloud } from './endpoint.js';
import { allowsChanges, isAllowed, type Policy, type Principal } from './policy.js';

/** The modes of CLOUDOPS_CONFIRM, which say how people agree to changes. */
export const consentModes = ['ask', 'human', 'approval', 'plan', 'off'] as const;
export type ConsentMode = (typeof consentModes)[number];

/** The values of CLOUDOPS_CONFIRM_DELETE: a person confirms a deletion by typing the name of the thing, or by a click. */
export const deleteConfirmations = ['type', 'click'] as const;

/** How many changes each caller may make to an account within a window of time (milliseconds). */
export interface Budget {
  readonly mostChanges: number;
  readonly windowMs: number;
}

/** An account of the cloud, with the rules for its calls. */
export interface Account {
  readonly name: string;
  /** A few words by which a person recognises the account. */
  readonly description?: string | undefined;
  /** @throws Refusal if the sandbox cannot be started, or if the account's profile cannot be used */
  readonly cloud: () => Promise<Cloud>;
  readonly policy: Policy;
  readonly confirm: ConsentMode;
  /** How a person agrees to a deletion. If absent, the person types the name of the thing. */
  readonly confirmDelete?: (typeof deleteConfirmations)[number] | undefined;
  /** Undefined if changes are not limited. */
  readonly budget?: Budget | undefined;
}

export interface Accounts {
  readonly all: readonly Account[];
  /** The account of calls that name no account. */
  readonly byDefault: Account | undefined;
  /** True if the accounts come from a file, which names them. Otherwise there is one account, and calls cannot name it. */
  readonly areNamed: boolean;
}

/** Prefix of the scopes that allow the use of an account. These scopes are not advertised. */
export const accountScopePrefix = 'cloudops:account:';
export const isAccountScope = (scope: string): boolean =>
  scope.startsWith(accountScopePrefix) && isAccountName(scope.slice(accountScopePrefix.length));

/** True for a valid account name. Few characters are allowed, because enumerations, scopes, logs and labels hold names unescaped. */
export const isAccountName = (name: string): boolean => /^[a-z][a-z0-9-]{0,30}$/.test(name);

/** The accounts that a caller may use: the accounts that its scopes name, or else the default account. Without sign-in, all accounts. */
export function accountsOf({ all, byDefault, areNamed }: Accounts, principal: Principal | undefined): Accounts {
  if (principal === undefined) return { all, byDefault, areNamed };
  const accountScopes = principal.scopes.filter((scope) => scope.startsWith(accountScopePrefix));
  const isUsable = (account: Account) =>
    accountScopes.length === 0 ? account === byDefault : accountScopes.includes(accountScopePrefix + account.name);
  const usable = all.filter(isUsable);
  return { all: usable, byDefault: usable.find((account) => account === byDefault), areNamed };
}

/** The accounts whose policy and scopes let a caller carry out an operation. */
export const accountsFor = (
  { all }: Accounts,
  operation: Operation,
  principal: Principal | undefined,
): readonly Account[] => all.filter(({ policy }) => isAllowed(policy, operation, principal));

/** True if any account allows a change. */
export const allowChanges = ({ all }: Pick<Accounts, 'all'>, operations: readonly Operation[]): boolean =>
  all.some(({ policy }) => allowsChanges(policy, operations));

/** The account of a call that names none: the only account in `allowing`, or else the default account if `allowing` has it. */
export const presetAmong = (allowing: readonly Account[], byDefault: Account | undefined): Account | undefined =>
  allowing.length === 1 ? allowing[0] : allowing.find((account) => account === byDefault);

/** A call's account and its other arguments, or the problem with finding the account. */
export type AccountResolution =
  | {
      readonly kind: 'found';
      readonly account: Account;
      /** Undefined if accounts have no names. */
      readonly name: string | undefined;
      /** True if the call names no account although several allow its operation, so the plan says which one was chosen. */
      readonly isDefault: boolean;
      readonly args: unknown;
    }
  | { readonly kind: 'unclear'; readonly problem: SafeText; readonly args: unknown }
  /** The caller may use no account. */
  | { readonly kind: 'none' };

/**
 * Finds the account that a call is for, and takes the argument `account` out of the call's arguments. An account that the caller may not
 * use is reported like an account that does not exist.
 */
export function resolveAccount(
  accounts: Accounts,
  operation: Operation,
  args: unknown,
  principal: Principal | undefined,
): AccountResolution {
  const usable = accountsOf(accounts, principal);
  const [firstAccount] = usable.all;
  if (firstAccount === undefined) return { kind: 'none' };

  // Without names, there is one account, and no argument `account`.
  if (!accounts.areNamed) return { kind: 'found', account: firstAccount, name: undefined, isDefault: false, args };

  // Arguments that are not an object contain no name. `validate` reports them later.
  if (!isObject(args)) return defaultAccountFor(usable, operation, principal, args);
  const { account: requestedName, ...otherArgs } = args;
  if (requestedName === undefined || requestedName === null)
    return defaultAccountFor(usable, operation, principal, otherArgs);

  const account = usable.all.find(({ name }) => name === requestedName);
  if (account !== undefined) return { kind: 'found', account, name: account.name, isDefault: false, args: otherArgs };

  const shownName = typeof requestedName === 'string' ? quoted(requestedName, 60) : words('the value given');
  const problem = say`account: ${shownName} is not an account; ${choiceOf(usable.all)}`;
  return { kind: 'unclear', problem, args: otherArgs };
}

/** Chooses the account of a call that names none. If no account allows the operation, chooses the first, whose policy will refuse the call. */
function defaultAccountFor(
  usable: Accounts,
  operation: Operation,
  principal: Principal | undefined,
  args: unknown,
): AccountResolution {
  const allowing = accountsFor(usable, operation, principal);
  const account = allowing.length === 0 ? usable.all[0] : presetAmong(allowing, usable.byDefault);
  if (account !== undefined)
    return { kind: 'found', account, name: account.name, isDefault: allowing.length > 1, args };
  return { kind: 'unclear', problem: say`account: is required; ${choiceOf(allowing)}`, args };
}

/** Lists all accounts and suggests no similar name, because a change for one account must not happen in another. */
const choiceOf = (accounts: readonly Account[]) =>
  say`ask the user which one they mean: ${listed(accounts.map(described), 'or')}`;

const described = ({ name, description }: Account) =>
  description === undefined ? say`${defined(name)}` : say`${defined(name)} (${defined(description)})`;

import type { ConsentMode } from '../consent/required-consent.js';
import type { deleteConfirmations } from '../consent/typed-name.js';
import type { Budget } from '../journal/budget.js';
import type { Operation } from '../tools/define-operation.js';
import { isObject } from '../util/objects.js';
import { defined, listed, quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { Cloud } from './endpoint.js';
import { allowsChanges, isAllowed, type Policy, type Principal } from './policy.js';

/** An account of the cloud, with the rules for its calls. */
export interface Account {
  readonly name: string;
  /** A few words that tell the account from others. */
  readonly description?: string | undefined;
  /** @throws Refusal if the sandbox cannot be started, or if the account's profile cannot be used */
  readonly cloud: () => Promise<Cloud>;
  readonly policy: Policy;
  readonly confirm: ConsentMode;
  /** How a person agrees to a deletion. Absent, the person types the name. */
  readonly confirmDelete?: (typeof deleteConfirmations)[number] | undefined;
  /** Undefined if changes are not limited. */
  readonly budget?: Budget | undefined;
}

/** The accounts of a server. */
export interface Accounts {
  readonly all: readonly Account[];
  /** The account of calls that name no account. */
  readonly byDefault: Account | undefined;
  /** True if the accounts come from a file, which names them. */
  readonly areNamed: boolean;
}

/** Prefix of the scopes that allow the use of an account. These scopes are not advertised. */
export const accountScopePrefix = 'cloudops:account:';
export const isAccountScope = (scope: string): boolean =>
  scope.startsWith(accountScopePrefix) && isAccountName(scope.slice(accountScopePrefix.length));

/** Restricted characters, because names go into enumerations, scopes, logs and labels unescaped. */
export const isAccountName = (name: string): boolean => /^[a-z][a-z0-9-]{0,30}$/.test(name);

/** The accounts that a caller may use: the accounts that its scopes name, or else the default account. */
export function accountsOf({ all, byDefault, areNamed }: Accounts, principal: Principal | undefined): Accounts {
  if (principal === undefined) return { all, byDefault, areNamed };
  const named = principal.scopes.filter((scope) => scope.startsWith(accountScopePrefix));
  const isUsable = (account: Account) =>
    named.length === 0 ? account === byDefault : named.includes(accountScopePrefix + account.name);
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

/** The account of a call that names no account, chosen from the accounts that allow its operation. */
export const presetAmong = (allowing: readonly Account[], byDefault: Account | undefined): Account | undefined =>
  allowing.length === 1 ? allowing[0] : allowing.find((account) => account === byDefault);

/** A call's account and its other arguments, or the problem with finding the account. */
export type AccountResolution =
  | {
      readonly kind: 'found';
      readonly account: Account;
      /** Undefined if accounts have no names. */
      readonly name: string | undefined;
      /** True if the call names none of several accounts. */
      readonly isDefault: boolean;
      readonly args: unknown;
    }
  | { readonly kind: 'unclear'; readonly problem: SafeText; readonly args: unknown }
  /** The caller may use no account. */
  | { readonly kind: 'none' };

/** Finds the account that a call is for. An account that the caller may not use is treated like an unknown account. */
export function resolveAccount(
  accounts: Accounts,
  operation: Operation,
  args: unknown,
  principal: Principal | undefined,
): AccountResolution {
  const usable = accountsOf(accounts, principal);
  const [first] = usable.all;
  if (first === undefined) return { kind: 'none' };
  if (!accounts.areNamed) return { kind: 'found', account: first, name: undefined, isDefault: false, args };
  if (!isObject(args)) return defaultAccountFor(usable, first, operation, principal, args);
  const { account: name, ...otherArgs } = args;
  if (name === undefined || name === null) return defaultAccountFor(usable, first, operation, principal, otherArgs);
  const account = usable.all.find((usableAccount) => usableAccount.name === name);
  if (account !== undefined) return { kind: 'found', account, name: account.name, isDefault: false, args: otherArgs };
  const shownName = typeof name === 'string' ? quoted(name, 60) : words('the value given');
  const problem = say`account: ${shownName} is not an account; ${choiceOf(usable.all)}`;
  return { kind: 'unclear', problem, args: otherArgs };
}

/**
 * Chooses the account of a call that names none. If no account allows the operation, the first account is chosen, because its policy says
 * why.
 */
function defaultAccountFor(
  usable: Accounts,
  first: Account,
  operation: Operation,
  principal: Principal | undefined,
  args: unknown,
): AccountResolution {
  const allowing = accountsFor(usable, operation, principal);
  const account = allowing.length === 0 ? first : presetAmong(allowing, usable.byDefault);
  if (account !== undefined)
    return { kind: 'found', account, name: account.name, isDefault: allowing.length > 1, args };
  return { kind: 'unclear', problem: say`account: is required; ${choiceOf(allowing)}`, args };
}

/** Suggests no similar name, because a change for one account must not happen in another. */
const choiceOf = (accounts: readonly Account[]) =>
  say`ask the user which one they mean: ${listed(accounts.map(described), 'or')}`;

const described = ({ name, description }: Account) =>
  description === undefined ? say`${defined(name)}` : say`${defined(name)} (${defined(description)})`;

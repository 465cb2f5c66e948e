import type { Operation, Service } from '../tools/define-operation.js';
import { isObject } from '../util/objects.js';
import { defined, listed, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { Cloud } from './endpoint.js';
import { isAllowed, offersServices, type Policy, type PolicySubject, type Principal } from './policy.js';

/** The modes of CLOUDOPS_CONFIRM, which say how people agree to changes. */
export const consentModes = ['ask', 'human', 'approval', 'plan', 'off'] as const;
export type ConsentMode = (typeof consentModes)[number];

export const deleteConfirmations = ['type', 'click'] as const;

/** How many changes each caller may make to an account. */
export interface Budget {
  readonly mostChanges: number;
  readonly windowMs: number;
}

export interface Account {
  readonly name: string;
  readonly description?: string | undefined;
  /** @throws Refusal */
  readonly cloud: () => Promise<Cloud>;
  readonly missingFor: (service: Service) => readonly string[];
  readonly policy: Policy;
  readonly confirm: ConsentMode;
  /** If absent, the person types the name of the thing. */
  readonly confirmDelete?: (typeof deleteConfirmations)[number] | undefined;
  readonly budget?: Budget | undefined;
}

export interface Accounts {
  readonly all: readonly Account[];
  readonly byDefault: Account | undefined;
  /** True if the accounts come from a file. */
  readonly areNamed: boolean;
}

/** Prefix of the scopes that allow an account. These scopes are not advertised. */
export const accountScopePrefix = 'cloudops:account:';
export const isAccountScope = (scope: string): boolean =>
  scope.startsWith(accountScopePrefix) && isAccountName(scope.slice(accountScopePrefix.length));

/** Few characters are allowed, because scopes, logs and labels hold names unescaped. */
export const isAccountName = (name: string): boolean => /^[a-z][a-z0-9-]{0,30}$/.test(name);

/** The accounts that a caller's scopes name, or else the default account. Without sign-in, all accounts. */
export function accountsOf({ all, byDefault, areNamed }: Accounts, principal: Principal | undefined): Accounts {
  if (principal === undefined) return { all, byDefault, areNamed };
  const accountScopes = principal.scopes.filter((scope) => scope.startsWith(accountScopePrefix));
  const isUsable = (account: Account) =>
    accountScopes.length === 0 ? account === byDefault : accountScopes.includes(accountScopePrefix + account.name);
  const usable = all.filter(isUsable);
  return { all: usable, byDefault: usable.find((account) => account === byDefault), areNamed };
}

/** The accounts that have what an operation needs, and let a caller carry it out. */
export const accountsFor = (
  { all }: Pick<Accounts, 'all'>,
  operation: PolicySubject & Pick<Operation, 'service'>,
  principal: Principal | undefined,
): readonly Account[] =>
  all.filter(
    ({ missingFor, policy }) => missingFor(operation.service).length === 0 && isAllowed(policy, operation, principal),
  );

/** The missing settings, as a sentence, if no API of any account can be called. */
export function nothingConfigured(
  { all }: Pick<Accounts, 'all'>,
  operations: readonly Pick<Operation, 'service'>[],
): SafeText | undefined {
  const missing = all.flatMap(({ missingFor }) => operations.map(({ service }) => missingFor(service)));
  if (missing.length === 0 || missing.some((names) => names.length === 0)) return undefined;
  const names = [...new Set(missing.flat())].map((name) => say`${own(name)}`);
  return say`No API can be called yet. Not set: ${listed(names, 'and')}. Set the address of an API and a key, or CLOUDOPS_SANDBOX=1 to try it without an account; ${words('`cloudops-mcp doctor`')} checks the settings.`;
}

/** The accounts in which operations of services may be called. `tool` has the effect. */
export const accountsForServices = (
  { all }: Pick<Accounts, 'all'>,
  apis: readonly Service[],
  tool: PolicySubject,
  principal: Principal | undefined,
): readonly Account[] =>
  all.filter(
    ({ missingFor, policy }) =>
      offersServices(policy) &&
      // The operation itself is checked when it is called.
      isAllowed({ ...policy, tools: undefined }, tool, principal) &&
      apis.some((api) => missingFor(api).length === 0),
  );

export const allowChanges = (
  accounts: Pick<Accounts, 'all'>,
  operations: readonly Operation[],
  apis: readonly Service[] = [],
): boolean =>
  operations.some(
    (operation) => operation.effect !== 'read' && accountsFor(accounts, operation, undefined).length > 0,
  ) || accountsForServices(accounts, apis, { name: 'change_operation', effect: 'alter' }, undefined).length > 0;

/** The only account, or else the default account. */
export const presetAmong = (allowing: readonly Account[], byDefault: Account | undefined): Account | undefined =>
  allowing.length === 1 ? allowing[0] : allowing.find((account) => account === byDefault);

export type AccountResolution =
  | {
      readonly kind: 'found';
      readonly account: Account;
      readonly name: string | undefined;
      /** True if the call names none of several allowed accounts. */
      readonly isDefault: boolean;
      readonly args: unknown;
    }
  | { readonly kind: 'unclear'; readonly problem: SafeText; readonly args: unknown }
  /** The caller may use no account. */
  | { readonly kind: 'none' };

/** Finds the account of a call. An account that the caller may not use is reported as unknown. */
export function resolveAccount(
  accounts: Accounts,
  operation: Operation,
  args: unknown,
  principal: Principal | undefined,
): AccountResolution {
  const usable = accountsOf(accounts, principal);
  const [firstAccount] = usable.all;
  if (firstAccount === undefined) return { kind: 'none' };

  if (!accounts.areNamed) return { kind: 'found', account: firstAccount, name: undefined, isDefault: false, args };

  if (!isObject(args)) return defaultAccountFor(usable, operation, principal, args);
  const { account: requestedName = null, ...otherArgs } = args;
  if (requestedName === null) return defaultAccountFor(usable, operation, principal, otherArgs);

  const account = usable.all.find(({ name }) => name === requestedName);
  if (account !== undefined) return { kind: 'found', account, name: account.name, isDefault: false, args: otherArgs };

  const shownName = typeof requestedName === 'string' ? quoted(requestedName, 60) : words('the value given');
  const problem = say`account: ${shownName} is not an account; ${choiceOf(usable.all)}`;
  return { kind: 'unclear', problem, args: otherArgs };
}

/** If no account allows the operation, the policy of the first refuses the call. */
function defaultAccountFor(
  usable: Accounts,
  operation: Operation,
  principal: Principal | undefined,
  args: unknown,
): AccountResolution {
  const allowing = accountsFor(usable, operation, principal);
  const account = allowing.length === 0 ? usable.all[0] : presetAmong(allowing, usable.byDefault);
  return account === undefined
    ? { kind: 'unclear', problem: say`account: is required; ${choiceOf(allowing)}`, args }
    : { kind: 'found', account, name: account.name, isDefault: allowing.length > 1, args };
}

/** Suggests no similar name, because a change for one account must not happen in another. */
function choiceOf(accounts: readonly Account[]): SafeText {
  const names = accounts.map(({ name, description }) =>
    description === undefined ? name : `${name} (${description})`,
  );
  const [only, ...others] = names.map(defined);
  if (only !== undefined && others.length === 0) return say`the only account is ${only}`;
  return say`ask the user which one they mean: ${listed(names.map(defined), 'or')}`;
}

import type { Account, Accounts } from '../../src/calls/account.js';
import { fixedKeys, type KeySource } from '../../src/signing/keys.js';
import { openPolicy } from './operations.js';

export interface NamedAccount extends Partial<Omit<Account, 'cloud'>> {
  readonly name: string;
  readonly keys?: KeySource;
}

/** Accounts of a file, which have one cloud and keys of their own. */
export function namedAccounts(origin: string, named: readonly NamedAccount[], byDefault?: string): Accounts {
  const all = named.map(({ name, keys, ...rules }): Account => {
    const cloud = {
      account: name,
      region: 'jp-east-1',
      keys: keys ?? fixedKeys({ accessKeyId: `AK${name.toUpperCase()}`, secretAccessKey: `secret of ${name}` }),
      endpoints: { storage: origin, catalog: `${origin}/catalog`, devops: `${origin}/devops` },
      signingServices: { storage: 's3', catalog: 'catalog', devops: 'devops' },
      storageHeaders: 'ext' as const,
    };
    return { name, policy: openPolicy, confirm: 'off', missingFor: () => [], ...rules, cloud: async () => cloud };
  });
  return { all, byDefault: all.find(({ name }) => name === byDefault), areNamed: true };
}

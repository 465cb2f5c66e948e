import type { Account } from '../calls/account.js';
import type { Cloud } from '../calls/endpoint.js';
import type { Policy } from '../calls/policy.js';
import type { KeySettings } from '../signing/open-keys.js';
import type { SettingValues } from './setting-values.js';
import type { Gathered } from './sources.js';

/** An account as it is configured, before its keys are opened. */
export interface AccountConfig extends Pick<Account, 'name' | 'description' | 'policy' | 'confirm' | 'budget'> {
  readonly cloud: Omit<Cloud, 'account' | 'keys'> & { readonly regionIsConfigured: boolean };
  /** True if plain http to other hosts is allowed. */
  readonly allowHttp: boolean;
  readonly keys: KeySettings;
}

/** All accounts as they are configured. */
export interface AccountsConfig {
  readonly all: readonly [AccountConfig, ...AccountConfig[]];
  /** Name of the account of calls that name none. */
  readonly byDefault: string | undefined;
  /** True if they come from a file, which gives them names. */
  readonly areNamed: boolean;
}

/** The account that settings describe. */
export function parseAccount(
  name: string,
  values: SettingValues,
  { texts, files, endpoints }: Pick<Gathered, 'texts' | 'files'> & Pick<Cloud, 'endpoints'>,
): AccountConfig {
  return {
    name,
    cloud: {
      region: values.REGION,
      regionIsConfigured: texts.REGION !== undefined,
      endpoints: { ...endpoints, storage: values.STORAGE_URL, catalog: values.CATALOG_URL, devops: values.DEVOPS_URL },
      signingServices: {
        storage: values.STORAGE_SERVICE,
        catalog: values.CATALOG_SERVICE,
        devops: values.DEVOPS_SERVICE,
      },
      storageHeaders: values.STORAGE_HEADERS,
    },
    allowHttp: values.ALLOW_HTTP,
    keys: keysOf(values, files),
    policy: policyOf(values),
    confirm: values.CONFIRM,
    budget: values.MAX_CHANGES,
  };
}

export const policyOf = ({ READ_ONLY, TOOLS, REGIONS, STORAGE_HEADERS }: SettingValues): Policy => ({
  readOnly: READ_ONLY,
  tools: TOOLS,
  regions: REGIONS,
  extensions: STORAGE_HEADERS === 'amz' ? ['s3'] : [],
});

function keysOf(values: SettingValues, files: Gathered['files']): KeySettings {
  if (values.PROFILE !== undefined) return { kind: 'profile', name: values.PROFILE };
  if (values.CREDENTIAL_PROCESS !== undefined) return { kind: 'process', command: values.CREDENTIAL_PROCESS };
  return {
    kind: 'keys',
    credentials: {
      accessKeyId: values.ACCESS_KEY_ID,
      secretAccessKey: values.SECRET_ACCESS_KEY,
      sessionToken: values.SESSION_TOKEN,
    },
    files: {
      accessKeyId: files.ACCESS_KEY_ID,
      secretAccessKey: files.SECRET_ACCESS_KEY,
      sessionToken: files.SESSION_TOKEN,
    },
  };
}

import type { Account, Accounts } from '../calls/account.js';
import { type Cloud, missingSettings } from '../calls/endpoint.js';
import { Refusal } from '../calls/refusal.js';
import type { ProfileFacts } from '../signing/aws-profile.js';
import { fixedKeys } from '../signing/keys.js';
import type { KeyDependencies, KeySettings } from '../signing/open-keys.js';
import type { Credentials } from '../signing/sign.js';
import { isBuiltInService } from '../tools/define-operation.js';
import { lazy } from '../util/objects.js';
import { type SafeText, say, words } from '../util/safe-text.js';
import { type AccountConfig, type AccountsConfig, isPlainHttp, plainHttp, policyOf } from './accounts.js';
import { parseSetting, type Report } from './read-settings.js';
import { variableName } from './settings.js';

type SandboxCloud = Pick<Cloud, 'endpoints' | 'signingServices'> & { readonly credentials: Credentials };

interface OpenAccountsDependencies extends KeyDependencies {
  /** Starts the sandbox, which replaces the endpoints and the keys of every account. */
  readonly sandbox: (() => Promise<SandboxCloud>) | undefined;
}

export function openAccounts(
  { all, byDefault, areNamed }: AccountsConfig,
  dependencies: OpenAccountsDependencies,
): Accounts {
  const opened = all.map((account) => openAccount(account, dependencies));
  return { all: opened, byDefault: opened.find(({ name }) => name === byDefault), areNamed };
}

function openAccount(config: AccountConfig, dependencies: OpenAccountsDependencies): Account {
  const { name, description, explicit, values, keys: keySettings } = config;
  const { sandbox } = dependencies;
  const cloud = {
    account: name,
    region: values.REGION,
    // A configured region wins over the region of a profile, but the default region does not.
    regionIsConfigured: explicit.REGION !== undefined,
    endpoints: {
      ...config.endpoints,
      storage: values.STORAGE_URL,
      catalog: values.CATALOG_URL,
      devops: values.DEVOPS_URL,
    },
    signingServices: {
      storage: values.STORAGE_SERVICE,
      catalog: values.CATALOG_SERVICE,
      devops: values.DEVOPS_SERVICE,
    },
    storageHeaders: values.STORAGE_HEADERS,
    storageStyle: values.STORAGE_STYLE,
  };
  /** The source is kept, because it notices changed files and expiring keys itself. */
  const openSource = lazy(async () => {
    // Loaded only now, so that a server starts without this code.
    const { openKeys } = await import('../signing/open-keys.js');
    return openKeys(keySettings, dependencies);
  });

  const configuredCloud = async (): Promise<Cloud> => {
    const missing = missingVariables(keySettings);
    // A call without keys is refused later, with the names of the missing variables.
    if (missing.length > 0) return { ...cloud, keys: { missing } };

    const source = await openSource();
    const profile = await source.profile?.();
    const configured = { ...cloud, keys: source.keys };
    return profile === undefined ? configured : withProfile(configured, profile, values.ALLOW_HTTP);
  };
  return {
    name,
    description,
    policy: policyOf(values),
    confirm: values.CONFIRM,
    confirmDelete: values.CONFIRM_DELETE,
    budget: values.MAX_CHANGES,
    missingFor(service) {
      if (sandbox !== undefined) return isBuiltInService(service) ? [] : [variableName('SANDBOX')];
      // A profile may have the endpoint of storage, which is known only when the profile is read.
      if (keySettings.kind === 'profile' && service === 'storage') return [];
      const missing = missingVariables(keySettings);
      return missingSettings({ endpoints: cloud.endpoints, keys: { missing } }, service);
    },
    async cloud() {
      if (sandbox === undefined) return configuredCloud();
      const { credentials, endpoints, signingServices } = await sandbox();
      // A bucket can stand before `localhost`, but not before an IP address.
      const storage =
        cloud.storageStyle === 'virtual' ? endpoints.storage?.replace('127.0.0.1', 'localhost') : endpoints.storage;
      const sandboxCloud = { signingServices, endpoints: { ...endpoints, storage } };
      return { ...cloud, keys: fixedKeys(credentials), isSandbox: true, ...sandboxCloud };
    },
  };
}

/** Names of the variables for the missing halves of an access key. */
export function missingVariables(keys: KeySettings): string[] {
  if (keys.kind !== 'keys') return [];
  const { accessKeyId, secretAccessKey } = keys.credentials;
  return [
    ...(accessKeyId === undefined ? [variableName('ACCESS_KEY_ID')] : []),
    ...(secretAccessKey === undefined ? [variableName('SECRET_ACCESS_KEY')] : []),
  ];
}

/** Settings win over the profile. @throws Refusal if the region or the endpoint in the profile is wrong */
function withProfile(cloud: Cloud, { region, endpointUrl }: ProfileFacts, allowHttp: boolean): Cloud {
  const problems: SafeText[] = [];
  const report: Report = (problem) => void problems.push(say`the profile cannot be used: ${words(problem)}`);
  if (region !== undefined) parseSetting('REGION', region, words('its region'), report);
  if (endpointUrl !== undefined) {
    const url = parseSetting('STORAGE_URL', endpointUrl, words('its endpoint_url'), report);
    if (!allowHttp && isPlainHttp(url)) report(say`its endpoint_url ${plainHttp}`);
  }
  if (problems.length > 0) throw new Refusal('NotConfigured', problems);
  return {
    ...cloud,
    region: cloud.regionIsConfigured ? cloud.region : (region ?? cloud.region),
    regionIsConfigured: cloud.regionIsConfigured === true || region !== undefined,
    // Other tools use the endpoint in a profile for S3, so it is for storage.
    endpoints: { ...cloud.endpoints, storage: cloud.endpoints.storage ?? endpointUrl },
  };
}

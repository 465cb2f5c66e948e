import { markdownTable, sentences } from '../util/human.js';
import { quote } from '../util/quote.js';
import { own, type SafeText, say } from '../util/safe-text.js';
import type { AccountsConfig } from './accounts.js';
import { isKeySetting } from './key-settings.js';
import type { Config } from './load-config.js';
import {
  endpointSettings,
  helpOf,
  isSetting,
  prefix,
  type Setting,
  settingNames,
  settings,
  variableName,
} from './settings.js';

/** Settings that callers over HTTP see: no key ID, no path, no address. Others are not shown. */
const sharedSettings: readonly Setting[] = [
  'REGION',
  'REGIONS',
  'STORAGE_HEADERS',
  'TOOLS',
  'READ_ONLY',
  'CONFIRM',
  'TIMEOUT_MS',
  'MAX_ATTEMPTS',
  'HTTP_RATE',
  'SANDBOX',
];

/**
 * The effective configuration as Markdown: settings, their values, and where they come from. No secrets.
 * @param names the accounts that the viewer may use, which are described where accounts have names
 */
export function describeConfig(
  { origins, sandbox, accounts }: Config,
  viewer: 'operator' | 'caller',
  names: readonly string[] = [],
): string {
  const byName = new Map(origins.map((origin) => [origin.name, origin]));
  const rows = settingNames
    .filter((setting) => viewer === 'operator' || sharedSettings.includes(setting))
    .map((setting) => {
      const row = settings[setting];
      const name = variableName(setting);
      const [direct, file] = [byName.get(name), byName.get(`${name}_FILE`)];
      const value =
        direct?.value ?? (file === undefined ? String(row.default ?? 'not set') : `read from ${quote(file.value)}`);
      return [name, value, (direct ?? file)?.from ?? 'default', helpOf(row)];
    });
  const parts = sentences(
    '# Configuration',
    sandbox && 'The built-in sandbox is in use, with endpoints and credentials of its own. No request reaches a cloud.',
    viewer === 'caller' && 'Settings that concern only the operator of this server are not shown.',
    markdownTable(['setting', 'value', 'from', 'meaning'], rows),
    accounts.areNamed && accountsTable(accounts, names),
  );
  return `${parts.join('\n\n')}\n`;
}

/** The settings of an account that the sandbox replaces. Users who set them and the sandbox have forgotten one of both. */
export const hiddenBySandbox = ({ sandbox, origins }: Pick<Config, 'sandbox' | 'origins'>): readonly SafeText[] =>
  sandbox ? origins.filter(({ name }) => isKeyOrEndpoint(name)).map(({ name }) => say`${own(name)}`) : [];

/** True for the variables of keys and endpoints. Names that are not in the table are endpoints, too. */
function isKeyOrEndpoint(variable: string): boolean {
  const name = variable.slice(prefix.length).replace(/_FILE$/, '');
  const isEndpoint = endpointSettings.some((setting) => setting === name);
  return isEndpoint || isKeySetting(name) || !(isSetting(name) || isSetting(`${name}_FILE`));
}

/** The settings of each account that differ from one to the other and say what a call can do. */
function accountsTable({ all, byDefault }: AccountsConfig, names: readonly string[]): string {
  const rows = all
    .filter(({ name }) => names.includes(name))
    .map(({ name, description = '', cloud, policy, confirm, budget }) => [
      name === byDefault ? `${name} (default)` : name,
      description,
      cloud.region,
      policy.regions?.join(', ') ?? 'any',
      policy.readOnly ? 'yes' : 'no',
      policy.tools?.join(', ') ?? 'all',
      confirm,
      budget === undefined ? 'any number' : `${budget.mostChanges} within ${budget.windowMs / 60_000} minutes`,
    ]);
  const heads = ['account', 'description', 'region', 'regions', 'read only', 'tools', 'consent', 'changes'];
  return `## Accounts\n\n${markdownTable(heads, rows)}`;
}

import { markdownTable, sentences } from '../util/human.js';
import { quote } from '../util/quote.js';
import type { AccountsConfig } from './accounts.js';
import type { Config } from './load-config.js';
import { helpOf, type Setting, settingNames, settings, variableName } from './settings.js';

/** Settings that callers over HTTP may see. Key IDs, paths and addresses are for the operator only. */
const sharedSettings: readonly Setting[] = [
  'REGION',
  'REGIONS',
  'STORAGE_HEADERS',
  'TOOLS',
  'READ_ONLY',
  'CONFIRM',
  'CONFIRM_DELETE',
  'TIMEOUT_MS',
  'MAX_ATTEMPTS',
  'HTTP_RATE',
  'SANDBOX',
];

export function describeConfig(
  { origins, values, accounts }: Config,
  viewer: 'operator' | 'caller',
  names: readonly string[],
): string {
  const rows = settingNames
    .filter((setting) => viewer === 'operator' || sharedSettings.includes(setting))
    .map((setting) => {
      const row = settings[setting];
      const [name, help] = [variableName(setting), helpOf(row)];
      const origin = origins.find((each) => each.setting === setting);
      if (origin === undefined) return [name, String(row.default ?? 'not set'), 'default', help];
      return [name, origin.isFile ? `read from ${quote(origin.shown)}` : origin.shown, 'environment', help];
    });
  const parts = sentences(
    '# Configuration',
    values.SANDBOX &&
      'The built-in sandbox is in use, with endpoints and credentials of its own. No request reaches a cloud.',
    viewer === 'caller' && 'Settings that concern only the operator of this server are not shown.',
    markdownTable(['setting', 'value', 'from', 'meaning'], rows),
    accounts.areNamed && accountsTable(accounts, names),
  );
  return `${parts.join('\n\n')}\n`;
}

function accountsTable({ all, byDefault }: AccountsConfig, names: readonly string[]): string {
  const rows = all
    .filter(({ name }) => names.includes(name))
    .map(({ name, description = '', values: { REGION, REGIONS, READ_ONLY, TOOLS, CONFIRM, MAX_CHANGES: budget } }) => [
      name === byDefault ? `${name} (default)` : name,
      description,
      REGION,
      REGIONS?.join(', ') ?? 'any',
      READ_ONLY ? 'yes' : 'no',
      TOOLS?.join(', ') ?? 'all',
      CONFIRM,
      budget === undefined ? 'any number' : `${budget.mostChanges} within ${budget.windowMs / 60_000} minutes`,
    ]);
  const heads = ['account', 'description', 'region', 'regions', 'read only', 'tools', 'consent', 'changes'];
  return `## Accounts\n\n${markdownTable(heads, rows)}`;
}

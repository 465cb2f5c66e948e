import { quote } from '../util/quote.js';
import type { Config } from './config.js';
import { helpOf, settingNames, settings, variableName } from './settings.js';

/** The effective configuration as Markdown: every setting, its value, and where it comes from. No secrets. */
export function describeConfig({ origins, sandbox }: Config): string {
  const byName = new Map(origins.map((origin) => [origin.name, origin]));
  const rows = settingNames.map((setting) => {
    const row = settings[setting];
    const name = variableName(setting);
    const [direct, file] = [byName.get(name), byName.get(`${name}_FILE`)];
    const value = direct?.value ?? (file === undefined ? (row.default ?? 'not set') : `read from ${quote(file.value)}`);
    return [name, value, (direct ?? file)?.from ?? 'default', helpOf(row)];
  });
  return [
    '# Configuration',
    '',
    sandbox
      ? 'The built-in sandbox is in use: its own endpoints and credentials replace those below. Nothing leaves this machine.'
      : 'The endpoints and credentials below are in use.',
    '',
    markdownTable(['setting', 'value', 'from', 'meaning'], rows),
    '',
  ].join('\n');
}

export function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

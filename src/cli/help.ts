import { helpOf, optionName, type Row, sections, variableName } from '../config/settings.js';
import type { Command, Commands } from './command.js';

/** `cloudops-mcp help`, and `--help` with any command. */
export const helpCommand = (commands: Commands, defaultCommand: Command): Command => ({
  usage: '',
  about: 'print this text',
  run: async ({ terminal }) => {
    terminal.stdout.write(await helpText(commands, defaultCommand));
    return 0;
  },
});

async function helpText(commands: Commands, defaultCommand: Command): Promise<string> {
  const others = Object.entries(commands).filter(([name]) => name !== 'help');
  const named = others.map(async ([name, load]) => usageOf(name, await load()));
  const usages = [usageOf('', defaultCommand), ...(await Promise.all(named))];
  const settings = Object.entries(sections).flatMap(([title, rows]) => [
    '',
    `  ${title}`,
    ...Object.entries(rows).map(([name, row]) => settingLine(name, row)),
  ]);
  return [
    'An MCP server that gives AI agents signed operations of a cloud.',
    'Try it without an account: cloudops-mcp --sandbox',
    '',
    'Usage:',
    ...usages,
    '',
    'Settings, as environment variables or options; an option wins:',
    ...settings,
    '',
    '  --help      print this text, also: cloudops-mcp help',
    '  --version   print the version',
    '',
  ].join('\n');
}

function usageOf(name: string, { usage, about }: Command): string {
  const line = ['cloudops-mcp', name, usage, '[settings]'].filter((part) => part !== '').join(' ');
  return `  ${line}\n      ${about}`;
}

function settingLine(name: string, row: Row): string {
  const option = row.secret ? '' : optionName(name);
  return `    ${variableName(name).padEnd(28)}${option.padEnd(22)}${helpOf(row)}`;
}

import { helpOf, sections, variableName } from '../config/settings.js';
import { type ArgumentRow, argumentRows } from '../mcp/reference.js';
import { exampleOf, type Operation } from '../tools/define-operation.js';
import { defined, exact, own, say } from '../util/safe-text.js';
import { type Command, type Commands, notOneOf, UsageError, usualExitCodes } from './command.js';
import { columnsOf, wrapped } from './layout.js';

/** `cloudops-mcp help` and the option `--help` of any command. */
export const helpCommand = (commands: Commands, defaultCommand: Command): Command => ({
  usage: '[<command> | call <tool> | settings]',
  about: 'print help about a command, a tool or the settings',
  example: 'help call restore_instance',
  positionals: 2,
  run: async ({ positionals: [topic, tool], operations, operationProblems, terminal: { stdout } }) => {
    const width = columnsOf(stdout);
    const print = (lines: readonly string[]): number => {
      stdout.write(`${lines.join('\n')}\n`);
      return 0;
    };
    if (topic === undefined) return print(await overview(commands, defaultCommand));
    if (topic === 'settings') return print(settingsLines(width));
    const command = Object.hasOwn(commands, topic) ? await commands[topic]?.() : undefined;
    if (command === undefined) throw new UsageError(notOneOf('command', topic, Object.keys(commands)));
    if (tool === undefined || topic !== 'call') return print(commandLines(topic, command, width));

    const operation = operations.find(({ name }) => name === tool);
    if (operation !== undefined) return print(toolLines(command, operation, width));
    const tools = operations.map(({ name }) => name);
    // The tool may be one that could not be loaded.
    throw new UsageError(...(operationProblems.length > 0 ? operationProblems : [notOneOf('tool', tool, tools)]));
  },
});

/** Fits a screen of 24 lines. */
async function overview(commands: Commands, defaultCommand: Command): Promise<readonly string[]> {
  const loadedCommands = await Promise.all(
    Object.entries(commands).map(async ([name, load]) => `  ${name.padEnd(15)}${(await load()).about}`),
  );
  return [
    'An MCP server that gives AI agents signed operations of a cloud.',
    '',
    `  cloudops-mcp             ${defaultCommand.about}`,
    '  cloudops-mcp --sandbox   the same without an account, on a local cloud',
    '  cloudops-mcp <command>',
    '',
    'Commands:',
    ...loadedCommands,
    '',
    'Help:',
    '  cloudops-mcp <command> --help    a command',
    '  cloudops-mcp call <tool> --help  a tool with its arguments',
    '  cloudops-mcp help settings       settings, as environment variables',
  ];
}

function settingsLines(width: number): readonly string[] {
  return [
    'Settings, as environment variables:',
    ...Object.entries(sections).flatMap(([title, rows]) => [
      '',
      `  ${title}`,
      ...Object.entries(rows).flatMap(([name, row]) =>
        // In a file or pipe, each setting is one line, for programs such as grep.
        Number.isFinite(width)
          ? [`    ${variableName(name)}`, ...wrapped(say`${defined(helpOf(row))}`, width, { indent: 8 })]
          : [`    ${variableName(name).padEnd(32)}${helpOf(row)}`],
      ),
    ]),
  ];
}

function commandLines(name: string, command: Command, width: number): readonly string[] {
  const { example, exitCodes = usualExitCodes } = command;
  return [
    ...usageLines(name, command, width),
    '',
    'Example:',
    `  cloudops-mcp ${example}`,
    '',
    'Exit codes:',
    ...Object.entries(exitCodes).flatMap(([code, meaning]) =>
      wrapped(say`${defined(meaning)}`, width, { start: say`  ${exact(code.padEnd(3))}`, indent: 5 }),
    ),
    '',
    ...wrapped('--sandbox uses the local cloud. cloudops-mcp help settings lists the settings.', width),
  ];
}

function usageLines(name: string, { usage, about, details }: Command, width: number): string[] {
  const description = details === undefined ? about : `${about}. ${details}`;
  return [
    ...wrapped(say`cloudops-mcp ${defined(`${name} ${usage}`.trim())}`, width, { start: 2, indent: 6 }),
    ...wrapped(say`${defined(description)}`, width, { indent: 6 }),
  ];
}

function toolLines(command: Command, operation: Operation, width: number): readonly string[] {
  const { name, description } = operation;
  const rows = argumentRows(operation);
  const example = exampleOf(operation);
  return [
    ...usageLines('call', { ...command, usage: command.usage.replace('<tool>', name) }, width),
    '',
    ...wrapped(say`${defined(description.replace(/; ask the user rather than guess/, ''))}`, width, { indent: 2 }),
    '',
    rows.length === 0 ? 'It takes no arguments.' : 'Arguments, as fields of a JSON object:',
    ...rows.flatMap((row) => argumentLines(row, width)),
    '',
    example === undefined
      ? 'The operation has no example.'
      : say`  cloudops-mcp call ${own(name)} '${exact(JSON.stringify(example))}'`.text,
  ];
}

function argumentLines({ path, type, rules, about, defaultText }: ArgumentRow, width: number): string[] {
  const description = descriptionsForPeople[path] ?? about;
  const defaultFact = defaultText === '' || description.includes(defaultText) ? [] : [`${defaultText} if absent`];
  const paragraphs = [[type, ...rules, ...defaultFact].join(', '), description].filter((text) => text !== '');
  return [
    `  ${path}`,
    ...paragraphs.flatMap((text) => wrapped(say`${defined(text.replaceAll('`', ''))}`, width, { indent: 6 })),
  ];
}

const descriptionsForPeople: Readonly<Record<string, string>> = {
  planOnly: 'Only show the plan, as --plan does.',
  replaces: 'Withdraw the waiting plan with this changeId.',
  allowRepeat: 'Send it although the same change was sent before.',
};

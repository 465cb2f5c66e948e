import { helpOf, sections, variableName } from '../config/settings.js';
import { type ArgumentRow, argumentRows } from '../mcp/reference.js';
import { exampleOf, type Operation } from '../tools/define-operation.js';
import { defined, exact, namesOf, own, say } from '../util/safe-text.js';
import { type Command, type Commands, type Invocation, notOneOf, UsageError } from './command.js';
import { columnsOf, wrapped } from './layout.js';

const settingsTopic = 'settings';

/** `cloudops-mcp help` and the option `--help` of any command. */
export const helpCommand = (commands: Commands, defaultCommand: Command): Command => ({
  usage: '[<command> [<tool>] | <tool> | settings]',
  about: 'print help about a command, a tool or the settings',
  positionals: 2,
  run: async (invocation) => {
    const { terminal } = invocation;
    const lines = await linesAbout(invocation, columnsOf(terminal.stdout), commands, defaultCommand);
    terminal.stdout.write(`${lines.join('\n')}\n`);
    return 0;
  },
});

async function linesAbout(
  invocation: Invocation,
  width: number,
  commands: Commands,
  defaultCommand: Command,
): Promise<readonly string[]> {
  const { positionals, operations, operationProblems } = invocation;
  const [topic, tool] = positionals;
  if (topic === undefined) return overview(commands, defaultCommand);
  if (topic === settingsTopic) return settingsLines(width);

  const tools = operations.map(({ name }) => name);
  const loadCommand = Object.hasOwn(commands, topic) ? commands[topic] : undefined;
  if (loadCommand === undefined) {
    // `help <tool>` is short for `help call <tool>`.
    if (tool === undefined && tools.includes(topic))
      return linesAbout({ ...invocation, positionals: ['call', topic] }, width, commands, defaultCommand);
    throw new UsageError(notOneOf('command', topic, Object.keys(commands)));
  }
  const command = await loadCommand();
  if (tool === undefined || topic !== 'call') return commandLines(topic, command, width);

  const operation = operations.find(({ name }) => name === tool);
  if (operation !== undefined) return toolLines(topic, command, operation, width);
  if (operationProblems.length === 0) throw new UsageError(notOneOf('tool', tool, tools));
  // The tool may be one that could not be loaded.
  throw new UsageError(...operationProblems, say`Until the file is loaded, the tools are ${namesOf(tools)}.`);
}

/** Fits a screen of 24 lines. */
async function overview(commands: Commands, defaultCommand: Command): Promise<readonly string[]> {
  const loadedCommands = await Promise.all(
    Object.entries(commands).map(async ([name, load]) => ({ name, about: (await load()).about })),
  );
  return [
    'An MCP server that gives AI agents signed operations of a cloud.',
    '',
    `  cloudops-mcp             ${defaultCommand.about}`,
    '  cloudops-mcp --sandbox   the same without an account, on a local cloud',
    '  cloudops-mcp <command>',
    '',
    'Commands:',
    ...loadedCommands.map(({ name, about }) => `  ${name.padEnd(columnOfAbout)}${about}`),
    '',
    'Help:',
    '  cloudops-mcp <command> --help    a command',
    '  cloudops-mcp call <tool> --help  a tool with its arguments',
    '  cloudops-mcp help settings       settings, as environment variables',
  ];
}

const columnOfAbout = 15;

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
  const isAboutTools = command.usage.startsWith('<tool>');
  return [
    ...usageOf(name, command, width),
    '',
    ...(isAboutTools ? wrapped(say`The arguments of a tool: cloudops-mcp ${own(name)} <tool> --help`, width) : []),
    ...wrapped('--sandbox uses the local cloud. cloudops-mcp help settings lists the settings.', width),
  ];
}

function usageOf(name: string, { usage, about, details }: Command, width: number): string[] {
  const start = name === '' ? say`  cloudops-mcp` : say`  cloudops-mcp ${own(name)}`;
  const [first = '', ...others] = wrapped(say`${defined(usage)}`, width, { start: say`${start} `, indent: 6 });
  const description = details === undefined ? about : `${about}. ${details}`;
  return [
    start.text + first.slice(start.text.length).trimEnd(),
    ...others,
    ...wrapped(say`${defined(description)}`, width, { indent: 6 }),
  ];
}

function toolLines(commandName: string, command: Command, operation: Operation, width: number): readonly string[] {
  const usage = command.usage.replace('<tool>', operation.name);
  const lines = usageOf(commandName, { ...command, usage }, width);
  lines.push('', ...wrapped(say`${defined(operation.description.replace(remarkForModels, ''))}`, width, { indent: 2 }));

  const rows = argumentRows(operation);
  const heading = rows.length === 0 ? 'It takes no arguments.' : 'Arguments, as fields of a JSON object:';
  lines.push('', heading);
  for (const row of rows) lines.push(...argumentLines(row, width));

  const lists = new Map(rows.flatMap(({ list }) => (list === undefined ? [] : [[list.name, list.values] as const])));
  for (const [letter, values] of lists) {
    const start = say`  List ${own(letter)}: `;
    lines.push('', ...wrapped(say`${defined(plain(values))}.`, width, { start, indent: 4 }));
  }

  const example = exampleOf(operation);
  if (example === undefined) return [...lines, '  The operation has no example.'];
  const json = exact(JSON.stringify(example));
  return [...lines, say`  cloudops-mcp ${own(commandName)} ${own(operation.name)} '${json}'`.text];
}

function argumentLines({ path, type, rules, about, defaultText }: ArgumentRow, width: number): string[] {
  const description = descriptionsForPeople[path] ?? about;
  const defaultFact = defaultText === '' || description.includes(defaultText) ? [] : [`${defaultText} if absent`];
  const paragraphs = [[type, ...rules, ...defaultFact].join(', ')];
  if (description !== '') paragraphs.push(description);
  const lines = paragraphs.flatMap((paragraph) => wrapped(say`${defined(plain(paragraph))}`, width, { indent: 6 }));
  return [`  ${path}`, ...lines];
}

const remarkForModels = /; ask the user rather than guess/;

const plain = (text: string) => text.replaceAll('`', '');

const descriptionsForPeople: Readonly<Record<string, string>> = {
  planOnly: 'Only show the plan, as --plan does.',
  replaces: 'Withdraw the waiting plan with this changeId.',
  allowRepeat: 'Send it although the same change was sent before.',
};

import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { CommandLine, CommandSyntax } from '../config/command-line.js';
import type { Config, ConfigResult } from '../config/load-config.js';
import type { Operation } from '../tools/define-operation.js';
import { didYouMean } from '../util/did-you-mean.js';
import { namesOf, own, type SafeText, say, type Wording, words } from '../util/safe-text.js';
import { columnsOf, type HelpPage, wrapped } from './layout.js';

/** A terminal with `columns`, or a file or pipe. */
type Screen = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** The streams, environment and clock of the process that runs a command. */
export interface Terminal {
  readonly now: () => Date;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Output of a command. While MCP is served on it, only messages of the protocol. */
  readonly stdout: Screen;
  /** Problems, progress and questions. */
  readonly stderr: Screen;
  /** Aborts on the first termination signal, so that the command can end. A second signal kills the process. */
  interrupted(onSignal?: (name: string) => void): AbortSignal;
  readonly platform: NodeJS.Platform;
  /** Path of the script that Node runs, with symbolic links resolved. */
  readonly script: string;
  /** Path of the Node.js executable. */
  readonly node: string;
  /** Time zone of the times that are shown. By default, the zone of the process. */
  readonly timeZone?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

export interface Invocation extends Pick<CommandLine, 'positionals' | 'options' | 'settings'> {
  readonly config: ConfigResult;
  /** All operations, even if the configuration is invalid. */
  readonly operations: readonly Operation[];
  /** Reasons why no operations of CLOUDOPS_OPERATIONS are among them, one sentence each. */
  readonly operationProblems: readonly SafeText[];
  readonly terminal: Terminal;
}

/** A command. Options that are not in its syntax are settings. */
export interface Command extends CommandSyntax {
  /** Arguments and options after the command's name: `[--json] [--since 24h]`. */
  readonly usage: string;
  /** The purpose in a few words, for the list of commands. */
  readonly about: string;
  /** Further sentences for the help of the command. */
  readonly details?: string;
  /** Values of the first argument, for the completion of a shell. */
  readonly subjects?: (operations: readonly Operation[]) => readonly string[];
  /** Set for long-running commands, which refuse to start with an invalid setting. */
  readonly serves?: true;
  /**
   * Resolves with the exit code.
   * @throws UsageError
   */
  run(invocation: Invocation): Promise<number>;
}

/** Commands by name. Each is loaded when it is run, so that a server starts without the others. */
export type Commands = Readonly<Record<string, () => Promise<Command>>>;

/** Thrown if a command cannot run. `problems` are sentences for the user, without values of secrets. The exit code is 2. */
export class UsageError extends Error {
  readonly problems: readonly SafeText[];
  /** Begins the message instead of the command's name. */
  heading: SafeText | undefined;
  constructor(...problems: readonly SafeText[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
  under<const Text extends string>(heading: Wording<Text>): this {
    this.heading = words(heading);
    return this;
  }
}

/** Formats problems. One problem follows the heading, and several are listed below it. */
export function problemsText(heading: SafeText, problems: readonly SafeText[], terminal: Terminal): string {
  const { width } = pageOf(terminal, 'stderr');
  const [first = say``, ...others] = problems;
  const lines =
    others.length === 0
      ? wrapped(first, width, say`${heading}: `, 2)
      : [say`${heading}:`, ...problems.flatMap((problem) => wrapped(problem, width, '- '))];
  return `${lines.join('\n')}\n`;
}

/** @throws UsageError if the configuration is not valid */
export function validConfig({ config }: Invocation): Config {
  if (config.ok) return config.config;
  throw new UsageError(...config.problems);
}

/** Options of commands that start or ask an HTTP server. */
export const addressOptions = { host: 'value', port: 'value' } as const;
export type CommandAddress = Readonly<Partial<Record<keyof typeof addressOptions, string>>>;
export const defaultAddress = { host: '127.0.0.1', port: '8080' };

/**
 * Parses the value of `--port`.
 * @throws UsageError if it is not a port
 */
export function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(say`--port takes a number from 0 to 65535; 0 takes a free one.`);
}

/** A sentence about a name, for example of a command or a tool, that is missing or does not exist. */
export const notOneOf = <const Kind extends string>(
  kind: Wording<Kind>,
  name: string,
  names: readonly string[],
): SafeText => {
  const [what, all] = [words(kind), namesOf(names)];
  if (name === '') return say`Name a ${what}: ${all}.`;
  const similarName = didYouMean(name, names);
  const hint = similarName === undefined ? say`.` : say`; did you mean ${own(similarName)}?`;
  return say`${own(name)} is not a ${what}${hint} The ${what}s are ${all}.`;
};

/** @throws UsageError if no operation has the name */
export function operationNamed(name: string, operations: readonly Operation[]): Operation {
  const operation = operations.find((candidate) => candidate.name === name);
  if (operation !== undefined) return operation;
  const names = operations.map((candidate) => candidate.name);
  throw new UsageError(notOneOf('tool', name, names));
}

/** The layout for a stream. Text on a terminal has colours, unless NO_COLOR is set. */
export function pageOf(
  { env, timeZone, ...streams }: Pick<Terminal, 'stdout' | 'stderr' | 'env' | 'timeZone'>,
  stream: 'stdout' | 'stderr',
): HelpPage {
  const screen = streams[stream];
  const hasColours = screen.isTTY === true && !env.NO_COLOR;
  return {
    width: columnsOf(screen),
    paint: (format, text) => (hasColours ? styleText(format, text, { validateStream: false }) : text),
    timeZone,
  };
}

/** A progress bar such as `██████░░░░` for a share from 0 to 1. */
export function progressBar(share: number): string {
  const width = 30;
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

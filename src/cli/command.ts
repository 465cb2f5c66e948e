import type { Readable, Writable } from 'node:stream';
import type { CommandLine, CommandSyntax } from '../config/command-line.js';
import type { Config, ConfigResult } from '../config/load.js';
import { nearest } from '../util/did-you-mean.js';
import { quoteName } from '../util/quote.js';

/** The process around a command: where it reads and writes, and what the time is. */
export interface Terminal {
  print(text: string): void;
  printError(text: string): void;
  readonly now: () => Date;
  /** Whether a person reads the output. */
  readonly isTty: boolean;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** For the protocol alone while it is served. */
  readonly stdout: Writable;
  /** For progress and questions while a command runs. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Aborts on the first signal that asks the process to end; the command then ends by itself. A second signal kills it. */
  interrupted(onSignal?: (name: string) => void): AbortSignal;
  readonly platform: NodeJS.Platform;
  /** Path of the script that Node runs, links resolved. */
  readonly script: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

/** What a command was given. */
export interface Invocation extends Pick<CommandLine, 'positionals' | 'options'> {
  readonly config: ConfigResult;
  readonly terminal: Terminal;
}

/** One command of the command line. Options that are not its own are settings. */
export interface Command extends CommandSyntax {
  /** What follows the command's name: `[--json] [--since 24h]`. */
  readonly usage: string;
  readonly about: string;
  /** Resolves with the exit code. */
  run(invocation: Invocation): Promise<number>;
}

/** A command that cannot run unless the configuration is valid. */
export const withConfig =
  (run: (invocation: Invocation, config: Config) => Promise<number>): Command['run'] =>
  async (invocation) => {
    const { config, terminal } = invocation;
    if (config.ok) return run(invocation, config.config);
    terminal.printError(problemsText(config.problems));
    return 2;
  };

export const problemsText = (problems: readonly string[]) =>
  `cloudops-mcp cannot start:\n${problems.map((problem) => `- ${problem}\n`).join('')}`;

/** What to say when a command, a tool or the like does not exist, or was not named. */
export const notOneOf = (kind: string, given: string, names: readonly string[]) => {
  if (given === '') return `Name a ${kind}: ${names.join(', ')}.`;
  return `${quoteName(given)} is not a ${kind}; did you mean ${nearest(given, names, 1)[0]}? The ${kind}s are ${names.join(', ')}.`;
};

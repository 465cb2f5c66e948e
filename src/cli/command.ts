import type { Readable, Writable } from 'node:stream';
import { type Config, type ConfigResult, isSwitch } from '../config/config.js';
import { nearest } from '../util/did-you-mean.js';
import { quoteName } from '../util/quote.js';

/** Where a command reads and writes, and what the time is. */
export interface Terminal {
  print(text: string): void;
  printError(text: string): void;
  readonly now: () => Date;
  /** Whether a person reads the output. */
  readonly isTty: boolean;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** For what is drawn and asked while a command runs. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Aborts when the process is asked to end, which from then on is left to the command. A second time ends it at once. */
  interrupted(): AbortSignal;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

/** What a command was given. */
export interface Invocation {
  readonly positionals: readonly string[];
  /** Options of its own that were given: their value, or `''` for a switch. */
  readonly options: Readonly<Record<string, string>>;
  readonly config: ConfigResult;
  readonly terminal: Terminal;
}

/** One command of the command line. */
export interface Command {
  /** What follows the command's name: `[--json] [--since 24h]`. */
  readonly usage: string;
  readonly about: string;
  /** How many arguments it takes that are not options. */
  readonly positionals?: number;
  /** Options of its own, without dashes. All others are settings. */
  readonly options?: Readonly<Record<string, 'switch' | 'value'>>;
  /** Resolves with the exit code. */
  run(invocation: Invocation): Promise<number>;
}

export interface SplitArguments {
  readonly positionals: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  /** Options that are settings. */
  readonly settings: readonly string[];
  readonly problems: readonly string[];
}

/** Tells a command's arguments and own options from the settings among them. */
export function splitArguments(
  { positionals: most = 0, options: known = {} }: Command,
  args: readonly string[],
): SplitArguments {
  const positionals: string[] = [];
  const options: Record<string, string> = {};
  const settings: string[] = [];
  const problems: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const [, name = '', inline] = /^--([a-z-]+)(?:=([\s\S]*))?$/.exec(arg) ?? [];
    const next = args[index + 1];
    if (positionals.length < most && (arg === '-' || !arg.startsWith('-'))) positionals.push(arg);
    else if (!Object.hasOwn(known, name)) {
      settings.push(arg);
      // What follows an option that is not known may be a secret: it is never taken for anything else.
      if (arg.startsWith('--') && inline === undefined && next?.startsWith('--') === false && !isSwitch(arg)) {
        settings.push(next);
        index += 1;
      }
    } else if (known[name] === 'switch') options[name] = '';
    else if (inline !== undefined) options[name] = inline;
    else if (next === undefined) problems.push(`--${name} needs a value.`);
    else {
      options[name] = next;
      index += 1;
    }
  }
  return { positionals, options, settings, problems };
}

/** A command that cannot run without a sound configuration. */
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

/** What to say of a command, a tool or the like that does not exist, or was not named. */
export const notOneOf = (kind: string, given: string, names: readonly string[]) => {
  if (given === '') return `Name a ${kind}: ${names.join(', ')}.`;
  return `${quoteName(given)} is not a ${kind}; did you mean ${nearest(given, names, 1)[0]}? There are ${names.join(', ')}.`;
};

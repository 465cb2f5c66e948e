import type { Readable } from 'node:stream';
import type { Environment } from '../config/environment.js';
import type { Config, ConfigResult } from '../config/load-config.js';
import type { Operation } from '../tools/define-operation.js';
import { didYouMean } from '../util/did-you-mean.js';
import { defined, namesOf, own, type SafeText, say, type Wording, words } from '../util/safe-text.js';
import type { Screen } from './layout.js';

/** The streams, environment and clock of the process that runs a command. */
export interface Terminal {
  readonly now: () => Date;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** A server that uses stdout for MCP writes nothing else to it. */
  readonly stdout: Screen;
  readonly stderr: Screen;
  /** Returns a signal that aborts on Ctrl-C or a termination signal. A second signal kills the process. */
  abortOnSignal(onSignal?: (name: string) => void): AbortSignal;
  readonly platform: NodeJS.Platform;
  /** Path of the script, with symbolic links resolved. */
  readonly script: string;
  /** Path of the Node.js executable. */
  readonly node: string;
  /** By default, the zone of the process. */
  readonly timeZone?: string;
  readonly env: Environment;
  readonly version: string;
}

export interface Invocation {
  readonly positionals: readonly string[];
  /** The value of a switch is `1`. */
  readonly options: Readonly<Record<string, string>>;
  readonly config: ConfigResult;
  /** All operations, built in and from files, even if the configuration is invalid. */
  readonly operations: readonly Operation[];
  /** Reasons why operations of CLOUDOPS_OPERATIONS could not be loaded. */
  readonly operationProblems: readonly SafeText[];
  readonly terminal: Terminal;
}

export type OptionKinds = Readonly<Record<string, 'switch' | 'value'>>;

export interface Command {
  /** Maximum number of arguments that are not options. */
  readonly positionals?: number;
  /** Options without dashes. Every command also has `--sandbox`. */
  readonly options?: OptionKinds;
  readonly usage: string;
  readonly about: string;
  readonly details?: string;
  /** For the help, without the name of the program. */
  readonly example: string;
  /** If they differ from `usualExitCodes`. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  /** Set for long-running commands, which refuse to start with an invalid setting. */
  readonly serves?: true;
  /** Resolves with the exit code. @throws UsageError */
  run(invocation: Invocation): Promise<number>;
}

export const usualExitCodes = { 0: 'done', 1: 'it failed', 2: 'wrong usage or configuration' };

/** Functions that load a command when it is needed, by its name. */
export type Commands = Readonly<Record<string, () => Promise<Command>>>;

/** Thrown if a command cannot run. `problems` show no secrets. The exit code is 2. */
export class UsageError extends Error {
  readonly problems: readonly SafeText[];
  constructor(...problems: readonly SafeText[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** @throws UsageError */
export function validConfig({ config }: Invocation): Config {
  if (config.ok) return config.config;
  throw new UsageError(...config.problems);
}

/** Names settings as they are used here, such as `CLOUDOPS_JOURNAL_FILE` for `CLOUDOPS_JOURNAL`. */
export const asUsed = (text: SafeText, { origins }: Pick<Config, 'origins'>): SafeText =>
  defined(
    text.text.replace(
      /CLOUDOPS_([A-Z_]+)/g,
      (name, setting) => origins.find((each) => each.setting === setting)?.name ?? name,
    ),
  );

export const addressOptions = { host: 'value', port: 'value' } as const;
export const defaultAddress = { host: '127.0.0.1', port: '8080' };

/** Parses the value of `--port`. @throws UsageError */
export function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(say`--port takes a number from 0 to 65535; 0 takes a free one.`);
}

/** Says that a name is missing or unknown, and lists the names that exist. */
export const notOneOf = <const Kind extends string>(
  kind: Wording<Kind>,
  name: string,
  names: readonly string[],
): SafeText => {
  const [what, all] = [words(kind), namesOf(names)];
  const article = words(/^[aeiou]/.test(what.text) ? 'an' : 'a');
  if (name === '') return say`Name ${article} ${what}: ${all}.`;
  const similarName = didYouMean(name, names);
  const hint = similarName === undefined ? say`.` : say`; did you mean ${own(similarName)}?`;
  return say`${own(name)} is not ${article} ${what}${hint} The ${what}s are ${all}.`;
};

import { parseArgs } from 'node:util';
import { didYouMean } from '../util/did-you-mean.js';
import { quoteName } from '../util/quote.js';
import { inputs, optionName, settings, variableName } from './settings.js';

/** What a command takes besides settings. */
export interface CommandSyntax {
  /** How many arguments it takes that are not options. */
  readonly positionals?: number;
  /** Options of its own, without dashes. */
  readonly options?: Readonly<Record<string, 'switch' | 'value'>>;
}

/** A command line, read once for the command and for the settings. */
export interface CommandLine {
  readonly positionals: readonly string[];
  /** The command's own options that were given: their value, or `''` for a switch. */
  readonly options: Readonly<Record<string, string>>;
  /** Settings by name, such as `READ_ONLY` or `JOURNAL_FILE`. */
  readonly settings: Readonly<Record<string, string>>;
  readonly wants: 'help' | 'version' | undefined;
  /** All problems, one sentence each. No value is in them: it may be a secret. */
  readonly problems: readonly string[];
}

const asked = { '--help': 'help', '-h': 'help', '--version': 'version', '-v': 'version' } as const;
const isAsked = (arg: string): arg is keyof typeof asked => Object.hasOwn(asked, arg);

const settingOptions = new Map(inputs.map((input) => [optionName(input.name), input]));
const isSwitch = (option: string) => {
  const input = settingOptions.get(option);
  return input !== undefined && settings[input.setting].kind === 'switch';
};

/** Reads arguments: `--region jp-east-1`, `--region=jp-east-1`, `--read-only`, and what the command takes itself. */
export function parseCommandLine(args: readonly string[], syntax: CommandSyntax = {}): CommandLine {
  const { positionals: most = 0, options: own = {} } = syntax;
  const ownOptions = Object.keys(own).map((name) => `--${name}`);
  const isValue = (option: string) =>
    own[option.slice(2)] === 'value' || (settingOptions.has(option) && !isSwitch(option));
  const positionals: string[] = [];
  const options: Record<string, string> = {};
  const given: Record<string, string> = {};
  const problems: string[] = [];
  let wants: CommandLine['wants'];

  const types = [...settingOptions.keys(), ...ownOptions].map((option) => {
    return [option.slice(2), { type: isValue(option) ? 'string' : 'boolean' }] as const;
  });
  const { tokens } = parseArgs({
    args: args.map((arg, index) => unambiguous(arg, args[index + 1], isValue)),
    options: Object.fromEntries(types),
    strict: false,
    tokens: true,
  });
  /** The place of a value that is not to be shown or used. */
  let skipped: number | undefined;
  for (const token of tokens) {
    const written = args[token.index] ?? '';
    if (token.index === skipped || token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      if (positionals.length < most) positionals.push(written);
      else problems.push('There is an argument too many; options begin with --.');
      continue;
    }
    const [option = ''] = written.split('=', 1);
    const next = args[token.index + 1];
    const value = token.inlineValue ? token.value : next;
    const input = settingOptions.get(option);
    if (isAsked(written)) wants ??= asked[written];
    else if (Object.hasOwn(own, option.slice(2))) {
      if (!isValue(option)) options[token.name] = '';
      else if (value) options[token.name] = value;
      else problems.push(`${option} needs a value.`);
    } else if (input === undefined) {
      problems.push(`${quoteName(option)} is not an option${hint(option, [...settingOptions.keys(), ...ownOptions])}`);
      // It may be the value of a misspelt option, and so a secret.
      if (!token.inlineValue && next?.startsWith('--') === false) skipped = token.index + 1;
    } else if (settings[input.setting].secret && !input.isFile) problems.push(secretOption(input.name));
    else if (isSwitch(option)) given[input.name] = token.value ?? '1';
    else if (value?.trim()) given[input.name] = value.trim();
    else problems.push(`${option} needs a value.`);
  }
  return { positionals, options, settings: given, wants, problems };
}

/**
 * An argument as `parseArgs` understands what we mean: an option with one dash is no group of short options, and what begins
 * with two dashes is never the value of the option before it.
 */
function unambiguous(arg: string, next: string | undefined, isValue: (option: string) => boolean): string {
  if (/^-[^-]/.test(arg)) return `--${arg}`;
  return isValue(arg) && (next === undefined || next.startsWith('--') || isAsked(next)) ? `${arg}=` : arg;
}

/** What to say of a secret on the command line, where everybody on the machine can read it. */
export const secretOption = (name: string) =>
  `${optionName(name)} would show the secret to everybody on this machine: use ${variableName(name)} or ${optionName(name)}-file.`;

/** What to say after a name that does not exist. */
export function hint(given: string, known: readonly string[]): string {
  const meant = didYouMean(given, known);
  return meant === undefined ? '; --help lists them all' : `; did you mean ${meant}?`;
}

import { parseArgs } from 'node:util';
import { didYouMean } from '../util/did-you-mean.js';
import { own, type SafeText, say, words } from '../util/safe-text.js';
import { inputs, optionName, safeVariableName, settings } from './settings.js';

/** Arguments and options of a command, besides settings. */
export interface CommandSyntax {
  /** Maximum number of arguments that are not options. */
  readonly positionals?: number;
  /** The command's own options, without dashes. */
  readonly options?: Readonly<Record<string, 'switch' | 'value'>>;
}

export interface CommandLine {
  readonly positionals: readonly string[];
  /** Values of the command's own options. The value of a switch is `1`. */
  readonly options: Readonly<Record<string, string>>;
  /** Settings by name, such as `READ_ONLY` or `JOURNAL_FILE`. */
  readonly settings: Readonly<Record<string, string>>;
  readonly wants: 'help' | 'version' | undefined;
  /** All problems, one sentence each. They show no value, because it may be a secret. */
  readonly problems: readonly SafeText[];
}

/** Options that replace the command by its help or by the version. */
const infoFlags = { '--help': 'help', '-h': 'help', '--version': 'version', '-v': 'version', '-V': 'version' } as const;
const isInfoFlag = (arg: string): arg is keyof typeof infoFlags => Object.hasOwn(infoFlags, arg);

interface Option {
  readonly name: string;
  /** The record for the value. Settings are options of every command. */
  readonly owner: 'options' | 'settings';
  readonly isSwitch: boolean;
  readonly isSecret: boolean;
}

type OptionsByFlag = ReadonlyMap<string, Option>;

/**
 * Parses the arguments of a command: its own options, and settings such as `--region jp-east-1`, `--region=jp-east-1` or `--read-only`.
 * @param furtherSettings names of settings that are not in the table, without prefix
 */
export function parseCommandLine(
  args: readonly string[],
  syntax: CommandSyntax = {},
  furtherSettings: readonly string[] = [],
): CommandLine {
  const { positionals: mostPositionals = 0, options = {} } = syntax;
  const optionsByFlag = listOptions(options, furtherSettings);
  const positionals: string[] = [];
  const problems: SafeText[] = [];
  const values: Record<Option['owner'], Record<string, string>> = { options: {}, settings: {} };
  const tokens = tokensOf(args);
  const [wants] = tokens.flatMap(({ arg, isOption }) => (isOption && isInfoFlag(arg) ? [infoFlags[arg]] : []));
  /** Index of the argument that is the value of the last option. */
  let valueIndex = -1;
  for (const { arg, index, isOption } of tokens) {
    if (index === valueIndex || (isOption && isInfoFlag(arg))) continue;
    if (!isOption) {
      positionals.push(arg);
      continue;
    }
    const parsed = parseOption(arg, args[index + 1], optionsByFlag);
    if (parsed.takesNext) valueIndex = index + 1;
    if (parsed.kind === 'problem') problems.push(parsed.problem);
    else values[parsed.option.owner][parsed.option.name] = parsed.value;
  }
  if (positionals.splice(mostPositionals).length > 0)
    problems.push(words('There is one argument too many: the command comes first, and options begin with --.'));
  return { positionals, options: values.options, settings: values.settings, problems, wants };
}

/** Splits arguments with Node's parser. The values of options are found later, so that every problem is reported and no secret is shown. */
function tokensOf(args: readonly string[]) {
  // Node would split `-name` into four options, so it gets a second hyphen.
  const longArgs = args.map((arg) => (/^-[^-]./.test(arg) ? `-${arg}` : arg));
  const { tokens } = parseArgs({ args: longArgs, strict: false, tokens: true });
  return tokens
    .filter(({ kind }) => kind !== 'option-terminator')
    .map(({ kind, index }) => ({ index, arg: args[index] ?? '', isOption: kind === 'option' }));
}

/** All options by flag. An option of the command hides a setting with the same flag. */
function listOptions(
  ownOptions: NonNullable<CommandSyntax['options']>,
  furtherSettings: readonly string[],
): OptionsByFlag {
  const byFlag = new Map<string, Option>();
  for (const { name, setting, isSecret } of inputs)
    byFlag.set(optionName(name), { name, owner: 'settings', isSwitch: settings[setting].kind === 'switch', isSecret });
  for (const name of furtherSettings)
    byFlag.set(optionName(name), { name, owner: 'settings', isSwitch: false, isSecret: false });
  for (const [name, kind] of Object.entries(ownOptions))
    byFlag.set(`--${name}`, { name, owner: 'options', isSwitch: kind === 'switch', isSecret: false });
  return byFlag;
}

/** An option with its value, or a problem. `takesNext` is true if the next argument is the value. */
type ParsedOption = { readonly takesNext: boolean } & (
  | { readonly kind: 'value'; readonly option: Option; readonly value: string }
  | { readonly kind: 'problem'; readonly problem: SafeText }
);

/** @param next the argument after the option, which may be its value */
function parseOption(arg: string, next: string | undefined, optionsByFlag: OptionsByFlag): ParsedOption {
  const [flag = ''] = arg.split('=', 1);
  const hasInlineValue = arg !== flag;
  const option = optionsByFlag.get(flag);
  const needsNext = !hasInlineValue && option?.isSwitch !== true;
  // The value of a misspelt option is taken as well, because it may be a secret.
  const takesNext = needsNext && next !== undefined && !next.startsWith('--') && !isInfoFlag(next);
  const refuse = (problem: SafeText): ParsedOption => ({ kind: 'problem', problem, takesNext });
  if (option === undefined) return refuse(say`${own(flag)} is not an option${hint(flag, [...optionsByFlag.keys()])}`);
  if (option.isSecret) return refuse(secretOption(option.name));
  let value = hasInlineValue ? arg.slice(flag.length + 1).trim() : '1';
  if (needsNext) value = takesNext ? next.trim() : '';
  return value === '' ? refuse(say`${own(flag)} needs a value.`) : { kind: 'value', option, value, takesNext };
}

/** The problem of a secret on the command line. */
export const secretOption = (name: string): SafeText =>
  say`${own(optionName(name))} would show the secret to everybody on this machine: use ${safeVariableName(name)} or ${own(`${optionName(name)}-file`)}.`;

/** Ends a sentence about a name that does not exist. */
export function hint(name: string, names: readonly string[]): SafeText {
  const similarName = didYouMean(name, names);
  return similarName === undefined
    ? words('; cloudops-mcp help settings lists them all')
    : say`; did you mean ${own(similarName)}?`;
}

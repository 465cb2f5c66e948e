import { parseArgs } from 'node:util';
import { didYouMean } from '../util/did-you-mean.js';
import { own, type SafeText, say, words } from '../util/safe-text.js';
import { inputs, optionName, safeVariableName, settings } from './settings.js';

/** The arguments and options that a command takes besides the settings. */
export interface CommandSyntax {
  /** Maximum number of arguments that are not options. */
  readonly positionals?: number;
  /** The command's own options: their names without dashes, and whether they need a value. */
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

/** Options that print the help of the command, or the version, and do not run the command. */
const infoFlags = { '--help': 'help', '-h': 'help', '--version': 'version', '-v': 'version', '-V': 'version' } as const;
const isInfoFlag = (arg: string): arg is keyof typeof infoFlags => Object.hasOwn(infoFlags, arg);

/** The setting or the command's own option for a flag such as `--http`. */
interface Flag {
  readonly name: string;
  /** `options` if only this command has the flag, and `settings` for a setting, which every command takes. */
  readonly owner: 'options' | 'settings';
  readonly isSwitch?: boolean;
  readonly isSecret?: boolean;
}

type Flags = ReadonlyMap<string, Flag>;

/**
 * Parses the arguments of a command: its own options, and settings such as `--region jp-east-1`, `--region=jp-east-1` or `--read-only`.
 * @param addedSettings names of settings that operation files add, without the prefix `CLOUDOPS_`
 */
export function parseCommandLine(
  args: readonly string[],
  syntax: CommandSyntax = {},
  addedSettings: readonly string[] = [],
): CommandLine {
  const { positionals: mostPositionals = 0, options = {} } = syntax;
  const flags = listFlags(options, addedSettings);

  const positionals: string[] = [];
  const problems: SafeText[] = [];
  const values: Record<Flag['owner'], Record<string, string>> = { options: {}, settings: {} };
  let wants: CommandLine['wants'];
  /** Index of the argument that the last option took as its value. */
  let valueIndex = -1;
  for (const { arg, index, isOption } of tokensOf(args)) {
    if (index === valueIndex) continue;
    if (!isOption) {
      positionals.push(arg);
      continue;
    }
    if (isInfoFlag(arg)) {
      wants ??= infoFlags[arg];
      continue;
    }

    const parsed = parseOption(arg, args[index + 1], flags);
    if (parsed.takesNext) valueIndex = index + 1;
    if (parsed.kind === 'problem') problems.push(parsed.problem);
    else values[parsed.flag.owner][parsed.flag.name] = parsed.value;
  }

  if (positionals.length > mostPositionals)
    problems.push(words('There is one argument too many: the command comes first, and options begin with --.'));
  return { positionals: positionals.slice(0, mostPositionals), ...values, problems, wants };
}

/** Tells options from other arguments with Node's parser. It does not parse values, because its error would show one value and one problem. */
function tokensOf(args: readonly string[]) {
  // Node would take `-name` for four options with one letter each, so it gets a second hyphen here.
  const longArgs = args.map((arg) => (/^-[^-]./.test(arg) ? `-${arg}` : arg));
  const { tokens } = parseArgs({ args: longArgs, strict: false, tokens: true });
  return tokens
    .filter(({ kind }) => kind !== 'option-terminator')
    .map(({ kind, index }) => ({ index, arg: args[index] ?? '', isOption: kind === 'option' }));
}

/** All flags, such as `--region`. If a setting and an option of the command have the same flag, the command's option counts. */
function listFlags(options: NonNullable<CommandSyntax['options']>, addedSettings: readonly string[]): Flags {
  const flags = new Map<string, Flag>();
  for (const { name, setting, isSecret } of inputs)
    flags.set(optionName(name), { name, owner: 'settings', isSwitch: settings[setting].kind === 'switch', isSecret });
  for (const name of addedSettings) flags.set(optionName(name), { name, owner: 'settings' });
  for (const [name, kind] of Object.entries(options))
    flags.set(`--${name}`, { name, owner: 'options', isSwitch: kind === 'switch' });
  return flags;
}

/** An option with its value, or a problem. `takesNext` is true if the value is the next argument. */
type ParsedOption = { readonly takesNext: boolean } & (
  | { readonly kind: 'value'; readonly flag: Flag; readonly value: string }
  | { readonly kind: 'problem'; readonly problem: SafeText }
);

/** Parses an option. Its value is the following argument, `next`, if the option needs a value and has none after `=`. */
function parseOption(arg: string, next: string | undefined, flags: Flags): ParsedOption {
  const [name = ''] = arg.split('=', 1);
  const hasInlineValue = arg !== name;
  const flag = flags.get(name);
  // An unknown option also takes the next argument, which may be the secret value of a misspelt option.
  const needsNext = !hasInlineValue && flag?.isSwitch !== true;
  const takesNext = needsNext && next !== undefined && !next.startsWith('--') && !isInfoFlag(next);
  const refuse = (problem: SafeText): ParsedOption => ({ kind: 'problem', problem, takesNext });
  if (flag === undefined) return refuse(say`${own(name)} is not an option${hint(name, [...flags.keys()])}`);
  if (flag.isSecret) return refuse(secretOptionProblem(flag.name));
  // A switch without a value is on.
  let value = '1';
  if (hasInlineValue) value = arg.slice(name.length + 1).trim();
  else if (needsNext) value = takesNext ? next.trim() : '';
  return value === '' ? refuse(say`${own(name)} needs a value.`) : { kind: 'value', flag, value, takesNext };
}

/** The problem that a secret is on the command line, where other users of the machine can read it. */
export const secretOptionProblem = (name: string): SafeText =>
  say`${own(optionName(name))} would show the secret to everybody on this machine: use ${safeVariableName(name)} or ${own(`${optionName(name)}-file`)}.`;

/** Matches the variable and the option of the endpoint of an API that an operation file adds. */
const ownEndpoint = /^(CLOUDOPS_ENDPOINT_.*_URL|--endpoint-.*-url)$/;

/** Completes a sentence about an unknown name, with a similar name or with the command that lists all names. */
export function hint(name: string, names: readonly string[]): SafeText {
  const isEndpoint = ownEndpoint.test(name);
  // The endpoints of built-in APIs have shorter names, such as CLOUDOPS_STORAGE_URL.
  const builtInName = name.replace(/ENDPOINT[_-]/i, '');
  const likely = isEndpoint ? names.filter((known) => ownEndpoint.test(known)) : names;
  const similarName = names.includes(builtInName) ? builtInName : didYouMean(name, likely);
  if (similarName !== undefined) return say`; did you mean ${own(similarName)}?`;
  return words(
    isEndpoint
      ? ': no file loaded with CLOUDOPS_OPERATIONS names its API'
      : '; cloudops-mcp help settings lists them all',
  );
}

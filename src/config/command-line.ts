import { didYouMean } from '../util/did-you-mean.js';
import { own, type Said, type Shown, said, say, words } from '../util/safe-text.js';
import { inputs, optionName, saidVariable, settings } from './settings.js';

/** Arguments and options of a command, besides settings. */
export interface CommandSyntax {
  /** The most arguments that are not options. */
  readonly positionals?: number;
  /** Options of its own, without dashes. */
  readonly options?: Readonly<Record<string, 'switch' | 'value'>>;
}

/** A command line, read once for the command and for the settings. */
export interface CommandLine {
  readonly positionals: readonly string[];
  /** The command's own options that were given: their value, or `1` for a switch. */
  readonly options: Readonly<Record<string, string>>;
  /** Settings by name, such as `READ_ONLY` or `JOURNAL_FILE`. */
  readonly settings: Readonly<Record<string, string>>;
  readonly wants: 'help' | 'version' | undefined;
  /** All problems, one sentence each. No value is in them: it may be a secret. */
  readonly problems: readonly Shown[];
}

const asked = { '--help': 'help', '-h': 'help', '--version': 'version', '-v': 'version', '-V': 'version' } as const;
const isAsked = (arg: string): arg is keyof typeof asked => Object.hasOwn(asked, arg);

/** An option: its kind, and the record that its value goes into. */
interface Option {
  readonly name: string;
  readonly into: Record<string, string>;
  readonly isSwitch: boolean;
  readonly isSecret: boolean;
}

/**
 * Reads arguments: `--region jp-east-1`, `--region=jp-east-1`, `--read-only`, and the command's own. After `--`, none is an option.
 * @param furtherSettings names of settings that are not in the table, without prefix
 */
export function parseCommandLine(
  args: readonly string[],
  syntax: CommandSyntax = {},
  furtherSettings: readonly string[] = [],
): CommandLine {
  const { positionals: most = 0 } = syntax;
  const problems: Shown[] = [];
  const line = { positionals: [] as string[], options: {}, settings: {}, problems };
  const known = knownOptions(syntax, furtherSettings, line);
  let wants: CommandLine['wants'];
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const rest = args.slice(0, end);
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (isAsked(arg)) wants ??= asked[arg];
    else if (/^-./.test(arg)) line.problems.push(...takeOption(arg, rest, known));
    else line.positionals.push(arg);
  }
  line.positionals.push(...args.slice(end + 1));
  if (line.positionals.splice(most).length > 0)
    line.problems.push(words('There is one argument too many: the command comes first, and options begin with --.'));
  return { ...line, wants };
}

/** Every option by how it is written: those of settings, and the command's own. */
function knownOptions(
  { options = {} }: CommandSyntax,
  furtherSettings: readonly string[],
  line: Record<'options' | 'settings', Record<string, string>>,
) {
  const known = new Map<string, Option>();
  for (const { name, setting, isSecret } of inputs)
    known.set(optionName(name), { name, into: line.settings, isSwitch: settings[setting].kind === 'switch', isSecret });
  for (const name of furtherSettings)
    known.set(optionName(name), { name, into: line.settings, isSwitch: false, isSecret: false });
  for (const [name, kind] of Object.entries(options))
    known.set(`--${name}`, { name, into: line.options, isSwitch: kind === 'switch', isSecret: false });
  return known;
}

/** Keeps the value of an option: after its `=`, or the first of the arguments that follow. Returns the problems with it. */
function takeOption(arg: string, rest: string[], known: ReadonlyMap<string, Option>): Shown[] {
  const [written = ''] = arg.split('=', 1);
  const option = known.get(written);
  const value = arg === written ? valueAfter(option, rest) : arg.slice(written.length + 1);
  if (option === undefined) return [say`${own(written)} is not an option${hint(written, [...known.keys()])}`];
  if (option.isSecret) return [secretOption(option.name)];
  if (!value?.trim()) return [say`${own(written)} needs a value.`];
  option.into[option.name] = value.trim();
  return [];
}

/** Takes the value of an option from the arguments that follow. That of a misspelt option is taken as well: it may be a secret. */
function valueAfter(option: Option | undefined, rest: string[]): string | undefined {
  if (option?.isSwitch) return '1';
  const [next = '--'] = rest;
  return next.startsWith('--') || isAsked(next) ? undefined : rest.shift();
}

/** The problem with a secret on the command line, which everybody on the machine can read. */
export const secretOption = (name: string): Shown =>
  say`${own(optionName(name))} would show the secret to everybody on this machine: use ${saidVariable(name)} or ${own(`${optionName(name)}-file`)}.`;

/** The end of a sentence about a name that does not exist. */
export function hint(given: string, known: readonly string[]): Said {
  const meant = didYouMean(given, known);
  return said(meant === undefined ? words('; --help lists them all') : say`; did you mean ${own(meant)}?`);
}

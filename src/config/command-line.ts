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
  /** The command's own options that were given: their value, or `1` for a switch. */
  readonly options: Readonly<Record<string, string>>;
  /** Settings by name, such as `READ_ONLY` or `JOURNAL_FILE`. */
  readonly settings: Readonly<Record<string, string>>;
  readonly wants: 'help' | 'version' | undefined;
  /** All problems, one sentence each. No value is in them: it may be a secret. */
  readonly problems: readonly string[];
}

const asked = { '--help': 'help', '-h': 'help', '--version': 'version', '-v': 'version' } as const;
const isAsked = (arg: string): arg is keyof typeof asked => Object.hasOwn(asked, arg);

/** Where the value of an option goes, and how it is written. */
interface Option {
  readonly name: string;
  readonly into: Record<string, string>;
  readonly isSwitch: boolean;
  readonly isSecret: boolean;
}

/** Reads arguments: `--region jp-east-1`, `--region=jp-east-1`, `--read-only`, and what the command takes itself. */
export function parseCommandLine(args: readonly string[], syntax: CommandSyntax = {}): CommandLine {
  const { positionals: most = 0, options: own = {} } = syntax;
  const line = { positionals: [] as string[], options: {}, settings: {}, problems: [] as string[] };
  let wants: CommandLine['wants'];
  const known = new Map<string, Option>();
  for (const { name, setting, isSecret } of inputs)
    known.set(optionName(name), { name, into: line.settings, isSwitch: settings[setting].kind === 'switch', isSecret });
  for (const [name, kind] of Object.entries(own))
    known.set(`--${name}`, { name, into: line.options, isSwitch: kind === 'switch', isSecret: false });

  const { tokens } = parseArgs({
    args: args.map((arg, index) => unambiguous(arg, args[index + 1], known.get(arg)?.isSwitch === false)),
    options: Object.fromEntries(
      Array.from(known, ([option, { isSwitch }]) => [option.slice(2), { type: isSwitch ? 'boolean' : 'string' }]),
    ),
    strict: false,
    tokens: true,
  });
  /** The place of a value that is not to be shown or used. */
  let skipped: number | undefined;
  for (const token of tokens) {
    const written = args[token.index] ?? '';
    if (token.index === skipped || token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      if (line.positionals.length < most) line.positionals.push(written);
      else line.problems.push('There is one argument too many: the command comes first, and options begin with --.');
      continue;
    }
    const [name = ''] = written.split('=', 1);
    const option = known.get(name);
    const next = args[token.index + 1];
    const value = token.inlineValue ? token.value : next;
    if (isAsked(written)) wants ??= asked[written];
    else if (option === undefined) {
      line.problems.push(`${quoteName(name)} is not an option${hint(name, [...known.keys()])}`);
      // It may be the value of a misspelt option, and so a secret.
      if (!token.inlineValue && next?.startsWith('--') === false) skipped = token.index + 1;
    } else if (option.isSecret) line.problems.push(secretOption(option.name));
    else if (option.isSwitch) option.into[option.name] = token.value ?? '1';
    else if (value?.trim()) option.into[option.name] = value.trim();
    else line.problems.push(`${name} needs a value.`);
  }
  return { ...line, wants };
}

/**
 * An argument as `parseArgs` understands what we mean: an option with one dash is no group of short options, and what begins
 * with two dashes is never the value of the option before it.
 */
function unambiguous(arg: string, next: string | undefined, takesValue: boolean): string {
  if (/^-[^-]/.test(arg)) return `--${arg}`;
  return takesValue && (next === undefined || next.startsWith('--') || isAsked(next)) ? `${arg}=` : arg;
}

/** What to say of a secret on the command line, where everybody on the machine can read it. */
export const secretOption = (name: string) =>
  `${optionName(name)} would show the secret to everybody on this machine: use ${variableName(name)} or ${optionName(name)}-file.`;

/** What to say after a name that does not exist. */
export function hint(given: string, known: readonly string[]): string {
  const meant = didYouMean(given, known);
  return meant === undefined ? '; --help lists them all' : `; did you mean ${meant}?`;
}

import { parseArgs } from 'node:util';
import { didYouMean } from '../util/did-you-mean.js';
import { quoteName } from '../util/quote.js';
import { inputs, optionName, settings, variableName } from './settings.js';

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
  readonly problems: readonly string[];
}

const asked = { '--help': 'help', '-h': 'help', '--version': 'version', '-v': 'version' } as const;
const isAsked = (arg: string): arg is keyof typeof asked => Object.hasOwn(asked, arg);

/** An option: its kind, and the record that its value goes into. */
interface Option {
  readonly name: string;
  readonly into: Record<string, string>;
  readonly isSwitch: boolean;
  readonly isSecret: boolean;
}

/** Reads arguments: `--region jp-east-1`, `--region=jp-east-1`, `--read-only`, and what the command takes itself. */
export function parseCommandLine(args: readonly string[], syntax: CommandSyntax = {}): CommandLine {
  const { positionals: most = 0 } = syntax;
  const line = { positionals: [] as string[], options: {}, settings: {}, problems: [] as string[] };
  const known = knownOptions(syntax, line);
  let wants: CommandLine['wants'];
  /** Index of an argument that is neither shown nor used. */
  let skipped: number | undefined;
  const addPositional = (written: string) => {
    if (line.positionals.length < most) line.positionals.push(written);
    else line.problems.push('There is one argument too many: the command comes first, and options begin with --.');
  };
  const refuse = (name: string, { index, inlineValue }: OptionToken) => {
    line.problems.push(`${quoteName(name)} is not an option${hint(name, [...known.keys()])}`);
    // What follows may be the value of a misspelt option, and so a secret.
    if (!inlineValue && args[index + 1]?.startsWith('--') === false) skipped = index + 1;
  };
  for (const token of tokensOf(args, known)) {
    const written = args[token.index] ?? '';
    if (token.index === skipped || token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') addPositional(written);
    else if (isAsked(written)) wants ??= asked[written];
    else {
      const [name = ''] = written.split('=', 1);
      const option = known.get(name);
      if (option === undefined) refuse(name, token);
      else line.problems.push(...setOption(option, name, token, args[token.index + 1]));
    }
  }
  return { ...line, wants };
}

type OptionToken = Extract<ReturnType<typeof tokensOf>[number], { kind: 'option' }>;

/** Keeps the value of an option: the one after its `=`, or the next argument. Answers with the problems of that. */
function setOption(
  { name, into, isSwitch, isSecret }: Option,
  written: string,
  { value: inline, inlineValue }: OptionToken,
  next: string | undefined,
): string[] {
  if (isSecret) return [secretOption(name)];
  if (isSwitch) {
    into[name] = inline ?? '1';
    return [];
  }
  const value = (inlineValue ? inline : next)?.trim();
  if (!value) return [`${written} needs a value.`];
  into[name] = value;
  return [];
}

/** Every option by how it is written: those of settings, and the command's own. */
function knownOptions({ options = {} }: CommandSyntax, line: Record<'options' | 'settings', Record<string, string>>) {
  const known = new Map<string, Option>();
  for (const { name, setting, isSecret } of inputs)
    known.set(optionName(name), { name, into: line.settings, isSwitch: settings[setting].kind === 'switch', isSecret });
  for (const [name, kind] of Object.entries(options))
    known.set(`--${name}`, { name, into: line.options, isSwitch: kind === 'switch', isSecret: false });
  return known;
}

function tokensOf(args: readonly string[], known: ReadonlyMap<string, Option>) {
  const { tokens } = parseArgs({
    args: args.map((arg, index) => unambiguous(arg, args[index + 1], known.get(arg)?.isSwitch === false)),
    options: Object.fromEntries(
      Array.from(known, ([option, { isSwitch }]) => [option.slice(2), { type: isSwitch ? 'boolean' : 'string' }]),
    ),
    strict: false,
    tokens: true,
  });
  return tokens;
}

/**
 * An argument in a form that `parseArgs` does not misread: an option with one dash is no group of short options, and an argument
 * with two dashes is never the value of the option before it.
 */
function unambiguous(arg: string, next: string | undefined, takesValue: boolean): string {
  if (/^-[^-]/.test(arg)) return `--${arg}`;
  return takesValue && (next === undefined || next.startsWith('--') || isAsked(next)) ? `${arg}=` : arg;
}

/** The problem with a secret on the command line, which everybody on the machine can read. */
export const secretOption = (name: string) =>
  `${optionName(name)} would show the secret to everybody on this machine: use ${variableName(name)} or ${optionName(name)}-file.`;

/** The end of a sentence about a name that does not exist. */
export function hint(given: string, known: readonly string[]): string {
  const meant = didYouMean(given, known);
  return meant === undefined ? '; --help lists them all' : `; did you mean ${meant}?`;
}

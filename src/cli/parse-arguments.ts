import { parseArgs } from 'node:util';
import { inputs, safeVariableName } from '../config/settings.js';
import { didYouMean } from '../util/did-you-mean.js';
import { own, type SafeText, say, words } from '../util/safe-text.js';

type OptionKinds = Readonly<Record<string, 'switch' | 'value'>>;

export interface CommandSyntax {
  /** Maximum number of arguments that are not options. */
  readonly positionals?: number;
  /** Options without dashes. Every command also has `--sandbox`. */
  readonly options?: OptionKinds;
}

export interface Arguments {
  readonly positionals: readonly string[];
  /** The value of a switch is `1`. */
  readonly options: Readonly<Record<string, string>>;
  readonly wants: 'help' | 'version' | undefined;
  /** Sentences that show no value, because it may be a secret. */
  readonly problems: readonly SafeText[];
}

const infoFlags = { '--help': 'help', '-h': 'help', '--version': 'version', '-v': 'version', '-V': 'version' } as const;
const isInfoFlag = (flag: string): flag is keyof typeof infoFlags => Object.hasOwn(infoFlags, flag);

/** Parses the arguments of a command. Node's own checks would show a value. */
export function parseArguments(args: readonly string[], syntax: CommandSyntax = {}): Arguments {
  const kinds: OptionKinds = { sandbox: 'switch', ...syntax.options };
  const types = Object.entries(kinds).map(([name, kind]) => {
    const type: 'boolean' | 'string' = kind === 'switch' ? 'boolean' : 'string';
    return [name, { type }] as const;
  });
  // Node would take `-name` for four options.
  const longArgs = args.map((arg) => (/^-[^-]./.test(arg) ? `-${arg}` : arg));
  const { tokens } = parseArgs({ args: longArgs, options: Object.fromEntries(types), strict: false, tokens: true });

  const given = tokens.filter((token) => token.kind === 'option');
  const ownOptions = given.filter(({ rawName }) => !isInfoFlag(rawName));
  // What follows an unknown option may be a secret, so it is no positional.
  const indexesToSkip = ownOptions.flatMap(({ name, index }) => (Object.hasOwn(kinds, name) ? [] : [index + 1]));
  const positionals = tokens.flatMap((token) =>
    token.kind === 'positional' && !indexesToSkip.includes(token.index) ? [token.value] : [],
  );
  const [wants] = given.flatMap(({ rawName }) => (isInfoFlag(rawName) ? [infoFlags[rawName]] : []));

  const problems = ownOptions
    .map((token) => problemOf({ ...token, rawName: (args[token.index] ?? '').split('=', 1).join() }, kinds))
    .filter((problem) => problem !== undefined);
  const { positionals: mostPositionals = 0 } = syntax;
  if (positionals.length > mostPositionals)
    problems.push(words('There is one argument too many: the command comes first, and options begin with --.'));
  const options = Object.fromEntries(ownOptions.map(({ name, value }) => [name, value ?? '1']));
  return { positionals: positionals.slice(0, mostPositionals), options, wants, problems };
}

interface OptionToken {
  readonly name: string;
  /** With its hyphens. */
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** For an unknown option, names the variable of a setting, or a similar option. */
function problemOf({ name, rawName, value, inlineValue }: OptionToken, kinds: OptionKinds): SafeText | undefined {
  const option = own(rawName);
  if (Object.hasOwn(kinds, name)) {
    if (kinds[name] === 'switch') return value === undefined ? undefined : say`${option} takes no value.`;
    const isNextOption = inlineValue === false && value?.startsWith('-') === true;
    return !value?.trim() || isNextOption ? say`${option} needs a value.` : undefined;
  }
  const setting = name.toUpperCase().replaceAll('-', '_');
  if (inputs.some((input) => input.name === setting))
    return say`${option} is not an option: set ${safeVariableName(setting)}.`;
  const similarName = didYouMean(name, Object.keys(kinds));
  if (similarName !== undefined) return say`${option} is not an option; did you mean ${own(`--${similarName}`)}?`;
  return say`${option} is not an option; --help lists those of the command, and cloudops-mcp help settings the settings.`;
}

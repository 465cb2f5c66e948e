// cspell:words esac COMPREPLY compgen CWORD compdef compadd
import { optionName, settingNames, settings } from '../config/settings.js';
import type { Operation } from '../tools/define-operation.js';
import { type Command, type Commands, notOneOf, UsageError } from './command.js';

/** `cloudops-mcp completion` prints a script that completes commands, tools and options in a shell. */
export const completionCommand = (commands: Commands): Command => ({
  usage: 'bash|zsh|fish',
  about: 'print the completion script of a shell',
  details:
    'For bash, add to ~/.bashrc: source <(cloudops-mcp completion bash). For zsh, to ~/.zshrc: source <(cloudops-mcp completion zsh). ' +
    'For fish: cloudops-mcp completion fish > ~/.config/fish/completions/cloudops-mcp.fish',
  subjects: () => Object.keys(scripts),
  positionals: 1,
  run: async ({ positionals: [shell = ''], operations, terminal }) => {
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined) throw new UsageError(notOneOf('shell', shell, Object.keys(scripts)));
    terminal.stdout.write(script(await choicesOf(commands, operations)));
    return 0;
  },
});

/** A command, with the values that its first argument can have and with its own options. */
interface Choice {
  readonly name: string;
  readonly about: string;
  readonly subjects: readonly string[];
  readonly options: readonly string[];
}

interface Choices {
  readonly commands: readonly Choice[];
  /** The settings, which are options of every command. Secret settings are no options. */
  readonly settings: readonly string[];
}

async function choicesOf(commands: Commands, operations: readonly Operation[]): Promise<Choices> {
  const loaded = Object.entries(commands).map(async ([name, load]): Promise<Choice> => {
    const { usage, about, subjects, options = {} } = await load();
    // An option that `usage` does not mention, such as `--inside`, is only for this program itself.
    const names = Object.keys(options).flatMap((option) => (usage.includes(`--${option}`) ? `--${option}` : []));
    return { name, about, subjects: subjects?.(operations) ?? [], options: ['--help', ...names] };
  });
  const options = settingNames.filter((name) => !settings[name].secret).map(optionName);
  return { commands: await Promise.all(loaded), settings: options };
}

const namesIn = ({ commands }: Choices) => commands.map(({ name }) => name).join(' ');

/** The branches of a `case` statement, one per command. `list` writes a list in the syntax of bash or zsh. */
const cases = ({ commands }: Choices, list: (words: readonly string[]) => string) =>
  commands
    .map(({ name, subjects, options }) => `    ${name}) subjects=${list(subjects)} options=${list(options)} ;;`)
    .join('\n');

const scripts: Readonly<Record<string, (choices: Choices) => string>> = {
  bash: (choices) => `_cloudops_mcp() {
  local current=\${COMP_WORDS[COMP_CWORD]} subjects='' options='--help --version'
  case \${COMP_WORDS[1]} in
${cases(choices, (words) => `'${words.join(' ')}'`)}
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options ${choices.settings.join(' ')}" -- "$current"))
  elif ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${namesIn(choices)}' -- "$current"))
  elif ((COMP_CWORD == 2)); then
    COMPREPLY=($(compgen -W "$subjects" -- "$current"))
  else
    COMPREPLY=()
  fi
}
complete -o default -F _cloudops_mcp cloudops-mcp
`,
  zsh: (choices) => `#compdef cloudops-mcp
_cloudops_mcp() {
  local -a subjects options
  options=(--help --version)
  case $words[2] in
${cases(choices, (words) => `(${words.join(' ')})`)}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    compadd -- $options ${choices.settings.join(' ')}
  elif ((CURRENT == 2)); then
    compadd -- ${namesIn(choices)}
  elif ((CURRENT == 3 && $#subjects)); then
    compadd -- $subjects
  else
    _files
  fi
}
compdef _cloudops_mcp cloudops-mcp
`,
  fish: ({ commands, settings }) => {
    const lines: string[] = [];
    const complete = (...parts: readonly string[]) => lines.push(`complete -c cloudops-mcp ${parts.join(' ')}\n`);
    for (const { name, about, subjects, options } of commands) {
      const afterCommand = `-n '__fish_seen_subcommand_from ${name}'`;
      complete('-f', '-n __fish_use_subcommand', `-a ${name}`, `-d '${about}'`);
      if (subjects.length > 0) complete(afterCommand, `-a '${subjects.join(' ')}'`);
      for (const option of options) complete(afterCommand, `-l ${option.slice(2)}`);
    }
    for (const option of settings) complete(`-l ${option.slice(2)}`);
    return lines.join('');
  },
};

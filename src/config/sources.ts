import { databaseName, holdsPassword, isDatabaseUrl } from '../journal/database-url.js';
import { reasonOf } from '../util/log.js';
import { type CommandLine, hint, secretOption } from './command-line.js';
import type { Environment } from './environment.js';
import { inputs, optionName, prefix, type Setting, settings, variableName } from './settings.js';

export interface ConfigSources {
  readonly env: Environment;
  /** Its settings win over the environment; its problems are reported with all others. */
  readonly commandLine?: Pick<CommandLine, 'settings' | 'problems'>;
  /** Reads a text file. */
  readonly readFile: (path: string) => string;
}

/** What was given, before it is parsed. */
export interface Gathered {
  readonly texts: Readonly<Partial<Record<Setting, string>>>;
  readonly origins: readonly Origin[];
}

/** A setting that is not left to its default. */
export interface Origin {
  /** Such as `CLOUDOPS_REGION` or `CLOUDOPS_STATE_KEY_FILE`. */
  readonly name: string;
  /** For people to read; of a secret only what may be shown. */
  readonly value: string;
  /** Whether the real value is, or may hold, a secret. */
  readonly secret: boolean;
  /** Whether it is the path of a file or folder. */
  readonly isPath: boolean;
  readonly from: string;
}

/** Takes a problem, one sentence, without the value of a secret. */
export type Report = (problem: string) => void;

/** The text of each setting: from the environment or the command line, or from the file that one of them names. */
export function gather({ env, commandLine, readFile }: ConfigSources, report: Report): Gathered {
  const variables = readVariables(env, report);
  const { settings: options = {}, problems = [] } = commandLine ?? {};
  problems.forEach(report);
  const texts: Partial<Record<Setting, string>> = {};
  const origins: Origin[] = [];
  for (const { name, setting, isFile, isSecret } of inputs) {
    const text = options[name] ?? variables[name];
    if (text === undefined) continue;
    const isOption = options[name] !== undefined;
    const inDatabase = name === 'JOURNAL' && isDatabaseUrl(text);
    if (isOption && inDatabase && holdsPassword(text)) report(secretOption(name));
    const secret = inDatabase || isSecret;
    const value = inDatabase ? databaseName(text) : secret ? 'set, not shown' : text;
    const from = isOption ? `option ${optionName(name)}` : 'environment';
    const isPath = isFile || (settings[setting].kind === 'path' && !inDatabase);
    origins.push({ name: variableName(name), value, secret, isPath, from });
    if (!isFile) texts[setting] = text;
    else {
      if (texts[setting] !== undefined)
        report(`${variableName(setting)} and ${variableName(name)} are both set; set one.`);
      const read = readSettingFile(setting, text, readFile, report);
      if (read !== undefined) texts[setting] = read;
    }
  }
  return { texts, origins };
}

/** The variables with our prefix by setting. An empty value counts as none: clients send one for a field left empty. */
function readVariables(env: Environment, report: Report): Readonly<Record<string, string>> {
  const known = inputs.map(({ name }) => variableName(name));
  const found: Record<string, string> = {};
  for (const [variable, value = ''] of Object.entries(env)) {
    if (!variable.startsWith(prefix)) continue;
    const text = value.trim();
    if (!known.includes(variable)) report(`${variable} is not a setting${hint(variable, known)}`);
    else if (text.startsWith('__encrypted__:'))
      report(
        `${variable} arrived still encrypted: enter it again in the settings that your client keeps for this server.`,
      );
    else if (/^(\$\{[^{}]*\}|\$[A-Z_]+)$/.test(text))
      report(
        `${variable} is a placeholder that your client did not replace: give it a value in the client's settings for this server, or remove it there.`,
      );
    else if (text !== '') found[variable.slice(prefix.length)] = text;
  }
  return found;
}

/** What the file of a setting contains, if it is of use. It is never shown. */
function readSettingFile(
  setting: Setting,
  path: string,
  readFile: ConfigSources['readFile'],
  report: Report,
): string | undefined {
  const file = `The file that ${variableName(setting)}_FILE names`;
  try {
    const text = readFile(path).trim();
    if (text === '') report(`${file} is empty.`);
    else if (setting === 'JOURNAL' && !isDatabaseUrl(text))
      report(`${file} must hold postgres://…; a journal in a file is ${variableName(setting)}.`);
    return text;
  } catch (error) {
    report(`${file} cannot be read (${reasonOf(error)}).`);
    return undefined;
  }
}

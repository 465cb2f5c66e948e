import { storePlace } from '../journal/store-place.js';
import type { OwnOperations } from '../operations/load-operations.js';
import { fileFault } from '../util/log.js';
import { parseJson } from '../util/objects.js';
import { own as ownName, say, type Wording } from '../util/safe-text.js';
import { type CommandLine, hint, secretOption } from './command-line.js';
import type { Environment } from './environment.js';
import { noOwnOperations, ownSettings } from './own-operations.js';
import { inputs, optionName, prefix, type Setting, safeVariableName, settings, variableName } from './settings.js';

export interface ConfigSources {
  readonly env: Environment;
  /** The parsed command line. Its settings win over the environment, and its problems are reported together with all others. */
  readonly commandLine?: Pick<CommandLine, 'settings' | 'problems'>;
  /** Operations that are not built in. Their services have settings for their endpoints. */
  readonly own?: OwnOperations;
  readonly readFile: (path: string) => string;
}

/** The settings before they are parsed, and their origins. */
export interface GatheredSettings {
  readonly texts: Readonly<Partial<Record<Setting, string>>>;
  /** Paths of the files that texts come from. */
  readonly files: Readonly<Partial<Record<Setting, string>>>;
  /** Endpoints of services that are not built in, by setting, such as `ENDPOINT_BILLING_URL`. */
  readonly endpoints: Readonly<Record<string, string>>;
  readonly origins: readonly Origin[];
}

/** A setting that is given, for people to read. */
interface Origin {
  /** Name of the variable, such as `CLOUDOPS_REGION` or `CLOUDOPS_STATE_KEY_FILE`. */
  readonly name: string;
  /** The value without secrets. */
  readonly value: string;
  /** The value for agents and doctor. For a command, only the name of the program, because an argument may be a secret. */
  readonly shown: string;
  /** True if the real value is a secret or may hold one. */
  readonly secret: boolean;
  /** True for the path of a file or folder. */
  readonly isPath: boolean;
  readonly from: string;
}

/** Takes a problem, one sentence, without the value of a secret. */
export type Report = <const Text extends string>(problem: Wording<Text>) => void;

/** A setting as the environment or the command line gives it. */
interface SettingInput {
  readonly name: string;
  /** Undefined for the endpoint of a service that is not built in. */
  readonly setting: Setting | undefined;
  readonly isFile: boolean;
  readonly isSecret: boolean;
  readonly isOption: boolean;
  readonly text: string;
}

/** Collects the settings from the environment, the command line, and the files that they name. */
export function gatherSettings(
  { env, commandLine, own = noOwnOperations, readFile }: ConfigSources,
  report: Report,
): GatheredSettings {
  const { settings: options = {}, problems = [] } = commandLine ?? {};
  const ownInputs = ownSettings(own).map((name) => ({ name, setting: undefined, isFile: false, isSecret: false }));
  const knownInputs = [...inputs, ...ownInputs];
  const knownVariables = knownInputs.map(({ name }) => variableName(name));
  // If operations could not be loaded, their services are not known, and their endpoints would be reported as unknown settings.
  const checkedEnv = own.problems.length > 0 ? withoutEndpoints(env) : env;
  const variables = readVariables(checkedEnv, knownVariables, report);
  for (const problem of problems) report(problem);
  const usedInputs: SettingInput[] = [];
  for (const input of knownInputs) {
    const option = options[input.name];
    const text = option ?? variables[input.name];
    if (text !== undefined) usedInputs.push({ ...input, text, isOption: option !== undefined });
  }
  for (const input of usedInputs)
    if (input.isOption && isDatabase(input) && storePlace(input.text).holdsPassword) report(secretOption(input.name));
  const files = usedInputs.filter(({ isFile }) => isFile).map(({ setting, text }) => [setting, text]);
  const endpoints = usedInputs.filter(({ setting }) => setting === undefined).map(({ name, text }) => [name, text]);
  return {
    texts: textsOf(usedInputs, readFile, report),
    files: Object.fromEntries(files),
    endpoints: Object.fromEntries(endpoints),
    origins: usedInputs.map(originOf),
  };
}

/** Leaves out the endpoints of services that are not built in. */
const withoutEndpoints = (env: Environment): Environment =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^CLOUDOPS_ENDPOINT_.*_URL$/.test(name)));

/** Returns the text of each setting, which may come from a file. */
function textsOf(
  usedInputs: readonly SettingInput[],
  readFile: ConfigSources['readFile'],
  report: Report,
): GatheredSettings['texts'] {
  const texts: Partial<Record<Setting, string>> = {};
  for (const { name, setting, isFile, text } of usedInputs) {
    if (setting === undefined) continue;
    if (texts[setting] !== undefined)
      report(say`${safeVariableName(setting)} and ${safeVariableName(name)} are both set; set one.`);
    const content = isFile ? readSettingFile(setting, text, readFile, report) : text;
    if (content !== undefined) texts[setting] = content;
  }
  return texts;
}

function originOf(input: SettingInput): Origin {
  const { name, setting, isFile, isSecret, isOption, text } = input;
  const inDatabase = isDatabase(input);
  const shownText = isSecret ? hiddenValue : text;
  const value = inDatabase ? storePlace(text).name : shownText;
  const isCommand = setting !== undefined && settings[setting].kind === 'command';
  return {
    name: variableName(name),
    value,
    shown: isCommand ? programIn(text) : value,
    secret: inDatabase || isSecret,
    isPath: isFile || (setting !== undefined && settings[setting].kind === 'path' && !inDatabase),
    from: isOption ? `option ${optionName(name)}` : 'environment',
  };
}

const hiddenValue = 'set, not shown';

/** The program's name in the JSON array of a command. */
function programIn(text: string): string {
  const command = parseJson(text);
  const [program]: readonly unknown[] = Array.isArray(command) ? command : [];
  return typeof program === 'string' ? program : hiddenValue;
}

const isDatabase = ({ name, text }: SettingInput): boolean => name === 'JOURNAL' && storePlace(text).path === undefined;

/** Our variables by setting. An empty value counts as absent, because clients set one for a field that the user leaves empty. */
function readVariables(env: Environment, known: readonly string[], report: Report): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const [variable, value = ''] of Object.entries(env)) {
    if (!variable.startsWith(prefix)) continue;
    const text = value.trim();
    if (!known.includes(variable)) report(say`${ownName(variable)} is not a setting${hint(variable, known)}`);
    else if (text.startsWith('__encrypted__:'))
      report(
        say`${ownName(variable)} arrived still encrypted: enter it again in the settings that your client keeps for this server.`,
      );
    else if (/^(\$\{[^{}]*\}|\$[A-Z_]+)$/.test(text))
      report(
        say`${ownName(variable)} is a placeholder that your client did not replace: give it a value in the client's settings for this server, or remove it there.`,
      );
    else if (text !== '') values[variable.slice(prefix.length)] = text;
  }
  return values;
}

/** The text of the file that holds a setting, if it can be read. It may be a secret. */
export function readSettingFile(
  setting: Setting,
  path: string,
  readFile: ConfigSources['readFile'],
  report: Report,
  name = safeVariableName(`${setting}_FILE`),
): string | undefined {
  const file = say`The file that ${name} names`;
  try {
    const text = readFile(path).trim();
    if (text === '') report(say`${file} is empty.`);
    else if (setting === 'JOURNAL' && storePlace(text).path !== undefined)
      report(say`${file} must hold postgres://…; a journal in a file is ${safeVariableName(setting)}.`);
    return text === '' ? undefined : text;
  } catch (error) {
    report(say`${file} cannot be read (${fileFault(error)}).`);
    return undefined;
  }
}

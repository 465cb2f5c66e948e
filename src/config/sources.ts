import { pathProblem, storePlace } from '../changes/store-place.js';
import type { OwnOperations } from '../models/load-operations.js';
import { didYouMean } from '../util/did-you-mean.js';
import { fileFault } from '../util/log.js';
import { parseJson } from '../util/objects.js';
import { own, type SafeText, say, type Wording, words } from '../util/safe-text.js';
import { type Environment, textOfVariable, withHome } from './environment.js';
import { addedSettings, noOwnOperations } from './own-operations.js';
import { inputs, prefix, type Setting, safeVariableName, settings, variableName } from './settings.js';

export interface ConfigSources {
  readonly env: Environment;
  /** Operations from the files that CLOUDOPS_OPERATIONS names. */
  readonly ownOperations?: OwnOperations;
  readonly readFile: (path: string) => string;
}

/** The texts of the given settings, before they are parsed. */
export interface GatheredSettings {
  readonly texts: Readonly<Partial<Record<Setting, string>>>;
  /** The file from which a text was read. */
  readonly files: Readonly<Partial<Record<Setting, string>>>;
  /** Endpoints of added APIs, by setting, such as `ENDPOINT_BILLING_URL`. */
  readonly endpoints: Readonly<Record<string, string>>;
  readonly origins: readonly GivenSetting[];
}

/** A setting that the user has given, for people to read. */
interface GivenSetting extends Pick<Input, 'setting' | 'isFile'> {
  /** The variable. */
  readonly name: string;
  /** The value that `client-config` copies. Never a secret, and no password of a database. */
  readonly value: string;
  /** The value that agents and `doctor` show: of a command only the program, because arguments may be secrets. */
  readonly shown: string;
  /** True if the real value is a secret or may hold one. */
  readonly secret: boolean;
  /** True if `client-config` makes the value absolute. */
  readonly isPath: boolean;
}

/** Collects a problem, which is one sentence and shows no value of a secret. */
export type Report = <const Text extends string>(problem: Wording<Text>) => void;

/** `setting` is undefined for the endpoint of an API that operation files add. */
interface Input {
  readonly name: string;
  readonly setting: Setting | undefined;
  readonly isFile: boolean;
  readonly isSecret: boolean;
}

/** Collects the texts of all settings from the environment, and from the files that it names. */
export function gatherSettings(
  { env, readFile, ownOperations = noOwnOperations }: ConfigSources,
  report: Report,
): GatheredSettings {
  const added = addedSettings(ownOperations).map((name) => ({
    name,
    setting: undefined,
    isFile: false,
    isSecret: false,
  }));
  const allInputs: readonly Input[] = [...inputs, ...added];
  // If operations could not be loaded, their endpoints are not known, so none is reported as unknown.
  const areAllLoaded = ownOperations.problems.length === 0;
  const variables = Object.entries(env).filter(([name]) => areAllLoaded || !addedEndpoint.test(name));
  const knownVariables = allInputs.map(({ name }) => variableName(name));
  const given = readVariables(variables, knownVariables, report);

  const texts: Partial<Record<Setting, string>> = {};
  const files: Partial<Record<Setting, string>> = {};
  const endpoints: Record<string, string> = {};
  const origins: GivenSetting[] = [];
  for (const input of allInputs) {
    const { name, setting, isFile } = input;
    if (given[name] === undefined) continue;
    const { text, origin } = originOf(input, given[name], env, report);
    origins.push(origin);
    if (setting === undefined) {
      endpoints[name] = text;
      continue;
    }
    if (texts[setting] !== undefined)
      report(say`${safeVariableName(setting)} and ${safeVariableName(name)} are both set; set one.`);
    if (isFile) files[setting] = text;
    const content = isFile ? readSettingFile(setting, text, readFile, report) : text;
    if (content !== undefined) texts[setting] = content;
  }
  return { texts, files, endpoints, origins };
}

/** Replaces `~` in a path and reports a placeholder, and says how the setting is shown. */
function originOf({ name, setting, isFile, isSecret }: Input, text: string, env: Environment, report: Report) {
  const kind = setting && settings[setting].kind;
  const place = storePlace(text);
  const isDatabase = name === 'JOURNAL' && place.path === undefined;
  const isPath = isFile || (kind === 'path' && !isDatabase);
  const given = isPath ? withHome(text, env) : text;
  const problem = isPath ? pathProblem(given) : undefined;
  if (problem !== undefined) report(say`${safeVariableName(name)} is not usable: ${problem}.`);
  const openValue = isDatabase ? place.name : given;
  const value = isSecret ? hiddenValue : openValue;
  const shown = kind === 'command' ? programIn(text) : value;
  const origin = { name: variableName(name), setting, isFile, value, shown, secret: isDatabase || isSecret, isPath };
  return { text: given, origin };
}

const hiddenValue = 'set, not shown';

function programIn(text: string): string {
  const command = parseJson(text);
  const [program]: readonly unknown[] = Array.isArray(command) ? command : [];
  return typeof program === 'string' ? program : hiddenValue;
}

/** Matches `${NAME}`, `$NAME`, `{{NAME}}` and the like, which the MCP client should have replaced by a value. */
const placeholder = /^(\$\{.*\}|\$\(.*\)|\$(env:)?[a-z_]\w*|%[a-z_]\w*%|\{env:.*\}|\{\{.*\}\})$/i;

/** Reports unknown variables, and values that are encrypted or placeholders. */
function readVariables(
  env: readonly (readonly [string, string | undefined])[],
  known: readonly string[],
  report: Report,
): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const [variable, value = ''] of env) {
    if (!variable.startsWith(prefix)) continue;
    const name = own(variable);
    const text = textOfVariable(value);
    // Clients set an empty variable for each field that the user leaves empty.
    if (text === '') continue;
    if (!known.includes(variable)) {
      report(say`${name} is not a setting${hint(variable, known)}`);
    } else if (text.startsWith('__encrypted__:')) {
      report(
        say`${name} arrived still encrypted: enter it again in the settings that your client keeps for this server.`,
      );
    } else if (placeholder.test(text)) {
      report(
        say`${name} is a placeholder that your client did not replace: give it a value in the client's settings for this server, or remove it there.`,
      );
    } else {
      values[variable.slice(prefix.length)] = text;
    }
  }
  return values;
}

/** Reads the file with the text of a setting. Reports a file that is empty or cannot be read. */
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
    if (text === '') {
      report(say`${file} is empty.`);
      return undefined;
    }
    // CLOUDOPS_JOURNAL_FILE is for the address of a database, which has a password.
    if (setting === 'JOURNAL' && storePlace(text).path !== undefined)
      report(say`${file} must hold postgres://…; a journal in a file is ${safeVariableName(setting)}.`);
    return text;
  } catch (error) {
    report(say`${file} cannot be read (${fileFault(error)}).`);
    return undefined;
  }
}

const addedEndpoint = /^CLOUDOPS_ENDPOINT_.*_URL$/;

function hint(variable: string, known: readonly string[]): SafeText {
  // The endpoints of built-in APIs have shorter names, such as CLOUDOPS_STORAGE_URL.
  const builtInName = variable.replace('ENDPOINT_S3_', 'STORAGE_').replace('ENDPOINT_', '');
  const isEndpoint = addedEndpoint.test(variable);
  const others = isEndpoint ? known.filter((name) => addedEndpoint.test(name)) : known;
  const similarName = known.includes(builtInName) ? builtInName : didYouMean(variable, others);
  if (similarName !== undefined) return say`; did you mean ${own(similarName)}?`;
  return isEndpoint
    ? words(': no file of CLOUDOPS_OPERATIONS and no model of CLOUDOPS_MODELS has its API')
    : words('; cloudops-mcp help settings lists them all');
}

import { storePlace } from '../changes/store-place.js';
import type { OwnOperations } from '../operations/load-operations.js';
import { didYouMean } from '../util/did-you-mean.js';
import { fileFault } from '../util/log.js';
import { parseJson } from '../util/objects.js';
import { own, type SafeText, say, type Wording, words } from '../util/safe-text.js';
import type { Environment } from './environment.js';
import { addedSettings, noOwnOperations } from './own-operations.js';
import { inputs, prefix, type Setting, safeVariableName, settings, variableName } from './settings.js';

export interface ConfigSources {
  readonly env: Environment;
  /** The user's own operations, from the files that CLOUDOPS_OPERATIONS names. Each API that they add has a setting for its endpoint. */
  readonly ownOperations?: OwnOperations;
  readonly readFile: (path: string) => string;
}

/** The texts of the settings that are given, before they are parsed. */
export interface GatheredSettings {
  readonly texts: Readonly<Partial<Record<Setting, string>>>;
  /** The path of the file from which a text comes, if it comes from a file. */
  readonly files: Readonly<Partial<Record<Setting, string>>>;
  /** Endpoints of the APIs that operation files add, by setting, such as `ENDPOINT_BILLING_URL`. */
  readonly endpoints: Readonly<Record<string, string>>;
  readonly origins: readonly GivenSetting[];
}

/** A setting that the user has given, for people to read. */
interface GivenSetting {
  /** Name of the variable, such as `CLOUDOPS_REGION` or `CLOUDOPS_STATE_KEY_FILE`. */
  readonly name: string;
  /** The value that `client-config` copies, or `set, not shown` for a secret. The address of a database has no password. */
  readonly value: string;
  /** The value that agents and the command `doctor` show. For a command, only the program, because an argument may be a secret. */
  readonly shown: string;
  /** True if the real value is a secret or may hold one. */
  readonly secret: boolean;
  /** True if the value is the path of a file or folder. `client-config` makes such paths absolute. */
  readonly isPath: boolean;
}

/** Collects a problem, which is one sentence and shows no value of a secret. */
export type Report = <const Text extends string>(problem: Wording<Text>) => void;

/** The name under which a user may give a setting. `setting` is undefined for the endpoint of an API that operation files add. */
interface Input {
  readonly name: string;
  readonly setting: Setting | undefined;
  readonly isFile: boolean;
  readonly isSecret: boolean;
}

/**
 * Collects the texts of all settings from the environment, and from the files that it names. For example, the variable
 * `CLOUDOPS_STATE_KEY_FILE` is the input `STATE_KEY_FILE`: the path of a file with the text of the setting `STATE_KEY`.
 */
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
  // If operations could not be loaded, their endpoints are not known, so no variable of an endpoint is reported as unknown. The values are not
  // needed, because the configuration is refused until the operations can be loaded.
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
    const text = given[name];
    if (text === undefined) continue;
    origins.push(originOf(input, text));
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

function originOf({ name, setting, isFile, isSecret }: Input, text: string): GivenSetting {
  const isAddress = name === 'JOURNAL' && storePlace(text).path === undefined;
  const shownText = isSecret ? hiddenValue : text;
  const value = isAddress ? storePlace(text).name : shownText;
  const kind = setting && settings[setting].kind;
  return {
    name: variableName(name),
    value,
    shown: kind === 'command' ? programIn(text) : value,
    secret: isAddress || isSecret,
    isPath: isFile || (kind === 'path' && !isAddress),
  };
}

const hiddenValue = 'set, not shown';

/** The name of the program in the text of a command, which is a JSON array. */
function programIn(text: string): string {
  const command = parseJson(text);
  const [program]: readonly unknown[] = Array.isArray(command) ? command : [];
  return typeof program === 'string' ? program : hiddenValue;
}

/** Matches `${NAME}` and `$NAME`, which the MCP client should have replaced by a value. */
const placeholder = /^(\$\{[^{}]*\}|\$[A-Z_]+)$/;

/**
 * Returns the values of variables with the prefix `CLOUDOPS_`, by their names without the prefix. Reports unknown variables, and values that
 * the MCP client left encrypted or unreplaced.
 */
function readVariables(
  env: readonly (readonly [string, string | undefined])[],
  known: readonly string[],
  report: Report,
): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const [variable, value = ''] of env) {
    if (!variable.startsWith(prefix)) continue;
    const name = own(variable);
    const text = value.trim();
    // An empty variable counts as not set, because clients set one for each field that the user leaves empty.
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

/**
 * Reads the file with the text of a setting, which may be a secret. Undefined if the file is empty or cannot be read, which is reported.
 * @param name how reports name the setting or field with the path; by default the variable, such as `CLOUDOPS_STATE_KEY_FILE`
 */
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
    // CLOUDOPS_JOURNAL_FILE is for the address of a database, which has a password. The path of a journal belongs in CLOUDOPS_JOURNAL.
    if (setting === 'JOURNAL' && storePlace(text).path !== undefined)
      report(say`${file} must hold postgres://…; a journal in a file is ${safeVariableName(setting)}.`);
    return text;
  } catch (error) {
    report(say`${file} cannot be read (${fileFault(error)}).`);
    return undefined;
  }
}

/** Matches the variable for the endpoint of an API that an operation file adds. */
const addedEndpoint = /^CLOUDOPS_ENDPOINT_.*_URL$/;

/** Completes a sentence about an unknown variable, with a similar name or with the command that lists all names. */
function hint(variable: string, known: readonly string[]): SafeText {
  const isEndpoint = addedEndpoint.test(variable);
  // The endpoints of built-in APIs have shorter names, such as CLOUDOPS_STORAGE_URL.
  const builtInName = variable.replace('ENDPOINT_', '');
  const likely = isEndpoint ? known.filter((name) => addedEndpoint.test(name)) : known;
  const similarName = known.includes(builtInName) ? builtInName : didYouMean(variable, likely);
  if (similarName !== undefined) return say`; did you mean ${own(similarName)}?`;
  return words(
    isEndpoint
      ? ': no file loaded with CLOUDOPS_OPERATIONS names its API'
      : '; cloudops-mcp help settings lists them all',
  );
}

import type * as z from 'zod';
import { endpointSetting } from '../calls/endpoint.js';
import { pathProblem, storePlace } from '../changes/store-place.js';
import type { OwnOperations } from '../models/load-operations.js';
import { didYouMean } from '../util/did-you-mean.js';
import { fileFault } from '../util/log.js';
import { defined, own, type SafeText, say, type Wording, words } from '../util/safe-text.js';
import { type Environment, textOfVariable, withHome } from './environment.js';
import { addedServices, noOwnOperations } from './own-operations.js';
import {
  type Input,
  inputs,
  prefix,
  type Setting,
  safeVariableName,
  settingNames,
  settings,
  type Table,
  variableName,
} from './settings.js';

/** Reads the settings of the environment and of the files that it names, and checks their values. */

export interface ConfigSources {
  readonly env: Environment;
  /** Operations from the files that CLOUDOPS_OPERATIONS names. */
  readonly ownOperations?: OwnOperations;
  readonly readFile: (path: string) => string;
}

type ValueOf<Name extends Setting> = z.output<ReturnType<Table[Name]['schema']>>;

/** Values of the settings that the user has given, without defaults. */
export type ExplicitValues = { readonly [Name in Setting]?: ValueOf<Name> | undefined };

/** Values of all settings. A switch that is not given is off. */
export type SettingValues = {
  readonly [Name in Setting]: Table[Name] extends { default: string | number } | { kind: 'switch' }
    ? ValueOf<Name>
    : ValueOf<Name> | undefined;
};

/** A setting that the user has given, for people to read. */
interface GivenSetting {
  /** The variable. */
  readonly name: string;
  /** Undefined for the endpoint of an API that operation files add. */
  readonly setting: Setting | undefined;
  readonly isFile: boolean;
  /** Never a secret, and no password of a database. */
  readonly shown: string;
  /** True if the real value is a secret or may hold one. */
  readonly secret: boolean;
  /** True if `client-config` makes the value absolute. */
  readonly isPath: boolean;
}

/** Collects a problem, which is one sentence and shows no value of a secret. */
export type Report = <const Text extends string>(problem: Wording<Text>) => void;

/** Reads all settings of the environment. Reports every wrong value, which then counts as not given. */
export function readSettings(sources: ConfigSources, report: Report) {
  const { env, ownOperations = noOwnOperations } = sources;
  const added = addedServices(ownOperations).map(
    // All endpoints have the same rules.
    (service): Input => ({ name: endpointSetting(service), setting: 'STORAGE_URL', service, isFile: false }),
  );
  const allInputs = [...inputs, ...added];
  reportUnknown(env, allInputs, ownOperations, report);

  const values: [setting: Setting, value: unknown][] = [];
  const files: Partial<Record<Setting, string>> = {};
  const endpoints: Record<string, string> = {};
  const origins: GivenSetting[] = [];
  for (const input of allInputs) {
    const text = readVariable(input.name, env, report);
    if (text === undefined) continue;
    const { origin, path, value } = readInput(input, text, sources, report);
    const { setting, service } = input;
    if (service === undefined && origins.some((other) => other.setting === setting))
      report(say`${safeVariableName(setting)} and ${safeVariableName(input.name)} are both set; set one.`);
    origins.push(origin);
    if (service === undefined) values.push([setting, value]);
    else if (value !== undefined) endpoints[service] = String(value);
    if (path !== undefined) files[setting] = path;
  }
  const explicit: ExplicitValues = Object.fromEntries(values);
  return { explicit, files, endpoints, origins };
}

function readInput({ name, setting, service, isFile }: Input, text: string, sources: ConfigSources, report: Report) {
  const place = storePlace(text);
  const isDatabase = setting === 'JOURNAL' && !isFile && place.path === undefined;
  const isSecret = !isFile && settings[setting].secret === true;
  const isPath = isFile || (settings[setting].kind === 'path' && !isDatabase);
  const given = isPath ? withHome(text, sources.env) : text;
  const problem = isPath ? pathProblem(given) : undefined;
  if (problem !== undefined) report(say`${safeVariableName(name)} is not usable: ${problem}.`);
  const content = isFile ? readSettingFile(given, setting, safeVariableName(name), sources, report) : given;
  const value = content === undefined ? undefined : parseSetting(setting, content, safeVariableName(name), report);
  const origin: GivenSetting = {
    name: variableName(name),
    setting: service === undefined ? setting : undefined,
    isFile,
    shown: isSecret ? 'set, not shown' : isDatabase ? place.name : given,
    secret: isSecret || isDatabase,
    isPath,
  };
  return { origin, path: isFile ? given : undefined, value };
}

/** Matches `${NAME}`, `$NAME`, `{{NAME}}` and the like, which the MCP client should have replaced, and a value that it should have decrypted. */
const placeholder = /^(\$\{.*\}|\$\(.*\)|\$(env:)?[a-z_]\w*|%[a-z_]\w*%|\{env:.*\}|\{\{.*\}\}|__encrypted__:[\s\S]*)$/i;

/** Clients set an empty variable for each field that the user leaves empty. It counts as not set. */
function readVariable(setting: string, env: Environment, report: Report): string | undefined {
  const text = textOfVariable(env[variableName(setting)] ?? '');
  if (!placeholder.test(text)) return text || undefined;
  report(
    say`${safeVariableName(setting)} is a placeholder or an encrypted value that your client did not replace: give it a value in the client's settings for this server, or remove it there.`,
  );
  return undefined;
}

/** Parses one value. `name` is the setting as the user wrote it. */
export function parseSetting<Name extends Setting>(
  setting: Name,
  value: unknown,
  name: SafeText,
  report: Report,
): ValueOf<Name> | undefined {
  const { data, error } = settings[setting].schema().safeParse(value);
  for (const { message } of error?.issues ?? []) report(say`${name} ${defined(message)}.`);
  // `settings` has lost the type of the schema.
  return data as ValueOf<Name> | undefined;
}

export function withDefaults(explicit: ExplicitValues): SettingValues {
  const values = settingNames.map((name) => {
    const { kind, default: defaultValue } = settings[name];
    return [name, explicit[name] ?? (kind === 'switch' ? false : defaultValue)];
  });
  // `Object.fromEntries` loses the types of the values, which were checked or are defaults.
  return Object.fromEntries(values) as unknown as SettingValues;
}

/** Reads the file with the text of a setting. Reports a file that is empty or cannot be read. */
export function readSettingFile(
  path: string,
  setting: Setting,
  name: SafeText,
  { readFile }: Pick<ConfigSources, 'readFile'>,
  report: Report,
): string | undefined {
  const file = say`The file that ${name} names`;
  try {
    const text = readFile(path).trim();
    if (text === '') report(say`${file} is empty.`);
    // CLOUDOPS_JOURNAL_FILE is for the address of a database, which has a password.
    if (setting === 'JOURNAL' && storePlace(text).path !== undefined)
      report(say`${file} must hold postgres://…; a journal in a file is ${safeVariableName(setting)}.`);
    return text || undefined;
  } catch (error) {
    report(say`${file} cannot be read (${fileFault(error)}).`);
    return undefined;
  }
}

function reportUnknown(
  env: Environment,
  allInputs: readonly Input[],
  { problems }: OwnOperations,
  report: Report,
): void {
  const known = allInputs.map(({ name }) => variableName(name));
  for (const [variable, value = ''] of Object.entries(env)) {
    if (!variable.startsWith(prefix) || known.includes(variable) || textOfVariable(value) === '') continue;
    const isEndpoint = /^CLOUDOPS_ENDPOINT_.*_URL$/.test(variable);
    // If operations could not be loaded, their endpoints are not known.
    if (isEndpoint && problems.length > 0) continue;
    const similarName = didYouMean(variable, known);
    const usualHint = isEndpoint
      ? words(': no file of CLOUDOPS_OPERATIONS and no model of CLOUDOPS_MODELS has its API')
      : words('; cloudops-mcp help settings lists them all');
    report(
      say`${own(variable)} is not a setting${similarName === undefined ? usualHint : say`; did you mean ${own(similarName)}?`}`,
    );
  }
}

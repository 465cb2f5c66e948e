import type * as z from 'zod';
import { defined, type SafeText, say } from '../util/safe-text.js';
import { type Setting, settingNames, settings, type Table } from './settings.js';
import type { Report } from './sources.js';

type ValueOf<Name extends Setting> = z.output<ReturnType<Table[Name]['schema']>>;

/** Values of the settings that the user has given, without defaults. */
export type ExplicitValues = { readonly [Name in Setting]?: ValueOf<Name> | undefined };

/** Values of all settings. A switch that is not given is off. */
export type SettingValues = {
  readonly [Name in Setting]: Table[Name] extends { default: string | number } | { kind: 'switch' }
    ? ValueOf<Name>
    : ValueOf<Name> | undefined;
};

/** Returns the name of a setting, as the user wrote it. */
export type NameOf = (setting: Setting) => SafeText;

/** Checks the values of settings. Reports every wrong value, which then counts as not given. */
export function parseSettings(
  unchecked: Readonly<Partial<Record<Setting, unknown>>>,
  nameOf: NameOf,
  report: Report,
): ExplicitValues {
  const values = settingNames.flatMap((name) => {
    if (unchecked[name] === undefined) return [];
    const { data, error } = settings[name].schema().safeParse(unchecked[name]);
    for (const { message } of error?.issues ?? []) report(say`${nameOf(name)} ${defined(message)}.`);
    return [[name, data]];
  });
  return Object.fromEntries(values);
}

export function withDefaults(explicit: ExplicitValues): SettingValues {
  const values = settingNames.map((name) => {
    const { kind, default: defaultValue } = settings[name];
    return [name, explicit[name] ?? (kind === 'switch' ? false : defaultValue)];
  });
  // `Object.fromEntries` loses the types of the values, which were checked or are defaults.
  return Object.fromEntries(values) as unknown as SettingValues;
}

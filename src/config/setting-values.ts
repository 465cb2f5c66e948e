import type * as z from 'zod';
import { defined, type Said, say } from '../util/say.js';
import { type Row, type Setting, settingNames, settings, type Table } from './settings.js';
import type { Report } from './sources.js';

type ValueOf<Name extends Setting> = z.output<ReturnType<Table[Name]['value']>>;

/** A switch that is not set is off; without a default, any other setting may be absent. */
export type SettingValues = {
  readonly [Name in Setting]: Table[Name] extends { default: string } | { kind: 'switch' }
    ? ValueOf<Name>
    : ValueOf<Name> | undefined;
};

type Texts = Readonly<Partial<Record<Setting, string>>>;

/**
 * The values of texts, and the texts that have one. One that cannot be parsed counts as not given, so that the others can be checked
 * together.
 * @param nameOf the name of a setting in a sentence about it
 * @param report takes a problem, without the value of a secret
 */
export function parseTexts(
  texts: Texts,
  nameOf: (setting: Setting) => Said,
  report: Report,
): { readonly values: SettingValues; readonly texts: Texts } {
  const valid = { ...texts };
  const values = settingNames.map((name) => {
    const row = settings[name];
    const text = texts[name];
    if (text === undefined) return [name, absentValue(row)];
    const { data, error } = row.value().safeParse(text);
    if (error === undefined) return [name, data];
    for (const { message } of error.issues) report(say`${nameOf(name)} ${defined(message)}.`);
    Reflect.deleteProperty(valid, name);
    return [name, absentValue(row)];
  });
  // Object.fromEntries loses the type of each value.
  return { values: Object.fromEntries(values) as unknown as SettingValues, texts: valid };
}

const absentValue = ({ kind, value, default: preset }: Row) =>
  kind === 'switch' ? false : preset === undefined ? undefined : value().parse(preset);

import { type Said, said, say } from '../util/safe-text.js';
import { type Row, type Setting, settingNames, settings, type Table } from './settings.js';
import type { Report } from './sources.js';
import type { ParseText } from './values.js';

type ValueOf<Name extends Setting> = Table[Name]['value'] extends ParseText<infer Value> ? Value : never;

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
    const parsed = row.value(text);
    if (parsed.kind === 'value') return [name, parsed.value];
    for (const problem of parsed.problems) report(say`${nameOf(name)} ${said(problem)}.`);
    Reflect.deleteProperty(valid, name);
    return [name, absentValue(row)];
  });
  // Object.fromEntries loses the type of each value.
  return { values: Object.fromEntries(values) as unknown as SettingValues, texts: valid };
}

function absentValue({ kind, value, default: preset }: Row): unknown {
  const parsed = preset === undefined ? undefined : value(preset);
  return kind === 'switch' ? false : parsed?.kind === 'value' ? parsed.value : undefined;
}

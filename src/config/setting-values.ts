import * as z from 'zod';
import { defined, type Said, say } from '../util/say.js';
import { isSetting, type Row, type Setting, settingNames, settings, type Table } from './settings.js';
import type { Report } from './sources.js';

/** A switch that is not set is off; without a default, any other setting may be absent. */
type Shape = {
  [Name in Setting]: Table[Name] extends { default: string } | { kind: 'switch' }
    ? Table[Name]['value']
    : z.ZodOptional<Table[Name]['value']>;
};
function parserOf({ kind, value, default: preset = kind === 'switch' ? '0' : undefined }: Row) {
  return preset === undefined ? value.optional() : value.prefault(preset);
}

/** Parses the texts of all settings at once, defaults included. */
export const settingValues = z.object(
  // Object.fromEntries loses the type of each parser.
  Object.fromEntries(settingNames.map((name) => [name, parserOf(settings[name])])) as unknown as Shape,
);
export type SettingValues = z.output<typeof settingValues>;

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
  const parsed = settingValues.safeParse(texts);
  if (parsed.success) return { values: parsed.data, texts };
  const valid = { ...texts };
  for (const { path, message } of parsed.error.issues) {
    const name = String(path[0]);
    if (!isSetting(name)) continue;
    report(say`${nameOf(name)} ${defined(message)}.`);
    Reflect.deleteProperty(valid, name);
  }
  return { values: settingValues.parse(valid), texts: valid };
}

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { settingNames, settings, variableName } from '../../src/config/settings.js';

const document = readFileSync('docs/CONFIGURATION.md', 'utf8');

test.each(settingNames)('%s is in docs/CONFIGURATION.md, with its help', (setting) => {
  const row = document.split('\n').find((line) => line.startsWith(`| \`${variableName(setting)}\` |`));
  expect(row).toContain(settings[setting].help);
});

test.each(settingNames.filter((setting) => settings[setting].default !== undefined))(
  'the default of %s is a value that can be set',
  (setting) => {
    const { default: preset, schema } = settings[setting];
    expect(schema().parse(String(preset))).toBe(preset);
  },
);

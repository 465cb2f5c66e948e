import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configurationDocument } from '../../src/config/document.js';
import { settingNames, settings, variableName } from '../../src/config/settings.js';

test('docs/CONFIGURATION.md is generated from the table of settings as it is', () => {
  expect(readFileSync('docs/CONFIGURATION.md', 'utf8')).toBe(configurationDocument());
});

test.each(settingNames)('%s is in it, with its help; a secret without an option', (setting) => {
  const row = configurationDocument()
    .split('\n')
    .find((line) => line.startsWith(`| \`${variableName(setting)}\` |`));
  expect(row).toContain(settings[setting].help);
  expect(row?.includes('| `--')).toBe(settings[setting].secret !== true);
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Entry } from '../../src/journal/entry.js';
import { countMissingIntents } from '../../src/journal/missing-intents.js';
import { endingOf, intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const intent = intentAt(noon, { id: 'here' });
const ending = endingOf(noon, 'here', 'unknown');
const alone = endingOf(noon, 'cut off', 'accepted');

test.each<[what: string, entries: readonly Entry[], missing: number]>([
  ['no entry', [], 0],
  ['a change with two outcomes', [{ intent }, { ending }, { ending: endingOf(noon, 'here', 'accepted') }], 0],
  ['a change without an outcome', [{ intent }], 0],
  ['an outcome of a change that was cut off', [{ ending: alone }, { intent }, { ending }], 1],
  ['two outcomes of one change that was cut off', [{ ending: alone }, { ending: alone }], 1],
])('%s', async (_what, entries, missing) => {
  const path = join(folder, 'journal.jsonl');
  writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  expect(await countMissingIntents(path)).toBe(missing);
});

test('no file', async () => {
  expect(await countMissingIntents(join(folder, 'journal.jsonl'))).toBe(0);
});

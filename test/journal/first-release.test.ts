import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe } from 'vitest';
import { createFileJournal } from '../../src/journal/file.js';
import { testFirstRelease } from './first-release.js';
import { testKeptVersion } from './kept-version.js';

describe.each([
  ['the first release', 'first-release', testFirstRelease],
  ['this format of keys', 'format-1', testKeptVersion],
])('the file of %s', (_what, name, testJournal) => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cloudops-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  testJournal((now) => {
    const path = join(folder, 'journal.jsonl');
    copyFileSync(`test/fixtures/journal/${name}.jsonl`, path);
    return createFileJournal(path, now);
  });
});

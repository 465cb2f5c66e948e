import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe } from 'vitest';
import { createFileJournal } from '../../src/journal/file.js';
import { testFirstRelease } from './first-release.js';

describe('the file of the first release', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cloudops-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  testFirstRelease((now) => {
    const path = join(folder, 'journal.jsonl');
    copyFileSync('test/fixtures/journal/first-release.jsonl', path);
    return createFileJournal(path, now);
  });
});

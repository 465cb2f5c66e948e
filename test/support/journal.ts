import type { JournalEntry } from '../../src/changes/change.js';

/** The changes that `cloudops-mcp journal --json` printed. */
export const printedChanges = (stdout: string): JournalEntry[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

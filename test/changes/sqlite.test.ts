import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { createSqlite } from '../../src/changes/sqlite.js';
import { createChanges } from '../../src/changes/store.js';
import { wallClock } from '../support/changes.js';
import { describeStore } from './store.js';

describe('a store in a file', () => {
  describeStore(() => {
    const folder = mkdtempSync(join(tmpdir(), 'cloudops-store-'));
    return {
      open: (name, now, process) =>
        createChanges(createSqlite(join(folder, `${name}.db`), { clock: wallClock(now) }), { process }),
      remove: () => rmSync(folder, { recursive: true }),
    };
  });
});

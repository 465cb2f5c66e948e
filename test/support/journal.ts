import { randomUUID } from 'node:crypto';
import type { Ending, Intent, RecordedChange } from '../../src/journal/entry.js';
import { keyFormat } from '../../src/journal/idempotency-key.js';

/** The same change each time, under an id of its own, at a time in milliseconds. */
export const intentAt = (time: number, changes: Partial<Intent> = {}): Intent => ({
  id: randomUUID(),
  time: new Date(time).toISOString(),
  tool: 'restore_instance',
  what: 'A server "s" is created.',
  target: 'POST https://devops.example.com/v1/instances:restore',
  account: 'default',
  key: 'access-key-1',
  client: 'test 1',
  consent: 'asked',
  digest: 'same',
  keyFormat,
  process: { pid: 1, host: 'here' },
  ...changes,
});

/** The ending of a change, with its fields in the order in which servers write them. */
export const endingOf = (time: number, id: string, outcome: Ending['outcome']): Ending => ({
  id,
  time: new Date(time).toISOString(),
  key: 'access-key-1',
  outcome,
});

/** What `cloudops-mcp journal --json` printed. */
export const printedChanges = (stdout: string): RecordedChange[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

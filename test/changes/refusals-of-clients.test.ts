import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRefusals } from '../../src/consent/refusals.js';
import { createFileJournal } from '../../src/journal/file.js';
import { intentAt } from '../support/journal.js';

/** Whose refusals end the questions, and which of them bind. */

const now = new Date('2026-11-20T12:00:00Z');
let folder: string;
let refusals: ReturnType<typeof createRefusals>;
let declined = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-'));
  const journal = createFileJournal(join(folder, 'journal.jsonl'), () => now);
  refusals = createRefusals(
    journal,
    { list: async () => [] },
    () => now,
    () => `again-${declined}`,
    () => undefined,
  );
});
afterEach(async () => {
  await refusals.close();
  rmSync(folder, { recursive: true });
});

const agent = { client: 'agent 1', caller: undefined, digest: 'd' };
const terminal = { client: 'cloudops-mcp call 1', caller: undefined, digest: 'd' };
const decline = (entry: { client: string; caller?: string | undefined; digest: string }, isDismissed = false) => {
  declined += 1;
  const id = `${declined}`;
  return refusals.decline(intentAt(now.getTime(), { ...entry, id, nonce: id, consent: 'asked' }), isDismissed);
};

describe('three refusals', () => {
  test('over stdio end the questions of their client, and of no other', async () => {
    for (const digest of ['a', 'b', 'c']) await decline({ ...agent, digest });
    expect(await refusals.againstAsking(agent)).toMatchObject({ code: 'TooManyRefusals' });
    expect(await refusals.againstAsking(terminal)).toBeUndefined();
  });

  test('of a caller that is told apart count for it, whatever it calls itself', async () => {
    for (const client of ['one', 'two', 'three']) await decline({ ...agent, client, caller: 'ana' });
    expect(await refusals.againstAsking({ client: 'four', caller: 'ana' })).toMatchObject({ code: 'TooManyRefusals' });
    expect(await refusals.againstAsking({ client: 'one', caller: 'bo' })).toBeUndefined();
  });

  test('count for their client where the journal does not have them yet', async () => {
    const unwritable = createRefusals(
      { decline: () => Promise.reject(new Error('full')), listDeclined: async () => [] },
      { list: async () => [] },
      () => now,
      () => 'again',
      () => undefined,
    );
    for (const id of ['a', 'b', 'c'])
      await unwritable.decline(intentAt(now.getTime(), { ...agent, id, nonce: id, consent: 'asked' }));
    expect(await unwritable.againstAsking(agent)).toMatchObject({ code: 'TooManyRefusals' });
    expect(await unwritable.againstAsking(terminal)).toBeUndefined();
    await unwritable.close();
  });

  test('count where the question was only closed', async () => {
    for (const digest of ['a', 'b', 'c']) await decline({ ...agent, digest }, true);
    expect(await refusals.againstAsking(agent)).toMatchObject({ code: 'TooManyRefusals' });
  });
});

describe('a refusal', () => {
  test('binds every client, so that no other carries out what was declined', async () => {
    await decline(agent);
    expect(await refusals.againstPlanId(terminal)).toMatchObject({ code: 'Declined' });
    expect(await refusals.againstPlanId({ ...terminal, digest: 'other' })).toBeUndefined();
  });

  test('that was only a question closed without an answer does not bind; one that follows it does', async () => {
    await decline(agent, true);
    expect(await refusals.againstPlanId(agent)).toBeUndefined();
    await decline(agent);
    expect(await refusals.againstPlanId(agent)).toMatchObject({ code: 'Declined' });
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/changes/postgres-database.js';
import { createPostgresMessages, type SharedMessages } from '../../src/http/replica-messages.js';
import { hasPostgres, type Postgres, startPostgres } from '../support/postgres.js';

describe.skipIf(!hasPostgres())('messages in PostgreSQL', () => {
  let postgres: Postgres;
  let database: string;
  let number = 0;
  /** Two processes. */
  let waiting: SharedMessages;
  let other: SharedMessages;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 120_000);
  afterAll(() => postgres.remove());
  beforeEach(() => {
    number += 1;
    database = `messages_${number}`;
    const url = postgres.url(database);
    waiting = createPostgresMessages(openDatabase(url, now));
    other = createPostgresMessages(openDatabase(url, now));
  });
  afterEach(() => Promise.all([waiting.close(), other.close()]));

  const now = () => new Date();
  const keys = () => postgres.sql(database, 'select key from cloudops_messages order by key').split('\n');

  test('one that is announced reaches the process that waits for it', async () => {
    await waiting.announce('answer');
    await waiting.announce('end');
    expect(await waiting.read(['answer', 'end'])).toEqual([]);
    await other.put('answer', 'sealed');
    expect(await waiting.read(['answer', 'end'])).toEqual([{ key: 'answer', message: 'sealed' }]);
    expect(await waiting.read(['end'])).toEqual([]);
  });

  test('the first counts', async () => {
    await waiting.announce('answer');
    await other.put('answer', 'first');
    await other.put('answer', 'second');
    expect(await waiting.read(['answer'])).toEqual([{ key: 'answer', message: 'first' }]);
  });

  test('a key that is announced again has no earlier message', async () => {
    await waiting.announce('answer');
    await other.put('answer', 'first');
    await waiting.announce('answer');
    expect(await waiting.read(['answer'])).toEqual([]);
  });

  test('one that was never announced is not kept, nor is one that was forgotten', async () => {
    await waiting.announce('answer');
    await waiting.announce('end');
    await other.put('unknown', 'sealed');
    await waiting.forget('answer');
    await other.put('answer', 'sealed');
    expect(await waiting.read(['unknown', 'answer'])).toEqual([]);
    expect(keys()).toEqual(['end']);
  });

  test('what a process left behind when it was killed is gone after a quarter of an hour', async () => {
    await waiting.announce('old');
    await waiting.announce('older');
    const age = (key: string, minutes: number) =>
      postgres.sql(
        database,
        `update cloudops_messages set expected = now() - interval '${minutes} min' where key = '${key}'`,
      );
    age('old', 14);
    age('older', 16);
    await other.announce('new');
    expect(keys()).toEqual(['new', 'old']);
  });

  test('processes that start together share one table', async () => {
    const url = postgres.url(database);
    const many = Array.from({ length: 10 }, () => createPostgresMessages(openDatabase(url, now)));
    await Promise.all(many.map((each, index) => each.announce(`key-${index}`)));
    expect(keys()).toHaveLength(10);
    await Promise.all(many.map((each) => each.close()));
  });

  test('a database that is down is an error, and no longer one when it is back', async () => {
    await waiting.announce('answer');
    await postgres.stop();
    await expect(other.put('answer', 'sealed')).rejects.toThrow();
    await postgres.start();
    await other.put('answer', 'sealed');
    expect(await waiting.read(['answer'])).toHaveLength(1);
  });
});

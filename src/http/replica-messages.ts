import * as z from 'zod';
import type { Database } from '../journal/postgres-database.js';

/**
 * Messages of clients for calls that wait in another replica. A key names one client and one message, and no other client can guess
 * it. Messages are sealed.
 */
export interface SharedMessages {
  /** Accepts a message with this key until `forget`, but for `keptMinutes` at most. */
  expect(key: string): Promise<void>;
  /** Stores a message, if it is expected and the first one with its key. */
  put(key: string, message: string): Promise<void>;
  /** The messages with these keys that have arrived. */
  read(keys: readonly string[]): Promise<readonly { readonly key: string; readonly message: string }[]>;
  forget(key: string): Promise<void>;
  close(): Promise<void>;
}

const connections = 2;

/** Messages are kept for this time, which is longer than any question waits. */
const keptMinutes = 15;

const rows = z.array(z.object({ key: z.string(), message: z.string() }));

/**
 * Keeps messages in PostgreSQL, next to the journal. Replicas poll, because a notification would need a connection of its own, and
 * PgBouncer gives none when it pools transactions.
 */
export function createPostgresMessages(database: Database): SharedMessages {
  const { run, close } = database.connect(connections);
  return {
    expect: (key) =>
      run(async ({ client }) => {
        // A replica that was killed leaves its messages behind.
        await client.query(`delete from cloudops_messages where expected < now() - interval '${keptMinutes} minutes'`);
        await client.query(
          `insert into cloudops_messages (key) values ($1)
           on conflict (key) do update set expected = excluded.expected, message = null`,
          [key],
        );
      }),
    put: (key, message) =>
      run(async ({ client }) => {
        await client.query('update cloudops_messages set message = $2 where key = $1 and message is null', [
          key,
          message,
        ]);
      }),
    read: (keys) =>
      run(async ({ client }) => {
        const selected = await client.query(
          'select key, message from cloudops_messages where key = any($1::text[]) and message is not null',
          [keys],
        );
        return rows.parse(selected.rows);
      }),
    forget: (key) =>
      run(async ({ client }) => {
        await client.query('delete from cloudops_messages where key = $1', [key]);
      }),
    close,
  };
}

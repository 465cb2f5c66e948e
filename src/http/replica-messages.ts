import * as z from 'zod';
import type { Database } from '../changes/postgres-database.js';

/**
 * Messages that one replica receives from a client, for a call that waits in another replica. A key stands for one message of one client.
 * Other clients cannot guess the key. Messages are sealed.
 */
export interface SharedMessages {
  /** Announces that a call waits for the message with this key: until `forget`, or for `keptMinutes`. */
  announce(key: string): Promise<void>;
  /** Stores a message. Drops the message if no call waits for it, or if a message with this key came before. */
  put(key: string, message: string): Promise<void>;
  /** Returns the messages that have arrived for these keys. */
  read(keys: readonly string[]): Promise<readonly { readonly key: string; readonly message: string }[]>;
  /** Removes the announcement, with its message if there is one. */
  forget(key: string): Promise<void>;
  close(): Promise<void>;
}

const connections = 2;

/** Messages are deleted after this time, which is longer than any question waits. */
const keptMinutes = 15;

const rows = z.array(z.object({ key: z.string(), message: z.string() }));

/**
 * Keeps the messages in a table next to the journal. Replicas poll the table, because PostgreSQL's `notify` needs a connection that stays open,
 * and a PgBouncer that pools transactions offers none. The column `expected` is the time of the last `announce` for a key. Its default is the
 * time of the insert.
 */
export function createPostgresMessages(database: Database): SharedMessages {
  const { run, close } = database.connect(connections);
  return {
    announce: (key) =>
      run(async ({ client }) => {
        // A replica that was killed has not called `forget`.
        await client.query(`delete from cloudops_messages where expected < now() - interval '${keptMinutes} minutes'`);
        await client.query(
          `insert into cloudops_messages (key) values ($1)
           on conflict (key) do update set expected = excluded.expected, message = null`,
          [key],
        );
      }),
    put: (key, message) =>
      run(async ({ client }) => {
        // Changes no row if no call waits for the message, or if a message with this key came before.
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

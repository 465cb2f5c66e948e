import * as z from 'zod';
import type { Database } from '../journal/postgres-database.js';
import type { SharedMessages } from './replica-messages.js';

const connections = 2;

/** Longer than any question waits, in minutes. */
const keptMinutes = 15;

const rows = z.array(z.object({ key: z.string(), message: z.string() }));

/**
 * Messages in PostgreSQL, beside the journal. Processes look for them again and again: a notification would take a connection of its
 * own, which PgBouncer's transaction pooling does not give.
 */
export function createPostgresMessages(database: Database): SharedMessages {
  const { run, close } = database.connect(connections);
  return {
    expect: (key) =>
      run(async ({ client }) => {
        // Those that a process left behind when it was killed.
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
        const found = await client.query(
          'select key, message from cloudops_messages where key = any($1::text[]) and message is not null',
          [keys],
        );
        return rows.parse(found.rows);
      }),
    forget: (key) =>
      run(async ({ client }) => {
        await client.query('delete from cloudops_messages where key = $1', [key]);
      }),
    close,
  };
}

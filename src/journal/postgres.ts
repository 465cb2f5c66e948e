import * as z from 'zod';
import type { Log } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { budgetState } from './budget.js';
import { createClockWarning } from './clock-warnings.js';
import {
  abandonedMs,
  type DatedChange,
  findByNonce,
  findConflict,
  findDuplicate,
  findOverspending,
  isNonceSpent,
} from './conflict.js';
import { databaseName } from './database-url.js';
import {
  bounded,
  boundedCaller,
  boundedEnding,
  boundedIntent,
  clientBytes,
  type Ending,
  type Intent,
} from './entry.js';
import { defaultLimit, type Journal, unwritable } from './journal.js';
import { selectSpent } from './postgres-budget.js';
import { createDatabase, type Transaction } from './postgres-database.js';
import { examine, requireAgreement, requireKeyFormat } from './postgres-health-check.js';
import { changesIn, readRows, understoodIn } from './postgres-rows.js';
import { createTables } from './postgres-tables.js';
import { CommitPending, createPersistence, Permanent } from './retry-writes.js';

const connections = 5;
/** Separate connections, so that reading the journal again and again keeps nobody from writing. */
const readingConnections = 2;

/** The most open changes to end at once. The next recovery takes the rest. */
const maximumOpen = 1_000;

export interface PostgresOptions {
  readonly log?: Log | undefined;
  /** The time for one that the database tells, both in milliseconds. */
  readonly databaseTime?: ((told: number) => number) | undefined;
}

/**
 * A journal in PostgreSQL, for servers that share it. Of intents with the same digest, nonce or budget, the primary key of
 * `cloudops_guards` lets one at a time look for conflicts and be written; a lost connection leaves nothing locked.
 * No state is kept in the process or the connection, so that servers may come and go, behind a pooler too.
 * @param url its password is in no error
 */
export function createPostgresJournal(
  url: string,
  now: () => Date,
  { log = () => undefined, databaseTime }: PostgresOptions = {},
): Journal {
  const tables = createTables(url, log);
  const common = { url, now, databaseTime, prepare: tables.ready, onFailure: tables.forget };
  const database = createDatabase({ ...common, connections });
  const readingDatabase = createDatabase({ ...common, connections: readingConnections });
  const persistence = createPersistence();
  const warnOfClock = createClockWarning(log);
  const unsent = (id: string, code: string): Ending => ({ id, time: now().toISOString(), outcome: 'not sent', code });
  /** Ends an intent that was not sent, and of which nobody knows whether it was written. */
  const endUnwritten = async (intent: Intent, error: unknown): Promise<void> => {
    const attempt = () => database.run((transaction) => insert(transaction, intent, unsent(intent.id, 'unwritable')));
    if (error instanceof CommitPending) persistence.writeAfter(error, attempt);
    else await persistence.writeSoon(attempt);
  };
  return {
    healthCheck: () => database.run(examine),
    unwritten: persistence.count,
    end: (ending, signal) =>
      persistence.write(() => database.run((transaction) => update(transaction, boundedEnding(ending))), signal),
    findDuplicate: (digest) =>
      database.run(async (transaction) =>
        findDuplicate(await selectRelated(transaction, digest, undefined), digest, transaction.now),
      ),
    findByNonce: (nonce) =>
      database.run(async ({ client }) => {
        const { rows } = await client.query('select intent, ending from cloudops_mutations where nonce = $1', [nonce]);
        return findByNonce(changesIn(rows), nonce);
      }),
    budgetState: (key, budget) =>
      database.run(async (transaction) =>
        budgetState(await selectSpent(transaction, key, budget), budget, transaction.now),
      ),
    begin: async (given, { allowRepeat, budget }) => {
      const intent = boundedIntent(given);
      let mayBeCommitted = false;
      const onCommit = () => {
        mayBeCommitted = true;
      };
      try {
        return await database.run(async (transaction) => {
          warnOfClock(transaction.offsetMs);
          requireAgreement(transaction);
          const earlier = await lockRelated(transaction, intent);
          const conflict = findConflict(earlier, intent, { allowRepeat }, transaction.now);
          const result =
            conflict.kind === 'begun' && budget !== undefined
              ? findOverspending(await selectSpent(transaction, intent.budget, budget), budget, transaction.now)
              : conflict;
          await insert(transaction, intent, result.kind === 'begun' ? undefined : unsent(intent.id, result.kind));
          return result;
        }, onCommit);
      } catch (error) {
        if (mayBeCommitted) await endUnwritten(intent, error);
        return unwritable(databaseName(url), error);
      }
    },
    decline: (given) =>
      database.run(async (transaction) => {
        const intent = boundedIntent(given);
        const { id } = intent;
        const isSpent = isNonceSpent(await lockRelated(transaction, intent), intent.nonce);
        const declined = { id, time: now().toISOString(), outcome: 'declined' } as const;
        await insert(transaction, intent, isSpent ? unsent(id, 'consentUsed') : declined);
        return !isSpent;
      }),
    listDeclined: (since, caller, through) =>
      database.run(async ({ client, now: time }) => {
        const { rows } = await client.query(
          `select digest from cloudops_mutations
           where outcome = 'declined' and ended >= $1 and caller is not distinct from $2
             and intent->>'consent' <> 'withdrawn' and ($3::text is null or intent->>'client' = $3)`,
          [
            new Date(time - (now().getTime() - since)),
            storedCaller(caller),
            caller === undefined && through !== undefined ? bounded(through, clientBytes) : null,
          ],
        );
        return digestsSchema()
          .parse(rows)
          .map(({ digest }) => digest);
      }),
    list: ({ since = 0, limit = defaultLimit, caller }) =>
      readingDatabase.run(async ({ client }) => {
        const { rows } = await client.query(
          `select intent, ending from cloudops_mutations
           where time >= $1 and ($2::text is null or caller = $2) order by number desc limit $3`,
          [new Date(since), storedCaller(caller), limit],
        );
        return understoodIn(rows).reverse();
      }),
    listUnfinished: () =>
      database.run(async ({ client }) => {
        const { rows } = await client.query(
          'select intent, ending from cloudops_mutations where outcome is null order by number limit $1',
          [maximumOpen],
        );
        return understoodIn(rows);
      }),
    read: (options) => readRows(readingDatabase.run, options),
    close: async () => {
      await persistence.close();
      await Promise.all([database.close(), readingDatabase.close()]);
    },
  };
}

/**
 * Changes with a digest or a nonce, oldest first, that may be in conflict with one now. A change that was not made conflicts by its
 * nonce alone. Leaving others of those out keeps the list short.
 */
async function selectRelated(
  { client, now }: Transaction,
  digest: string,
  nonce: string | undefined,
): Promise<readonly DatedChange[]> {
  const { rows } = await client.query(
    `select intent, ending, ended from cloudops_mutations
     where nonce = $2 or (digest = $1 and (outcome is null or
       (time >= $3 or ended >= $3) and outcome not in ('rejected', 'declined', 'not sent'))) order by number`,
    [digest, nonce, new Date(now - abandonedMs)],
  );
  // This throws for a change that cannot be read, because it may be in conflict.
  return changesIn(rows);
}

/** `selectRelated` under a lock: until this transaction ends, no other intent with the digest or the nonce can be written. */
async function lockRelated(
  transaction: Transaction,
  { digest, nonce, budget }: Intent,
): Promise<readonly DatedChange[]> {
  await requireKeyFormat(transaction);
  // Always in the same order, so that no two transactions wait for each other.
  await transaction.client.query(
    'insert into cloudops_guards select unnest($1::text[]) on conflict (key) do update set key = excluded.key',
    [
      [
        ...(budget === undefined ? [] : [`budget ${budget}`]),
        `digest ${digest}`,
        ...(nonce === undefined ? [] : [`nonce ${nonce}`]),
      ],
    ],
  );
  return selectRelated(transaction, digest, nonce);
}

/**
 * Writes an intent, and its ending if it has one already. After a lost connection, when nobody knows whether the intent was committed,
 * it is written again with an ending: that waits for a commit that is still under way, and replaces its row.
 */
async function insert({ client, now }: Transaction, intent: Intent, ending: Ending | undefined): Promise<void> {
  const { id, digest, caller, budget } = intent;
  const time = new Date(now);
  const nonce = ending?.outcome === 'not sent' ? undefined : intent.nonce;
  const ended = ending === undefined ? [null, null, null] : [ending.outcome, time, JSON.stringify(ending)];
  await client.query(
    `insert into cloudops_mutations (id, digest, nonce, time, intent, caller, outcome, ended, ending, budget)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (id) do update set
       outcome = excluded.outcome, ended = excluded.ended, ending = excluded.ending, nonce = excluded.nonce`,
    [id, digest, nonce, time, JSON.stringify(intent), storedCaller(caller), ...ended, budget],
  );
}

/** @throws Permanent if the intent is not there */
async function update({ client, now }: Transaction, ending: Ending): Promise<void> {
  // A known outcome does not become unknown when another server takes this one to be gone.
  const { rowCount } = await client.query(
    `update cloudops_mutations set
       outcome = $2, ended = $3, ending = $4, nonce = case when $2 = 'not sent' then null else nonce end
     where id = $1 and (outcome is null or outcome = 'unknown' or $2 <> 'unknown')`,
    [ending.id, ending.outcome, new Date(now), JSON.stringify(ending)],
  );
  if (rowCount === 1) return;
  const { rowCount: intents } = await client.query('select from cloudops_mutations where id = $1', [ending.id]);
  if (intents === 0) throw new Permanent('the intent is not in the journal');
}

const storedCaller = (caller: string | undefined) =>
  caller === undefined ? undefined : JSON.stringify(boundedCaller(caller));

const digestsSchema = lazy(() => z.array(z.object({ digest: z.string() })));

import * as z from 'zod';
import type { Log } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { type Budget, budgetState, spendingOutcomes } from './budget.js';
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
import {
  bounded,
  boundedCaller,
  boundedEnding,
  boundedIntent,
  clientBytes,
  type Ending,
  type Intent,
  withoutRefusal,
} from './entry.js';
import {
  type BeginOptions,
  type BeginResult,
  defaultLimit,
  type Journal,
  type ListChangesOptions,
  unwritable,
} from './journal.js';
import type { Database, Transaction } from './postgres-database.js';
import { checkHealth, requireAgreement, requireKeyFormat } from './postgres-health-check.js';
import { changesIn, readRows, understoodIn } from './postgres-rows.js';
import { CommitPending, createPersistence, Permanent } from './retry-writes.js';

const connections = 5;
/** Separate connections, so that reading a journal repeatedly keeps no change waiting. */
const readingConnections = 2;

/** The most unfinished changes to end at once. The next recovery takes the rest. */
const mostUnfinished = 1_000;

/**
 * A journal in PostgreSQL, which servers may share. Intents with the same digest, nonce or budget are written one at a time: each locks
 * a row of `cloudops_guards`, looks for conflicts and is written. A lost connection leaves nothing locked. The process and the
 * connections hold no state, so servers may come and go, and connections may lead through a pooler.
 */
export function createPostgresJournal(database: Database, now: () => Date, log: Log = () => undefined): Journal {
  const { run, close } = database.connect(connections);
  const reading = database.connect(readingConnections);
  const persistence = createPersistence();
  const warnOfClock = createClockWarning(log);
  const unsent = (id: string, code: string): Ending => ({ id, time: now().toISOString(), outcome: 'not sent', code });
  /** Ends an intent that was not sent and may or may not have been written. */
  const endUnwritten = async (intent: Intent, error: unknown): Promise<void> => {
    const attempt = () => run((transaction) => insert(transaction, intent, unsent(intent.id, 'unwritable')));
    if (error instanceof CommitPending) persistence.writeAfter(error, attempt);
    else await persistence.writeSoon(attempt);
  };
  const beginIn = async (transaction: Transaction, intent: Intent, options: BeginOptions): Promise<BeginResult> => {
    warnOfClock(transaction.offsetMs);
    requireAgreement(transaction);
    const earlier = await lockRelated(transaction, intent);
    const { budget } = options;
    let result = findConflict(earlier, intent, options, transaction.now);
    if (result.kind === 'begun' && budget !== undefined)
      result = findOverspending(await selectSpent(transaction, intent.budget, budget), budget, transaction.now);
    await insert(transaction, intent, result.kind === 'begun' ? undefined : unsent(intent.id, result.kind));
    return result;
  };
  return {
    healthCheck: () => run(checkHealth),
    unwritten: persistence.count,
    begin: async (unboundedIntent, options) => {
      const intent = boundedIntent(unboundedIntent);
      let mayBeCommitted = false;
      const onCommit = () => {
        mayBeCommitted = true;
      };
      try {
        return await run((transaction) => beginIn(transaction, intent, options), onCommit);
      } catch (error) {
        if (mayBeCommitted) await endUnwritten(intent, error);
        return unwritable(database.name, error);
      }
    },
    end: (unboundedEnding, signal) => {
      const ending = boundedEnding(unboundedEnding);
      return persistence.write(() => run((transaction) => update(transaction, ending)), signal);
    },
    decline: (unboundedIntent) =>
      run(async (transaction) => {
        const intent = boundedIntent(unboundedIntent);
        const isSpent = isNonceSpent(await lockRelated(transaction, intent), intent.nonce);
        const declined = { id: intent.id, time: now().toISOString(), outcome: 'declined' } as const;
        await insert(transaction, intent, isSpent ? unsent(intent.id, 'consentUsed') : declined);
        return !isSpent;
      }),
    findDuplicate: (digest) =>
      run(async (transaction) => {
        const related = await selectRelated(transaction, digest, undefined);
        return findDuplicate(related, digest, transaction.now);
      }),
    findByNonce: (nonce) =>
      run(async ({ client }) => {
        const { rows } = await client.query('select intent, ending from cloudops_mutations where nonce = $1', [nonce]);
        return findByNonce(changesIn(rows), nonce);
      }),
    budgetState: (key, budget) =>
      run(async (transaction) => budgetState(await selectSpent(transaction, key, budget), budget, transaction.now)),
    listDeclined: (since, caller, client) =>
      run((transaction) => {
        const ageMs = now().getTime() - since;
        return selectDeclined(transaction, new Date(transaction.now - ageMs), caller, client);
      }),
    list: (options) => reading.run((transaction) => selectNewest(transaction, options)),
    listUnfinished: () =>
      run(async ({ client }) => {
        const { rows } = await client.query(
          'select intent, ending from cloudops_mutations where outcome is null order by number limit $1',
          [mostUnfinished],
        );
        return understoodIn(rows);
      }),
    read: (options) => readRows(reading.run, options),
    close: async () => {
      await persistence.close();
      await Promise.all([close(), reading.close()]);
    },
  };
}

/**
 * Changes with a digest or a nonce that may be in conflict with a change now, oldest first. A change that was not made is in conflict
 * only by its nonce. The others with its digest are left out to keep the list short.
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
  // Throws for a change that cannot be read, because it may be in conflict.
  return changesIn(rows);
}

/** `selectRelated` under a lock. Until this transaction ends, no other intent with the digest, nonce or budget can be written. */
async function lockRelated(
  transaction: Transaction,
  { digest, nonce, budget }: Intent,
): Promise<readonly DatedChange[]> {
  await requireKeyFormat(transaction);
  // Always in this order, so that no two transactions wait for each other.
  const guards: string[] = [];
  if (budget !== undefined) guards.push(`budget ${budget}`);
  guards.push(`digest ${digest}`);
  if (nonce !== undefined) guards.push(`nonce ${nonce}`);
  await transaction.client.query(
    'insert into cloudops_guards select unnest($1::text[]) on conflict (key) do update set key = excluded.key',
    [guards],
  );
  return selectRelated(transaction, digest, nonce);
}

/** The times (milliseconds, by the database's clock) of the changes in a budget's window that count against it. */
async function selectSpent(
  { client, now }: Transaction,
  key: string | undefined,
  { windowMs }: Budget,
): Promise<readonly number[]> {
  const { rows } = await client.query(
    `select extract(epoch from time)::float8 * 1000 as time from cloudops_mutations
     where budget = $1 and time > $2 and (outcome is null or outcome = any($3))`,
    [key, new Date(now - windowMs), spendingOutcomes],
  );
  return timesSchema()
    .parse(rows)
    .map(({ time }) => time);
}

/** Digests of the changes that were declined, as `Journal.listDeclined` describes. */
async function selectDeclined(
  { client: connection }: Transaction,
  since: Date,
  caller: string | undefined,
  client: string | undefined,
): Promise<readonly string[]> {
  const clientName = caller === undefined && client !== undefined ? bounded(client, clientBytes) : null;
  const { rows } = await connection.query(
    `select digest from cloudops_mutations
     where outcome = 'declined' and ended >= $1 and caller is not distinct from $2
       and intent->>'consent' <> all ($4) and ($3::text is null or intent->>'client' = $3)`,
    [since, storedCaller(caller), clientName, withoutRefusal],
  );
  return digestsSchema()
    .parse(rows)
    .map(({ digest }) => digest);
}

/** The newest changes, oldest first. */
async function selectNewest({ client }: Transaction, { since = 0, limit = defaultLimit, caller }: ListChangesOptions) {
  const { rows } = await client.query(
    `select intent, ending from cloudops_mutations
     where time >= $1 and ($2::text is null or caller = $2) order by number desc limit $3`,
    [new Date(since), storedCaller(caller), limit],
  );
  return understoodIn(rows).reverse();
}

/**
 * Writes an intent, and its ending if it has one. After a lost connection it is unknown whether the intent was committed, so it is
 * written again with an ending. That waits for a commit under way, and replaces its row.
 */
async function insert({ client, now }: Transaction, intent: Intent, ending: Ending | undefined): Promise<void> {
  const { id, digest, caller, budget, keyFormat } = intent;
  const time = new Date(now);
  const nonce = ending?.outcome === 'not sent' ? undefined : intent.nonce;
  const ended = ending === undefined ? [null, null, null] : [ending.outcome, time, JSON.stringify(ending)];
  await client.query(
    `insert into cloudops_mutations (id, digest, nonce, time, intent, caller, outcome, ended, ending, budget, key_format)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (id) do update set
       outcome = excluded.outcome, ended = excluded.ended, ending = excluded.ending, nonce = excluded.nonce`,
    [id, digest, nonce, time, JSON.stringify(intent), storedCaller(caller), ...ended, budget, keyFormat],
  );
}

/** @throws Permanent if the intent is not in the journal */
async function update({ client, now }: Transaction, ending: Ending): Promise<void> {
  // A server that takes another server to be gone writes `unknown`. That does not replace a known outcome.
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

/** As JSON, because text in PostgreSQL cannot hold every character. */
const storedCaller = (caller: string | undefined) =>
  caller === undefined ? undefined : JSON.stringify(boundedCaller(caller));

const timesSchema = lazy(() => z.array(z.object({ time: z.number() })));
const digestsSchema = lazy(() => z.array(z.object({ digest: z.string() })));

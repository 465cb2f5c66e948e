import * as z from 'zod';
import type { Log } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { type Budget, spendingOutcomes, stateOfBudget } from './budget.js';
import { createClockWarning } from './clock-warnings.js';
import {
  abandonedMs,
  changeWithNonce,
  type DatedChange,
  duplicateIn,
  findConflict,
  findOverspending,
  isNonceSpent,
} from './conflict.js';
import {
  clientBytes,
  type Ending,
  type Intent,
  notRefusedByPerson,
  shorten,
  shortenEnding,
  shortenIntent,
  storedCaller,
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
import { checkHealth, requireOwnVersion, requireSameTime } from './postgres-health-check.js';
import { changesIn, readRows, understoodIn } from './postgres-rows.js';
import { CommitPending, createPersistence, Permanent } from './retry-writes.js';

const mostConnections = 5;
const mostReadingConnections = 2;

/** The most unfinished changes that one recovery ends. The next recovery takes the rest. */
const mostUnfinished = 1_000;

/**
 * A journal in PostgreSQL, which servers may share. Intents with the same digest, nonce or budget are written one at a time, because each
 * locks rows of `cloudops_guards` until its commit. No connection keeps state between transactions, so a connection pooler may be used.
 */
export function createPostgresJournal(database: Database, now: () => Date, log: Log = () => undefined): Journal {
  const connections = database.connect(mostConnections);
  const { run } = connections;
  /** For reads of many changes. They take long, so they have their own connections, and no change waits for them. */
  const readingConnections = database.connect(mostReadingConnections);
  const persistence = createPersistence();
  const warnOfClock = createClockWarning(log);
  /** The ending of an intent that is not sent. Its `time` is only shown. Comparisons use the column `ended`, by the database's clock. */
  const unsent = (id: string, code: string): Ending => ({ id, time: now().toISOString(), outcome: 'not sent', code });

  /** Writes an intent, after its comparison with earlier ones. If it may not be sent, its ending is written in the same row. */
  const writeIntent = async (transaction: Transaction, intent: Intent, options: BeginOptions): Promise<BeginResult> => {
    warnOfClock(transaction.offsetMs);
    // Comparisons are by the database's clock. But recovery on other servers reads `intent.time`, which is by this server's clock, and with a
    // wrong time it would end the change too early.
    requireSameTime(transaction);
    const result = await lockAndCompare(transaction, intent, options);
    await insert(transaction, intent, result.kind === 'begun' ? undefined : unsent(intent.id, result.kind));
    return result;
  };

  const begin: Journal['begin'] = async (fullIntent, options) => {
    const intent = shortenIntent(fullIntent);
    let mayBeCommitted = false;
    const beforeCommit = () => {
      mayBeCommitted = true;
    };
    try {
      return await run((transaction) => writeIntent(transaction, intent, options), beforeCommit);
    } catch (error) {
      // The change will not be sent, but its intent may be committed, and would block the same change until it has an ending. `insert` adds
      // the ending to an existing row.
      const endIntent = () => run((transaction) => insert(transaction, intent, unsent(intent.id, 'unwritable')));
      if (error instanceof CommitPending) {
        // The database still works on the commit, perhaps for long, so the caller does not wait for the ending.
        persistence.writeAfter(error, endIntent);
      } else if (mayBeCommitted) {
        // Waits only for the first attempt. Further attempts follow in the background.
        await persistence.writeNowOrLater(endIntent);
      }
      return unwritable(database.name, error);
    }
  };

  return {
    healthCheck: () => run(checkHealth),
    unwritten: persistence.count,
    begin,
    end: (ending) =>
      persistence.write(async () => {
        await run((transaction) => update(transaction, shortenEnding(ending)));
      }),
    tryEnd: (ending) => run((transaction) => update(transaction, shortenEnding(ending), { onlyUnfinished: true })),
    decline: (fullIntent) =>
      // Without `requireSameTime`, because a refusal must be recorded even if this server's clock is wrong. After a commit in doubt,
      // nothing has to be ended, because the caller declines the change again with another ID.
      run(async (transaction) => {
        const intent = shortenIntent(fullIntent);
        const isSpent = isNonceSpent(await lockRelated(transaction, intent), intent.nonce);
        const declined = { id: intent.id, time: now().toISOString(), outcome: 'declined' } as const;
        // If the nonce was spent by an earlier decision, that decision counts.
        await insert(transaction, intent, isSpent ? unsent(intent.id, 'consentUsed') : declined);
        return !isSpent;
      }),
    findDuplicate: (digest) =>
      run(async (transaction) => {
        const related = await selectRelated(transaction, { digest });
        return duplicateIn(related, digest, transaction.databaseNow);
      }),
    findByNonce: (nonce) =>
      run(async (transaction) => {
        const changes = await selectByNonce(transaction, nonce);
        return changeWithNonce(changes, nonce);
      }),
    budgetState: (key, budget) =>
      run(async (transaction) => {
        const spentAt = await selectSpent(transaction, key, budget);
        return stateOfBudget(spentAt, budget, transaction.databaseNow);
      }),
    listDeclined: (since, caller, client) =>
      run((transaction) => {
        // `since` is by this server's clock. Its age is the same by the database's clock.
        const ageMs = now().getTime() - since;
        return selectDeclined(transaction, new Date(transaction.databaseNow - ageMs), caller, client);
      }),
    list: (options) => readingConnections.run((transaction) => selectNewest(transaction, options)),
    listUnfinished: () => run(selectUnfinished),
    read: (options) => readRows(readingConnections.run, options),
    close: async () => {
      await persistence.close();
      await Promise.all([connections.close(), readingConnections.close()]);
    },
  };
}

/** Decides whether an intent may be sent. The result stays valid until the transaction ends, because related intents wait for its locks. */
async function lockAndCompare(
  transaction: Transaction,
  intent: Intent,
  { allowRepeat, budget }: BeginOptions,
): Promise<BeginResult> {
  const { budget: budgetKey } = intent;
  const earlier = await lockRelated(transaction, intent);
  const result = findConflict(earlier, intent, allowRepeat, transaction.databaseNow);
  if (result.kind !== 'begun' || budget === undefined) return result;
  const spent = await selectSpent(transaction, budgetKey, budget);
  return findOverspending(spent, budget, transaction.databaseNow);
}

/** Changes that may be in conflict with a new change, oldest first. Changes that were not made are in conflict only by their nonce. */
async function selectRelated(
  { client, databaseNow }: Transaction,
  { digest, nonce }: Pick<Intent, 'digest' | 'nonce'>,
): Promise<readonly DatedChange[]> {
  const { rows } = await client.query(
    `select intent, ending, ended from cloudops_mutations
     where nonce = $2 or (digest = $1 and (outcome is null or
       (time >= $3 or ended >= $3) and outcome not in ('rejected', 'declined', 'not sent'))) order by number`,
    [digest, nonce, new Date(databaseNow - abandonedMs)],
  );
  // Fails if a change cannot be read, because it may be in conflict.
  return changesIn(rows);
}

/** Locks an intent's digest, nonce and budget until this transaction ends, then selects the changes that may be in conflict with it. */
async function lockRelated(
  transaction: Transaction,
  { digest, nonce, budget }: Intent,
): Promise<readonly DatedChange[]> {
  await requireOwnVersion(transaction);

  // Always in this order, so that no two transactions wait for each other.
  const guards: string[] = [];
  if (budget !== undefined) guards.push(`budget ${budget}`);
  guards.push(`digest ${digest}`);
  if (nonce !== undefined) guards.push(`nonce ${nonce}`);
  // The update locks a row that exists already. The budget is only locked here; its changes are counted later in this transaction.
  await transaction.client.query(
    'insert into cloudops_guards select unnest($1::text[]) on conflict (key) do update set key = excluded.key',
    [guards],
  );
  return selectRelated(transaction, { digest, nonce });
}

/** Start times of the changes that count against the budget with this key (milliseconds, by the database's clock). */
async function selectSpent(
  { client, databaseNow }: Transaction,
  budgetKey: string | undefined,
  { windowMs }: Budget,
): Promise<readonly number[]> {
  const { rows } = await client.query(
    `select extract(epoch from time)::float8 * 1000 as time from cloudops_mutations
     where budget = $1 and time > $2 and (outcome is null or outcome = any($3))`,
    [budgetKey, new Date(databaseNow - windowMs), spendingOutcomes],
  );
  return timesSchema()
    .parse(rows)
    .map(({ time }) => time);
}

/** Digests of the changes that were declined, as `Journal.listDeclined` describes. `since` is by the database's clock. */
async function selectDeclined(
  { client }: Transaction,
  since: Date,
  caller: string | undefined,
  mcpClient: string | undefined,
): Promise<readonly string[]> {
  // The MCP client matters only if callers are not authenticated. Intents have its name shortened. Null selects the changes of all MCP clients.
  const clientName = caller === undefined && mcpClient !== undefined ? shorten(mcpClient, clientBytes) : null;
  // Leaves out changes that their caller withdrew, or that a program declined in place of a person.
  const { rows } = await client.query(
    `select digest from cloudops_mutations
     where outcome = 'declined' and ended >= $1 and caller is not distinct from $2
       and intent->>'consent' <> all ($3) and ($4::text is null or intent->>'client' = $4)`,
    [since, callerJson(caller), notRefusedByPerson, clientName],
  );
  return digestsSchema()
    .parse(rows)
    .map(({ digest }) => digest);
}

async function selectByNonce({ client }: Transaction, nonce: string) {
  const { rows } = await client.query('select intent, ending from cloudops_mutations where nonce = $1', [nonce]);
  return changesIn(rows);
}

/** Changes without an outcome, oldest first, without changes of newer versions that cannot be read. */
async function selectUnfinished({ client }: Transaction) {
  const { rows } = await client.query(
    'select intent, ending from cloudops_mutations where outcome is null order by number limit $1',
    [mostUnfinished],
  );
  return understoodIn(rows);
}

/** The newest changes, oldest first. */
async function selectNewest({ client }: Transaction, { limit = defaultLimit, caller }: ListChangesOptions) {
  const { rows } = await client.query(
    `select intent, ending from cloudops_mutations
     where $1::text is null or caller = $1 order by number desc limit $2`,
    [callerJson(caller), limit],
  );
  return understoodIn(rows).reverse();
}

/**
 * Writes an intent, and its ending if there is one. `begin` calls this again, with an ending, if it does not know whether the first call was
 * committed. If the row exists, only its ending and its nonce are replaced. If a commit of that row is under way, PostgreSQL waits for it.
 */
async function insert({ client, databaseNow }: Transaction, intent: Intent, ending: Ending | undefined): Promise<void> {
  const { id, digest, caller, budget, keyFormat } = intent;
  const time = new Date(databaseNow);
  const intentJson = JSON.stringify(intent);
  const endedAt = ending === undefined ? undefined : time;
  const endingJson = ending === undefined ? undefined : JSON.stringify(ending);
  // A change that is not sent does not use its consent, so its nonce stays free for another change.
  const nonce = ending?.outcome === 'not sent' ? undefined : intent.nonce;
  await client.query(
    `insert into cloudops_mutations (id, digest, nonce, time, intent, caller, outcome, ended, ending, budget, key_format)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (id) do update set
       outcome = excluded.outcome, ended = excluded.ended, ending = excluded.ending, nonce = excluded.nonce`,
    [id, digest, nonce, time, intentJson, callerJson(caller), ending?.outcome, endedAt, endingJson, budget, keyFormat],
  );
}

/**
 * Writes the ending of an intent. Resolves with false if the intent keeps the ending that it has.
 * @param onlyUnfinished true to write only if the intent has no ending. By default, a known outcome replaces any ending. But `unknown` replaces
 *   only `unknown`, because it may come from a server that takes another server for gone, which has written the true outcome
 * @throws Permanent if the intent is not in the journal
 */
async function update(
  { client, databaseNow }: Transaction,
  ending: Ending,
  { onlyUnfinished = false } = {},
): Promise<boolean> {
  // A change that was not sent gives its nonce back, as in `insert`. In the condition, $2 is the new outcome, and $5 is `onlyUnfinished`.
  const { rowCount } = await client.query(
    `update cloudops_mutations set
       outcome = $2, ended = $3, ending = $4, nonce = case when $2 = 'not sent' then null else nonce end
     where id = $1 and (outcome is null or (not $5 and (outcome = 'unknown' or $2 <> 'unknown')))`,
    [ending.id, ending.outcome, new Date(databaseNow), JSON.stringify(ending), onlyUnfinished],
  );
  if (rowCount === 1) return true;
  const { rowCount: intents } = await client.query('select from cloudops_mutations where id = $1', [ending.id]);
  if (intents === 0) throw new Permanent('the intent is not in the journal');
  return false;
}

/** The column `caller`. As JSON, because text in PostgreSQL cannot hold every character. */
const callerJson = (caller: string | undefined) =>
  caller === undefined ? undefined : JSON.stringify(storedCaller(caller));

const timesSchema = lazy(() => z.array(z.object({ time: z.number() })));
const digestsSchema = lazy(() => z.array(z.object({ digest: z.string() })));

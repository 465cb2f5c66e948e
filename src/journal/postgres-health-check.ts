import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import { clockWarnings } from './clock-warnings.js';
import { abandonedMs, blocksUntil, duplicateWindowMs, OtherVersion } from './conflict.js';
import { keyFormat } from './idempotency-key.js';
import type { Transaction } from './postgres-database.js';
import { JournalFault } from './postgres-fault.js';
import { missingParts, otherOwner } from './postgres-tables.js';

/** If this server's clock and the database's differ by more than this (milliseconds), no change may begin. */
const toleratedMs = 60_000;

/** @throws if the clocks differ by more than `toleratedMs`, so that no change may begin */
export function requireSameTime({ offsetMs }: Transaction): void {
  const [problem] = clockWarnings(offsetMs);
  if (problem !== undefined && Math.abs(offsetMs) > toleratedMs)
    throw new JournalFault('clocks', say`${problem}: correct it`);
}

/** @throws OtherVersion if the journal has recent entries of another version, because they may be in conflict with any change */
export async function requireOwnVersion({ client, databaseNow }: Transaction): Promise<void> {
  const { rows } = await client.query<{ begun: Date; ended: Date | null }>(
    `select time as begun, ended from cloudops_mutations where key_format is distinct from ${keyFormat} and time >= $1
     order by least(time + $2 * interval '1 ms', ended + $3 * interval '1 ms') desc limit 1`,
    [new Date(databaseNow - abandonedMs), abandonedMs, duplicateWindowMs],
  );
  // At most one row: the change that blocks longest.
  const [change] = rows;
  if (change === undefined) return;
  const until = blocksUntil(change.begun.getTime(), change.ended?.getTime());
  if (until >= databaseNow) throw new OtherVersion(until);
}

/** Missing rights without which changes are refused. */
const lackingForChanges = `array(
  select name || ' ' || privilege from (values ('cloudops_mutations'), ('cloudops_guards')) tables (name),
    unnest(array['select', 'insert', 'update']) privilege
  where not has_table_privilege(name, privilege))`;

/** Missing rights without which no person can be asked over HTTP or on the page. Changes are not refused without them. */
const lackingForQuestions = `array(
  select name || ' ' || privilege from unnest(array['cloudops_messages', 'cloudops_plans']) name,
    unnest(array['select', 'insert', 'update', 'delete']) privilege
  where not has_table_privilege(name, privilege))`;

/** True if a standby copies this database. If the standby is not connected, this database may still have a replication slot for it. */
const hasStandby = `(exists (select from pg_stat_replication) or
  exists (select from pg_replication_slots where slot_type = 'physical'))`;

/** @param rights names of tables, each with a privilege, such as `cloudops_guards select` */
const rightsOf = (rights: readonly string[]): SafeText =>
  // Word by word, because `own` shows single words as they are, and quotes any other text.
  join(
    rights.map((right) => join(right.split(' ').map(own), ' ')),
    ', ',
  );

/**
 * Checks a database, as `Journal.healthCheck` describes.
 * @throws if changes would be refused because of the role's rights, a standby, the clocks, or recent entries of another version
 */
export async function checkHealth(transaction: Transaction): Promise<readonly SafeText[]> {
  const { client, offsetMs } = transaction;
  const { rows } = await client.query<{
    isReadOnly: boolean;
    /** True if a standby could take over without changes that were confirmed. */
    losesChanges: boolean;
    lackingForChanges: string[];
    lackingForQuestions: string[];
    /** Null if this role can build indexes itself. */
    otherOwner: string | null;
  }>(
    `select current_setting('transaction_read_only') = 'on' as "isReadOnly",
       current_setting('synchronous_standby_names') = '' and ${hasStandby} as "losesChanges", ${lackingForChanges} as "lackingForChanges",
       ${lackingForQuestions} as "lackingForQuestions", ${otherOwner} as "otherOwner"`,
  );
  const [state] = rows;

  if (state?.isReadOnly !== false)
    throw new JournalFault('standby', words('the database is read-only, as a standby is'));
  if (state.lackingForChanges.length > 0)
    throw new JournalFault('rights', say`the role of this server lacks rights: ${rightsOf(state.lackingForChanges)}`);
  requireSameTime(transaction);
  await requireOwnVersion(transaction);

  const { indexes } = await missingParts(client);
  const warnings = [...clockWarnings(offsetMs)];
  if (state.losesChanges)
    warnings.push(
      words('replication is not synchronous: when a standby takes over, changes that it did not get can be made twice'),
    );
  if (state.lackingForQuestions.length > 0)
    warnings.push(
      say`the role of this server lacks rights to ask people over HTTP: ${rightsOf(state.lackingForQuestions)}`,
    );
  if (indexes.length > 0) {
    const condition =
      state.otherOwner === null ? words('') : say`, if ${own(state.otherOwner)} runs it, who owns the tables`;
    warnings.push(say`indexes are missing or being built: cloudops-mcp journal migrate builds them${condition}`);
  }
  return warnings;
}

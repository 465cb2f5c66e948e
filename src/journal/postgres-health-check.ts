import { ShownError } from '../util/log.js';
import { join, own, type SafeText, say, words } from '../util/safe-text.js';
import { clockWarnings } from './clock-warnings.js';
import type { Transaction } from './postgres-database.js';
import { missingParts } from './postgres-tables.js';
import { keyFormat } from './repetition-key.js';

/** Servers whose clocks differ by more, in milliseconds, would not agree on what is recent. */
const toleratedMs = 60_000;

/** @throws if a change must not begin, because servers would not agree on what is recent */
export function requireAgreement({ offsetMs }: Transaction): void {
  const [problem] = clockWarnings(offsetMs);
  if (problem !== undefined && Math.abs(offsetMs) > toleratedMs) throw new ShownError(say`${problem}: correct it`);
}

/** @throws if the keys in the journal are made in another way: which changes are the same cannot be told */
export async function requireKeyFormat({ client }: Transaction): Promise<void> {
  const { rows } = await client.query<{ format: number }>('select key_format as format from cloudops_journal');
  const other = rows.find(({ format }) => format !== keyFormat);
  if (other !== undefined)
    throw new ShownError(say`its keys have format ${Number(other.format)}, and this version knows only ${keyFormat}`);
}

const lackingRights = `array(
  select name || ' ' || privilege from (values ('cloudops_mutations'), ('cloudops_guards'), ('cloudops_journal')) tables (name),
    unnest(array['select', 'insert', 'update']) privilege
  where (name <> 'cloudops_journal' or privilege = 'select') and not has_table_privilege(name, privilege))`;

/** Rights without which changes go on, but nobody can be asked over HTTP or on the page. */
const lackingForQuestions = `array(
  select name || ' ' || privilege from unnest(array['cloudops_messages', 'cloudops_plans']) name,
    unnest(array['select', 'insert', 'update', 'delete']) privilege
  where not has_table_privilege(name, privilege))`;

/** The role that owns the tables, if this one does not act for it: no grant lets another one alter them or build indexes. */
const otherOwner = `(select pg_get_userbyid(relowner) from pg_class
  where oid = to_regclass('cloudops_mutations') and not pg_has_role(relowner, 'usage'))`;

/** Each is the name of a table and a privilege. */
const rightsOf = (rights: readonly string[]): SafeText =>
  join(
    rights.map((right) =>
      join(
        right.split(' ').map((word) => say`${own(word)}`),
        ' ',
      ),
    ),
    ', ',
  );

/**
 * What an operator should know of a database, as `Journal.healthCheck` says.
 * @throws if changes would be refused: by this role, on a standby, by clocks that differ, or for the format of keys
 */
export async function checkHealth(transaction: Transaction): Promise<readonly SafeText[]> {
  const { client, offsetMs } = transaction;
  const { rows } = await client.query<{
    isReadOnly: boolean;
    standbys: string;
    lacking: string[];
    forQuestions: string[];
    owner: string | null;
  }>(
    `select current_setting('transaction_read_only') = 'on' as "isReadOnly",
       current_setting('synchronous_standby_names') as standbys, ${lackingRights} as lacking,
       ${lackingForQuestions} as "forQuestions", ${otherOwner} as owner`,
  );
  const [found] = rows;
  if (found?.isReadOnly !== false) throw new ShownError(words('the database is read-only, as a standby is'));
  if (found.lacking.length > 0)
    throw new ShownError(say`the role of this server lacks rights: ${rightsOf(found.lacking)}`);
  requireAgreement(transaction);
  await requireKeyFormat(transaction);
  const { indexes } = await missingParts(client);
  return [
    ...clockWarnings(offsetMs),
    ...(found.standbys === ''
      ? [
          words(
            'replication is not synchronous: when a standby takes over, changes that it did not get can be made twice',
          ),
        ]
      : []),
    ...(found.forQuestions.length > 0
      ? [say`the role of this server lacks rights to ask people over HTTP: ${rightsOf(found.forQuestions)}`]
      : []),
    ...(indexes.length > 0
      ? [
          say`indexes are missing or being built: cloudops-mcp journal migrate builds them${found.owner === null ? words('') : say`, if ${own(found.owner)} runs it, who owns the tables`}`,
        ]
      : []),
  ];
}

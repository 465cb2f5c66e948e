import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { JournalEntry } from '../changes/change.js';
import { describe, nothingYet } from '../changes/journal-text.js';
import { openStore } from '../changes/open-store.js';
import { JournalFault } from '../changes/sql.js';
import { storePlace } from '../changes/store-place.js';
import type { Config } from '../config/load-config.js';
import { defaultAccount } from '../transport/request.js';
import { shownReason } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { escapeJson } from '../util/quote.js';
import { counted, exact, join, own, say, withTimes, words } from '../util/safe-text.js';
import { asUsed, type Command, type Invocation, notOneOf, type Terminal, UsageError, validConfig } from './command.js';
import { journalRemedy } from './journal-remedy.js';
import { columnsOf, localTimeIn, printLine, wrapped } from './layout.js';

/** `cloudops-mcp journal` prints the changes and their outcomes. */
export const journalCommand: Command = {
  usage: '[migrate | prune --before 2026-01-01] [--json] [--since 24h] [--until 2026-11-20] [--follow]',
  about: 'print the journal of changes',
  details:
    'Each change has two lines; --json has every field. --follow waits for further changes. ' +
    'journal migrate creates missing tables and indexes in PostgreSQL. journal prune erases the changes from before a time.',
  example: 'journal --since 24h',
  exitCodes: { 0: 'done', 1: 'the journal cannot be used', 2: 'wrong usage or configuration' },
  positionals: 1,
  options: { json: 'switch', since: 'value', until: 'value', follow: 'switch', before: 'value' },
  run: async (invocation) => {
    const [action] = invocation.positionals;
    const work = action === undefined ? print : actions.get(action);
    if (work === undefined) throw new UsageError(notOneOf('part of journal', action ?? '', [...actions.keys()]));
    const config = validConfig(invocation);
    try {
      return await work(config, invocation);
    } catch (thrown) {
      if (thrown instanceof UsageError) throw thrown;
      // PostgreSQL's code for a missing privilege.
      const lacksRight = action !== undefined && textAt(thrown, 'code') === '42501';
      const error = lacksRight ? new JournalFault('tables', words('this role may not')) : thrown;
      const done = own(action === undefined ? 'read' : `${action}d`);
      const remedy = asUsed(journalRemedy(error, storePlace(config.values.JOURNAL).path === undefined), config);
      printLine(invocation.terminal.stderr, say`The journal cannot be ${done} (${shownReason(error)}). ${remedy}`);
      return 1;
    }
  },
};

async function print(config: Config, { options, terminal }: Invocation): Promise<number> {
  const { stdout, now } = terminal;
  const since = timeOfOption('since', options.since, now());
  const until = timeOfOption('until', options.until, now());
  const stop = options.follow === undefined ? undefined : terminal.abortOnSignal();

  const formatTime = localTimeIn(terminal.timeZone);
  const format = (change: JournalEntry): string =>
    options.json === undefined ? changeLines(change, terminal, formatTime) : escapeJson(JSON.stringify(jsonOf(change)));

  let buffer = '';
  const flush = async () => {
    // `write` returns false if the reader is slower.
    if (!stdout.write(buffer)) await once(stdout, 'drain');
    buffer = '';
  };

  let isEmpty = true;
  const store = await openStore(config.values.JOURNAL, now, {
    createsTables: false,
    // New connections use the password that this file has by then.
    addressFile: config.journalFile,
  }).openChanges();
  // Resolves with false after a signal, which ends the reading.
  const follow = stop && (() => delay(1_000, true, { signal: stop }).catch(() => false));
  try {
    for await (const change of store.read({ since, until, follow })) {
      if (stop?.aborted) break;
      isEmpty = false;
      buffer += `${format(change)}\n`;
      // With `--follow`, readers wait for each change. Otherwise, writing each by itself is much slower.
      if (follow !== undefined || buffer.length > 64 * 1024) await flush();
    }
    if (buffer !== '') await flush();
  } finally {
    await store.close();
  }
  if (isEmpty && options.json === undefined)
    printLine(stdout, since === undefined && until === undefined ? nothingYet : 'No changes in this time.');
  return 0;
}

async function migrate({ values }: Config, { terminal: { stdout, now } }: Invocation): Promise<number> {
  await openStore(values.JOURNAL, now).migrate();
  printLine(stdout, 'The journal is up to date.');
  return 0;
}

/** Erases the changes from before a time. In a database, only the tables' owner may. */
async function prune({ values, journalFile }: Config, { options, terminal }: Invocation): Promise<number> {
  const { stdout, now } = terminal;
  const before = timeOfOption('before', options.before, now());
  if (before === undefined) throw new UsageError(say`journal prune needs --before with a date such as 2026-01-01.`);
  const store = await openStore(values.JOURNAL, now, { createsTables: false, addressFile: journalFile }).openChanges();
  try {
    const count = await store.prune(before);
    printLine(stdout, say`${counted(count, 'change')} erased.`);
    return 0;
  } finally {
    await store.close();
  }
}

const actions = new Map([
  ['migrate', migrate],
  ['prune', prune],
]);

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Parses a time (milliseconds since 1970). @throws UsageError */
function timeOfOption(option: string, text: string | undefined, now: Date): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  // `Date.parse` takes even "7" as a time: the first day of July.
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  const time = count === undefined ? date : now.getTime() - Number(count) * (unitsMs.get(unit) ?? Number.NaN);
  if (!Number.isNaN(time)) return time;
  throw new UsageError(
    say`--${own(option)} takes a time such as 2026-11-20T12:00:00Z, or a span such as 30m, 24h or 7d.`,
  );
}

/** Times are in UTC. */
function jsonOf({ isExpired: _, ageMs: __, decidedAgoMs: ___, ...change }: JournalEntry) {
  const { madeAt, expiresAt, decidedAt, begunAt, endedAt, ...facts } = change;
  const times = { madeAt, expiresAt, decidedAt, begunAt, endedAt };
  return { ...facts, ...Object.fromEntries(Object.entries(times).map(([name, time]) => [name, isoTime(time)])) };
}

const isoTime = (time: number | undefined): string | undefined =>
  time === undefined || Number.isNaN(new Date(time).getTime()) ? undefined : new Date(time).toISOString();

/** Two lines, with the time in the reader's zone, broken to the terminal's width. */
export function changeLines(
  change: JournalEntry,
  { stdout, timeZone }: Pick<Terminal, 'stdout' | 'timeZone'>,
  formatTime = localTimeIn(timeZone),
): string {
  const { outcome, people } = describe(change);
  const { what, tool, account } = change;
  const when = withTimes(outcome, (time) => formatTime(time) ?? words('an unknown time'));
  const shownTool = account === defaultAccount ? own(tool) : say`${own(tool)} in account ${own(account)}`;
  const width = columnsOf(stdout);
  return [
    // Our own words when the plan was made, so values in it are quoted.
    ...wrapped(say`${when}  ${exact(what)}`, width, { start: 0, indent: 4 }),
    ...wrapped(join([shownTool, ...people], ', '), width, { indent: 4 }),
  ].join('\n');
}

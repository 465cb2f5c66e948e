import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config/load-config.js';
import type { RecordedChange } from '../journal/entry.js';
import { nothingYet } from '../journal/journal.js';
import { openStore } from '../journal/open-store.js';
import { escapeInvisible, ShownError, shownReason } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { own, type Shown, said, say, words } from '../util/safe-text.js';
import { type Command, type Invocation, notOneOf, pageOf, type Terminal, UsageError, validConfig } from './command.js';
import { changeLines } from './journal-table.js';
import { type HelpPage, localTime, printLine } from './layout.js';

/** `cloudops-mcp journal`: prints the changes and their outcomes, all of them if nothing else is asked for. */
export const journalCommand: Command = {
  usage: '[migrate] [--json] [--since 24h] [--until 2026-11-20] [--follow]',
  about: 'print the journal of changes',
  positionals: 1,
  options: { json: 'switch', since: 'value', until: 'value', follow: 'switch' },
  run: async (invocation) => {
    const [action] = invocation.positionals;
    if (action !== undefined && action !== 'migrate')
      throw new UsageError(notOneOf('part of journal', action, ['migrate']));
    const config = validConfig(invocation);
    const work = action === undefined ? () => print(config, invocation) : () => migrate(config, invocation.terminal);
    return work().catch((error: unknown) => {
      if (error instanceof UsageError) throw error;
      const done = said(words(action === undefined ? 'read' : 'migrated'));
      printLine(invocation.terminal.stderr, say`The journal cannot be ${done} (${shownReason(error)}).`);
      return 1;
    });
  },
};

/** Prints each change when its outcome is read, and those without one at the end. */
async function print(config: Config, { options, terminal }: Invocation): Promise<number> {
  const { stdout, now } = terminal;
  const since = timeOf('since', options.since, now());
  const until = timeOf('until', options.until, now());
  const stop = options.follow === undefined ? undefined : terminal.interrupted();
  const follow = stop && (() => delay(pollMs, true, { signal: stop }).catch(() => false));
  const page = pageOf(terminal, 'stdout');
  const textOf = (change: RecordedChange) =>
    options.json === undefined ? changeLines(change, page).join('\n') : escapeInvisible(JSON.stringify(change));
  const journal = await openStore(config.journal, now).openJournal();
  let isEmpty = true;
  try {
    for await (const change of journal.read({ since, until, follow })) {
      if (stop?.aborted) break;
      isEmpty = false;
      if (!stdout.write(`${textOf(change)}\n`)) await once(stdout, 'drain');
    }
  } finally {
    await journal.close();
  }
  if (isEmpty && options.json === undefined) printLine(stdout, nothingSince(since, page));
  return 0;
}

function nothingSince(since: number | undefined, { timeZone }: HelpPage): Shown {
  const time = since === undefined ? undefined : localTime(new Date(since), timeZone);
  return time === undefined ? words(nothingYet) : say`No changes since ${said(time)}.`;
}

const pollMs = 1_000;

/** A code of SQL. */
const insufficientPrivilege = '42501';
const ownerNeeded = words(
  'this role may not: the role that owns the tables has to run it, or for the first time one that may create them',
);

/** Brings the tables of a database up to date. A file needs nothing. */
async function migrate({ journal }: Config, { stdout, now }: Terminal): Promise<number> {
  await openStore(journal, now)
    .migrate()
    .catch((error: unknown) => {
      if (textAt(error, 'code') === insufficientPrivilege) throw new ShownError(ownerNeeded);
      throw error;
    });
  printLine(stdout, 'The journal is up to date.');
  return 0;
}

/** @throws UsageError */
function timeOf(option: string, text: string | undefined, now: Date): number | undefined {
  const time = text === undefined ? undefined : parseTime(text, now);
  if (Number.isNaN(time))
    throw new UsageError(
      say`--${own(option)} takes a time such as 2026-11-20T12:00:00Z, or a span such as 30m, 24h or 7d.`,
    );
  return time;
}

function parseTime(text: string, now: Date): number {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const milliseconds: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
  // Date.parse takes a bare number for a month or a year.
  if (count === undefined) return /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return now.getTime() - Number(count) * (milliseconds[unit] ?? Number.NaN);
}

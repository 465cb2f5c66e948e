import { describe, nothingYet } from '../journal/journal.js';
import { openJournal } from '../runtime.js';
import { escapeInvisible, reasonOf } from '../util/log.js';
import { type Command, UsageError, validConfig } from './command.js';

/** `cloudops-mcp journal`: prints the changes and their outcomes. */
export const journalCommand: Command = {
  usage: '[--json] [--since 24h]',
  about: 'print the journal of changes',
  options: { json: 'switch', since: 'value' },
  run: async (invocation) => {
    const { json, since } = invocation.options;
    const { stdout, stderr, now } = invocation.terminal;
    const config = validConfig(invocation);
    const from = since === undefined ? 0 : parseSince(since, now());
    if (Number.isNaN(from))
      throw new UsageError('--since takes a time such as 2026-11-20T12:00:00Z, or a span such as 30m, 24h or 7d.');
    const journal = await openJournal(config, now);
    try {
      const changes = await journal.list({ since: from, limit: maximumPrinted });
      const lines = changes.map((change) => describe(change)).join('\n');
      const nothing = since === undefined ? nothingYet : `No changes since ${new Date(from).toISOString()}.`;
      if (changes.length === maximumPrinted)
        stderr.write(`Only the newest ${maximumPrinted} changes are printed; --since asks for fewer.\n`);
      stdout.write(
        `${json === undefined ? lines || nothing : JSON.stringify(changes, null, 2).split('\n').map(escapeInvisible).join('\n')}\n`,
      );
      return 0;
    } catch (error) {
      stderr.write(`The journal cannot be read (${reasonOf(error)}).\n`);
      return 1;
    } finally {
      await journal.close();
    }
  },
};

const maximumPrinted = 10_000;

function parseSince(since: string, now: Date): number {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(since) ?? [];
  const milliseconds: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
  // Date.parse takes a bare number for a month or a year.
  if (count === undefined) return /^\d{4}-\d\d-\d\d/.test(since) ? Date.parse(since) : Number.NaN;
  return now.getTime() - Number(count) * (milliseconds[unit] ?? Number.NaN);
}

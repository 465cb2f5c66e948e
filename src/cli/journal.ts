import { describe, type Journal } from '../call/journal.js';

/** How many entries the resource gives. */
const resourceEntries = 50;

const nothing = 'No change has been asked for.';

/** The last entries for agents and people, as Markdown. */
export async function journalResource(journal: Journal): Promise<string> {
  const mutations = (await journal.read()).slice(-resourceEntries);
  return `# Journal\n\n${mutations.map((mutation) => `- ${describe(mutation)}`).join('\n') || nothing}\n`;
}

/** Runs `cloudops-mcp journal`. Resolves with the exit code. */
export async function printJournal(
  journal: Journal,
  { json, since }: { json: boolean; since: string | undefined },
  now: Date,
  print: (text: string) => void,
  printError: (text: string) => void,
): Promise<number> {
  const from = since === undefined ? 0 : parseSince(since, now);
  if (Number.isNaN(from)) {
    printError('--since takes a time such as 2026-11-20T12:00:00Z, or a span such as 30m, 24h or 7d.\n');
    return 2;
  }
  try {
    const mutations = (await journal.read()).filter(({ time }) => Date.parse(time) >= from);
    const lines = mutations.map(describe).join('\n') || nothing;
    print(`${json ? JSON.stringify(mutations, null, 2) : lines}\n`);
    return 0;
  } catch (error) {
    printError(
      `The journal cannot be read (${error instanceof Error && 'code' in error ? error.code : 'unknown error'}).\n`,
    );
    return 1;
  }
}

function parseSince(since: string, now: Date): number {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(since) ?? [];
  const milliseconds: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
  return count === undefined ? Date.parse(since) : now.getTime() - Number(count) * (milliseconds[unit] ?? Number.NaN);
}

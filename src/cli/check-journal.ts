import { devNull } from 'node:os';
import type { Journal } from '../changes/journal.js';
import { countMissingIntents } from '../changes/missing-intents.js';
import { openStore } from '../changes/open-store.js';
import { JournalFault } from '../changes/postgres-fault.js';
import type { Config } from '../config/load-config.js';
import { shownReason } from '../util/log.js';
import { counted, say } from '../util/safe-text.js';
import { type Finding, ok, problem, warning } from './finding.js';
import { journalRemedy } from './journal-remedy.js';

const check = 'journal';

/**
 * Reads the whole journal. Reports the journal's own warnings, changes without a known outcome, and signs of lost entries: changes that a
 * running server found lost and restored, and outcomes without the intent that is written before a change is sent.
 */
export async function checkJournal(config: Config, now: () => Date): Promise<Finding[]> {
  const { name, path, openJournal } = openStore(config.journal, now, { createsTables: false });
  const isDatabase = path === undefined;
  // This does not open the file or the database yet. The first read does, and its errors are caught below.
  const journal = await openJournal();
  try {
    const warnings = await journal.healthCheck();
    const { changes, unresolved, restored } = await countChanges(journal);
    // Only a file can lose its beginning, and with it the intents of later outcomes. The null device keeps nothing.
    const isKeptFile = path !== undefined && path !== devNull;
    const missingIntents = isKeptFile ? await countMissingIntents(path) : 0;

    const findings = [outcomesFinding(name, changes, unresolved)];
    if (restored > 0) findings.push(restoredFinding(restored));
    if (missingIntents > 0) findings.push(missingFinding(missingIntents));
    return [...findings, ...warnings.map((text) => warning(check, text, 'See the runbook, docs/OPERATE.md.'))];
  } catch (error) {
    const remedy = journalRemedy(error, isDatabase);
    // The first server creates the tables when it starts, so this is only a warning.
    if (error instanceof JournalFault && error.kind === 'no tables yet')
      return [warning(check, say`${name}: ${error.shown}`, remedy)];
    const detail = say`${name} cannot be used (${shownReason(error)})`;
    return [problem(check, detail, say`${remedy} Without a journal, changes are refused.`)];
  } finally {
    await journal.close();
  }
}

/** Counts all changes, changes without a known outcome, and restored changes, which a server wrote again because they were lost. */
async function countChanges(journal: Journal): Promise<{ changes: number; unresolved: number; restored: number }> {
  const unresolvedIds = new Set<string>();
  let changes = 0;
  let restored = 0;
  for await (const change of journal.read({})) {
    // `read` yields a change a second time if its outcome was unknown and became known later. It is not counted twice.
    const isCounted = unresolvedIds.delete(change.id);
    if (!isCounted) {
      changes += 1;
      if (change.restored !== undefined) restored += 1;
    }
    const isUnresolved = change.ending === undefined || change.ending.outcome === 'unknown';
    if (isUnresolved) unresolvedIds.add(change.id);
  }
  return { changes, unresolved: unresolvedIds.size, restored };
}

function outcomesFinding(name: string, changes: number, unresolved: number): Finding {
  const detail = say`${name}: ${counted(changes, 'change')}, ${unresolved} without a known outcome`;
  if (unresolved === 0) return ok(check, detail);
  return warning(check, detail, 'List them with cloudops-mcp journal, and check in the console whether they happened.');
}

const restoredFinding = (restored: number): Finding =>
  warning(
    check,
    say`a running server wrote ${counted(restored, 'change')} again, because the file was removed, emptied or replaced; older changes may be missing`,
    'Do not use logrotate or delete the file: see the runbook, docs/OPERATE.md.',
  );

const missingFinding = (missingIntents: number): Finding =>
  warning(
    check,
    say`the changes of ${counted(missingIntents, 'outcome')} in it are missing: the file was truncated, or an older one moved away`,
    'Look in the console for changes that the journal lacks: see the runbook, docs/OPERATE.md.',
  );

import type { Changes } from '../changes/change.js';
import { JournalFault } from '../changes/journal-fault.js';
import { openStore } from '../changes/open-store.js';
import { storePlace } from '../changes/store-place.js';
import type { Config } from '../config/load-config.js';
import { shownReason } from '../util/log.js';
import { counted, say } from '../util/safe-text.js';
import { type Finding, ok, problem, warning } from './finding.js';
import { journalRemedy } from './journal-remedy.js';

const check = 'journal';
const listThem = 'List them with cloudops-mcp journal, and check in the console whether they happened.';

/** Reports whether the journal can be used, its own warnings, and changes without a known outcome. */
export async function checkJournal(config: Config, now: () => Date): Promise<Finding[]> {
  const isDatabase = storePlace(config.journal).path === undefined;
  let store: Changes | undefined;
  try {
    const place = openStore(config.journal, now, { createsTables: false });
    store = await place.openChanges();
    const warnings = await store.healthCheck();
    const { changes, unresolved } = await store.count();
    const counts = say`${place.name}: ${counted(changes, 'change')}, ${unresolved} without a known outcome`;
    return [
      unresolved === 0 ? ok(check, counts) : warning(check, counts, listThem),
      ...warnings.map((text) => warning(check, text, 'See the runbook, docs/OPERATE.md.')),
    ];
  } catch (error) {
    const remedy = journalRemedy(error, isDatabase);
    // The first server creates the tables when it starts.
    if (error instanceof JournalFault && error.kind === 'no tables yet')
      return [warning(check, say`${storePlace(config.journal).name}: ${error.shown}`, remedy)];
    const detail = say`${storePlace(config.journal).name} cannot be used (${shownReason(error)})`;
    return [problem(check, detail, say`${remedy} Without a journal, changes are refused.`)];
  } finally {
    await store?.close();
  }
}

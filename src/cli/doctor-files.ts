import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import type { Config } from '../config/load-config.js';
import { planKeyProblem } from '../consent/plan-key.js';
import { openStore, type Store } from '../journal/open-store.js';
import { planKeyPath } from '../runtime.js';
import { shownReason } from '../util/log.js';
import { counted, type Shown, said, say, words } from '../util/safe-text.js';
import { journalRemedy } from './journal-remedy.js';
import { type Finding, ok, problem, warning } from './probe.js';

/** Checks the file of extra certificates, which Node reads when it starts, and does without if it cannot. */
export async function authorityFinding(path: string | undefined): Promise<Finding[]> {
  if (!path) return [];
  const check = 'NODE_EXTRA_CA_CERTS';
  try {
    await access(path, constants.R_OK);
    return [ok(check, say`${path}`)];
  } catch (error) {
    return [problem(check, say`${path} cannot be read (${shownReason(error)})`, 'Name a PEM file that can be read.')];
  }
}

/** Opens the journal, and looks for changes without a known outcome. */
export async function journalFinding(config: Config, now: () => Date): Promise<Finding[]> {
  const check = 'journal';
  const { name, path, openJournal } = openStore(config.journal, now);
  const journal = await openJournal();
  try {
    const warnings = await journal.healthCheck();
    const changes = await journal.list({ limit: 10_000 });
    const open = changes.filter(({ ending }) => ending === undefined || ending.outcome === 'unknown');
    const detail = say`${name}: ${counted(changes.length, 'change')}, ${open.length} without a known outcome`;
    const remedy = 'List them with cloudops-mcp journal, and check in the console whether they happened.';
    return [
      open.length === 0 ? ok(check, detail) : warning(check, detail, remedy),
      ...warnings.map((text) => warning(check, text, 'See the runbook, docs/OPERATE.md.')),
    ];
  } catch (error) {
    const remedy = say`${said(journalRemedy(error, path === undefined))} Without a journal, changes are refused.`;
    return [problem(check, say`${name} cannot be used (${shownReason(error)})`, remedy)];
  } finally {
    await journal.close();
  }
}

/** Whether the folder of secrets is this user's alone. */
export async function secretsFinding(folder: string | undefined, platform: NodeJS.Platform): Promise<Finding> {
  const check = 'secrets';
  if (folder === undefined) return ok(check, 'no folder: CLOUDOPS_SECRETS_DIR is not set');
  try {
    const { mode } = await stat(folder);
    const names = (await readdir(folder)).filter((name) => !name.startsWith('.'));
    const detail = say`${folder}: ${names.length} names`;
    if (platform === 'win32' || (mode & 0o077) === 0) return ok(check, detail);
    return warning(check, say`${said(detail)}; others on this machine may open it`, 'Set its mode to 700.');
  } catch (error) {
    const remedy = 'Make the folder, or correct CLOUDOPS_SECRETS_DIR.';
    return problem(check, say`${folder} cannot be read (${shownReason(error)})`, remedy);
  }
}

/** Where a planId is valid. */
export function stateKeyFinding(config: Config, now: () => Date): Finding {
  const check = 'state key';
  const store = openStore(config.journal, now);
  const path = planKeyPath(config, store);
  const reason = path && planKeyProblem(path);
  if (!reason) return ok(check, stateKeyMeaning(config, store));
  const detail = say`not set, and ${path} cannot be used (${said(reason)}): a planId is valid only in the process that made it`;
  return warning(check, detail, 'Delete that file: the next plan makes another one. Or set CLOUDOPS_STATE_KEY.');
}

const stateKeyMeaning = ({ stateKeys: keys }: Config, { path }: Store): Shown => {
  if (keys === undefined)
    return path === undefined
      ? words('not set: a planId is valid only in the process that made it')
      : words('not set: a planId is valid for every process with this journal, and everything else for one process');
  const set = words('set: a planId is valid in every process with the same key');
  return keys.length === 1 ? set : say`${said(set)}; the first of ${keys.length} signs`;
};

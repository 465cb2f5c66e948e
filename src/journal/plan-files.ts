import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { textAt } from '../util/objects.js';
import { createTurns } from '../util/turns.js';
import { makeFolder } from './file-open.js';
import { excessDecided, type PlanStore, type StoredPlan } from './plan-store.js';

/** `<owner>-<nonce>-<expiry>.<state>`, so that plans can be found and counted by name. The name of a draft ends with an ID. */
const namePattern = /^([0-9a-f]{16})-([0-9a-f]{16})-(\d{13})\.(waiting|decided)(\.[0-9a-f-]{36})?$/;

/** Larger files are ignored (bytes). No plan with its outcome reaches this size. */
const maximumBytes = 1024 * 1024;

/** The fields of a plan that its file name shows. A draft is a file that is being written, or was when its process ended. */
type PlanFile = Omit<StoredPlan, 'sealed'> & { readonly name: string; readonly isDraft: boolean };

/** Parses a file name. Returns undefined if it is not the name of a plan. */
function planFile(name: string): PlanFile | undefined {
  const [, owner = '', nonce = '', expiresAt, state, draftId] = namePattern.exec(name) ?? [];
  if (expiresAt === undefined) return undefined;
  return {
    name,
    owner,
    nonce,
    expiresAt: Number(expiresAt),
    state: state === 'waiting' ? state : 'decided',
    isDraft: draftId !== undefined,
  };
}

/** A store with one file per plan in `folder`. A plan is decided by renaming its file, which succeeds for only one process. */
export function createPlanFiles(folder: string): PlanStore {
  const findFile = async (nonce: string) => (await plansIn(folder)).find((file) => file.nonce === nonce);

  const takeTurn = createTurns();

  return {
    // Calls take turns, because two at once would both count before either adds its plan. Two processes may still do so. A few plans more
    // than `mostWaiting` do no harm.
    add: ({ nonce, owner, expiresAt, sealed }, mostWaiting) =>
      takeTurn(async () => {
        await makeFolder(folder);
        const files = await plansIn(folder);
        const waiting = files.filter((file) => file.owner === owner && file.state === 'waiting');
        if (waiting.length >= mostWaiting) return false;

        await writePlan(folder, `${owner}-${nonce}-${expiresAt}.waiting`, sealed);
        // Of the owner's decided plans, only the newest are kept, because callers can withdraw any number of plans.
        await eraseFiles(folder, excessDecided(files, owner));
        return true;
      }),
    find: async (nonce) => {
      const file = await findFile(nonce);
      if (file === undefined) return undefined;
      const plan = await readPlan(folder, file);
      if (plan !== undefined || file.state === 'decided') return plan;

      // The waiting plan's file is gone: it was erased, or renamed because the plan was decided.
      const decided = await findFile(nonce);
      return decided === undefined ? undefined : readPlan(folder, decided);
    },
    claim: async (nonce, sealed) => {
      const file = await findFile(nonce);
      if (file?.state !== 'waiting') return false;
      const decidedName = file.name.replace(/waiting$/, 'decided');
      const isClaimed = await renameIfThere(join(folder, file.name), join(folder, decidedName));
      // The plan is decided by its new name, even if its new content cannot be written.
      if (isClaimed) await writePlan(folder, decidedName, sealed).catch(() => undefined);
      return isClaimed;
    },
    update: async (nonce, sealed) => {
      const file = await findFile(nonce);
      if (file?.state === 'decided') await writePlan(folder, file.name, sealed);
    },
    list: async (owner) => {
      const files = (await plansIn(folder)).filter((file) => owner === undefined || file.owner === owner);
      const plans = await Promise.all(files.map((file) => readPlan(folder, file)));
      return plans.filter((plan) => plan !== undefined);
    },
    countWaiting: async (time) => {
      const files = await plansIn(folder);
      return files.filter(({ state, expiresAt }) => state === 'waiting' && expiresAt >= time).length;
    },
    eraseBefore: async (time) => {
      // Drafts too, which a process leaves behind if it ends before it has renamed them.
      const expired = (await plansAndDraftsIn(folder)).filter(({ expiresAt }) => expiresAt < time);
      await eraseFiles(folder, expired);
    },
    close: async () => undefined,
  };
}

/** The plans and drafts of plans in a folder. */
async function plansAndDraftsIn(folder: string): Promise<PlanFile[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (textAt(error, 'code') === 'ENOENT') return [];
    throw error;
  });
  return names.map(planFile).filter((file) => file !== undefined);
}

const plansIn = async (folder: string) => (await plansAndDraftsIn(folder)).filter(({ isDraft }) => !isDraft);

/** Reads a plan. Returns undefined if its file is gone, is too large or is not a regular file. */
async function readPlan(folder: string, file: PlanFile): Promise<StoredPlan | undefined> {
  const path = join(folder, file.name);
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isFile() || stats.size > maximumBytes) return undefined;
  const sealed = await readFile(path, 'utf8').catch(() => undefined);
  return sealed === undefined ? undefined : { ...file, sealed };
}

/** Writes a draft and renames it when it is on disk, so that other processes never read half of a plan. */
async function writePlan(folder: string, name: string, text: string): Promise<void> {
  const draft = join(folder, `${name}.${randomUUID()}`);
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  const file = await open(draft, O_CREAT | O_EXCL | O_WRONLY, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(folder, name));
}

async function eraseFiles(folder: string, files: readonly PlanFile[]): Promise<void> {
  for (const { name } of files) await unlink(join(folder, name)).catch(() => undefined);
}

/** Resolves with false if there is no such file, for example because another process renamed it first. */
async function renameIfThere(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (textAt(error, 'code') === 'ENOENT') return false;
    throw error;
  }
}

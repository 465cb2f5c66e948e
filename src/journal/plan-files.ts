import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { textAt } from '../util/objects.js';
import { makeFolder } from './file-open.js';
import { beyondKept, type PlanStore, type StoredPlan } from './plan-store.js';

/** `<owner>-<nonce>-<expiry>.<state>`, so that a store need not open a plan. The name of a draft ends with an ID. */
const namePattern = /^([0-9a-f]{16})-([0-9a-f]{16})-(\d{13})\.(waiting|decided)(\.[0-9a-f-]{36})?$/;

/** More than any plan with its answer takes. */
const maximumBytes = 1024 * 1024;

/** A plan by the name of its file. A draft is a file that is being written, or was when its process ended. */
type PlanFile = Omit<StoredPlan, 'sealed'> & { readonly name: string; readonly isDraft: boolean };

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

/**
 * A store with one file per plan in a folder of its own. A plan is decided by renaming its file, which succeeds for only one process.
 */
export function createPlanFiles(folder: string): PlanStore {
  const findFile = async (nonce: string) => (await planFilesIn(folder)).find((file) => file.nonce === nonce);
  const add: PlanStore['add'] = async ({ nonce, owner, expiresAt, sealed }, mostWaiting) => {
    await makeFolder(folder);
    const files = await planFilesIn(folder);
    const waiting = files.filter((file) => file.owner === owner && file.state === 'waiting');
    if (waiting.length >= mostWaiting) return false;
    await writePlan(folder, `${owner}-${nonce}-${expiresAt}.waiting`, sealed);
    await eraseFiles(folder, beyondKept(files, owner));
    return true;
  };
  let lastAdd: Promise<unknown> = Promise.resolve();
  return {
    // In turn, because two calls at once would both count before either adds its plan.
    add: (...plan) => {
      const added = lastAdd.then(() => add(...plan));
      lastAdd = added.catch(() => undefined);
      return added;
    },
    find: async (nonce) => {
      const file = await findFile(nonce);
      const plan = file && (await readPlan(folder, file));
      if (plan !== undefined || file === undefined || file.state === 'decided') return plan;
      // It was decided or erased meanwhile.
      const decided = await findFile(nonce);
      return decided && readPlan(folder, decided);
    },
    claim: async (nonce, sealed) => {
      const file = await findFile(nonce);
      if (file?.state !== 'waiting') return false;
      const decidedName = file.name.replace(/waiting$/, 'decided');
      const isClaimed = await renameIfThere(join(folder, file.name), join(folder, decidedName));
      // The plan is claimed even if its new content cannot be written.
      if (isClaimed) await writePlan(folder, decidedName, sealed).catch(() => undefined);
      return isClaimed;
    },
    update: async (nonce, sealed) => {
      const file = await findFile(nonce);
      if (file?.state === 'decided') await writePlan(folder, file.name, sealed);
    },
    list: async () => {
      const files = await planFilesIn(folder);
      const plans = await Promise.all(files.map((file) => readPlan(folder, file)));
      return plans.filter((plan) => plan !== undefined);
    },
    countWaiting: async (time) => {
      const files = await planFilesIn(folder);
      return files.filter(({ state, expiresAt }) => state === 'waiting' && expiresAt >= time).length;
    },
    eraseBefore: async (time) => {
      const files = await filesIn(folder);
      await eraseFiles(
        folder,
        files.filter(({ expiresAt }) => expiresAt < time),
      );
    },
    close: async () => undefined,
  };
}

/** The plans in a folder, and drafts of plans. */
async function filesIn(folder: string): Promise<PlanFile[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (textAt(error, 'code') === 'ENOENT') return [];
    throw error;
  });
  return names.map(planFile).filter((file) => file !== undefined);
}

const planFilesIn = async (folder: string) => (await filesIn(folder)).filter(({ isDraft }) => !isDraft);

/** Returns undefined if the file is gone, or is no file of a plan. */
async function readPlan(folder: string, file: PlanFile): Promise<StoredPlan | undefined> {
  const path = join(folder, file.name);
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isFile() || stats.size > maximumBytes) return undefined;
  const sealed = await readFile(path, 'utf8').catch(() => undefined);
  return sealed === undefined ? undefined : { ...file, sealed };
}

/** Writes a draft and renames it when it is on disk, so that other processes see no half of a file. */
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

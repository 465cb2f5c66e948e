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
  const listFiles = async (): Promise<PlanFile[]> => {
    const names = await readdir(folder).catch((error: unknown) => {
      if (textAt(error, 'code') === 'ENOENT') return [];
      throw error;
    });
    return names.map(planFile).filter((file) => file !== undefined);
  };
  const listPlans = async () => (await listFiles()).filter(({ isDraft }) => !isDraft);
  const findFile = async (nonce: string) => (await listPlans()).find((file) => file.nonce === nonce);
  const erase = async (files: readonly PlanFile[]) => {
    for (const { name } of files) await unlink(join(folder, name)).catch(() => undefined);
  };
  const read = async (file: PlanFile): Promise<StoredPlan | undefined> => {
    const path = join(folder, file.name);
    const stats = await lstat(path).catch(() => undefined);
    if (!stats?.isFile() || stats.size > maximumBytes) return undefined;
    // It may have been decided or erased meanwhile.
    const sealed = await readFile(path, 'utf8').catch(() => undefined);
    return sealed === undefined ? undefined : { ...file, sealed };
  };
  /** Writes a draft and renames it when it is on disk, so that other processes see no half of a file. */
  const write = async (name: string, text: string) => {
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
  };
  const add: PlanStore['add'] = async ({ nonce, owner, expiresAt, sealed }, mostWaiting) => {
    await makeFolder(folder);
    const plans = await listPlans();
    const waiting = plans.filter((plan) => plan.owner === owner && plan.state === 'waiting');
    if (waiting.length >= mostWaiting) return false;
    await write(`${owner}-${nonce}-${expiresAt}.waiting`, sealed);
    await erase(beyondKept(plans, owner));
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
      if (file === undefined) return undefined;
      const plan = await read(file);
      if (plan !== undefined || file.state === 'decided') return plan;
      const decided = await findFile(nonce);
      return decided && read(decided);
    },
    claim: async (nonce, sealed) => {
      const file = await findFile(nonce);
      if (file?.state !== 'waiting') return false;
      const decided = file.name.replace(/waiting$/, 'decided');
      const isClaimed = await rename(join(folder, file.name), join(folder, decided)).then(
        () => true,
        (error: unknown) => {
          if (textAt(error, 'code') === 'ENOENT') return false;
          throw error;
        },
      );
      // The plan is claimed even if its new content cannot be written.
      if (isClaimed) await write(decided, sealed).catch(() => undefined);
      return isClaimed;
    },
    update: async (nonce, sealed) => {
      const file = await findFile(nonce);
      if (file?.state === 'decided') await write(file.name, sealed);
    },
    list: async () => {
      const plans = await Promise.all((await listPlans()).map(read));
      return plans.filter((plan) => plan !== undefined);
    },
    countWaiting: async (time) =>
      (await listPlans()).filter(({ state, expiresAt }) => state === 'waiting' && expiresAt >= time).length,
    eraseBefore: async (time) => erase((await listFiles()).filter(({ expiresAt }) => expiresAt < time)),
    close: async () => undefined,
  };
}
